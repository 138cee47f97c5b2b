/* Comments as a product of lib/owner: the topics that it names, and the owner's callbacks. Live threads are its only effect, and one that
 * may get lost: roll calls repair it (comments/thread_watches.h). */
#include "comments/comments_private.h"
#include "event/topics.h"

const struct owner_topic COMMENTS_TOPICS[] = {
    {&TOPIC_COMMENT_COMMANDS, OWNER_COMMAND}, {&TOPIC_COMMENTS, OWNER_STATE},
    {&TOPIC_COMMENT_TEXTS, OWNER_STATE},      {&TOPIC_REACTIONS, OWNER_STATE},
    {&TOPIC_COMMENT_REFUSALS, OWNER_STATE},   {&TOPIC_COMMENT_WATCHES, OWNER_STATE},
};
const size_t COMMENTS_TOPIC_COUNT = ARRAY_SIZE(COMMENTS_TOPICS);

static int state_attach(void *context, int32_t partition, int64_t *from, struct error *error) {
    return comment_states_attach(((struct comments *)context)->states, partition, from, error);
}

static void state_detach(void *context, int32_t partition) {
    comment_states_detach(((struct comments *)context)->states, partition);
}

static void state_own(void *context, int32_t partition, bool fresh, const int64_t *told, int64_t *again) {}

static void state_silence(void *context, int32_t partition) {
    comment_states_silence(((struct comments *)context)->states, partition);
}

static void state_take(void *context, const struct kafka_record *records, size_t count) {
    comment_states_take(((struct comments *)context)->states, records, count);
}

static void state_idle(void *context) {}

static bool state_lost(void *context, size_t state, int32_t partition) {
    return comment_states_lost(((struct comments *)context)->states, state, partition);
}

static bool state_reached(void *context, int32_t partition, const int64_t *ends) {
    return comment_states_reached(((struct comments *)context)->states, partition, ends);
}

static int64_t state_unapplied(void *context, int32_t partition) { return 0; }

static void state_live(void *context, int32_t partition) {
    comment_states_live(((struct comments *)context)->states, partition);
}

static void flush_old(void *context, int64_t now_us) { edges_flush_old(((struct comments *)context)->edges, now_us); }
static void flush(void *context) { edges_flush(((struct comments *)context)->edges); }
static bool blocked(void *context) { return false; }

/* The group is joined when bans are known: without them a banned user could write. */
static void join(struct comments *comments) {
    struct error error;
    if (!comments->prepared || !comments->bans_read || comments->draining) return;
    if (owner_join(comments->owner, &error)) comments_failed(comments, "the group cannot be joined", &error);
}

static void prepared(void *context) {
    struct comments *comments = context;
    comments->prepared = true;
    join(comments);
}

void comments_bans_are_read(void *context) {
    struct comments *comments = context;
    comments->bans_read = true;
    service_ready(comments->service, "bans", true);
    join(comments);
}

static void drained(void *context) { service_finished(((struct comments *)context)->service); }

const struct owner_product COMMENTS_OWNED = {
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
    .flush_old = flush_old,
    .flush = flush,
    .settle = flush,
    .blocked = blocked,
    .prepared = prepared,
    .drained = drained,
    .failed = comments_failed,
};
