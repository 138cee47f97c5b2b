#include "fanout/comments/live_threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "fanout/comments/live_thread.h"
#include "fanout/screen_watch.h"

static const char PREFIX[] = "comments:";
enum { PREFIX_SIZE = sizeof PREFIX - 1, WHAT_SIZE = PREFIX_SIZE + SUBJECT_MAX };

struct live_threads {
    struct live_threads_options options;
    struct screen_watch *watch;
    struct codec *codec;
    struct thread_told *told; /* the content that is being told; NULL: it could not be read */
    struct {
        struct metric *watching, *subjects, *changes, *replayed, *stales, *comments, *refused, *lost;
    } metrics;
};

/* ---- the threads of a session ---- */

static struct live_thread **place_of(const struct live_threads *threads, const struct session *session) {
    return session_part(session, threads->options.offset);
}

/* The link that leads to the thread; to NULL: the session does not watch it. */
static struct live_thread **find(const struct live_threads *threads, const struct session *session, const char *subject,
                                 size_t size) {
    struct live_thread **link = place_of(threads, session);
    while (*link && (strncmp((*link)->subject, subject, size) != 0 || (*link)->subject[size])) link = &(*link)->next;
    return link;
}

static void remove_thread(struct live_thread **link) {
    struct live_thread *thread = *link;
    *link = thread->next;
    live_thread_drop(thread);
    free(thread);
}

static size_t what_of(const char *subject, char what[WHAT_SIZE + 1]) {
    size_t size = strlen(subject);
    memcpy(what, PREFIX, PREFIX_SIZE);
    memcpy(what + PREFIX_SIZE, subject, size + 1);
    return PREFIX_SIZE + size;
}

/* ---- callbacks of watching ---- */

static void read_content(void *context, const void *content, size_t size) {
    struct live_threads *threads = context;
    thread_told_give(threads->told);
    threads->told = thread_told_new(threads->codec, content, size, threads->options.profiles);
}

static struct live_thread *thread_of(const struct live_threads *threads, uint64_t session, const void *what,
                                     size_t size) {
    return *find(threads, screen_watch_session(session), (const char *)what + PREFIX_SIZE, size - PREFIX_SIZE);
}

static void owe(const struct live_threads *threads, uint64_t session, const struct live_thread *thread) {
    if (live_thread_pending(thread))
        session_owe(threads->options.sessions, screen_watch_session(session), threads->options.place);
}

static void tell_change(void *context, uint64_t session, const void *what, size_t size, struct watch_version since,
                        struct watch_version version, const void *content, size_t content_size) {
    struct live_threads *threads = context;
    struct live_thread *thread = thread_of(threads, session, what, size);
    (void)content;
    (void)content_size;
    if (threads->told)
        live_thread_change(thread, threads->told, since.number, version.number);
    else
        live_thread_stale(thread, version.number, 0);
    owe(threads, session, thread);
}

static void tell_any(void *context, uint64_t session, const void *what, size_t size, const void *content,
                     size_t content_size) {
    struct live_threads *threads = context;
    struct live_thread *thread = thread_of(threads, session, what, size);
    (void)content;
    (void)content_size;
    if (threads->told) live_thread_show(thread, threads->told);
    owe(threads, session, thread);
}

static void tell_stale(void *context, uint64_t session, const void *what, size_t size, struct watch_version version,
                       int64_t after_ms) {
    struct live_threads *threads = context;
    struct live_thread *thread = thread_of(threads, session, what, size);
    live_thread_stale(thread, version.number, after_ms);
    owe(threads, session, thread);
}

static int32_t partition_of(void *context, const void *what, size_t size) {
    const struct live_threads *threads = context;
    return hash_partition((const char *)what + PREFIX_SIZE, size - PREFIX_SIZE, threads->options.partitions);
}

static int write_record(void *context, int32_t partition, const void *key, size_t key_size, const void *value,
                        size_t value_size) {
    const struct live_threads_options *options = &((struct live_threads *)context)->options;
    return options->write(options->context, partition, key, key_size, value, value_size);
}

/* ---- phones ---- */

int live_threads_watch(struct live_threads *threads, struct session *session, const char *subject,
                       const int64_t *version) {
    struct live_thread **link = find(threads, session, subject, strlen(subject));
    const struct watch_version known = {.number = version ? *version : 0};
    char what[WHAT_SIZE + 1];
    size_t size = what_of(subject, what);
    if (!*link) {
        *link = mem_zero(1, sizeof **link);
        memcpy((*link)->subject, subject, size - PREFIX_SIZE + 1);
    }
    live_thread_read(*link, version); // the phone is told at once if that is not the newest
    int code = screen_watch_show(threads->watch, session, what, size, version ? &known : NULL);
    if (code) remove_thread(link);
    return code;
}

