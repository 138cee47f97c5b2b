#include "users/profiles.h"

#include <stdlib.h>

#include "base/mem.h"
#include "event/topics.h"
#include "users/user_key.h"

enum { PROFILE_V1 = 4, PROFILE_V1_LACKS = 2 /* bytes at the end: two empty texts */ };

struct profiles {
    struct profiles_options options;
    struct copy_disk *disk;
    struct codec *codec;
    struct buffer found; /* the value that was last looked up */
};

void profile_encode(struct buffer *out, const struct profile *profile) {
    size_t before = out->size;
    event_encode_profile(out, profile);
    if (profile->bio.size || profile->url.size) return;
    event_become_older(out, before, PROFILE_V1, PROFILE_V1_LACKS);
}

int profiles_open(const struct profiles_options *options, struct profiles **out, struct error *error) {
    struct copy_disk *disk;
    int code = copy_disk_open(options->data_dir, TOPIC_PROFILES.name, options->partitions, &disk, error);
    if (code) return code;
    struct profiles *profiles = MEM_NEW(&(struct profiles){
        .options = *options,
        .disk = disk,
        .codec = codec_new(),
        .found = {.data = NULL, .size = 0, .capacity = 0},
    });
    *out = profiles;
    return 0;
}

void profiles_close(struct profiles *profiles) {
    if (!profiles) return;
    copy_disk_close(profiles->disk);
    codec_free(profiles->codec);
    buffer_free(&profiles->found);
    free(profiles);
}

static int apply(void *context, const struct kafka_record *record, struct error *error) {
    struct profiles *profiles = context;
    struct profile profile;
    int64_t user = -1;
    int code = user_key_read(record, &user, error);
    if (code || !record->value) return code;
    return event_decode_profile(profiles->codec, record->value, record->value_size, &profile, error);
}

static void changed(void *context, const struct kafka_record *record) {
    struct profiles *profiles = context;
    int64_t user = -1;
    if (!profiles->options.on_change || user_key_read(record, &user, NULL)) return;
    profiles->options.on_change(profiles->options.context, user);
}

struct copy_definition profiles_copy(struct profiles *profiles) {
    return (struct copy_definition){
        .topic = &TOPIC_PROFILES,
        .disk = profiles->disk,
        .context = profiles,
        .apply = apply,
        .changed = changed,
    };
}

bool profiles_find(struct profiles *profiles, int64_t user, struct profile *profile) {
    struct error error = {.text = ""};
    uint8_t key[8];
    bytes_put_be64(key, (uint64_t)user);
    int found = copy_disk_get(profiles->disk, key, sizeof key, &profiles->found, &error);
    if (found == 1)
        found =
            event_decode_profile(profiles->codec, profiles->found.data, profiles->found.size, profile, &error) ? -1 : 1;
    if (found < 0)
        log_debug(profiles->options.log, "a profile could not be read", LOG_INT("user", user),
                  LOG_TEXT("error", error.text));
    return found == 1;
}
