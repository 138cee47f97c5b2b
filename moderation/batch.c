#include "moderation/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/config.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/topics.h"
#include "subjects/subject.h"

/* The post, comment or user that a record is about, by its key. */
struct about {
    enum batch_kind { COMMENT, POST, POST_TEXT, REPORT_OF_POST, REPORT_OF_USER } kind;
    int64_t id, author; /* of the comment or post; or the user who was reported */
};

/* A record whose value lies in the batch's bytes. */
struct batch_item {
    int32_t place;
    int64_t next; /* offset behind it */
    struct about about;
    size_t at, size; /* the value; size 0: a tombstone */
    bool applies;
};

struct batch {
    struct batch_item *items;
    size_t count, capacity;
    struct buffer bytes;
};

struct batch *batch_new(void) {
    return mem_zero(1, sizeof(struct batch));
}

void batch_free(struct batch *batch) {
    if (!batch) return;
    buffer_free(&batch->bytes);
    free(batch->items);
    free(batch);
}

enum { POST_KEY = 16, FORMER_KEY = 24 };

static int read_comment_key(const struct kafka_record *record, struct about *about, struct error *error) {
    struct subject_key key;
    if (!subject_key_read(record->key, record->key_size, &key) || key.numbers != 1 || key.comment <= 0)
        return error_set(error, -EBADMSG, "the key is no subject and comment");
    *about = (struct about){.kind = COMMENT, .id = key.comment};
    return 0;
}

/* 1: a former text. */
static int read_post_key(const struct kafka_record *record, struct about *about, struct error *error) {
    const uint8_t *key = record->key;
    bool text = record->topic == &TOPIC_POST_TEXTS;
    if (text && record->key_size == FORMER_KEY) return 1;
    if (!key || record->key_size != POST_KEY || (int64_t)bytes_get_be64(key) < 0 ||
        (int64_t)bytes_get_be64(key + 8) < 1)
        return error_set(error, -EBADMSG, "the key must be an author and an id");
    *about = (struct about){.kind = text ? POST_TEXT : POST,
                            .id = (int64_t)bytes_get_be64(key + 8),
                            .author = (int64_t)bytes_get_be64(key)};
    return 0;
}

/* 1: it is about a comment, or a ban. */
static int read_log_key(const struct kafka_record *record, struct about *about, struct error *error) {
    static const struct {
        const char *start;
        enum batch_kind kind;
    } KINDS[] = {{"post:", REPORT_OF_POST}, {"user:", REPORT_OF_USER}};
    struct subject_key key;
    if (!subject_key_read(record->key, record->key_size, &key) || key.numbers != 2)
        return error_set(error, -EBADMSG, "the key is no subject, comment and number");
    for (size_t i = 0; !key.comment && i < ARRAY_SIZE(KINDS); i++) {
        size_t size = strlen(KINDS[i].start);
        *about = (struct about){.kind = KINDS[i].kind};
        if (key.size > size && memcmp(key.subject, KINDS[i].start, size) == 0 &&
            text_number(key.subject + size, key.size - size, INT64_MAX, &about->id))
            return 0;
    }
    return 1;
}

static int read_about(const struct kafka_record *record, struct about *about, struct error *error) {
    if (record->topic == &TOPIC_MODERATION_LOG) return record->value ? read_log_key(record, about, error) : 1;
    if (record->topic == &TOPIC_POSTS || record->topic == &TOPIC_POST_TEXTS) return read_post_key(record, about, error);
    return read_comment_key(record, about, error);
}

static int check_comment(struct codec *codec, const struct kafka_record *record, const struct about *about,
                         struct error *error) {
    struct subject_key key;
    struct comment_wide comment;
    int code = event_decode_comment_wide(codec, record->value, record->value_size, &comment, error);
    if (code) return code;
    subject_key_read(record->key, record->key_size, &key);
    if (comment.id != about->id || comment.subject.size != key.size ||
        memcmp(comment.subject.data, key.subject, key.size) != 0)
        return error_set(error, -EBADMSG, "the comment is another one than the key says");
    return 0;
}

