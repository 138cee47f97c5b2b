#include "comments/thread_watches.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "comments/parts.h"
#include "comments/watched_threads.h"
#include "edits/encode.h"
#include "watch/owner.h"

enum {
    WORK_MS = 10,  /* between two turns, when there is nothing left over */
    THREADS = 40,  /* of which one turn tells edges */
    WATCHES = 500, /* that lib/watch looks at in one turn */
};

static const char PREFIX[] = "comments:";
enum { PREFIX_SIZE = sizeof PREFIX - 1, WHAT_SIZE = PREFIX_SIZE + SUBJECT_MAX };

/* A text that was read for what edges are about to be told. */
struct told_text {
    int64_t comment; /* first, and rising */
    size_t at, size; /* in the bytes */
};

struct thread_watches {
    const struct comments *comments;
    struct watch_owner *owner;
    struct watched_threads *watched;
    struct codec *codec;
    struct loop_timer *work;
    struct buffer content, bytes;
    struct told_text *told;
    size_t told_count, told_room;
    struct changed_comment *items;
    struct event_text *texts;
    struct changed_counters *counters;
    int64_t *gone;
    size_t item_room, counter_room;
    struct {
        struct metric *threads, *told, *named, *asked, *sampled;
    } metrics;
};

static int64_t now_ms(void) { return clock_monotonic_us() / 1000; }

static void soon(struct thread_watches *watches) { loop_timer_again(watches->work, 0, WORK_MS); }

static struct event_text text_of(const char *subject) { return (struct event_text){subject, strlen(subject)}; }

/* ---- names ---- */

static size_t what_of(const struct watched_thread *thread, char what[WHAT_SIZE + 1]) {
    const char *subject = watched_thread_subject(thread);
    size_t size = strlen(subject);
    memcpy(what, PREFIX, PREFIX_SIZE);
    memcpy(what + PREFIX_SIZE, subject, size + 1);
    return PREFIX_SIZE + size;
}

/* Reads the subject from the name of a thing. False: it names no subject of the partition. */
static bool subject_of(const struct thread_watches *watches, int32_t partition, const void *what, size_t size,
                       struct event_text *subject) {
    if (size <= PREFIX_SIZE || memcmp(what, PREFIX, PREFIX_SIZE) != 0) return false;
    *subject = (struct event_text){(const char *)what + PREFIX_SIZE, size - PREFIX_SIZE};
    return subject_valid(subject->data, subject->size) &&
           hash_partition(subject->data, subject->size, watches->comments->partitions) == partition;
}

/* ---- lib/watch ---- */

/* A thread's version is read in a later turn, when the records of this one are in the store. */
static bool version_of(void *context, int32_t partition, const void *what, size_t size, struct watch_version *version) {
    struct thread_watches *watches = context;
    struct event_text subject;
    if (!subject_of(watches, partition, what, size, &subject)) return false;
    *version = (struct watch_version){.number = 0};
    bool known = watched_thread_version(watched_threads_put(watches->watched, &subject, partition), &version->number);
    if (!known) soon(watches);
    return known;
}

static void watched_or_not(void *context, int32_t partition, const void *what, size_t size, bool now) {
    struct thread_watches *watches = context;
    struct event_text subject;
    if (now || !subject_of(watches, partition, what, size, &subject)) return;
    struct watched_thread *thread = watched_threads_find(watches->watched, &subject);
    if (thread) watched_threads_remove(watches->watched, thread);
}

/* ---- records ---- */

static void take_comment(struct thread_watches *watches, struct watched_thread *thread,
                         const struct kafka_record *record, const struct event_text *subject, int64_t id) {
    struct comment now, was;
    struct error error;
    int found = 0;
    if (!record->value || event_decode_comment(watches->codec, record->value, record->value_size, &now, &error))
        return; // the store refuses it, too
    if (!watched_thread_has(thread, id))
        found = threads_comment(watches->comments->threads, record->partition, subject, id, &was, &error);
    if (found < 0)
        tasks_store_failed(watches->comments->tasks, record->partition, found, &error);
    else
        watched_threads_comment(watches->watched, thread, id, found ? &was : NULL, &now);
}

