/* Comments as a screen: the threads that sessions of an edge watch.
 *
 *     phone ---- watch, unwatch ---> request.c ---> screen_watch ----> topic comment-watches
 *           <--- comments, stale <--- live_thread.c <--- change.c (thread_told, once for all sessions) <--- screen_watch <--- deliveries
 *
 * A session's part of the memory is the first of its live_threads, NULL while it watches nothing. Each is freed when its thread is no longer
 * watched.
 */
#include "fanout/screens.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "event/topics.h"
#include "fanout/authors.h"
#include "fanout/comments/live_thread.h"
#include "fanout/comments/request.h"
#include "fanout/screen_watch.h"
#include "fanout/sessions.h"

struct comments_screen_settings {
    int64_t subjects, replay_kb;
};

#define AT(member) offsetof(struct comments_screen_settings, member)

static const struct config_property PROPERTIES[] = {
    {"edge.comments.subjects", CONFIG_INT, AT(subjects), "20", .min = 1, .max = 1000,
     .doc = "Subjects whose comments one session may watch at once. A further one is refused with too_many_subjects."},
    {"edge.comments.replay.kb", CONFIG_INT, AT(replay_kb), "64", .max = 65536,
     .doc =
         "Latest changes of each watched thread that an edge keeps, in KiB: a phone whose page is a little older is told "
         "them, and need not read its page again. 32 MiB at most for all threads together."},
};

static struct comments_screen_settings configured;

const struct config_section COMMENTS_SCREEN_SECTION = {"Edge: comments (starling-fanout)", PROPERTIES,
                                                       ARRAY_SIZE(PROPERTIES), &configured};

static const char PREFIX[] = "comments:";
enum { PREFIX_SIZE = sizeof PREFIX - 1, WHAT_SIZE = PREFIX_SIZE + SUBJECT_MAX };
enum { SUBJECTS_A_SESSION = 4 /* on average, of as many sessions as there may be */ };

struct live_threads {
    struct screen_options core;
    struct authors *authors;
    struct screen_watch *watch;
    struct codec *codec;
    struct thread_told *told; /* the content that is being told; NULL: it could not be read */
    struct {
        struct metric *stales, *comments, *lost;
    } metrics;
};

/* ---- the threads of a session ---- */

static struct live_thread **place_of(const struct live_threads *threads, const struct session *session) {
    return session_part(session, threads->core.offset);
}

/* The link that leads to the thread; to NULL: the session does not watch it. */
static struct live_thread **find(const struct live_threads *threads, const struct session *session, const char *subject,
                                 size_t size) {
    struct live_thread **link = place_of(threads, session);
    while (*link && (strncmp((*link)->subject, subject, size) != 0 || (*link)->subject[size])) link = &(*link)->next;
    return link;
}

/* A question whether the user of a session may see a post, whose comments the session watches. */
struct thread_sight {
    struct live_threads *threads;
    struct session *session;
    struct live_thread *thread; /* NULL: it is no longer watched */
};

static void remove_thread(struct live_thread **link) {
    struct live_thread *thread = *link;
    if (thread->sight) thread->sight->thread = NULL;
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
    threads->told = thread_told_new(threads->codec, content, size, threads->core.profiles);
}

static struct live_thread *thread_of(const struct live_threads *threads, uint64_t session, const void *what,
                                     size_t size) {
    return *find(threads, screen_watch_session(session), (const char *)what + PREFIX_SIZE, size - PREFIX_SIZE);
}

static void sight_answered(void *context, enum sight_answer answer) {
    struct thread_sight *sight = context;
    struct live_threads *threads = sight->threads;
    struct live_thread *thread = sight->thread;
    if (thread) {
        thread->sight = NULL;
        if (answer != SIGHT_YES && thread->changed) live_thread_deny(thread);
        if (live_thread_pending(thread)) session_owe(threads->core.sessions, sight->session, threads->core.place);
    }
    free(sight);
}

/* Whether the session may be told what is pending; else that is asked. A change says something of the thread, a stale only that there is
 * one. What is delivered may be old: the post's author's owner knows who may see it now. */
