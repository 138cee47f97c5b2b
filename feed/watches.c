#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "feed/watches_private.h"

enum {
    WORK_MS = 10,     /* between two turns, when there is nothing left over */
    VISITS = 2000,    /* of jobs, in one turn */
    READERS = 40,     /* whose timelines one turn looks at */
    WATCHES = 500,    /* that lib/watch looks at in one turn */
    KEPT_IN_S = 3600, /* each watched reader's inbox is looked at once in that time */
};

/* ---- names ---- */

size_t watches_what_of(int64_t user, char what[WATCHES_WHAT_SIZE + 1]) {
    return (size_t)snprintf(what, WATCHES_WHAT_SIZE + 1, "feed:%" PRId64, user);
}

/* Reads the user from the name of a thing, which begins with "feed:" or "notices:"; -1: it names no user of the partition. */
static int64_t user_of(const struct watches *watches, int32_t partition, const void *what, size_t size,
                       const char *begins) {
    char text[WATCHES_WHAT_SIZE + 1], again[WATCHES_WHAT_SIZE + 1];
    int64_t user;
    size_t before = strlen(begins);
    if (size > WATCHES_WHAT_SIZE || size < before || memcmp(what, begins, before) != 0) return -1;
    memcpy(text, what, size);
    text[size] = '\0';
    if (!text_number(text + before, size - before, INT64_MAX, &user)) return -1;
    snprintf(again, sizeof again, "%s%" PRId64, begins, user);
    if (strcmp(text, again) != 0) return -1;
    return hash_user_partition(user, watches->feed->partitions) == partition ? user : -1;
}

/* ---- lib/watch ---- */

void watches_soon(struct watches *watches) { loop_timer_again(watches->work, 0, WORK_MS); }

/* A reader's version is read in a later turn. */
static bool version_of(void *context, int32_t partition, const void *what, size_t size, struct watch_version *version) {
    struct watches *watches = context;
    int64_t user = user_of(watches, partition, what, size, "feed:");
    int64_t told = user_of(watches, partition, what, size, "notices:");
    if (told >= 0) return watches_notices_version(watches, partition, told, version);
    if (user < 0) return false;
    struct watched *watched = watched_put(watches->table, user, partition);
    if (watched->known) {
        *version = timeline_version(watches->feed->timelines, watched->newest, watched->count);
    } else {
        watched_anew(watches->table, watched); // a Begin may have been lost; roll calls lead here each minute
        watches_soon(watches);
    }
    return watched->known;
}

static void watched_or_not(void *context, int32_t partition, const void *what, size_t size, bool now) {
    struct watches *watches = context;
    int64_t user = user_of(watches, partition, what, size, "feed:");
    struct watched *watched = user < 0 || now ? NULL : watched_find(watches->table, user);
    if (watched) watched_remove(watches->table, watched);
}

/* ---- changes ---- */

void watches_half(struct watches *watches, const struct relation_half *half) {
    bool shows = half->relation == RELATION_FOLLOWING || half->relation == RELATION_MUTED;
    struct watched *watched = shows ? watched_find(watches->table, half->user) : NULL;
    if (!watched) return;
    watched_anew(watches->table, watched);
    watches_soon(watches);
}

static void happened(struct watches *watches, struct watched *watched, const struct timeline_item *item) {
    switch (item->kind) {
    case TIMELINE_ITEM_PUSH: watched_added(watches->table, watched, item->push.author, item->push.id); break;
    case TIMELINE_ITEM_GONE: watched_gone(watches->table, watched, item->gone.id); break;
    case TIMELINE_ITEM_BACKLOG:
    case TIMELINE_ITEM_BEGIN:
    case TIMELINE_ITEM_ANSWER: watched_anew(watches->table, watched); break;
    case TIMELINE_ITEM_REQUEST:
    case TIMELINE_ITEM_HOT:
    case TIMELINE_ITEM_HOT_GONE:
    case TIMELINE_ITEM_EDITED:
    case TIMELINE_ITEM_MODERATED: break;
    }
}

void watches_item(struct watches *watches, const int64_t *readers, size_t count, const struct timeline_item *item) {
    if (!watched_count(watches->table)) return;
    for (size_t i = 0; i < count; i++) {
        struct watched *watched = watched_find(watches->table, readers[i]);
        if (!watched) continue;
        happened(watches, watched, item);
        tracer_park(service_kafka(watches->feed->service)->tracer, watches, (uint64_t)watched->user);
        watches_soon(watches);
    }
}

void watches_hot(struct watches *watches, int64_t author, int64_t id, bool first) {
    watched_job(watches->table, first ? WATCHED_JOB_FRESH : WATCHED_JOB_POST, author, id);
    if (!watched_count(watches->table)) return;
    tracer_park(service_kafka(watches->feed->service)->tracer, watches->table, (uint64_t)id);
    watches_soon(watches);
}

void watches_hot_gone(struct watches *watches, int64_t author, int64_t id) {
    watched_job(watches->table, WATCHED_JOB_GONE, author, id);
    if (watched_count(watches->table)) watches_soon(watches);
}

void watches_edited(struct watches *watches, int64_t id) {
    watched_job(watches->table, WATCHED_JOB_EDITED, 0, id);
    if (watched_count(watches->table)) watches_soon(watches);
}

