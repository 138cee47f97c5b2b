/* The feed as a product of lib/tasks: which topics feed which store, and what changes lead to (feed/consequences.h). Commands are decided in
 * feed/commands.h. */
#include "base/config.h"
#include "event/topics.h"
#include "feed/consequences.h"
#include "feed/feed_private.h"
#include "feed/told.h"
#include "users/half.h"
#include "users/user_key.h"

enum {
    FOLLOWS,
    POSTS,
    BLOCKS,
    INBOXES,
    NAMES,
    NOTICES,
    REFUSALS,
    WATCHES,
    VISIBILITY,
    NOTICE_SETTINGS,
    APPROACHES,
    DIRECTORY,
    DEVICES,
    STORES
};
enum { INPUT_REQUESTS /* the only input */ };
enum { WAITING_MAX = 4 << 20 /* authors of requests; with more, no more records are read */ };

/* ---- blocks ---- */

/* The router sends a record of friendships that nobody can read to the dead letters; here it only counts for nothing. */
static const char *take_friendship(void *context, struct table_store *blocks, const struct kafka_record *record,
                                   struct error *error) {
    const struct feed *feed = context;
    struct half_record read;
    if (!half_read(feed->codec, feed->partitions, record, &read, error))
        blocks_take(blocks, record->partition, record->offset, read.user, read.other,
                    read.half.blocked_by_me || read.half.blocked_by_them);
    table_store_pass(blocks, record->partition, 0, record->offset + 1);
    return NULL;
}

struct table_store *feed_blocks_new(struct feed *feed) {
    return blocks_new(feed->store, feed->partitions, take_friendship, feed);
}

/* ---- timelines: inboxes, and those who watch them ---- */

static int take_item(void *context, const struct kafka_record *record, const struct deliver_envelope *envelope,
                     const struct timeline_item *item, struct error *error) {
    struct feed *feed = context;
    inboxes_take(feed->inboxes, record->partition, record->offset, record->timestamp, envelope->recipients,
                 envelope->recipient_count, item);
    watches_item(feed->watches, envelope->recipients, envelope->recipient_count, item);
    return 0;
}

static int take_timeline(void *store, size_t topic, const struct kafka_record *record, const char **reason,
                         struct error *error) {
    struct feed *feed = inboxes_feed(store);
    const char *unread;
    if (inboxes_has(feed->inboxes, record->partition, record->offset)) return 0;
    timeline_reader_each(feed->reader, record, take_item, feed, &unread, error);
    inboxes_read_to(feed->inboxes, record->partition, record->offset + 1);
    if (unread) *reason = unread;
    return 0;
}

static const struct state_kind INBOXES_KIND = {
    .from_effects = true, // each inbox begins with a record that is still to come
    .open = inboxes_open,
    .close = inboxes_close,
    .take = take_timeline,
    .next = inboxes_next,
    .reset = inboxes_reset,
    .lost = inboxes_lost,
};

/* ---- approaches: nothing is kept, they only have an effect ---- */

static int take_approach(void *store, size_t topic, const struct kafka_record *record, const char **reason,
                         struct error *error) {
    const struct feed *feed = store;
    struct notice_key key;
    struct notice notice;
    if (told_read(feed->codec, record, &key, &notice, error)) *reason = error->text;
    return 0;
}

static int64_t approaches_next(const void *store, int32_t partition, size_t topic) { return -1; }
static bool approaches_lost(void *store, int32_t partition, size_t topic) { return true; }

static const struct state_kind APPROACHES_KIND = {
    .from_effects = true, .take = take_approach, .next = approaches_next, .lost = approaches_lost};

/* ---- the tables ---- */

static const struct state_kind *const KINDS[STORES] = {
    [FOLLOWS] = &LIST_STORE_KIND,     [POSTS] = &POSTS_KIND,
    [BLOCKS] = &TABLE_STORE_KIND,     [INBOXES] = &INBOXES_KIND,
    [NAMES] = &TABLE_STORE_KIND,      [NOTICES] = &TABLE_STORE_KIND,
    [REFUSALS] = &REFUSALS_KIND,      [WATCHES] = &WATCHES_KIND,
    [VISIBILITY] = &TABLE_STORE_KIND, [NOTICE_SETTINGS] = &TABLE_STORE_KIND,
    [APPROACHES] = &APPROACHES_KIND,  [DIRECTORY] = &TABLE_STORE_KIND,
    [DEVICES] = &TABLE_STORE_KIND,
};

