/* The threads that sessions of an edge watch: connects watching (fanout/screen_watch.h) with sessions.
 *
 *     live_threads_watch --> watch_edge ----> write: topic comment-watches
 *     live_threads_take ---> watch_edge ----> thread_told, once for all sessions ----> live_thread ----> live_threads_fill
 *
 * A session's part of the memory is the first of its live_threads, NULL while it watches nothing. Each is freed when its thread is no longer
 * watched. The loop's thread.
 */
#ifndef FANOUT_COMMENTS_LIVE_THREADS_H
#define FANOUT_COMMENTS_LIVE_THREADS_H

#include "base/metrics.h"
#include "fanout/screen.h"
#include "fanout/sessions.h"

struct live_threads;

struct live_threads_options {
    uv_loop_t *loop;
    struct metrics *metrics;
    struct sessions *sessions;
    struct profiles *profiles;
    size_t offset; /* of the pointer in a session */
    unsigned place;
    int32_t partitions;      /* of subjects */
    size_t session_subjects; /* that one session watches at most */
    size_t subjects;         /* that all watch */
    size_t replay_bytes;     /* as in struct watch_edge_options */
    void *context;
    int (*write)(void *context, int32_t partition, const void *key, size_t key_size, const void *value,
                 size_t value_size); /* the same */
};

struct live_threads *live_threads_new(const struct live_threads_options *options);
void live_threads_free(struct live_threads *threads); /* after the last session; NULL is fine */

void live_threads_route(struct live_threads *threads,
                        int32_t route); /* deliveries come by it from now on; -1: by none */
int live_threads_take(struct live_threads *threads, const struct deliver_envelope *envelope); /* 0, or -EBADMSG */
void live_threads_record_lost(struct live_threads *threads); /* one that was written did not get to Kafka */

/* The session's phone has a page of the subject of that version (NULL: the phone did not name one), and is told of every change after it.
 * A repeated call names the version of the phone's new page. 0; -E2BIG: the session watches too many subjects; -ENOSPC: all do. */
int live_threads_watch(struct live_threads *threads, struct session *session, const char *subject,
                       const int64_t *version);
void live_threads_unwatch(struct live_threads *threads, struct session *session, const char *subject);
void live_threads_leave(struct live_threads *threads, struct session *session); /* it is about to be freed */

struct screen_filled live_threads_fill(struct live_threads *threads, struct session *session, struct buffer *frame);

#endif