void live_threads_unwatch(struct live_threads *threads, struct session *session, const char *subject) {
    struct live_thread **link = find(threads, session, subject, strlen(subject));
    char what[WHAT_SIZE + 1];
    if (!*link) return;
    screen_watch_hide(threads->watch, session, what, what_of(subject, what));
    remove_thread(link);
}

void live_threads_leave(struct live_threads *threads, struct session *session) {
    struct live_thread **first = place_of(threads, session);
    if (*first) screen_watch_leave(threads->watch, session);
    while (*first) remove_thread(first);
}

/* Tells the first thread of which something is pending: its change, or else that its page is stale. */
struct screen_filled live_threads_fill(struct live_threads *threads, struct session *session, struct buffer *frame) {
    struct live_thread *thread = *place_of(threads, session);
    struct screen_filled filled = {.frame = false};
    while (thread && !live_thread_pending(thread)) thread = thread->next;
    if (!thread) return filled;
    if (thread->changed) {
        frame_comments(frame, thread);
        filled.entries = thread->item_count;
        threads->metrics.comments->value += (double)thread->item_count;
    } else {
        frame_stale_thread(frame, thread);
        threads->metrics.stales->value++;
    }
    live_thread_told(thread);
    filled.frame = true;
    for (; thread; thread = thread->next) filled.again = filled.again || live_thread_pending(thread);
    return filled;
}

/* ---- deliveries ---- */

void live_threads_route(struct live_threads *threads, int32_t route) { screen_watch_route(threads->watch, route); }

int live_threads_take(struct live_threads *threads, const struct deliver_envelope *envelope) {
    return screen_watch_take(threads->watch, envelope);
}

void live_threads_record_lost(struct live_threads *threads) { threads->metrics.lost->value++; }

/* ---- beginning and end ---- */

static void collect(void *context) {
    struct live_threads *threads = context;
    struct watch_edge_stats stats;
    screen_watch_stats(threads->watch, &stats);
    threads->metrics.watching->value = (double)stats.sessions;
    threads->metrics.subjects->value = (double)stats.things;
    threads->metrics.changes->value = (double)stats.changes;
    threads->metrics.replayed->value = (double)stats.replayed;
    threads->metrics.refused->value = (double)stats.refused;
}

static void metrics_start(struct live_threads *threads) {
    struct metrics *m = threads->options.metrics;
    threads->metrics.watching =
        metrics_gauge(m, "starling_edge_comments_watching_sessions", "Sessions that watch comments.", NULL);
    threads->metrics.subjects =
        metrics_gauge(m, "starling_edge_comments_subjects", "Subjects whose comments are watched.", NULL);
    threads->metrics.changes = metrics_counter(m, "starling_edge_comments_changes_total",
                                               "Changes of watched threads, once for each session.", NULL);
    threads->metrics.replayed =
        metrics_counter(m, "starling_edge_comments_replayed_total",
                        "Of these, changes that were told again to a phone whose page was a little older.", NULL);
    threads->metrics.stales = metrics_counter(m, "starling_edge_comments_stales_total",
                                              "Times that a phone was told to read its page of comments.", NULL);
    threads->metrics.comments =
        metrics_counter(m, "starling_edge_comments_told_total", "Comments that phones were told of.", NULL);
    threads->metrics.refused =
        metrics_counter(m, "starling_edge_comments_refused_total",
                        "Deliveries of changes that found no room; roll calls repair them.", NULL);
    threads->metrics.lost = metrics_counter(m, "starling_edge_comments_watches_lost_total",
                                            "Watch records that Kafka did not take; roll calls repair them.", NULL);
    metrics_on_collect(m, collect, threads);
}

struct live_threads *live_threads_new(const struct live_threads_options *options) {
    struct live_threads *threads = mem_alloc(sizeof *threads);
    *threads = (struct live_threads){.options = *options, .codec = codec_new()};
    threads->watch = screen_watch_new(options->loop, options->sessions,
                                      &(struct watch_edge_options){
                                          .partitions = options->partitions,
                                          .things = options->subjects,
                                          .session_things = options->session_subjects,
                                          .replay_bytes = options->replay_bytes,
                                          .context = threads,
                                          .partition = partition_of,
                                          .write = write_record,
                                          .content = read_content,
                                          .tell_change = tell_change,
                                          .tell_any = tell_any,
                                          .tell_stale = tell_stale,
                                      });
    metrics_start(threads);
    return threads;
}

void live_threads_free(struct live_threads *threads) {
    if (!threads) return;
    screen_watch_free(threads->watch);
    thread_told_give(threads->told);
    codec_free(threads->codec);
    free(threads);
}
