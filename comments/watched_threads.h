/* Gathers the news of watched subjects of owned partitions until edges are told. Pure; one thread.
 *
 *     records of `comments`:  comment ... comment, subject, comment, subject ...
 *                                |                 |
 *                                v                 v
 *     a thread's changes      open ----------> closed ----------> watched_thread_news ----> CHANGE since -> version
 *                             of the next       of the newest                               SHOW   sampled
 *                             version           version                                     NAME   version; pages are read again
 *
 * A slice of commands writes its comments first and then the subject with the new version (comments/decisions.h). So a comment belongs to
 * the subject's record that follows, and a page of a version has at least all comments of it. A change since -> version holds all that
 * happened between the two, so that it makes every page of a version between them one of `version`.
 *
 * A thread is *sampled* when more happens than it is allowed: then counters wait their turn, the oldest new comments are left out, and
 * comments that are gone or edited are told as always. Once everything has fitted for a while, the version is named; of a fire that goes on, once a
 * minute, as deliveries may get lost and counters may wait for ever.
 */
#pragma once

#include "comments/rules.h"

enum {
    WATCHED_THREAD_GATHER_MS = 100,   /* between two times that edges are told of a thread */
    WATCHED_THREAD_CHANGES = 10000,   /* that wait; of further ones, only those that are gone are kept */
    WATCHED_THREAD_TEXTS = 512 << 10, /* bytes of texts that are told at once */
    WATCHED_THREAD_GONE = 2000,       /* comments that are gone which are told at once; so a message stays below 1 MB */
    WATCHED_THREAD_TEXT_MS = 2000,    /* a text that is not read after that time makes pages be read again */
    WATCHED_THREAD_REST_MS = 1000,    /* a thread is sampled until everything has fitted for so long */
    WATCHED_THREAD_RESYNC_MS = 10000, /* and at least so long after pages were last read again for that */
    WATCHED_THREAD_SAMPLED_MS = 60000 /* after that time pages are read again even if it goes on */
};

/* A comment that has changed since edges were told. */
struct thread_change {
    int64_t id;
    struct comment now;
    bool state;        /* it is new, or its state or text has changed; else only its counters have */
    bool edited;       /* its text has changed */
    bool closed, open; /* a part of the change belongs to the newest version; a part belongs to the next one */
    bool later;        /* there was no room for it although it is gone: it is told next time */
};

struct watched_thread; /* a subject */
struct watched_threads;

struct watched_threads *watched_threads_new(int32_t partitions, int64_t events_per_s);
void watched_threads_free(struct watched_threads *threads); /* NULL is fine */
size_t watched_threads_count(const struct watched_threads *threads);

struct watched_thread *watched_threads_find(const struct watched_threads *threads, const struct event_text *subject);
/* Adds a thread, or finds it. A new one is due, and its state is not known yet. */
struct watched_thread *watched_threads_put(struct watched_threads *threads, const struct event_text *subject,
                                           int32_t partition);
void watched_threads_remove(struct watched_threads *threads, struct watched_thread *thread);
void watched_threads_remove_all(struct watched_threads *threads, int32_t partition);

const char *watched_thread_subject(const struct watched_thread *thread); /* NUL-terminated */
int32_t watched_thread_partition(const struct watched_thread *thread);
bool watched_thread_version(const struct watched_thread *thread,
                            int64_t *version); /* as edges were told; false: not yet */

/* The version of a subject: it rises with each change of its comments, states, pins, settings and likes. */
static inline int64_t thread_version(const struct subject_state *state) { return state->structure + state->counters; }

/* ---- records ---- */

/* The records of `comments` follow, and no thread of the partition is watched. first: they are the first ones that there are. */
void watched_threads_begin(struct watched_threads *threads, int32_t partition, bool first);
/* A record of `comments` was read, whether anybody watches its subject or not: of a subject, or of a comment. */
void watched_threads_passed(struct watched_threads *threads, int32_t partition, bool subject);
/* Whether the thread has this comment already. If not, the caller looks its former state up. */
bool watched_thread_has(const struct watched_thread *thread, int64_t id);
/* The comment has changed. was: its former state; NULL: there was none. Not looked at if the thread has the comment. */
void watched_threads_comment(struct watched_threads *threads, struct watched_thread *thread, int64_t id,
                             const struct comment *was, const struct comment *now);
void watched_threads_subject(struct watched_threads *threads, struct watched_thread *thread,
                             const struct subject_state *now);
/* Pages must be read again: the thread's state is to be looked up. */
void watched_threads_anew(struct watched_threads *threads, struct watched_thread *thread);

/* ---- telling ---- */

/* Takes the next thread of which edges may be told now; NULL: there is none. */
struct watched_thread *watched_threads_due(struct watched_threads *threads, int64_t now_ms);

bool watched_thread_is_anew(const struct watched_thread *thread);
/* The state of a thread that is anew, as it is in the store. */
void watched_thread_known(struct watched_thread *thread, const struct subject_state *state);

enum thread_news_is {
    THREAD_NEWS_NONE,   /* nothing to tell now */
    THREAD_NEWS_CHANGE, /* since -> version */
    THREAD_NEWS_SHOW,   /* sampled: for every page, and no page's version changes */
    THREAD_NEWS_NAME    /* version: pages are to be read again */
};

/* The news for edges; the lists are valid until the next call. A comment that is not visible any more is in `items`. */
struct thread_news {
    enum thread_news_is is;
    int64_t since, version, total, likes;         /* likes: of the subject itself */
    const struct thread_change *items, *counters; /* by rising id */
    size_t item_count, counter_count;
};

/* How long the comment's newest text is, in bytes; -1: it is not read yet. */
typedef int64_t watched_text_size(void *context, const struct watched_thread *thread,
                                  const struct thread_change *change);
/* Takes what edges are to be told of a thread that was due. */
struct thread_news watched_thread_news(struct watched_threads *threads, struct watched_thread *thread, int64_t now_ms,
                                       watched_text_size *text, void *context);