static void take_subject(struct thread_watches *watches, struct watched_thread *thread,
                         const struct kafka_record *record) {
    struct comment_subject subject;
    struct subject_state state;
    struct error error;
    if (!record->value ||
        event_decode_comment_subject(watches->codec, record->value, record->value_size, &subject, &error) ||
        !threads_subject_of(&subject, &state))
        return;
    watched_threads_subject(watches->watched, thread, &state);
    soon(watches);
}

void thread_watches_comments(struct thread_watches *watches, const struct kafka_record *record) {
    struct subject_key parts;
    if (!subject_key_read(record->key, record->key_size, &parts) || parts.numbers > 1) return;
    watched_threads_passed(watches->watched, record->partition, !parts.numbers);
    if (!watch_owner_is_live(watches->owner, record->partition)) return;
    struct event_text subject = {parts.subject, parts.size};
    struct watched_thread *thread = watched_threads_find(watches->watched, &subject);
    if (thread)
        tracer_park(service_kafka(watches->comments->service)->tracer, watches, hash_bytes(subject.data, subject.size));
    if (thread && parts.numbers)
        take_comment(watches, thread, record, &subject, parts.comment);
    else if (thread)
        take_subject(watches, thread, record);
}

/* ---- telling ---- */

static void keep_text(struct thread_watches *watches, int64_t id, const struct event_text *text) {
    MEM_ROOM(watches->told, watches->told_count, watches->told_room);
    watches->told[watches->told_count++] =
        (struct told_text){.comment = id, .at = watches->bytes.size, .size = text->size};
    buffer_append(&watches->bytes, text->data, text->size);
}

/* The size of a comment's text, which is kept until the thread is told; -1: it is not read yet. Comments are asked for by rising id. */
static int64_t text_size(void *context, const struct watched_thread *thread, const struct thread_change *change) {
    struct thread_watches *watches = context;
    struct event_text subject = text_of(watched_thread_subject(thread));
    struct comment_text text;
    struct error error;
    int code =
        threads_text(watches->comments->threads, watched_thread_partition(thread), &subject, change->id, &text, &error);
    if (code < 0) tasks_store_failed(watches->comments->tasks, watched_thread_partition(thread), code, &error);
    if (code != 1 || !text.text.size || text.version < change->now.version) return -1;
    keep_text(watches, change->id, &text.text);
    return (int64_t)text.text.size;
}

static struct event_text told_text_of(const struct thread_watches *watches, const struct thread_change *change) {
    size_t place = sorted_items_below(watches->told, sizeof *watches->told, watches->told_count, change->id);
    const struct told_text *told = &watches->told[place];
    if (change->now.state != COMMENT_VISIBLE || place == watches->told_count || told->comment != change->id)
        return (struct event_text){"", 0};
    return (struct event_text){(const char *)watches->bytes.data + told->at, told->size};
}

static struct changed_comment item_of(const struct thread_change *change) {
    const struct comment *comment = &change->now;
    return (struct changed_comment){.id = change->id,
                                    .user = comment->user,
                                    .state = (enum changed_comment_state)comment->state,
                                    .time = comment_time(change->id, comment),
                                    .floor = comment->floor,
                                    .root = comment->root,
                                    .answers = comment->answers,
                                    .likes = comment->likes,
                                    .replies = comment->replies,
                                    .version = comment->version,
                                    .edited = comment->edited};
}

static void put_items(struct thread_watches *watches, const struct thread_news *news) {
    if (watches->item_room < news->item_count) {
        watches->item_room = news->item_count;
        watches->items = mem_resize(watches->items, watches->item_room, sizeof *watches->items);
        watches->texts = mem_resize(watches->texts, watches->item_room, sizeof *watches->texts);
        watches->gone = mem_resize(watches->gone, watches->item_room, sizeof *watches->gone);
    }
    for (size_t i = 0; i < news->item_count; i++) {
        watches->items[i] = item_of(&news->items[i]);
        watches->texts[i] = told_text_of(watches, &news->items[i]);
    }
}

