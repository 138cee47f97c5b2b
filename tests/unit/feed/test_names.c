/* Handles on disk: records are taken once and survive a restart, and what is no record of `names` is named. */
#include "feed/names.h"
#include "unit/kit/kit.h"

enum { PARTITIONS = 3, USER = 5 };

struct disk {
    char *folder;
    struct store *store;
    struct names *names;
    int32_t users, handles; /* the partitions of USER and of "ada" */
};

static void open_disk(struct disk *disk) {
    assert_int_equal(store_open(disk->folder, &(struct store_options){.memory_bytes = 0}, &disk->store, &failure), 0);
    disk->names = names_new(disk->store, PARTITIONS);
    for (int32_t p = 0; p < PARTITIONS; p++)
        assert_int_equal(table_store_open(names_table(disk->names), p, 0, 0, &failure), 0);
}

static void close_disk(struct disk *disk) {
    names_free(disk->names);
    store_close(disk->store);
}

SET_UP() {
    struct disk *disk = kit_zero(sizeof *disk);
    disk->folder = kit_folder();
    disk->users = hash_user_partition(USER, PARTITIONS);
    disk->handles = handle_partition("ada", PARTITIONS);
    open_disk(disk);
    return disk;
}

TEAR_DOWN(struct disk *disk) { close_disk(disk); }

static const char *complaint_of(struct names *names, int32_t partition, const void *key, size_t key_size,
                                const void *value, size_t size, struct error *error) {
    const struct kafka_record record = {
        .partition = partition, .key = key, .key_size = key_size, .value = value, .value_size = size};
    return names_complaint(names, NULL, &record, error);
}

/* value NULL: a tombstone. */
static void take(struct disk *disk, int64_t offset, bool of_user, const struct buffer *value) {
    uint8_t key[NAME_KEY_MAX];
    size_t size = of_user ? name_key_of_user(key, USER) : name_key_of_handle(key, "ada");
    int32_t partition = of_user ? disk->users : disk->handles;
    const void *bytes = value ? value->data : NULL;
    assert_null(complaint_of(disk->names, partition, key, size, bytes, value ? value->size : 0, &failure));
    table_store_put(names_table(disk->names), partition, offset, key, size, bytes, value ? value->size : 0);
    assert_int_equal(table_store_write(names_table(disk->names), &failure), 0);
}

static struct name_of_handle holder(struct disk *disk) {
    struct name_of_handle name;
    assert_int_equal(names_of_handle(disk->names, disk->handles, "ada", &name, &failure), 0);
    return name;
}

TEST(test_names_are_found_also_after_a_restart, struct disk *disk) {
    struct name_of_user own;
    FREED_BUFFER of_user = {0}, of_handle = {0};
    assert_int_equal(holder(disk).user, -1);
    assert_int_equal(names_of_user(disk->names, disk->users, USER, &own, &failure), 0);
    assert_true(!own.number && !own.granted && !own.handle[0] && !own.wish[0] && !own.refused[0]);

    event_encode_user_name(
        &of_user, &(struct user_name){
                      .number = 9, .granted = 7, .handle = {"ada", 3}, .wish = {"ben_99", 6}, .refused = {"", 0}});
    event_encode_handle_user(&of_handle, &(struct handle_user){.user = USER, .number = 7});
    take(disk, 3, true, &of_user);
    take(disk, 8, false, &of_handle);
    close_disk(disk);
    open_disk(disk);
    assert_int_equal(holder(disk).user, USER);
    assert_int_equal(holder(disk).number, 7);
    assert_int_equal(names_of_user(disk->names, disk->users, USER, &own, &failure), 0);
    assert_true(own.number == 9 && own.granted == 7 && !own.refused[0]);
    assert_string_equal(own.handle, "ada");
    assert_string_equal(own.wish, "ben_99");

    take(disk, 8, false, NULL); // was read already
    assert_int_equal(holder(disk).user, USER);
    assert_int_equal(table_store_next(names_table(disk->names), disk->handles, 0), 9);
    take(disk, 9, false, NULL);
    assert_int_equal(holder(disk).user, -1);
    take(disk, 10, false, &of_handle);
    assert_int_equal(table_store_reset(names_table(disk->names), disk->handles, 0, &failure), 0);
    assert_int_equal(holder(disk).user, -1);
    assert_int_equal(table_store_next(names_table(disk->names), disk->handles, 0), -1);
}

static void assert_complaint(struct disk *disk, int32_t partition, const void *key, size_t size,
                             const struct buffer *value, const char *part) {
    struct error error = {.text = ""};
    const char *complaint = complaint_of(disk->names, partition, key, size, value->data, value->size, &error);
    if (!complaint || !strstr(complaint, part)) fail_msg("not \"%s\": %s", part, complaint ? complaint : "none");
}

TEST(test_records_that_are_none, struct disk *disk) {
    uint8_t user[NAME_KEY_MAX], handle[NAME_KEY_MAX];
    size_t user_size = name_key_of_user(user, USER), handle_size = name_key_of_handle(handle, "ada");
    FREED_BUFFER of_user = {0}, of_handle = {0}, bad = {0}, nobody = {0};
    event_encode_user_name(&of_user, &(struct user_name){.number = 1});
    event_encode_handle_user(&of_handle, &(struct handle_user){.user = USER, .number = 1});
    event_encode_user_name(&bad, &(struct user_name){.number = 1, .handle = {"a-b", 3}});
    event_encode_handle_user(&nobody, &(struct handle_user){.user = -1, .number = 1});
    assert_complaint(disk, disk->users, "x", 1, &of_user, "the key must be");
    assert_complaint(disk, (disk->users + 1) % PARTITIONS, user, user_size, &of_user, "not in the partition");
    assert_complaint(disk, (disk->handles + 1) % PARTITIONS, handle, handle_size, &of_handle, "not in the partition");
    assert_complaint(disk, disk->users, user, user_size, &of_handle, "not a user's names");
    assert_complaint(disk, disk->handles, handle, handle_size, &of_user, "not a handle's user");
    assert_complaint(disk, disk->users, user, user_size, &bad, "a handle that is none");
    assert_complaint(disk, disk->handles, handle, handle_size, &nobody, "not a handle's user");

    // On the disk, a value that is none is damage.
    struct name_of_handle name;
    table_store_put(names_table(disk->names), disk->handles, 0, handle, handle_size, "x", 1);
    assert_int_equal(table_store_write(names_table(disk->names), &failure), 0);
    assert_int_equal(names_of_handle(disk->names, disk->handles, "ada", &name, &failure), -EBADMSG);
}
