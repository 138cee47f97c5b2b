#include "moderation/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "subjects/subject.h"

/* A record whose value lies in the batch's bytes. */
struct batch_item {
    int32_t partition;
    int64_t next;    /* offset behind it */
    int64_t comment; /* its id */
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

static int read_key(const struct kafka_record *record, struct subject_key *key, struct error *error) {
    if (!subject_key_read(record->key, record->key_size, key) || key->numbers != 1 || key->comment <= 0)
        return error_set(error, -EBADMSG, "the key is no subject and comment");
    return 0;
}

int batch_check(struct codec *codec, const struct kafka_record *record, struct error *error) {
    struct subject_key key;
    struct comment_wide comment;
    int code = read_key(record, &key, error);
    if (code || !record->value) return code;
    code = event_decode_comment_wide(codec, record->value, record->value_size, &comment, error);
    if (code) return code;
    if (comment.id != key.comment || comment.subject.size != key.size ||
        memcmp(comment.subject.data, key.subject, key.size) != 0)
        return error_set(error, -EBADMSG, "the comment is another one than the key says");
    return 0;
}

void batch_add(struct batch *batch, const struct kafka_record *record, bool applies) {
    struct subject_key key;
    MEM_ROOM(batch->items, batch->count, batch->capacity);
    batch->items[batch->count++] = (struct batch_item){
        .partition = record->partition,
        .next = record->offset + 1,
        .comment = applies && !read_key(record, &key, NULL) ? key.comment : 0,
        .at = batch->bytes.size,
        .size = applies && record->value ? record->value_size : 0,
        .applies = applies,
    };
    if (applies && record->value) buffer_append(&batch->bytes, record->value, record->value_size);
}

size_t batch_count(const struct batch *batch) { return batch->count; }

size_t batch_bytes(const struct batch *batch) { return batch->bytes.size; }

void batch_clear(struct batch *batch) {
    batch->count = 0;
    buffer_clear(&batch->bytes);
}

static int write_item(const struct batch *batch, const struct batch_item *item, struct codec *codec,
                      struct index *index, struct error *error) {
    struct comment_wide comment;
    if (!item->applies) return 0;
    if (!item->size) return index_remove(index, item->comment, error);
    int code = event_decode_comment_wide(codec, batch->bytes.data + item->at, item->size, &comment, error);
    return code ? code : index_put(index, &comment, error);
}

int batch_write(const struct batch *batch, struct codec *codec, struct index *index, struct error *error) {
    int code = index_begin(index, error);
    for (size_t i = 0; !code && i < batch->count; i++) {
        code = write_item(batch, &batch->items[i], codec, index, error);
        if (!code) index_reached(index, batch->items[i].partition, batch->items[i].next);
    }
    return code ? code : index_commit(index, error);
}
