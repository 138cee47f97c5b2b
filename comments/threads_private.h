/* Between comments/threads*.c. */
#ifndef COMMENTS_THREADS_PRIVATE_H
#define COMMENTS_THREADS_PRIVATE_H

#include "base/map.h"
#include "comments/threads.h"

enum threads_kind {
    KIND_SUBJECT = 's',
    KIND_COMMENT = 'c',
    KIND_FLOOR = 'f',
    KIND_HEAT = 'h',
    KIND_REACTION = 'r',
    KIND_KEY = 'k',
    KIND_RESTED = 'u',
    KIND_REFUSAL = 'o',
    KIND_REFUSAL_TIME = 'p',
    KIND_META = 'm'
};

enum { THREADS_KEY_MAX = 2 * 8 + SUBJECT_KEY_MAX + COMMENT_CLIENT_KEY_MAX, THREADS_LIKES_MAX = 50000 };

struct threads_part {
    struct store_family *index, *texts; /* NULL: not attached */
    int64_t next[THREADS_STATES], tick, touched_ms;
    int64_t refusals_ms; /* there is no refusal that is older: what was forgotten before is not walked over again */
    bool moved;          /* the meta value must be written */
};

struct threads {
    struct store *store;
    struct store_batch *batch;
    struct codec *codec;
    struct map *
        likes; /* of roots, as the index by heat has them: all that are in the batch, and some that were read: id -> likes */
    struct threads_part *parts;
    int32_t partitions;
    struct buffer value;
};

/* A key that is being put together. */
struct threads_key {
    uint8_t bytes[THREADS_KEY_MAX];
    size_t size;
};
void threads_key_start(struct threads_key *key, enum threads_kind kind, const struct event_text *subject);
void threads_key_number(struct threads_key *key, int64_t number);
void threads_key_floor(struct threads_key *key, int32_t floor);
void threads_key_bytes(struct threads_key *key, const void *bytes, size_t size);
void threads_key_heat(struct threads_key *key, const struct event_text *subject, int64_t heat, int64_t id);

int threads_damaged(struct error *error, const char *what); /* -EBADMSG */

/* The record of a comment in the store: 1, 0 or a negative code. */
int threads_read_comment(struct threads *threads, const struct threads_part *part, const struct event_text *subject,
                         int64_t id, struct comment *comment, struct error *error);

#endif