static bool may_tell(struct live_threads *threads, struct session *session, struct live_thread *thread) {
    struct sights *sights = authors_sights(threads->authors);
    if (!thread->changed || !thread->post || sights_may_see(sights, thread->post, session_user(session))) return true;
    if (thread->sight) return false;
    thread->sight = MEM_NEW(&(struct thread_sight){threads, session, thread});
    sights_ask(sights, &(struct sights_wish){.reader = session_user(session),
                                             .author = -1,
                                             .post = thread->post,
                                             .context = thread->sight,
                                             .done = sight_answered});
    return false;
}

static void owe(struct live_threads *threads, uint64_t session, struct live_thread *thread) {
    if (live_thread_pending(thread) && may_tell(threads, screen_watch_session(session), thread))
        session_owe(threads->core.sessions, screen_watch_session(session), threads->core.place);
}

static void tell_change(void *context, uint64_t session, const void *what, size_t size, struct watch_version since,
                        struct watch_version version, const void *content, size_t content_size) {
    struct live_threads *threads = context;
    struct live_thread *thread = thread_of(threads, session, what, size);
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
    return hash_partition((const char *)what + PREFIX_SIZE, size - PREFIX_SIZE,
                          threads->core.shape->partitions[TOPIC_SPACE_SUBJECTS]);
}

static int write_watch(void *context, int32_t partition, const void *key, size_t key_size, const void *value,
                       size_t value_size) {
    const struct live_threads *threads = context;
    return kafka_producer_send(threads->core.producer, &TOPIC_COMMENT_WATCHES, partition, key, key_size, value,
                               value_size, NULL)
               ? -EAGAIN
               : 0;
}

/* ---- phones ---- */

/* The session's phone has a page of the subject of that version (NULL: the phone did not name one), and is told of every change after it.
 * A repeated call names the version of the phone's new page. 0; -E2BIG: the session watches too many subjects; -ENOSPC: all do. */
static int watch(struct live_threads *threads, struct session *session, const char *subject, const int64_t *version) {
    struct live_thread **link = find(threads, session, subject, strlen(subject));
    const struct watch_version known = {.number = version ? *version : 0};
    char what[WHAT_SIZE + 1];
    size_t size = what_of(subject, what);
    if (!*link) {
        *link = mem_zero(1, sizeof **link);
        memcpy((*link)->subject, subject, size - PREFIX_SIZE + 1);
        (*link)->post = sights_post_of(subject);
    }
    live_thread_read(*link, version); // the phone is told at once if that is not the newest
    int code = screen_watch_show(threads->watch, session, what, size, version ? &known : NULL);
    if (code) remove_thread(link);
    return code;
}

static void unwatch(struct live_threads *threads, struct session *session, const char *subject) {
    struct live_thread **link = find(threads, session, subject, strlen(subject));
    char what[WHAT_SIZE + 1];
    if (!*link) return;
    screen_watch_hide(threads->watch, session, what, what_of(subject, what));
    remove_thread(link);
}

static int message(void *context, struct session *session, const char *type, const json_t *object, const char **code,
                   struct error *error) {
    struct live_threads *threads = context;
    struct thread_request request;
    int result = thread_request_parse(type, object, &request, code, error);
    if (result) return result;
    if (!request.watch) {
        unwatch(threads, session, request.subject);
        return 0;
    }
    result = watch(threads, session, request.subject, request.has_version ? &request.version : NULL);
    *code = result == -E2BIG ? "too_many_subjects" : "too_many_watches";
    if (result == -E2BIG) return error_set(error, -EINVAL, "this session watches too many subjects");
    return result ? error_set(error, -EINVAL, "too many subjects are watched here just now; try again later") : 0;
}

static void leave(void *context, struct session *session) {
    struct live_threads *threads = context;
    struct live_thread **first = place_of(threads, session);
    if (*first) screen_watch_leave(threads->watch, session);
    while (*first) remove_thread(first);
}

/* Tells the first thread of which something is pending: its change, or else that its page is stale. */
static struct screen_filled fill(void *context, struct session *session, struct buffer *frame) {
    struct live_threads *threads = context;
    struct live_thread *thread = *place_of(threads, session);
    struct screen_filled filled = {.frame = false};
    while (thread && !(live_thread_pending(thread) && may_tell(threads, session, thread))) thread = thread->next;
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
    for (; thread; thread = thread->next)
        filled.again = filled.again || (live_thread_pending(thread) && !thread->sight);
    return filled;
}

