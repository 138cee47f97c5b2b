/* Shared by posts.c and posts_read.c, and private to them: the keys and values of the families. */
#pragma once

#include "feed/posts.h"

enum {
    POSTS_ID_KEY = 0x80,
    POSTS_KEYED_KEY = 0x81,
    POSTS_DELETED_KEY = 0x82,
    POSTS_TICK_KEY = 0x83,
    POSTS_COUNT_KEY = 0x84,
    POSTS_COLD_KEY = 0xfe,
    POSTS_NEXT_KEY = 0xff,
};

enum { POSTS_LONG = 8, POSTS_ID_SIZE = 9, POSTS_COUNT_SIZE = 9, POSTS_DELETED_SIZE = 17 };

/* One record that is not written yet. */
struct posts_record {
    int64_t author, id, offset, deleted; /* deleted: 0: it is live */
    int32_t moderated;
    bool hidden, held;
    int64_t version; /* of a former text; 0: it is none */
    size_t at, size; /* in posts->bytes: the client's key, or the text */
    int32_t partition;
    bool tombstone;
};

struct posts_records {
    struct posts_record *items;
    size_t count, capacity;
};

/* One of the two topics in a partition. */
struct posts_topic {
    struct store_family *family; /* NULL: not attached */
    int64_t next, taken;         /* stored, and gathered */
};

struct posts_part {
    struct posts_topic index, texts;
    struct store_family *cold;
    int64_t cold_below, stored_cold; /* texts of lower ids are in `cold` */
    int64_t tick, stored_tick;
};

struct posts {
    struct store *store;
    struct store_batch *batch;
    struct posts_part *parts;
    int32_t partitions;
    int64_t cold_after_ms;
    struct posts_records index, texts;
    struct codec *codec;
    struct buffer bytes; /* of records that are not written yet */
    struct buffer key, value;
    uint64_t moves; /* of walks */
};

/* A post as it is stored: 0 and the client's key; 1, the time of deletion (zigzag), and the client's key; or 2, twice the number of a moderator's
 * decision (zigzag) and one more if it has hidden the post, and the client's key; or 3 and the same as after 1, if it was hidden before; or 4 and the
 * same as after 2, if it is held. */
struct posts_value {
    int64_t deleted;
    int32_t moderated;
    bool hidden, held;
    const uint8_t *key;
    size_t key_size;
};
void posts_value_write(struct buffer *out, const struct posts_value *value); /* replaces it */
int posts_value_read(const void *bytes, size_t size, struct posts_value *value, struct error *error);

void posts_store_key(uint8_t key[POST_KEY_SIZE], int64_t author, int64_t id);
void posts_id_key(uint8_t key[POSTS_ID_SIZE], int64_t id);
void posts_count_key(uint8_t key[POSTS_COUNT_SIZE], int64_t author);
void posts_deleted_key(uint8_t key[POSTS_DELETED_SIZE], int64_t deleted, int64_t id);
void posts_keyed_key(struct buffer *out, int64_t author, const void *key, size_t size); /* replaces it */

void posts_put_long(struct store_batch *batch, struct store_family *family, uint8_t key, int64_t value);
int posts_attached(const struct posts *posts, int32_t partition, struct error *error);

/* The texts that were gathered, into the batch. */
void posts_put_texts(struct posts *posts);

/* A value of eight bytes. 1: found, 0: not. */
int posts_get_long(struct posts *posts, struct store_family *family, const void *key, size_t size, int64_t *value,
                   struct error *error);
int posts_damaged(struct error *error); /* -EBADMSG */