int batch_check(struct codec *codec, const struct kafka_record *record, struct error *error) {
    struct post post;
    struct post_text text;
    struct moderation_entry entry;
    struct about about;
    int code = read_about(record, &about, error);
    if (code || !record->value) return code;
    switch (about.kind) {
    case COMMENT: return check_comment(codec, record, &about, error);
    case POST: return event_decode_post(codec, record->value, record->value_size, &post, error);
    case POST_TEXT: return event_decode_post_text(codec, record->value, record->value_size, &text, error);
    case REPORT_OF_POST:
    case REPORT_OF_USER:
        code = event_decode_moderation_entry(codec, record->value, record->value_size, &entry, error);
        return code ? code : entry.what != MODERATION_ENTRY_REPORT;
    }
    return 1;
}

void batch_add(struct batch *batch, const struct kafka_record *record, int32_t place, bool applies) {
    struct batch_item item = {.place = place, .next = record->offset + 1, .at = batch->bytes.size, .applies = applies};
    if (applies && read_about(record, &item.about, NULL)) item.applies = false;
    if (item.applies && record->value) {
        item.size = record->value_size;
        buffer_append(&batch->bytes, record->value, record->value_size);
    }
    MEM_ROOM(batch->items, batch->count, batch->capacity);
    batch->items[batch->count++] = item;
}

size_t batch_count(const struct batch *batch) { return batch->count; }

size_t batch_bytes(const struct batch *batch) { return batch->bytes.size; }

void batch_clear(struct batch *batch) {
    batch->count = 0;
    buffer_clear(&batch->bytes);
}

static int write_comment(const struct about *about, const uint8_t *value, size_t size, struct codec *codec,
                         struct index *index, struct error *error) {
    struct comment_wide comment;
    if (!size) return index_remove(index, about->id, error);
    int code = event_decode_comment_wide(codec, value, size, &comment, error);
    return code ? code : index_put(index, &comment, error);
}

static int write_post(const struct about *about, const uint8_t *value, size_t size, struct codec *codec,
                      struct index *index, struct error *error) {
    static const enum comment_wide_state STATES[] = {[POST_LIVE] = COMMENT_WIDE_VISIBLE,
                                                     [POST_DELETED] = COMMENT_WIDE_DELETED,
                                                     [POST_HIDDEN] = COMMENT_WIDE_HIDDEN,
                                                     [POST_HELD] = COMMENT_WIDE_HELD};
    struct post post;
    if (!size) return index_remove_post(index, about->id, error);
    int code = event_decode_post(codec, value, size, &post, error);
    return code ? code : index_put_post(index, about->id, about->author, STATES[post.state], error);
}

static int write_text(const struct about *about, const uint8_t *value, size_t size, struct codec *codec,
                      struct index *index, struct error *error) {
    struct post_text text;
    int code = size ? event_decode_post_text(codec, value, size, &text, error) : 0;
    return code ? code : index_put_post_text(index, about->id, about->author, size ? &text : NULL, error);
}

static int write_report(const struct about *about, const uint8_t *value, size_t size, struct codec *codec,
                        struct index *index, struct error *error) {
    struct moderation_entry entry;
    int code = event_decode_moderation_entry(codec, value, size, &entry, error);
    if (code) return code;
    return about->kind == REPORT_OF_POST ? index_report_post(index, about->id, entry.author, error)
                                         : index_report_user(index, about->id, entry.time, &entry.reason, error);
}

static int write_item(const struct batch *batch, const struct batch_item *item, struct codec *codec,
                      struct index *index, struct error *error) {
    static int (*const WRITE[])(const struct about *about, const uint8_t *value, size_t size, struct codec *codec,
                                struct index *index, struct error *error) = {
        [COMMENT] = write_comment,       [POST] = write_post, [POST_TEXT] = write_text, [REPORT_OF_POST] = write_report,
        [REPORT_OF_USER] = write_report,
    };
    if (!item->applies) return 0;
    const uint8_t *value = item->size ? batch->bytes.data + item->at : NULL;
    return WRITE[item->about.kind](&item->about, value, item->size, codec, index, error);
}

int batch_write(const struct batch *batch, struct codec *codec, struct index *index, struct error *error) {
    int code = index_begin(index, error);
    for (size_t i = 0; !code && i < batch->count; i++) {
        code = write_item(batch, &batch->items[i], codec, index, error);
        if (!code) index_reached(index, batch->items[i].place, batch->items[i].next);
    }
    return code ? code : index_commit(index, error);
}
