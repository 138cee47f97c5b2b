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

enum { EXCESS_MAX = NOTICES_KEPT + 64 /* that are looked at together */ };
enum { VERSION = 1 /* 0 had passed by the kinds from 4 on */ };

struct kept_notice {
    uint8_t key[NOTICE_KEY_SIZE];
    enum notice_kind kind;
    int64_t sender;
    uint64_t thing; /* a hash of the subject and the comment */
    bool gone;
};

/* A user's notices, newest first. */
struct kept_notices {
    struct kept_notice items[EXCESS_MAX];
    size_t count, left; /* left: not gone */
};

struct notices {
    struct store *store;
    struct table_store *table;
    struct kept_notices trimmed;
    int32_t partitions;
    struct codec *codec;
    struct buffer value; /* of the one that was found last */
};

struct notices *notices_new(struct store *store, int32_t partitions) {
    struct notices *notices = mem_alloc(sizeof *notices);
    notices->table = table_store_new(&(struct table_store_options){.store = store,
                                                                   .partitions = partitions,
                                                                   .families = {"notices"},
                                                                   .topics = 1,
                                                                   .numbers = 0xff,
                                                                   .version = VERSION,
                                                                   .bare = true,
                                                                   .take = notices_complaint,
                                                                   .context = notices});
    notices->store = store;
    notices->partitions = partitions;
    notices->codec = codec_new();
    notices->value = (struct buffer){0};
    return notices;
}

void notices_free(struct notices *notices) {
    if (!notices) return;
    table_store_free(notices->table);
    codec_free(notices->codec);
    buffer_free(&notices->value);
    free(notices);
}

struct table_store *notices_table(struct notices *notices) {
    return notices->table;
}

