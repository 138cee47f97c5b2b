/* Makes the parts of a feed process, and connects them. */
#include <stdlib.h>

#include "base/mem.h"
#include "decider/identity.h"
#include "event/topics.h"
#include "feed/feed_private.h"

enum { HOUR_MS = 3600000, DAY_MS = 86400000, STATE_BATCH = 4000, QUEUED_BATCHES = 10 };

/* ---- calls between the parts ---- */

static void effects_lost(void *context) {
    struct feed *feed = context;
    if (feed->tasks) tasks_effects_lost(feed->tasks);
}

static void put_timeline(void *context, int32_t partition, const int64_t *readers, size_t count,
                         const struct timeline_item *item) {
    outbox_put(((struct feed *)context)->outbox, &TOPIC_TIMELINES, partition, readers, count, item);
}

static void put_request(void *context, int32_t partition, const int64_t *authors, size_t count,
                        const struct timeline_item *item) {
    outbox_put(((struct feed *)context)->outbox, &TOPIC_TIMELINE_REQUESTS, partition, authors, count, item);
}

static void put_hot(void *context, int32_t partition, int64_t author, const struct timeline_item *item) {
    outbox_put(((struct feed *)context)->outbox, &TOPIC_HOT_POSTS, partition, &author, 1, item);
}

static void forget_device(void *context, int32_t partition, const void *key, size_t size) {
    outbox_forget_device(((struct feed *)context)->outbox, partition, key, size);
}

/* ---- the parts ---- */

/* On the stores, which are open. */
static int make_state(struct feed *feed, struct error *error) {
    const struct feed_settings *settings = feed->settings;
    feed->relations = stores_relations(feed->stores);
    feed->store = stores_posts(feed->stores);
    int code = ages_open(feed->store, &feed->ages, error);
    if (code) return code;
    feed->posts = posts_new(feed->store, feed->partitions, FEED_COLD_MS);
    feed->blocks = feed_blocks_new(feed);
    feed->visibility = visibility_store_new(feed->store, feed->partitions);
    feed->names = names_new(feed->store, feed->partitions);
    feed->notices = notices_new(feed->store, feed->partitions);
    feed->notice_settings = notice_settings_store_new(feed->store, feed->partitions);
    feed->directory = directory_store_new(feed->store, feed->partitions);
    feed->devices = device_store_new(&(struct device_store_options){.store = feed->store,
                                                                    .partitions = feed->partitions,
                                                                    .silent_s = settings->devices_silent_s,
                                                                    .context = feed,
                                                                    .forget = forget_device});
    feed->notices_shown = (struct notices_shown){feed->notices, feed->notice_settings, feed->blocks, feed->relations};
    feed->inboxes = inboxes_new(&(struct inboxes_options){
        .feed = feed,
        .store = feed->store,
        .partitions = feed->partitions,
        .max = (size_t)settings->inbox_max,
        .memory_bytes = (size_t)settings->inbox_memory_mb << 20,
        .away_ms = settings->away_days * DAY_MS,
        .cache_bytes = ((size_t)settings->readers_memory_mb << 20) / 2,
    });
    return 0;
}

static int open_kafka(struct feed *feed, struct error *error) {
    const struct owner_settings *settings = feed->owning;
    struct outbox_options outbox = {
        .loop = service_loop(feed->service),
        .kafka = service_kafka(feed->service),
        .metrics = service_metrics(feed->service),
        .partitions = feed->partitions,
        .routes = feed->routes,
        .queue_bytes = (size_t)settings->outbox_queue_mb << 20,
        .flush_bytes = (size_t)settings->outbox_flush_bytes,
        .flush_us = settings->outbox_flush_ms * 1000,
        .epochs = feed->epochs,
        .context = feed,
        .lost = effects_lost,
        .failed = feed_failed,
    };
    int code = outbox_new(&outbox, &feed->outbox, error);
    if (code) return code;
    code = hot_posts_new(feed, &feed->hot, error);
    if (code) return code;
    feed->hot_lists = hot_posts_lists(feed->hot);
    feed->edited = hot_posts_edited(feed->hot);
    return 0;
}

