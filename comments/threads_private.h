/* Between comments/threads*.c. */
#pragma once

#include "base/map.h"
#include "comments/threads.h"
#include "state/table_store.h"

enum threads_kind {
    KIND_SUBJECT = 's',
    KIND_COMMENT = 'c',
    KIND_FLOOR = 'f',
    KIND_ANSWER = 'a',
    KIND_HEAT = 'h',
    KIND_REACTION = 'r',
    KIND_KEY = 'k',
    KIND_RESTED = 'u',
    KIND_REFUSAL = 'o',
    KIND_REFUSAL_TIME = 'p',
    KIND_NUMBERS = 'm'
};

enum { THREADS_INDEXES = 2 /* a part that was written with other indexes is read anew */ };
enum { THREADS_KEY_MAX = 2 * 8 + SUBJECT_KEY_MAX + COMMENT_CLIENT_KEY_MAX, THREADS_LIKES_MAX = 50000 };

struct threads_part {
    struct store_family *index, *texts; /* NULL: it was never opened */
    int64_t refusals_ms; /* there is no refusal that is older: what was forgotten before is not walked over again */
    struct map *refused; /* a hash of each key that may be refused -> when it was last; NULL: any may be */
};

/* A key that is being put together. */
struct threads_key {
    uint8_t bytes[THREADS_KEY_MAX];
    size_t size;
};

/* A key that is looked up with others, and what was found. */
struct ahead_row {
    struct store_family *family;
    uint64_t hash;
    size_t key, value; /* where they begin in the bytes */
    uint32_t key_size, value_size;
    enum { AHEAD_WANTED, AHEAD_NONE, AHEAD_THERE } state;
};

/* Rows that are read ahead of their use (comments/threads_ahead.c). Zero-initialised: empty. */
struct threads_ahead {
    struct buffer bytes;
    struct ahead_row *rows;
    size_t count, capacity, found; /* found: of the first so many it is known */
    uint32_t *sorted;              /* numbers of rows */
    uint32_t *table;               /* by hash: 1 + the number of a row; 0: none */
    size_t mask;
};
void threads_ahead_free(struct threads_ahead *ahead);
/* 1: the value was found; 0: it is known that there is none; -1: it was not read ahead. */
int threads_ahead_get(const struct threads_ahead *ahead, const struct store_family *family,
                      const struct threads_key *key, struct buffer *value);

struct threads {
    struct store *store;
    struct table_store *table;
    struct store_batch *batch; /* the table's */
    struct codec *codec;
    struct map *
        likes; /* of roots, as the index by heat has them: all that are in the batch, and some that were read: id -> likes */
    struct threads_part *parts;
    int32_t partitions;
    struct threads_ahead ahead;
    struct threads_rows *rows;
    struct buffer value;
};

void threads_key_start(struct threads_key *key, enum threads_kind kind, const struct event_text *subject);
void threads_key_number(struct threads_key *key, int64_t number);
void threads_key_floor(struct threads_key *key, int32_t floor);
void threads_key_bytes(struct threads_key *key, const void *bytes, size_t size);
void threads_key_heat(struct threads_key *key, const struct event_text *subject, int64_t heat, int64_t id);

int threads_damaged(struct error *error, const char *what); /* -EBADMSG */

/* Which of the store's keys of refusals there may be: after threads_refused_read or _none. */
void threads_refused_none(struct threads_part *part);
int threads_refused_read(struct threads *threads, struct threads_part *part, struct error *error);
void threads_refused_put(struct threads_part *part, const void *key, size_t size, int64_t time_ms);
bool threads_refused_has(const struct threads_part *part, const void *key, size_t size);

/* The record of a comment in the store: 1, 0 or a negative code. */
int threads_read_comment(struct threads *threads, const struct threads_part *part, const struct event_text *subject,
                         int64_t id, struct comment *comment, struct error *error);
