#include "feed/notices_shown.h"

#include "base/buffer.h"

int notices_shown_is(const struct notices_shown *shown, int32_t partition, const struct notice_key *key, int64_t other,
                     bool *is, struct error *error) {
    const struct relation_half request = {key->user, other, RELATION_REQUESTED};
    int code = notice_shown(shown->blocks, shown->relations, partition, key->user, other, is, error);
    if (code || !*is || key->kind != NOTICE_OF_REQUEST) return code;
    return relation_lists_has(shown->relations, partition, &request, is, NULL, error);
}

struct notices_version {
    const struct notices_shown *shown;
    int32_t partition;
    int64_t newest;
    struct buffer bytes;
    int code;
    struct error *error;
};

static bool add(void *context, const struct notice_key *key, const struct notice *notice) {
    struct notices_version *of = context;
    bool is;
    of->code = notices_shown_is(of->shown, of->partition, key, notice->user, &is, of->error);
    if (of->code || !is) return !of->code;
    if (!of->newest) of->newest = key->time;
    notice_key_write(buffer_reserve(&of->bytes, NOTICE_KEY_SIZE), key);
    buffer_commit(&of->bytes, NOTICE_KEY_SIZE);
    return true;
}

int notices_shown_version(const struct notices_shown *shown, int32_t partition, int64_t user,
                          struct watch_version *version, struct error *error) {
    struct notices_version of = {.shown = shown, .partition = partition, .error = error};
    struct notice_settings settings;
    int code = notices_each(shown->notices, partition, user, add, &of, error);
    if (!code) code = of.code;
    if (!code) code = notice_settings_of(shown->settings, partition, user, &settings, error);
    if (!code) {
        notice_settings_put(&of.bytes, &settings);
        uint64_t hash = watch_hash(of.bytes.data, of.bytes.size);
        *version = (struct watch_version){.number = of.newest, .hash = hash ? hash : 1};
    }
    buffer_free(&of.bytes);
    return code;
}
