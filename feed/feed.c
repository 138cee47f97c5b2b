#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/programs.h"
#include "feed/feed_private.h"
#include "ids/ids.h"

enum { SECOND_MS = 1000, TENTH_MS = 100, HOUR_MS = 3600000 };

static const char *const CONDITIONS[] = {"hot", "assigned", "restored", NULL};

/* ---- timers ---- */

static void each_second(void *context) {
    struct feed *feed = context;
    hot_posts_second(feed->hot);
    tasks_second(feed->tasks);
    feed_keep(feed);
    stores_second(feed->stores, owner_restored(tasks_owner(feed->tasks)), clock_wall_ms());
    timelines_second(feed->timelines);
    watches_second(feed->watches);
    pushing_second(feed->pushing);
}

static void each_tenth(void *context) {
    struct feed *feed = context;
    struct owner *owner = tasks_owner(feed->tasks);
    owner_tenth(owner);
    replies_tenth(feed->replies);
    service_ready(feed->service, "assigned", owner_was_assigned(owner));
    service_ready(feed->service, "restored", owner_ready(owner));
}

/* ---- beginning and end ---- */

static void feed_free(void *state) {
    struct feed *feed = state;
    if (!feed) return;
    loop_timer_free(feed->second);
    loop_timer_free(feed->tenth);
    tasks_free(feed->tasks);
    feed->tasks = NULL; // the outbox may still lose what was sent
    pushing_free(feed->pushing);
    loop_timer_free(feed->keeping.turn);
    feed_commands_free(feed->commands);
    replies_free(feed->replies);
    watches_free(feed->watches);
    timelines_free(feed->timelines);
    effects_free(feed->effects);
    hot_posts_free(feed->hot);
    outbox_free(feed->outbox);
    inboxes_free(feed->inboxes);
    notices_free(feed->notices);
    notice_settings_store_free(feed->notice_settings);
    directory_store_free(feed->directory);
    names_free(feed->names);
    refusals_free(feed->refusals);
    table_store_free(feed->blocks);
    visibility_store_free(feed->visibility);
    device_store_free(feed->devices);
    bans_free(feed->bans);
    posts_free(feed->posts);
    ages_close(feed->ages);
    stores_free(feed->stores);
    epochs_free(feed->epochs);
    timeline_reader_free(feed->reader);
    codec_free(feed->codec);
    free(feed);
}

static void stores_opened(void *context, int code, const struct error *error);

static void lists_failed(void *context, int32_t partition, int code, const struct error *error) {
    tasks_store_failed(((struct feed *)context)->tasks, partition, code, error);
}

static void make_stores(struct feed *feed) {
    const struct feed_settings *settings = feed->settings;
    feed->stores = stores_new(&(struct stores_options){
        .loop = service_loop(feed->service),
        .log = service_log(feed->service),
        .metrics = service_metrics(feed->service),
        .folder = service_settings(feed->service)->data_dir,
        .partitions = feed->partitions,
        .memory_bytes = (size_t)settings->store_memory_mb << 20,
        .cache_bytes = ((size_t)settings->readers_memory_mb << 20) / 2,
        .max_age_ms = settings->rebuild_after_h * HOUR_MS,
        .checkpoint_folder = feed->owning->checkpoint_dir,
        .checkpoint_every_ms = feed->owning->checkpoint_every_s * SECOND_MS,
        .checkpoint_keep = (size_t)feed->owning->checkpoint_keep,
        .context = feed,
        .lists_failed = lists_failed,
        .on_opened = stores_opened,
    });
}

static int start_parts(struct feed *feed, struct error *error) {
    struct service *service = feed->service;
    int code = feed_make_parts(feed, error);
    if (code) return code;
    feed_metrics_start(feed);
    feed->second = loop_timer_new(service_loop(service), SECOND_MS, SECOND_MS, each_second, feed);
    feed->tenth = loop_timer_new(service_loop(service), TENTH_MS, TENTH_MS, each_tenth, feed);
    feed->started = true;
    return 0;
}

static void stores_opened(void *context, int code, const struct error *error) {
    struct feed *feed = context;
    struct error reason = *error;
    if (feed->draining) {
        service_finished(feed->service);
        return;
    }
    if (!code) code = start_parts(feed, &reason);
    if (code) feed_failed(feed, "could not start", &reason);
}

static int feed_check(const struct service_settings *common, struct error *error) {
    return pushing_check(FEED_SECTION.values, error);
}

static int feed_start(struct service *service, const struct topics_shape *shape, void **state, struct error *error) {
    struct feed *feed = MEM_NEW(&(struct feed){
        .service = service,
        .settings = FEED_SECTION.values,
        .owning = OWNER_SECTION.values,
        .partitions = shape->partitions[TOPIC_SPACE_USERS],
        .subject_partitions = shape->partitions[TOPIC_SPACE_SUBJECTS],
        .routes = shape->partitions[TOPIC_SPACE_ROUTES],
        .epochs = epochs_new(),
        .refusals = refusals_new(shape->partitions[TOPIC_SPACE_USERS]),
        .reader = timeline_reader_new(service_kafka(service)->tracer),
        .bans = bans_new(),
        .codec = codec_new(),
    });
    int code = 0;
    if (feed->partitions > IDS_PARTITIONS_MAX)
        code = error_set(error, -EINVAL, "ids of posts have room for %d partitions, and the topics have %d",
                         IDS_PARTITIONS_MAX, (int)feed->partitions);
    make_stores(feed);
    if (!code) code = stores_open(feed->stores, error);
    if (!code) code = start_parts(feed, error);
    if (code < 0) {
        feed_free(feed);
        return code;
    }
    *state = feed;
    return 0;
}

static void feed_drain(void *state) {
    struct feed *feed = state;
    feed->draining = true;
    if (feed->started) {
        tasks_drain(feed->tasks);
        return;
    }
    stores_stop(feed->stores);
    if (!stores_busy(feed->stores)) service_finished(feed->service);
}

static bool feed_busy(void *state) {
    struct feed *feed = state;
    feed->draining = true;
    bool busy = stores_busy(feed->stores);
    if (!feed->started) return busy;
    return tasks_busy(feed->tasks) || decider_busy(feed_commands_decider(feed->commands)) || busy;
}

static void feed_peer(void *state, struct http_request *request) {
    struct feed *feed = state;
    if (feed->started)
        replies_handle(feed->replies, request);
    else
        http_problem(request, 503, "starting", "this process is opening its stores", 1);
}

const struct service_definition FEED_SERVICE = {
    .name = "starling-feed",
    .ops_listen = "127.0.0.1:9150",
    .peer_listen = "127.0.0.1:9250",
    .section = &FEED_SECTION,
    .more_sections = OWNER_SECTIONS,
    .uses = &PROGRAM_FEED.uses,
    .conditions = CONDITIONS,
    .check = feed_check,
    .start = feed_start,
    .drain = feed_drain,
    .busy = feed_busy,
    .free = feed_free,
    .peer = feed_peer,
};
