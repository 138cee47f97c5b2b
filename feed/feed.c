#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "decider/identity.h"
#include "event/topics.h"
#include "feed/feed_private.h"
#include "ids/ids.h"

enum {
    SECOND_MS = 1000,
    TENTH_MS = 100,
    HOUR_MS = 3600000,
    DAY_MS = 86400000,
    STATE_BATCH = 4000,
    QUEUED_BATCHES = 10
};

static const char *const CONDITIONS[] = {"hot", "assigned", "restored", NULL};

void feed_failed(void *context, const char *doing, const struct error *error) {
    struct feed *feed = context;
    log_error(service_log(feed->service), doing, LOG_TEXT("reason", error->text));
    service_fail(feed->service, doing);
}

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

/* ---- metrics and timers ---- */

static void make_metrics(struct feed *feed) {
    struct metrics *m = service_metrics(feed->service);
    feed->metrics.inboxes = metrics_gauge(m, "starling_feed_inboxes", "Readers who have an inbox here.", NULL);
    feed->metrics.unwritten =
        metrics_gauge(m, "starling_feed_inbox_bytes", "Memory of inbox entries that are not written yet.", NULL);
    feed->metrics.entries = metrics_counter(m, "starling_feed_inbox_entries_total",
                                            "Items taken in for inboxes, once for each reader.", NULL);
    feed->metrics.dropped =
        metrics_counter(m, "starling_feed_inbox_dropped_total", "Of these, items for readers who have no inbox.", NULL);
    feed->metrics.pushes = metrics_gauge(m, "starling_feed_pushes", "Posts that are being pushed in slices.", NULL);
    feed->metrics.requests = metrics_gauge(m, "starling_feed_requested_authors",
                                           "Authors of whom other processes' readers wait for posts.", NULL);
    feed->metrics.cache = metrics_gauge(m, "starling_feed_store_cache_bytes", "Block cache of the posts' store.", NULL);
    feed->metrics.files = metrics_gauge(m, "starling_feed_store_disk_bytes", "The posts' store on the disk.", NULL);
}

static void collect(void *context) {
    struct feed *feed = context;
    struct inboxes_usage inboxes = inboxes_used(feed->inboxes);
    struct store_usage store = store_usage(feed->store);
    feed->metrics.inboxes->value = (double)inboxes.inboxes;
    feed->metrics.unwritten->value = (double)inboxes.bytes;
    feed->metrics.entries->value = (double)inboxes.taken;
    feed->metrics.dropped->value = (double)inboxes.dropped;
    feed->metrics.pushes->value = (double)effects_pushes(feed->effects);
    feed->metrics.requests->value = (double)effects_waiting_authors(feed->effects);
    feed->metrics.cache->value = (double)store.block_cache;
    feed->metrics.files->value = (double)store.sst_files;
}

static void each_second(void *context) {
    struct feed *feed = context;
    hot_posts_second(feed->hot);
    owner_second(feed->owner);
    partitions_second(feed->state);
    stores_second(feed->stores, owner_restored(feed->owner), clock_wall_ms());
    timelines_second(feed->timelines);
    watches_second(feed->watches);
}

static void each_tenth(void *context) {
    struct feed *feed = context;
    owner_tenth(feed->owner);
    replies_tenth(feed->replies);
    service_ready(feed->service, "assigned", owner_was_assigned(feed->owner));
    service_ready(feed->service, "restored", owner_ready(feed->owner));
}

/* ---- beginning and end ---- */

static void feed_free(void *state) {
    struct feed *feed = state;
    if (!feed) return;
    loop_timer_free(feed->second);
    loop_timer_free(feed->tenth);
    owner_free(feed->owner);
    feed_commands_free(feed->commands);
    replies_free(feed->replies);
    partitions_free(feed->state);
    watches_free(feed->watches);
    timelines_free(feed->timelines);
    effects_free(feed->effects);
    hot_posts_free(feed->hot);
    outbox_free(feed->outbox);
    inboxes_free(feed->inboxes);
    notices_free(feed->notices);
    names_free(feed->names);
    refusals_free(feed->refusals);
    blocks_free(feed->blocks);
    posts_free(feed->posts);
    ages_close(feed->ages);
    stores_free(feed->stores);
    epochs_free(feed->epochs);
    deliver_reader_free(feed->reader);
    codec_free(feed->codec);
    free(feed);
}

static void stores_opened(void *context, int code, const struct error *error);

