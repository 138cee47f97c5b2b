/* Shared by the files of watched threads: the table and what is gathered (watched_threads.c), and what is told (watched_threads_news.c). */
#pragma once

#include "base/map.h"
#include "comments/watched_threads.h"

struct watched_thread {
    struct watched_thread *same; /* of the same hash */
    struct watched_thread *before, *after, *next_due;
    uint64_t hash;
    int32_t partition;
    bool queued, dead;
    int64_t due_ms, told_ms; /* due_ms: not before that */

    bool anew;  /* `state` is not known */
    bool known; /* edges were told `version` */
    int64_t version,
        shown; /* shown: while it is sampled, the version of the totals and counters that edges were told */
    struct subject_state state; /* of the newest record */
    bool pages_differ;          /* in a way that no change tells: pages are to be read again */
    uint64_t named_at;          /* slices of the partition that had begun when the state was looked up */

    struct thread_change *changes;
    size_t count, capacity;
    struct map *places;    /* id -> index of changes */
    int64_t text_since_ms; /* a text is waited for since then; 0: none */

    double allowed; /* events that may be told now */
    int64_t allowed_ms;
    bool sampled;
    bool left_out, open_left_out; /* there was no room for some changes; open: of the next version */
    int64_t sampled_since_ms, sampled_until_ms, resynced_ms;
    size_t size;
    char subject[SUBJECT_MAX + 1];
};

struct watched_threads {
    int32_t partitions;
    int64_t events_per_s;
    struct map *by_hash;
    size_t count;
    struct watched_part {
        struct watched_thread *first;
        bool subject_last; /* the last record was a subject's */
        uint64_t slices;   /* that have begun: comments after a subject */
    } * parts;
    struct watched_thread *first_due, *last_due;
    size_t due_count;
    struct thread_change *items, *counters; /* of the last news */
    size_t item_room, counter_room;
};

/* The thread is looked at when that time has come, or sooner. */
void watched_threads_due_by(struct watched_threads *threads, struct watched_thread *thread, int64_t due_ms);
/* Adds a change of a comment that the thread does not have. */
struct thread_change *watched_thread_add(struct watched_thread *thread, int64_t id);

static inline bool watched_comment_gone(const struct comment *comment) {
    return comment->state == COMMENT_HIDDEN || comment->state == COMMENT_DELETED;
}