/* ---- deliveries ---- */

static void routes(void *context, int32_t first) { screen_watch_route(((struct live_threads *)context)->watch, first); }

static int delivery(void *context, int32_t route, const struct deliver_envelope *envelope) {
    return screen_watch_take(((struct live_threads *)context)->watch, envelope);
}

static void produced(void *context, void *opaque, int code, const struct topic *topic) {
    struct live_threads *threads = context;
    if (topic == &TOPIC_COMMENT_WATCHES && code) threads->metrics.lost->value++;
}

/* ---- beginning and end ---- */

static void collect(void *context) {
    const struct live_threads *threads = context;
    struct watch_edge_stats stats;
    screen_watch_stats(threads->watch, &stats);
    const struct metric_now now[] = {
        {"starling_edge_comments_watching_sessions", "Sessions that watch comments.", (double)stats.sessions},
        {"starling_edge_comments_subjects", "Subjects whose comments are watched.", (double)stats.things},
        {"starling_edge_comments_changes_total", "Changes of watched threads, once for each session.",
         (double)stats.changes},
        {"starling_edge_comments_replayed_total",
         "Of these, changes that were told again to a phone whose page was a little older.", (double)stats.replayed},
        {"starling_edge_comments_refused_total", "Deliveries of changes that found no room; roll calls repair them.",
         (double)stats.refused},
    };
    metrics_set(service_metrics(threads->core.service), now, ARRAY_SIZE(now));
}

static void metrics_start(struct live_threads *threads) {
    struct metrics *m = service_metrics(threads->core.service);
    threads->metrics.stales = metrics_counter(m, "starling_edge_comments_stales_total",
                                              "Times that a phone was told to read its page of comments.", NULL);
    threads->metrics.comments =
        metrics_counter(m, "starling_edge_comments_told_total", "Comments that phones were told of.", NULL);
    threads->metrics.lost = metrics_counter(m, "starling_edge_comments_watches_lost_total",
                                            "Watch records that Kafka did not take; roll calls repair them.", NULL);
    metrics_on_collect(m, collect, threads);
}

static void stop(void *context) {
    struct live_threads *threads = context;
    if (!threads) return;
    authors_stop(threads->authors);
    screen_watch_free(threads->watch);
    authors_free(threads->authors);
    thread_told_give(threads->told);
    codec_free(threads->codec);
    free(threads);
}

static int start(const struct screen_options *options, void **made, struct error *error) {
    struct live_threads *threads = MEM_NEW(&(struct live_threads){.core = *options, .codec = codec_new()});
    const struct feed_screen_settings *feeds = FEED_SCREEN_SECTION.values;
    int code = authors_new(options, feeds->group, &threads->authors, error);
    if (code) {
        codec_free(threads->codec);
        free(threads);
        return code;
    }
    threads->watch = screen_watch_new(service_loop(options->service), options->sessions,
                                      &(struct watch_edge_options){
                                          .partitions = options->shape->partitions[TOPIC_SPACE_SUBJECTS],
                                          .things = SUBJECTS_A_SESSION * (size_t)options->settings->max_sessions,
                                          .session_things = (size_t)configured.subjects,
                                          .replay_bytes = (size_t)configured.replay_kb << 10,
                                          .context = threads,
                                          .partition = partition_of,
                                          .write = write_watch,
                                          .content = read_content,
                                          .tell_change = tell_change,
                                          .tell_any = tell_any,
                                          .tell_stale = tell_stale,
                                      });
    metrics_start(threads);
    *made = threads;
    return 0;
}

const struct screen COMMENTS_SCREEN = {
    .name = "comments",
    .kind = SCREEN_COMMENTS,
    .session_bytes = sizeof(struct live_thread *),
    .start = start,
    .stop = stop,
    .message = message,
    .delivery = delivery,
    .produced = produced,
    .routes = routes,
    .fill = fill,
    .free = leave,
};