void watches_moderated(struct watches *watches, int64_t author, int64_t id, bool hidden) {
    watched_job(watches->table, hidden ? WATCHED_JOB_HIDDEN : WATCHED_JOB_SHOWN, author, id);
    if (watched_count(watches->table)) watches_soon(watches);
}

/* ---- turns ---- */

static bool follows(void *context, const struct watched *watched, int64_t author) {
    struct watches *watches = context;
    struct error error;
    bool is = false;
    int code = watches_shows(watches, watched, author, &is, &error);
    if (code) tasks_store_failed(watches->feed->tasks, watched->partition, code, &error);
    return !code && is;
}

/* Looks at some of the readers that are due. True: others are left. */
static bool look(struct watches *watches) {
    struct error error;
    for (int i = 0; i < READERS; i++) {
        struct watched *watched = watched_due(watches->table);
        if (!watched) return false;
        int code = watches_tell(watches, watched, &error);
        watched_settled(watched);
        if (code) tasks_store_failed(watches->feed->tasks, watched->partition, code, &error);
    }
    return true;
}

static void work(void *context) {
    struct watches *watches = context;
    if (outbox_blocked(watches->feed->outbox)) return; // until there is room
    bool more = watch_owner_continue(watches->owner, clock_monotonic_us() / 1000) == 0;
    more = !watched_work(watches->table, VISITS, follows, watches) || more;
    more = look(watches) || more;
    more = watches_notices_work(watches) || more;
    if (more)
        watches_soon(watches);
    else
        outbox_flush_deliveries(watches->feed->outbox);
}

/* ---- partitions ---- */

static int open_part(void *store, int32_t partition, int64_t now_ms, int64_t since_ms, struct error *error) {
    watch_owner_attach(((struct watches *)store)->owner, partition, clock_monotonic_us() / 1000);
    return 0;
}

static int take(void *store, size_t topic, const struct kafka_record *record, const char **reason,
                struct error *error) {
    struct watches *watches = store;
    watches_soon(watches);
    if (watch_owner_read(watches->owner, record->partition, record->key, record->key_size, record->value,
                         record->value_size))
        *reason = "no watch";
    return 0;
}

static int begin_live(void *store, int32_t partition, bool live, struct error *error) {
    struct watches *watches = store;
    watch_owner_live(watches->owner, partition);
    watches_soon(watches);
    return 0;
}

static void close_part(void *store, int32_t partition) {
    struct watches *watches = store;
    watch_owner_detach(watches->owner, partition);
    watched_remove_all(watches->table, partition);
}

const struct state_kind WATCHES_KIND = {
    .in_memory = true, .open = open_part, .close = close_part, .live = begin_live, .take = take};

/* ---- inboxes of readers who watch and read no page ---- */

static void keep_some(struct watches *watches) {
    const struct watched *watched;
    struct error error;
    bool complete;
    for (size_t i = watched_count(watches->table) / KEPT_IN_S + 1; i && (watched = watched_walk(watches->table)); i--) {
        int code = timelines_complete(watches->feed->timelines, watched->partition, watched->user, &complete, &error);
        if (code) tasks_store_failed(watches->feed->tasks, watched->partition, code, &error);
    }
}

void watches_second(struct watches *watches) {
    struct watch_owner_stats stats;
    watch_owner_stats(watches->owner, &stats);
    watches->metrics.timelines->value = (double)watched_count(watches->table);
    watches->metrics.told->value = (double)stats.told;
    watches->metrics.named->value = (double)stats.named;
    watches->metrics.asked->value = (double)stats.asked_again;
    keep_some(watches);
}

/* ---- beginning and end ---- */

static void make_metrics(struct watches *watches) {
    struct metrics *m = service_metrics(watches->feed->service);
    watches->metrics.timelines =
        metrics_gauge(m, "starling_feed_watched", "Readers whose timelines are watched by some edge.", NULL);
    watches->metrics.told =
        metrics_counter(m, "starling_feed_changes_told_total", "Changes of timelines told to edges.", NULL);
    watches->metrics.named =
        metrics_counter(m, "starling_feed_versions_told_total", "Versions of timelines told to edges.", NULL);
    watches->metrics.asked = metrics_counter(m, "starling_feed_watches_asked_total",
                                             "Times that an edge was asked to write its watches anew.", NULL);
}

struct watches *watches_new(const struct feed *feed) {
    struct watches *watches = MEM_NEW(&(struct watches){.feed = feed, .table = watched_table_new(feed->partitions)});
    watches->owner = watch_owner_new(&(struct watch_owner_options){
        .partitions = feed->partitions,
        .slice = WATCHES,
        .context = watches,
        .version = version_of,
        .output = feed->outbox,
        .deliver = outbox_deliver,
        .forget = outbox_forget_watch,
        .watched = watched_or_not,
    });
    watches->work = loop_timer_new(service_loop(feed->service), WORK_MS, WORK_MS, work, watches);
    loop_timer_stop(watches->work); // until there is a record or a partition to work on
    make_metrics(watches);
    return watches;
}

void watches_free(struct watches *watches) {
    if (!watches) return;
    loop_timer_free(watches->work);
    watch_owner_free(watches->owner);
    watched_table_free(watches->table);
    buffer_free(&watches->content);
    id_list_free(&watches->notices_due);
    free(watches->posts);
    free(watches);
}