static void put_counters(struct thread_watches *watches, const struct thread_news *news) {
    MEM_FIT(watches->counters, news->counter_count, watches->counter_room);
    for (size_t i = 0; i < news->counter_count; i++)
        watches->counters[i] = (struct changed_counters){
            .id = news->counters[i].id, .likes = news->counters[i].now.likes, .replies = news->counters[i].now.replies};
}

static void put_content(struct thread_watches *watches, const struct thread_news *news) {
    size_t gone = 0;
    put_items(watches, news);
    put_counters(watches, news);
    for (size_t i = 0; i < news->item_count; i++)
        if (news->items[i].now.state != COMMENT_VISIBLE) watches->gone[gone++] = news->items[i].id;
    const struct comment_change change = {.sampled = news->is == THREAD_NEWS_SHOW,
                                          .since = news->since,
                                          .version = news->version,
                                          .total = news->total,
                                          .items = {.items = watches->items, .count = news->item_count},
                                          .texts = {.items = watches->texts, .count = news->item_count},
                                          .gone = {.items = watches->gone, .count = gone},
                                          .counters = {.items = watches->counters, .count = news->counter_count},
                                          .likes = news->likes};
    buffer_clear(&watches->content);
    edit_encode_comment_change(&watches->content, &change);
}

/* Looks the state of a thread up; a subject that nobody has registered has empty pages. False: it cannot be read. */
static bool look_up(struct thread_watches *watches, struct watched_thread *thread) {
    struct event_text subject = text_of(watched_thread_subject(thread));
    struct subject_state state = {.owner = 0};
    struct error error;
    int code = threads_subject(watches->comments->threads, watched_thread_partition(thread), &subject, &state, &error);
    if (code < 0)
        tasks_store_failed(watches->comments->tasks, watched_thread_partition(thread), code, &error);
    else
        watched_thread_known(thread, &state);
    return code >= 0;
}

static void tell(struct thread_watches *watches, struct watched_thread *thread) {
    char what[WHAT_SIZE + 1];
    size_t size = what_of(thread, what);
    int32_t partition = watched_thread_partition(thread);
    if (watched_thread_is_anew(thread) && !look_up(watches, thread)) return;
    buffer_clear(&watches->bytes);
    watches->told_count = 0;
    struct thread_news news = watched_thread_news(watches->watched, thread, now_ms(), text_size, watches);
    struct watch_version since = {.number = news.since}, version = {.number = news.version};
    if (news.is == THREAD_NEWS_NAME) watch_owner_name(watches->owner, partition, what, size, version);
    if (news.is == THREAD_NEWS_NAME || news.is == THREAD_NEWS_NONE) return;
    put_content(watches, &news);
    const struct buffer *content = &watches->content;
    if (news.is == THREAD_NEWS_CHANGE)
        watch_owner_change(watches->owner, partition, what, size, since, version, content->data, content->size);
    else
        watch_owner_show(watches->owner, partition, what, size, content->data, content->size);
    watches->metrics.sampled->value += news.is == THREAD_NEWS_SHOW;
}

/* A trace waits as long as the thread: for texts that are not read yet. */
static void tell_traced(struct thread_watches *watches, struct watched_thread *thread) {
    struct tracer *tracer = service_kafka(watches->comments->service)->tracer;
    const char *subject = watched_thread_subject(thread);
    uint64_t number = hash_bytes(subject, strlen(subject));
    struct trace_scope scope;
    bool traced = tracer_parked(tracer, watches, number, &scope, NULL);
    scope.used = false;
    struct trace_scope *before = tracer_enter(tracer, traced ? &scope : NULL);
    tell(watches, thread);
    tracer_enter(tracer, before);
    if (traced && scope.used) tracer_forget(tracer, watches, number);
}

/* True: others are left. */
static bool tell_some(struct thread_watches *watches) {
    for (int i = 0; i < THREADS; i++) {
        struct watched_thread *thread = watched_threads_due(watches->watched, now_ms());
        if (!thread) return false;
        tell_traced(watches, thread);
    }
    return true;
}

