#include "unit/lib/users/some_profiles.h"

#include "base/bytes.h"
#include "unit/kit/kit.h"

static void check(bool good) {
    if (!good) abort();
}

void some_profiles_open(struct some_profiles *some) {
    some->folder = kit_folder();
    check(profiles_open(&(struct profiles_options){.data_dir = some->folder, .partitions = 1}, &some->profiles, NULL) ==
          0);
}

void some_profiles_name(struct some_profiles *some, int64_t user, const char *name) {
    const struct copy_definition copy = profiles_copy(some->profiles);
    struct buffer value = {.size = 0};
    uint8_t key[8];
    bytes_put_be64(key, (uint64_t)user);
    profile_encode(&value, &(struct profile){.name = {name, strlen(name)}, .avatar_url = {"", 0}});
    copy_disk_put(copy.disk, key, sizeof key, value.data, value.size);
    check(copy_disk_write(copy.disk, NULL) == 0);
    buffer_free(&value);
}

void some_profiles_close(struct some_profiles *some) { profiles_close(some->profiles); }
