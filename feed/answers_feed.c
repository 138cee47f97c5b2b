#include <inttypes.h>

#include "base/clock.h"
#include "event/topics.h"
#include "feed/answers_private.h"
#include "ids/ids.h"

/* ---- the home timeline ---- */

/* Begins the reader's inbox anew, unless that was done a moment ago. */
static int begin(struct answers *answers, int32_t partition, int64_t user, struct error *error) {
    enum { AGAIN_MS = 3000 };
    int64_t wanted[IDS_PARTITIONS_MAX], now = clock_monotonic_us() / 1000;
    size_t count;
    bool created;
    uint64_t *sent = map_put(answers->begun, (uint64_t)user, &created);
    if (!created && now - (int64_t)*sent < AGAIN_MS) return 0;
    *sent = (uint64_t)now;
    int code = effects_wanted(answers->options.effects, partition, user, wanted, &count, error);
    if (code) return code;
    struct timeline_item item = {.kind = TIMELINE_ITEM_BEGIN, .begin = {.wanted = {.items = wanted, .count = count}}};
    outbox_put(answers->options.outbox, &TOPIC_TIMELINES, partition, &user, 1, &item);
    outbox_flush(answers->options.outbox);
    return 0;
}

/* The inbox as it is, as far as a page of that size needs it; begins it if there is none, or if it is nearly given up. */
static int look_at_inbox(struct answers *answers, int32_t partition, int64_t user, int64_t before, size_t limit,
                         struct error *error) {
    enum { SPARE = 4 }; // times the page: some posts are of authors who are not followed any more
    struct inboxes *inboxes = answers->options.inboxes;
    size_t newest = before == INT64_MAX ? SPARE * limit : SIZE_MAX;
    int code = inboxes_find(inboxes, partition, user, newest, &answers->inbox, error);
    if (code) return code;
    bool complete = inbox_complete(&answers->inbox);
    if (complete) map_remove(answers->begun, (uint64_t)user, NULL);
    if (!complete || inboxes_wants_begin(inboxes, &answers->inbox, clock_wall_ms()))
        code = begin(answers, partition, user, error);
    return code;
}

/* The posts of a page, in answers->page. */
static int make_page(struct answers *answers, int32_t partition, int64_t user, int64_t before, size_t limit,
                     struct error *error) {
    struct relation_lists *relations = answers->options.relations;
    int code = relation_lists_all(relations, partition, user, RELATION_FOLLOWING, &answers->following, error);
    if (!code) code = relation_lists_all(relations, partition, user, RELATION_MUTED, &answers->muted, error);
    if (!code)
        page_merge(answers->scratch, &answers->inbox, answers->options.hot, answers->following.items,
                   answers->following.count, answers->muted.items, answers->muted.count, before, limit, &answers->page);
    return code;
}

static void put_following(struct answers *answers) {
    struct buffer *body = &answers->body;
    size_t muted, put = 0;
    buffer_string(body, ",\"following\":[");
    for (size_t i = 0; i < answers->following.count; i++) {
        if (id_list_find(&answers->muted, answers->following.items[i], &muted)) continue;
        buffer_format(body, "%s%" PRId64, put++ ? "," : "", answers->following.items[i]);
    }
    buffer_byte(body, ']');
}

bool answers_feed_now(struct answers *answers, struct http_request *request, int64_t user, int64_t before, size_t limit,
                      bool last) {
    int32_t partition = answers_partition(answers, user);
    struct error error;
    if (answers_refused(answers, request, partition)) return true;
    int code = look_at_inbox(answers, partition, user, before, limit, &error);
    bool complete = !code && inbox_complete(&answers->inbox);
    if (!code && !complete && !last) return false;
    if (!code) code = make_page(answers, partition, user, before, limit, &error);
    if (code) {
        answers_store_failed(request, &error);
        return true;
    }
    bool little = answers->page.count < limit && answers->page.horizon > 0;
    answers_start(answers, complete ? "{\"complete\":true,\"horizon\":" : "{\"complete\":false,\"horizon\":");
    answers_put_id(&answers->body, answers->page.count < limit ? answers->page.horizon : 0);
    buffer_byte(&answers->body, ',');
    answers_put_refs(&answers->body, answers->page.posts, answers->page.count);
    if (little) put_following(answers);
    buffer_byte(&answers->body, '}');
    answers_reply(answers, request);
    return true;
}

void answers_feed(struct answers *answers, struct http_request *request, int64_t user) {
    int64_t before, limit;
    if (!answers_limit(request, &limit) || !http_query_number(request, "before", INT64_MAX, INT64_MAX, &before))
        answers_bad_query(request);
    else if (!answers_feed_now(answers, request, user, before, (size_t)limit, false))
        answers_wait_feed(answers, request, user, before, (size_t)limit);
}