static void make_stores(struct feed *feed) {
    const struct feed_settings *settings = feed->settings;
    feed->stores = stores_new(&(struct stores_options){
        .loop = service_loop(feed->service),
        .log = service_log(feed->service),
        .metrics = service_metrics(feed->service),
        .folder = service_settings(feed->service)->data_dir,
        .partitions = feed->partitions,
        .memory_bytes = (size_t)settings->store_memory_mb << 20,
        .max_age_ms = settings->rebuild_after_h * HOUR_MS,
        .checkpoint_folder = settings->checkpoint_dir,
        .checkpoint_every_ms = settings->checkpoint_every_s * SECOND_MS,
        .checkpoint_keep = (size_t)settings->checkpoint_keep,
        .context = feed,
        .on_opened = stores_opened,
    });
}

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
    });
    return 0;
}

static int open_kafka(struct feed *feed, struct error *error) {
    const struct feed_settings *settings = feed->settings;
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
        .keep_ms = settings->hot_days * DAY_MS,
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
    char *file = mem_format("%s/identity", common->data_dir), *name = NULL;
    int code = identity_load(common->group_instance_id, file, &name, error);
    free(file);
    if (code) return code;
    char *id = mem_format("%s%s-%s", service_kafka(feed->service)->prefix, feed->settings->group_id, name);
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
    free(name);
    return 0;
}

static int make_owner(struct feed *feed, struct error *error) {
    const struct feed_settings *settings = feed->settings;
    struct decider *decider = feed_commands_decider(feed->commands);
    feed->state = partitions_new(&(struct partitions_options){
        .loop = service_loop(feed->service),
        .log = service_log(feed->service),
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
        .batch = (size_t)settings->batch_records,
        .state_batch = STATE_BATCH,
        .standbys = (size_t)settings->standby_replicas,
        .hands_over = settings->stop_hands_over,
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

static int make_parts(struct feed *feed, struct error *error) {
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

static int start_parts(struct feed *feed, struct error *error) {
    struct service *service = feed->service;
    int code = make_parts(feed, error);
    if (code) return code;
    make_metrics(feed);
    metrics_on_collect(service_metrics(service), collect, feed);
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

static int feed_start(struct service *service, const struct topics_shape *shape, void **state, struct error *error) {
    struct feed *feed = mem_alloc(sizeof *feed);
    *feed = (struct feed){
        .service = service,
        .settings = FEED_SECTION.values,
        .partitions = shape->partitions[TOPIC_SPACE_USERS],
        .routes = shape->partitions[TOPIC_SPACE_ROUTES],
        .epochs = epochs_new(),
        .refusals = refusals_new(shape->partitions[TOPIC_SPACE_USERS]),
        .reader = deliver_reader_new(),
        .codec = codec_new(),
    };
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
        owner_drain(feed->owner);
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
    partitions_stop(feed->state);
    owner_stop(feed->owner);
    return owner_busy(feed->owner) || decider_busy(feed_commands_decider(feed->commands)) ||
           partitions_busy(feed->state) || busy;
}

static void feed_peer(void *state, struct http_request *request) {
    struct feed *feed = state;
    if (feed->started)
        replies_handle(feed->replies, request);
    else
        http_problem(request, 503, "starting", "this process is opening its stores", 1);
}

static const struct topic *const NEEDED[] = {
    &TOPIC_FOLLOW_COMMANDS,   &TOPIC_FOLLOWS,      &TOPIC_POST_COMMANDS, &TOPIC_POSTS,
    &TOPIC_POST_TEXTS,        &TOPIC_FRIENDSHIPS,  &TOPIC_FEED_OFFSETS,  &TOPIC_TIMELINES,
    &TOPIC_TIMELINE_REQUESTS, &TOPIC_HOT_POSTS,    &TOPIC_NAME_COMMANDS, &TOPIC_NAMES,
    &TOPIC_NOTICES,           &TOPIC_FEED_WATCHES, &TOPIC_DELIVERIES,    &TOPIC_FOLLOW_REFUSALS};
static const struct topic_list TOPICS = {NEEDED, ARRAY_SIZE(NEEDED)};

const struct service_definition FEED_SERVICE = {
    .name = "starling-feed",
    .ops_listen = "127.0.0.1:9150",
    .peer_listen = "127.0.0.1:9250",
    .section = &FEED_SECTION,
    .topics = &TOPICS,
    .conditions = CONDITIONS,
    .start = feed_start,
    .drain = feed_drain,
    .busy = feed_busy,
    .free = feed_free,
    .peer = feed_peer,
};
