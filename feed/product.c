/* The feed as a product of lib/owner: the topics that it names, and the owner's callbacks. */
#include "event/topics.h"
#include "feed/feed_private.h"

const struct owner_topic FEED_TOPICS[] = {
    {&TOPIC_FOLLOW_COMMANDS, OWNER_COMMAND}, {&TOPIC_POST_COMMANDS, OWNER_COMMAND},
    {&TOPIC_FOLLOWS, OWNER_STATE},           {&TOPIC_POSTS, OWNER_STATE},
    {&TOPIC_POST_TEXTS, OWNER_STATE},        {&TOPIC_FRIENDSHIPS, OWNER_STATE},
    {&TOPIC_TIMELINES, OWNER_STATE},         {&TOPIC_TIMELINE_REQUESTS, OWNER_INPUT},
    {&TOPIC_NAME_COMMANDS, OWNER_COMMAND},   {&TOPIC_NAMES, OWNER_STATE},
    {&TOPIC_NOTICES, OWNER_STATE},           {&TOPIC_FOLLOW_REFUSALS, OWNER_STATE},
    {&TOPIC_FEED_WATCHES, OWNER_STATE},
};
const size_t FEED_TOPIC_COUNT = ARRAY_SIZE(FEED_TOPICS);

/* ---- requests of other processes' readers ---- */

enum { WAITING_MAX = 4 << 20 /* authors of requests; with more, no more records are read */ };

static int take_item(void *context, const struct kafka_record *record, const struct deliver_envelope *envelope,
                     const struct timeline_item *item, struct error *error) {
    if (item->kind == TIMELINE_ITEM_REQUEST)
        effects_request(((struct feed *)context)->effects, record->partition, record->offset, envelope->recipients,
                        envelope->recipient_count, item->request.reader, item->request.request);
    return 0;
}

/* ---- the owner's product ---- */

static int state_attach(void *context, int32_t partition, int64_t *from, struct error *error) {
    return partitions_attach(((struct feed *)context)->state, partition, from, error);
}

static void state_detach(void *context, int32_t partition) {
    partitions_detach(((struct feed *)context)->state, partition);
}

static void state_own(void *context, int32_t partition, bool fresh, const int64_t *told, int64_t *again) {
    partitions_own(((struct feed *)context)->state, partition, fresh, told, again);
}

static void state_silence(void *context, int32_t partition) {
    partitions_silence(((struct feed *)context)->state, partition);
}

static void state_take(void *context, const struct kafka_record *records, size_t count) {
    partitions_take(((struct feed *)context)->state, records, count);
}

static void state_idle(void *context) { partitions_idle(((struct feed *)context)->state); }

static bool state_lost(void *context, size_t state, int32_t partition) {
    return partitions_lost(((struct feed *)context)->state, state, partition);
}

static bool state_reached(void *context, int32_t partition, const int64_t *ends) {
    return partitions_reached(((struct feed *)context)->state, partition, ends);
}

static int64_t state_unapplied(void *context, int32_t partition) {
    return partitions_unapplied(((struct feed *)context)->state, partition);
}

static void state_live(void *context, int32_t partition) {
    partitions_live(((struct feed *)context)->state, partition);
}

static void take_request(void *context, size_t input, const struct kafka_record *record, bool owned, int64_t now_us) {
    struct feed *feed = context;
    struct error error;
    const char *unread;
    timeline_reader_each(feed->reader, record, take_item, feed, &unread, &error);
    if (unread) outbox_dead(feed->outbox, record, unread);
    partitions_turn_soon(feed->state);
}

static void lower(void *context, size_t input, int64_t *offsets) {
    effects_lower(((struct feed *)context)->effects, offsets);
}

static void flush_old(void *context, int64_t now_us) { outbox_flush_old(((struct feed *)context)->outbox, now_us); }

static void flush(void *context) { partitions_flush(((struct feed *)context)->state); }

static bool blocked(void *context) {
    struct feed *feed = context;
    if (outbox_blocked(feed->outbox) && !outbox_retry(feed->outbox)) return true;
    partitions_unblocked(feed->state);
    return effects_waiting_authors(feed->effects) > WAITING_MAX;
}

/* The group is joined when what was hot is known: a page without it would lack posts. */
static void join(struct feed *feed) {
    struct error error;
    if (!feed->prepared || !feed->hot_read || feed->draining) return;
    if (owner_join(feed->owner, &error)) feed_failed(feed, "the group cannot be joined", &error);
}

static void prepared(void *context) {
    struct feed *feed = context;
    feed->prepared = true;
    join(feed);
}

void feed_hot_is_read(void *context) {
    struct feed *feed = context;
    feed->hot_read = true;
    service_ready(feed->service, "hot", true);
    join(feed);
}

static bool workers_busy(void *context) { return partitions_busy(((struct feed *)context)->state); }

static void drained(void *context) { service_finished(((struct feed *)context)->service); }

const struct owner_product FEED_OWNED = {
    .attach = state_attach,
    .detach = state_detach,
    .own = state_own,
    .silence = state_silence,
    .state = state_take,
    .state_idle = state_idle,
    .state_lost = state_lost,
    .reached = state_reached,
    .unapplied = state_unapplied,
    .live = state_live,
    .input = take_request,
    .flush_old = flush_old,
    .flush = flush,
    .settle = flush,
    .lower = lower,
    .blocked = blocked,
    .prepared = prepared,
    .busy = workers_busy,
    .drained = drained,
    .failed = feed_failed,
};