static void make_effects(struct feed *feed) {
    feed->effects = effects_new(&(struct effects_options){
        .relations = feed->relations,
        .posts = feed->posts,
        .lists = feed->hot_lists,
        .tracer = service_kafka(feed->service)->tracer,
        .partitions = feed->partitions,
        .push_max = (size_t)feed->settings->push_max,
        .backlog = (size_t)feed->settings->backlog,
        .answer = (size_t)feed->settings->inbox_max,
        .context = feed,
        .timeline = put_timeline,
        .request = put_request,
        .hot = put_hot,
    });
}

static int make_commands(struct feed *feed, struct error *error) {
    const struct service_settings *common = service_settings(feed->service);
    char *id;
    int code = identity_transactional(service_kafka(feed->service)->prefix, feed->settings->group_id,
                                      common->group_instance_id, common->data_dir, &id, error);
    if (code) return code;
    feed->commands = feed_commands_new(&(struct feed_commands_options){
        .loop = service_loop(feed->service),
        .kafka = service_kafka(feed->service),
        .log = service_log(feed->service),
        .metrics = service_metrics(feed->service),
        .relations = feed->relations,
        .posts = feed->posts,
        .blocks = feed->blocks,
        .visibility = feed->visibility,
        .notice_settings = feed->notice_settings,
        .directory = feed->directory,
        .names = feed->names,
        .bans = feed->bans,
        .transactional_id = id,
        .partitions = feed->partitions,
        .subject_partitions = feed->subject_partitions,
        .batch = (size_t)feed->settings->commands_batch,
        .following_max = (size_t)feed->settings->following_max,
        .tasks = feed->tasks,
    });
    free(id);
    return 0;
}

static int start_tasks(struct feed *feed, struct error *error) {
    const struct feed_settings *settings = feed->settings;
    struct owner_options owner = {
        .loop = service_loop(feed->service),
        .log = service_log(feed->service),
        .kafka = service_kafka(feed->service),
        .metrics = service_metrics(feed->service),
        .prefix = "starling_feed",
        .group = settings->group_id,
        .instance_id = service_settings(feed->service)->group_instance_id,
        .partitions = feed->partitions,
        .offsets = &TOPIC_FEED_OFFSETS,
        .leaving = &TOPIC_POST_TEXTS,
        .batch = (size_t)feed->owning->batch_records,
        .state_batch = STATE_BATCH,
        .standbys = (size_t)feed->owning->standby_replicas,
        .hands_over = feed->owning->stop_hands_over,
        .queue_max = QUEUED_BATCHES * (size_t)settings->commands_batch,
        .epochs = feed->epochs,
        .decider = feed_commands_decider(feed->commands),
    };
    return feed_start_tasks(feed, &owner, settings->rebuild_after_h * HOUR_MS, error);
}

static void make_replies(struct feed *feed) {
    feed->replies = replies_new(&(struct replies_options){
        .loop = service_loop(feed->service),
        .partitions = feed->partitions,
        .tasks = feed->tasks,
        .relations = feed->relations,
        .posts = feed->posts,
        .audience = {feed->store, feed->relations, feed->blocks, feed->visibility},
        .timelines = feed->timelines,
        .edited = feed->edited,
        .names = feed->names,
        .directory = feed->directory,
        .devices = feed->devices,
        .producer = outbox_producer(feed->outbox),
        .notices = &feed->notices_shown,
        .refusals = feed->refusals,
        .commands = feed->commands,
    });
}

int feed_make_parts(struct feed *feed, struct error *error) {
    int code = make_state(feed, error);
    feed->tasks =
        tasks_new(service_loop(feed->service), service_log(feed->service), feed->partitions, &FEED_TOPOLOGY, feed);
    feed_keep_start(feed);
    if (!code) code = open_kafka(feed, error);
    if (code) return code;
    make_effects(feed);
    feed->timelines = timelines_new(feed);
    feed->watches = watches_new(feed);
    feed->pushing = pushing_new(feed);
    code = make_commands(feed, error);
    if (!code) code = start_tasks(feed, error);
    if (!code) make_replies(feed);
    return code;
}
