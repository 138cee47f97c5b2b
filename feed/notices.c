#include "feed/notices.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "event/topics.h"
#include "ids/ids.h"

struct notices {
    struct kept *kept;
    int32_t partitions;
    struct codec *codec;
};

struct notices *notices_new(struct store *store, int32_t partitions) {
    struct notices *notices = mem_alloc(sizeof *notices);
    *notices = (struct notices){
        .kept = kept_new(store, "notices", partitions), .partitions = partitions, .codec = codec_new()};
    return notices;
}

void notices_free(struct notices *notices) {
    if (!notices) return;
    kept_free(notices->kept);
    codec_free(notices->codec);
    free(notices);
}

struct kept *notices_kept(struct notices *notices) {
    return notices->kept;
}

const char *notices_complaint(struct notices *notices, int32_t partition, const void *key, size_t key_size,
                              const void *value, size_t size, struct error *error) {
    struct notice_key read;
    struct notice notice;
    if (!notice_key_read(key, key_size, &read)) return "the key must be a notice of a user";
    if (hash_user_partition(read.user, notices->partitions) != partition) return "not in the partition of its user";
    if (!value) return NULL;
    if (event_decode_notice(notices->codec, value, size, &notice, error)) return error->text;
    return NULL;
}

/* ---- reading ---- */

/* The key that the cursor has come to, if it is one of the user's. */
static bool at_notice(const struct store_cursor *cursor, int64_t user, struct notice_key *key) {
    size_t size;
    if (!store_cursor_valid(cursor)) return false;
    const uint8_t *bytes = store_cursor_key(cursor, &size);
    return notice_key_read(bytes, size, key) && key->user == user;
}

static struct store_cursor *cursor_of(struct notices *notices, int32_t partition, int64_t user) {
    struct store_cursor *cursor = kept_cursor(notices->kept, partition);
    uint8_t first[8];
    bytes_put_be64(first, (uint64_t)user);
    store_cursor_seek(cursor, first, sizeof first);
    return cursor;
}

int notices_each(struct notices *notices, int32_t partition, int64_t user, notices_each_one *each, void *context,
                 struct error *error) {
    struct store_cursor *cursor = cursor_of(notices, partition, user);
    struct notice_key key;
    struct notice notice;
    bool more = true;
    int code = 0;
    for (int i = 0; !code && more && i < NOTICES_KEPT && at_notice(cursor, user, &key); i++) {
        size_t size;
        const uint8_t *value = store_cursor_value(cursor, &size);
        if (event_decode_notice(notices->codec, value, size, &notice, error))
            code = -EBADMSG;
        else
            more = each(context, &key, &notice);
        if (i + 1 < NOTICES_KEPT) store_cursor_next(cursor); // not behind the last one, where many deleted ones may lie
    }
    if (!code) code = store_cursor_error(cursor, error);
    store_cursor_free(cursor);
    return code;
}

int notices_excess(struct notices *notices, int32_t partition, int64_t user,
                   void (*each)(void *context, const uint8_t key[NOTICE_KEY_SIZE]), void *context,
                   struct error *error) {
    struct store_cursor *cursor = cursor_of(notices, partition, user);
    struct notice_key key;
    for (int i = 0; at_notice(cursor, user, &key); i++) {
        size_t size;
        const uint8_t *bytes = store_cursor_key(cursor, &size);
        if (i >= NOTICES_KEPT) {
            each(context, bytes);
            kept_drop(notices->kept, partition, bytes, size);
        }
        store_cursor_next(cursor);
    }
    int code = store_cursor_error(cursor, error);
    store_cursor_free(cursor);
    int written = kept_write(notices->kept, code ? &(struct error){.text = ""} : error);
    return code ? code : written;
}

/* ---- writing ---- */

static int write_notice(struct decider *decider, int32_t partitions, const struct notice_key *key,
                        const struct notice *notice) {
    uint8_t bytes[NOTICE_KEY_SIZE];
    struct buffer value = {.data = NULL};
    notice_key_write(bytes, key);
    event_encode_notice(&value, notice);
    int code = decider_write(decider, &TOPIC_NOTICES, hash_user_partition(key->user, partitions), bytes, sizeof bytes,
                             value.data, value.size);
    buffer_free(&value);
    return code;
}

int notices_write_follow(struct decider *decider, int32_t partitions, int64_t user, int64_t follower, int64_t since) {
    struct notice_key key = {.user = user, .time = since, .kind = NOTICE_OF_FOLLOW, .number = follower};
    return write_notice(decider, partitions, &key,
                        &(struct notice){.what = NOTICE_FOLLOW, .user = follower, .time = since});
}

int notices_write_mentions(struct decider *decider, int32_t partitions, int64_t author, int64_t post,
                           const struct event_longs *mentioned) {
    char subject[32];
    int64_t time = ids_time_ms(post);
    int code = 0;
    struct notice notice = {.what = NOTICE_MENTION, .user = author, .time = time};
    snprintf(subject, sizeof subject, "post:%" PRId64, post);
    notice.subject = (struct event_text){.data = subject, .size = strlen(subject)};
    for (size_t i = 0; !code && i < mentioned->count; i++) {
        struct notice_key key = {.user = mentioned->items[i], .time = time, .kind = NOTICE_OF_MENTION, .number = post};
        if (key.user != author) code = write_notice(decider, partitions, &key, &notice);
    }
    return code;
}