static void work(void *context) {
    struct thread_watches *watches = context;
    if (edges_blocked(watches->comments->edges)) return; // until there is room
    bool more = watch_owner_continue(watches->owner, now_ms()) == 0;
    more = tell_some(watches) || more;
    if (more)
        soon(watches);
    else
        edges_flush(watches->comments->edges);
}

/* ---- partitions ---- */

static int open_part(void *store, int32_t partition, int64_t now, int64_t since, struct error *error) {
    struct thread_watches *watches = store;
    bool first = threads_next(watches->comments->threads, partition, THREADS_COMMENTS) <= 0;
    watched_threads_begin(watches->watched, partition, first);
    watch_owner_attach(watches->owner, partition, now_ms());
    return 0;
}

static int take_watch(void *store, size_t topic, const struct kafka_record *record, const char **reason,
                      struct error *error) {
    struct thread_watches *watches = store;
    soon(watches);
    if (watch_owner_read(watches->owner, record->partition, record->key, record->key_size, record->value,
                         record->value_size))
        *reason = "it is no watch";
    return 0;
}

static int begin_live(void *store, int32_t partition, bool live, struct error *error) {
    struct thread_watches *watches = store;
    watch_owner_live(watches->owner, partition);
    soon(watches);
    return 0;
}

static void close_part(void *store, int32_t partition) {
    struct thread_watches *watches = store;
    watch_owner_detach(watches->owner, partition);
    watched_threads_remove_all(watches->watched, partition);
}

const struct state_kind THREAD_WATCHES_KIND = {
    .in_memory = true, .open = open_part, .close = close_part, .live = begin_live, .take = take_watch};

/* ---- metrics, beginning and end ---- */

void thread_watches_second(struct thread_watches *watches) {
    struct watch_owner_stats stats;
    watch_owner_stats(watches->owner, &stats);
    watches->metrics.threads->value = (double)watched_threads_count(watches->watched);
    watches->metrics.told->value = (double)stats.told;
    watches->metrics.named->value = (double)stats.named;
    watches->metrics.asked->value = (double)stats.asked_again;
}

static void make_metrics(struct thread_watches *watches) {
    struct metrics *m = service_metrics(watches->comments->service);
    watches->metrics.threads =
        metrics_gauge(m, "starling_comments_watched", "Subjects whose comments are watched by some edge.", NULL);
    watches->metrics.told =
        metrics_counter(m, "starling_comments_changes_told_total", "Changes of threads told to edges.", NULL);
    watches->metrics.named =
        metrics_counter(m, "starling_comments_versions_told_total", "Versions of threads told to edges.", NULL);
    watches->metrics.asked = metrics_counter(m, "starling_comments_watches_asked_total",
                                             "Times that an edge was asked to write its watches anew.", NULL);
    watches->metrics.sampled =
        metrics_counter(m, "starling_comments_sampled_total",
                        "Times that edges were told only a part of what happened under a subject.", NULL);
}

struct thread_watches *thread_watches_new(const struct comments *comments) {
    struct thread_watches *watches = MEM_NEW(
        &(struct thread_watches){.comments = comments,
                                 .watched = watched_threads_new(comments->partitions, comments->settings->live_max),
                                 .codec = codec_new()});
    watches->owner = watch_owner_new(&(struct watch_owner_options){
        .partitions = comments->partitions,
        .slice = WATCHES,
        .context = watches,
        .version = version_of,
        .output = comments->edges,
        .deliver = edges_deliver,
        .forget = edges_forget_watch,
        .watched = watched_or_not,
    });
    watches->work = loop_timer_new(service_loop(comments->service), WORK_MS, WORK_MS, work, watches);
    loop_timer_stop(watches->work); // until there is a record or a partition to work on
    make_metrics(watches);
    return watches;
}

void thread_watches_free(struct thread_watches *watches) {
    if (!watches) return;
    loop_timer_free(watches->work);
    watch_owner_free(watches->owner);
    watched_threads_free(watches->watched);
    codec_free(watches->codec);
    buffer_free(&watches->content);
    buffer_free(&watches->bytes);
    free(watches->told);
    free(watches->items);
    free(watches->texts);
    free(watches->counters);
    free(watches->gone);
    free(watches);
}
