/* Makes the parts of a feed process, and connects them. */
#include <stdlib.h>

#include "base/mem.h"
#include "decider/identity.h"
#include "event/topics.h"
#include "feed/feed_private.h"

enum { HOUR_MS = 3600000, DAY_MS = 86400000, STATE_BATCH = 4000, QUEUED_BATCHES = 10 };

/* ---- calls between the parts ---- */

static void commands_decided(void *context) {
    struct feed *feed = context;
    if (feed->owner) owner_progress(feed->owner);
}

static void commands_lost(void *context) {
    struct feed *feed = context;
    if (feed->owner) owner_commands_lost(feed->owner);
}

static void damaged(void *context, int32_t partition, const struct error *error) {
    partitions_damaged(((struct feed *)context)->state, partition, error);
}

static void effects_lost(void *context) {
    struct feed *feed = context;
    if (!feed->owner) return;
    owner_effects_lost(feed->owner);
    partitions_effects_lost(feed->state);
}

static void hot_came(void *context, int64_t author, int64_t id, bool first) {
    struct feed *feed = context;
    if (feed->watches) watches_hot(feed->watches, author, id, first);
}

static void hot_gone(void *context, int64_t author, int64_t id) {
    struct feed *feed = context;
    if (feed->watches) watches_hot_gone(feed->watches, author, id);
}

static void state_changed(void *context) {
    struct feed *feed = context;
    if (feed->replies) replies_look_again(feed->replies);
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

/* ---- the parts ---- */

/* On the stores, which are open. */
static int make_state(struct feed *feed, struct error *error) {
    const struct feed_settings *settings = feed->settings;
    feed->relations = stores_relations(feed->stores);
    feed->store = stores_posts(feed->stores);
    int code = ages_open(feed->store, &feed->ages, error);
    if (code) return code;
    feed->posts = posts_new(feed->store, feed->partitions, PARTITIONS_COLD_MS);
    feed->blocks = blocks_new(feed->store, feed->partitions);
    feed->names = names_new(feed->store, feed->partitions);
    feed->notices = notices_new(feed->store, feed->partitions);
    feed->inboxes = inboxes_new(&(struct inboxes_options){
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
        .log = service_log(feed->service),
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
    struct hot_posts_options hot = {
        .loop = outbox.loop,
        .kafka = outbox.kafka,
        .log = outbox.log,
        .metrics = outbox.metrics,
        .partitions = feed->partitions,
        .keep_ms = feed->settings->hot_days * DAY_MS,
        .dead_letters = outbox_producer(feed->outbox),
        .context = feed,
        .on_ready = feed_hot_is_read,
        .on_post = hot_came,
        .on_gone = hot_gone,
    };
    return hot_posts_new(&hot, &feed->hot, error);
}

static void make_effects(struct feed *feed) {
    feed->effects = effects_new(&(struct effects_options){
        .relations = feed->relations,
        .posts = feed->posts,
        .lists = hot_posts_lists(feed->hot),
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

static void make_timelines(struct feed *feed) {
    feed->timelines = timelines_new(&(struct timelines_options){
        .partitions = feed->partitions,
        .relations = feed->relations,
        .inboxes = feed->inboxes,
        .hot = hot_posts_lists(feed->hot),
        .effects = feed->effects,
        .outbox = feed->outbox,
    });
    feed->watches = watches_new(&(struct watches_options){
        .loop = service_loop(feed->service),
        .metrics = service_metrics(feed->service),
        .tracer = service_kafka(feed->service)->tracer,
        .partitions = feed->partitions,
        .relations = feed->relations,
        .hot = hot_posts_lists(feed->hot),
        .timelines = feed->timelines,
        .outbox = feed->outbox,
        .context = feed,
        .damaged = damaged,
        .failed = feed_failed,
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
        .names = feed->names,
        .transactional_id = id,
        .partitions = feed->partitions,
        .batch = (size_t)feed->settings->commands_batch,
        .following_max = (size_t)feed->settings->following_max,
        .context = feed,
        .on_handled = commands_decided,
        .on_reset = commands_lost,
        .damaged = damaged,
    });
    free(id);
    return 0;
}

static int make_owner(struct feed *feed, struct error *error) {
    const struct feed_settings *settings = feed->settings;
    struct decider *decider = feed_commands_decider(feed->commands);
    feed->state = partitions_new(&(struct partitions_options){
        .loop = service_loop(feed->service),
        .log = service_log(feed->service),
        .tracer = service_kafka(feed->service)->tracer,
        .partitions = feed->partitions,
        .relations = feed->relations,
        .posts = feed->posts,
        .blocks = feed->blocks,
        .names = feed->names,
        .notices = feed->notices,
        .inboxes = feed->inboxes,
        .refusals = feed->refusals,
        .ages = feed->ages,
        .write_s = settings->inbox_write_s,
        .max_age_ms = settings->rebuild_after_h * HOUR_MS,
        .effects = feed->effects,
        .outbox = feed->outbox,
        .watches = feed->watches,
        .decider = decider,
        .epochs = feed->epochs,
        .context = feed,
        .failed = feed_failed,
        .changed = state_changed,
    });
    struct owner_options owner = {
        .loop = service_loop(feed->service),
        .log = service_log(feed->service),
        .kafka = service_kafka(feed->service),
        .metrics = service_metrics(feed->service),
        .prefix = "starling_feed",
        .group = settings->group_id,
        .instance_id = service_settings(feed->service)->group_instance_id,
        .partitions = feed->partitions,
        .topics = FEED_TOPICS,
        .topic_count = FEED_TOPIC_COUNT,
        .offsets = &TOPIC_FEED_OFFSETS,
        .leaving = &TOPIC_POST_TEXTS,
        .batch = (size_t)feed->owning->batch_records,
        .state_batch = STATE_BATCH,
        .standbys = (size_t)feed->owning->standby_replicas,
        .hands_over = feed->owning->stop_hands_over,
        .queue_max = QUEUED_BATCHES * (size_t)settings->commands_batch,
        .epochs = feed->epochs,
        .decider = decider,
        .product = &FEED_OWNED,
        .context = feed,
    };
    int code = owner_new(&owner, &feed->owner, error);
    if (!code) partitions_set_owner(feed->state, feed->owner);
    return code;
}

static void make_replies(struct feed *feed) {
    feed->replies = replies_new(&(struct replies_options){
        .loop = service_loop(feed->service),
        .partitions = feed->partitions,
        .owner = feed->owner,
        .relations = feed->relations,
        .posts = feed->posts,
        .blocks = feed->blocks,
        .timelines = feed->timelines,
        .names = feed->names,
        .notices = feed->notices,
        .refusals = feed->refusals,
        .commands = feed->commands,
        .context = feed,
        .damaged = damaged,
    });
}

int feed_make_parts(struct feed *feed, struct error *error) {
    int code = make_state(feed, error);
    if (!code) code = open_kafka(feed, error);
    if (code) return code;
    make_effects(feed);
    make_timelines(feed);
    code = make_commands(feed, error);
    if (!code) code = make_owner(feed, error);
    if (code) return code;
    make_replies(feed);
    return owner_start(feed->owner, error);
}