const char *notices_complaint(void *context, struct table_store *table, const struct kafka_record *record,
                              struct error *error) {
    struct notices *notices = context;
    struct notice_key key;
    struct notice notice;
    if (!notice_key_read(record->key, record->key_size, &key)) return "the key must be a notice of a user";
    if (hash_user_partition(key.user, notices->partitions) != record->partition)
        return "not in the partition of its user";
    if (!record->value) return NULL;
    if (event_decode_notice(notices->codec, record->value, record->value_size, &notice, error)) return error->text;
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
    struct store_cursor *cursor = store_cursor_new(notices->store, table_store_family(notices->table, partition, 0));
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

int notices_find(struct notices *notices, int32_t partition, const struct notice_key *key, struct notice *notice,
                 struct error *error) {
    uint8_t bytes[NOTICE_KEY_SIZE];
    notice_key_write(bytes, key);
    int code = table_store_get(notices->table, partition, bytes, sizeof bytes, &notices->value, error);
    if (code <= 0) return code;
    return event_decode_notice(notices->codec, notices->value.data, notices->value.size, notice, error) ? -EBADMSG : 1;
}

int notice_shown(struct table_store *blocks, struct relation_lists *relations, int32_t partition, int64_t user,
                 int64_t other, bool *shown, struct error *error) {
    struct relation_half mute = {user, other, RELATION_MUTED};
    bool blocked = false, muted = false;
    int code = blocks_has(blocks, partition, user, other, &blocked, error);
    if (!code && !blocked) code = relation_lists_has(relations, partition, &mute, &muted, NULL, error);
    *shown = !blocked && !muted;
    return code;
}

/* ---- trimming ---- */

static int read_kept(struct notices *notices, int32_t partition, int64_t user, struct kept_notices *kept,
                     struct error *error) {
    struct store_cursor *cursor = cursor_of(notices, partition, user);
    struct notice_key key;
    struct notice notice;
    int code = 0;
    for (; !code && kept->count < EXCESS_MAX && at_notice(cursor, user, &key); store_cursor_next(cursor)) {
        size_t size;
        const uint8_t *value = store_cursor_value(cursor, &size);
        if (event_decode_notice(notices->codec, value, size, &notice, error)) {
            code = -EBADMSG;
            break;
        }
        struct kept_notice *item = &kept->items[kept->count++];
        *item = (struct kept_notice){.kind = key.kind,
                                     .sender = notice.user,
                                     .thing = hash_bytes(notice.subject.data, notice.subject.size) ^
                                              hash_fold((uint64_t)notice.comment)};
        notice_key_write(item->key, &key);
    }
    if (!code) code = store_cursor_error(cursor, error);
    store_cursor_free(cursor);
    kept->left = kept->count;
    return code;
}

static void go(struct kept_notices *kept, struct kept_notice *item) {
    kept->left -= !item->gone;
    item->gone = true;
}

/* What of one kind by one sender stays. */
static bool is_its_own(enum notice_kind kind) {
    return kind == NOTICE_OF_MENTION || kind == NOTICE_OF_REPLY || kind == NOTICE_OF_ARRIVED || kind == NOTICE_OF_LEFT;
}

/* Somebody who follows, or likes the same post, again and again is one notice, the newest. */
static void drop_repeated(struct kept_notices *kept) {
    for (size_t i = 0; i < kept->count; i++) {
        const struct kept_notice *newer = &kept->items[i];
        if (newer->gone || is_its_own(newer->kind)) continue;
        for (size_t j = i + 1; j < kept->count; j++) {
            struct kept_notice *item = &kept->items[j];
            if (item->kind == newer->kind && item->sender == newer->sender && item->thing == newer->thing)
                go(kept, item);
        }
    }
}

static size_t count_like(const struct kept_notices *kept, const struct kept_notice *like, bool by_sender) {
    size_t count = 0;
    for (size_t i = 0; i < kept->count; i++) {
        const struct kept_notice *item = &kept->items[i];
        count += !item->gone && (by_sender ? item->sender == like->sender : item->kind == like->kind);
    }
    return count;
}

/* The oldest notice of the sender who has most, or of the kind that has most. *most: how many that has. */
static struct kept_notice *oldest_of_most(struct kept_notices *kept, bool by_sender, size_t *most) {
    struct kept_notice *found = NULL;
    *most = 0;
    for (size_t i = kept->count; i > 0; i--) {
        struct kept_notice *item = &kept->items[i - 1];
        size_t count = item->gone ? 0 : count_like(kept, item, by_sender);
        if (count <= *most) continue;
        *most = count;
        found = item;
    }
    return found;
}

/* What has to go next, so that no sender and no kind pushes the others out. */
static struct kept_notice *next_to_go(struct kept_notices *kept, const struct notice_key *hidden) {
    uint8_t bytes[NOTICE_KEY_SIZE];
    size_t most;
    if (hidden) notice_key_write(bytes, hidden);
    for (size_t i = 0; hidden && i < kept->count; i++)
        if (!kept->items[i].gone && !memcmp(kept->items[i].key, bytes, sizeof bytes)) return &kept->items[i];
    struct kept_notice *found = oldest_of_most(kept, true, &most);
    return most > NOTICES_OF_ONE ? found : oldest_of_most(kept, false, &most);
}

int notices_trim(struct notices *notices, int32_t partition, int64_t user, const struct notice_key *hidden,
                 void (*each)(void *context, const uint8_t key[NOTICE_KEY_SIZE]), void *context, struct error *error) {
    struct kept_notices *kept = &notices->trimmed;
    kept->count = 0;
    int code = read_kept(notices, partition, user, kept, error);
    if (code) return code;
    drop_repeated(kept);
    while (kept->left > NOTICES_KEPT) go(kept, next_to_go(kept, hidden));
    for (size_t i = 0; i < kept->count; i++) {
        if (!kept->items[i].gone) continue;
        each(context, kept->items[i].key);
        store_batch_delete(table_store_batch(notices->table), table_store_family(notices->table, partition, 0),
                           kept->items[i].key, NOTICE_KEY_SIZE);
    }
    return table_store_write(notices->table, error);
}

/* ---- writing ---- */

static int write_notice(struct decider *decider, int32_t partitions, const struct notice_key *key,
                        const struct notice *notice) {
    uint8_t bytes[NOTICE_KEY_SIZE];
    struct buffer value = {.data = NULL};
    notice_key_write(bytes, key);
    notice_encode(&value, notice);
    int code = decider_write(decider, &TOPIC_NOTICES, hash_user_partition(key->user, partitions), bytes, sizeof bytes,
                             value.data, value.size);
    buffer_free(&value);
    return code;
}

int notices_write_relation(struct decider *decider, int32_t partitions, enum notice_kind kind, int64_t user,
                           int64_t other, int64_t since) {
    struct notice_key key = {.user = user, .time = since, .kind = kind, .number = other};
    return write_notice(decider, partitions, &key,
                        &(struct notice){.what = (enum notice_what)(kind - 1), .user = other, .time = since});
}

int notices_write_mentions(struct decider *decider, int32_t partitions, int64_t author, int64_t post, int64_t time,
                           const struct event_longs *mentioned) {
    char subject[32];
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
