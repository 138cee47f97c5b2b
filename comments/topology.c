/* Comments as a product of lib/tasks: which topics feed which store, and what changes lead to. Commands are decided in comments/decisions.h.
 * Live threads are the only effect, and one that may get lost: roll calls repair it (comments/thread_watches.h). */
#include "base/config.h"
#include "comments/comments_private.h"
#include "event/topics.h"

static void see_comment(void *context, const struct kafka_record *record) {
    thread_watches_comments(((struct comments *)context)->watches, record);
}

static const struct state_kind *const KINDS[COMMENTS_STORES] = {
    [COMMENTS_THREADS] = &THREADS_KIND,
    [COMMENTS_WATCHES] = &THREAD_WATCHES_KIND,
};

static const struct tasks_topic TOPICS[] = {
    {.topic = &TOPIC_COMMENT_COMMANDS, .role = OWNER_COMMAND},
    {.topic = &TOPIC_COMMENTS, .role = OWNER_STATE, .store = COMMENTS_THREADS, .sees = see_comment},
    {.topic = &TOPIC_COMMENT_TEXTS, .role = OWNER_STATE, .store = COMMENTS_THREADS},
    {.topic = &TOPIC_REACTIONS, .role = OWNER_STATE, .store = COMMENTS_THREADS},
    {.topic = &TOPIC_COMMENT_REFUSALS, .role = OWNER_STATE, .store = COMMENTS_THREADS},
    {.topic = &TOPIC_COMMENT_WATCHES, .role = OWNER_STATE, .store = COMMENTS_WATCHES},
};

static void changed(void *context) {
    struct comments *comments = context;
    if (comments->replies) comment_replies_look_again(comments->replies);
}

static void flush_old(void *context, int64_t now_us) { edges_flush_old(((struct comments *)context)->edges, now_us); }
static int64_t flush_ready(void *context, int64_t now_us) {
    return edges_flush_ready(((struct comments *)context)->edges, now_us);
}

static void flush(void *context) { edges_flush(((struct comments *)context)->edges); }
static void drained(void *context) { service_finished(((struct comments *)context)->service); }

void comments_failed(void *context, const char *doing, const struct error *error) {
    struct comments *comments = context;
    log_error(service_log(comments->service), doing, LOG_TEXT("reason", error->text));
    service_fail(comments->service, doing);
}

const struct tasks_product COMMENTS_TOPOLOGY = {
    .topics = TOPICS,
    .topic_count = ARRAY_SIZE(TOPICS),
    .kinds = KINDS,
    .store_count = COMMENTS_STORES,
    .changed = changed,
    .flush_old = flush_old,
    .flush_ready = flush_ready,
    .flush = flush,
    .drained = drained,
    .failed = comments_failed,
};