/* `aged`: what feed/audience.h reads. */
static const struct tasks_topic TOPICS[] = {
    {.topic = &TOPIC_FOLLOW_COMMANDS, .role = OWNER_COMMAND},
    {.topic = &TOPIC_FOLLOWER_COMMANDS, .role = OWNER_COMMAND},
    {.topic = &TOPIC_POST_COMMANDS, .role = OWNER_COMMAND},
    {.topic = &TOPIC_NAME_COMMANDS, .role = OWNER_COMMAND},
    {.topic = &TOPIC_NOTICE_COMMANDS, .role = OWNER_COMMAND},
    {.topic = &TOPIC_DIRECTORY_COMMANDS, .role = OWNER_COMMAND},
    {.topic = &TOPIC_TIMELINE_REQUESTS, .role = OWNER_INPUT},
    {.topic = &TOPIC_FOLLOWS,
     .role = OWNER_STATE,
     .store = FOLLOWS,
     .aged = true,
     .sees = feed_see_half,
     .effect = feed_half_is},
    {.topic = &TOPIC_POSTS, .role = OWNER_STATE, .store = POSTS, .effect = feed_post_is, .held = feed_posts_held},
    {.topic = &TOPIC_POST_TEXTS, .role = OWNER_STATE, .store = POSTS, .effect = feed_text_is},
    {.topic = &TOPIC_FRIENDSHIPS, .role = OWNER_STATE, .store = BLOCKS, .aged = true, .effect = feed_friendship_is},
    {.topic = &TOPIC_TIMELINES, .role = OWNER_STATE, .store = INBOXES, .effect = feed_timeline_is},
    {.topic = &TOPIC_NAMES, .role = OWNER_STATE, .store = NAMES, .shows_progress = true},
    {.topic = &TOPIC_NOTICES,
     .role = OWNER_STATE,
     .store = NOTICES,
     .effect = feed_notice_is,
     .held = feed_notices_held},
    {.topic = &TOPIC_NOTICE_SETTINGS,
     .role = OWNER_STATE,
     .store = NOTICE_SETTINGS,
     .effect = feed_notice_settings_are},
    {.topic = &TOPIC_APPROACHES, .role = OWNER_STATE, .store = APPROACHES, .effect = feed_approach_is},
    {.topic = &TOPIC_DIRECTORY, .role = OWNER_STATE, .store = DIRECTORY, .shows_progress = true},
    {.topic = &TOPIC_FOLLOW_REFUSALS, .role = OWNER_STATE, .store = REFUSALS},
    {.topic = &TOPIC_FEED_WATCHES, .role = OWNER_STATE, .store = WATCHES},
    {.topic = &TOPIC_VISIBILITY, .role = OWNER_STATE, .store = VISIBILITY, .aged = true},
    {.topic = &TOPIC_DEVICES, .role = OWNER_STATE, .store = DEVICES},
};

/* ---- the product ---- */

static int take_request_item(void *context, const struct kafka_record *record, const struct deliver_envelope *envelope,
                             const struct timeline_item *item, struct error *error) {
    if (item->kind == TIMELINE_ITEM_REQUEST)
        effects_request(((struct feed *)context)->effects, record->partition, record->offset, envelope->recipients,
                        envelope->recipient_count, item->request.reader, item->request.request);
    return 0;
}

static void take_request(void *context, size_t input, const struct kafka_record *record, bool owned, int64_t now_us) {
    struct feed *feed = context;
    struct error error;
    const char *unread;
    timeline_reader_each(feed->reader, record, take_request_item, feed, &unread, &error);
    if (unread) tasks_bury(feed->tasks, record, unread);
    feed_turn_soon(feed);
}

static void lower(void *context, size_t input, int64_t *offsets) {
    effects_lower(((struct feed *)context)->effects, offsets);
}

static void drop(void *context, int32_t partition) {
    struct feed *feed = context;
    int64_t request = effects_drop(feed->effects, partition);
    pushing_drop(feed->pushing, partition);
    if (request < INT64_MAX) owner_lower(tasks_owner(feed->tasks), INPUT_REQUESTS, partition, request);
}

static void changed(void *context) {
    struct feed *feed = context;
    if (feed->replies) replies_look_again(feed->replies);
}

static void flush_old(void *context, int64_t now_us) { outbox_flush_old(((struct feed *)context)->outbox, now_us); }

static int64_t flush_ready(void *context, int64_t now_us) {
    struct feed *feed = context;
    feed_go_on(feed);
    return outbox_flush_ready(feed->outbox, now_us);
}

static void flush(void *context) {
    struct feed *feed = context;
    feed_go_on(feed);
    outbox_flush(feed->outbox);
}

static bool blocked(void *context) {
    struct outbox *outbox = ((struct feed *)context)->outbox;
    return outbox_blocked(outbox) && !outbox_retry(outbox);
}

static bool crowded(void *context) { return effects_waiting_authors(((struct feed *)context)->effects) > WAITING_MAX; }

static void drained(void *context) { service_finished(((struct feed *)context)->service); }

void feed_failed(void *context, const char *doing, const struct error *error) {
    struct feed *feed = context;
    log_error(service_log(feed->service), doing, LOG_TEXT("reason", error->text));
    service_fail(feed->service, doing);
}

const struct tasks_product FEED_TOPOLOGY = {
    .topics = TOPICS,
    .topic_count = ARRAY_SIZE(TOPICS),
    .kinds = KINDS,
    .store_count = STORES,
    .changed = changed,
    .flush_old = flush_old,
    .flush_ready = flush_ready,
    .flush = flush,
    .drained = drained,
    .failed = feed_failed,
    .stored = feed_stored,
    .drop = drop,
    .blocked = blocked,
    .crowded = crowded,
    .input = take_request,
    .lower = lower,
};

int feed_start_tasks(struct feed *feed, const struct owner_options *owner, int64_t max_age_ms, struct error *error) {
    void *const stores[STORES] = {
        [FOLLOWS] = relation_lists_store(feed->relations),
        [POSTS] = feed->posts,
        [BLOCKS] = feed->blocks,
        [INBOXES] = feed->inboxes,
        [NAMES] = names_table(feed->names),
        [NOTICES] = notices_table(feed->notices),
        [REFUSALS] = feed->refusals,
        [WATCHES] = feed->watches,
        [VISIBILITY] = visibility_table(feed->visibility),
        [NOTICE_SETTINGS] = notice_settings_table(feed->notice_settings),
        [APPROACHES] = feed,
        [DIRECTORY] = directory_table(feed->directory),
        [DEVICES] = device_store_table(feed->devices),
    };
    const struct tasks_options tasks = {
        .owner = owner,
        .stores = stores,
        .ages = feed->ages,
        .dead_letters = outbox_producer(feed->outbox),
        .undecodable = metrics_counter(service_metrics(feed->service), "starling_feed_undecodable_total",
                                       "Records that could not be read.", NULL),
        .max_age_ms = max_age_ms,
    };
    return tasks_start(feed->tasks, &tasks, error);
}
