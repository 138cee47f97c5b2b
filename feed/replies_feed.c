#include <inttypes.h>

#include "base/clock.h"
#include "event/topics.h"
#include "feed/replies_private.h"
#include "ids/ids.h"

/* ---- the home timeline ---- */

enum { AGAIN_MS = 3000, BEGUN_MS = 60000 };

/* So that the map holds the readers of a minute, and not all that there ever were. */
void replies_forget_begun(struct replies *replies) {
    int64_t now = clock_monotonic_us() / 1000;
    if (now - replies->begun_since < BEGUN_MS) return;
    map_free(replies->begun);
    replies->begun = map_new();
    replies->begun_since = now;
}

/* Begins the reader's inbox anew, unless that was done a moment ago. */
static int begin(struct replies *replies, int32_t partition, int64_t user, struct error *error) {
    int64_t wanted[IDS_PARTITIONS_MAX], now = clock_monotonic_us() / 1000;
    size_t count;
    bool created;
    uint64_t *sent = map_put(replies->begun, (uint64_t)user, &created);
    if (!created && now - (int64_t)*sent < AGAIN_MS) return 0;
    *sent = (uint64_t)now;
    int code = effects_wanted(replies->options.effects, partition, user, wanted, &count, error);
    if (code) return code;
    struct timeline_item item = {.kind = TIMELINE_ITEM_BEGIN, .begin = {.wanted = {.items = wanted, .count = count}}};
    outbox_put(replies->options.outbox, &TOPIC_TIMELINES, partition, &user, 1, &item);
    outbox_flush(replies->options.outbox);
    return 0;
}

/* The inbox as it is, as far as a page of that size needs it; begins it if there is none, or if it is nearly given up. */
static int look_at_inbox(struct replies *replies, int32_t partition, int64_t user, int64_t before, size_t limit,
                         struct error *error) {
    enum { SPARE = 4 }; // times the page: some posts are of authors who are not followed any more
    struct inboxes *inboxes = replies->options.inboxes;
    size_t newest = before == INT64_MAX ? SPARE * limit : SIZE_MAX;
    int code = inboxes_find(inboxes, partition, user, newest, &replies->inbox, error);
    if (code) return code;
    bool complete = inbox_complete(&replies->inbox);
    if (!complete || inboxes_wants_begin(inboxes, &replies->inbox, clock_wall_ms()))
        code = begin(replies, partition, user, error);
    return code;
}

/* The posts of a page, in replies->page. */
static int make_page(struct replies *replies, int32_t partition, int64_t user, int64_t before, size_t limit,
                     struct error *error) {
    struct relation_lists *relations = replies->options.relations;
    int code = relation_lists_all(relations, partition, user, RELATION_FOLLOWING, &replies->following, error);
    if (!code) code = relation_lists_all(relations, partition, user, RELATION_MUTED, &replies->muted, error);
    if (!code)
        page_merge(replies->scratch, &replies->inbox, replies->options.hot, replies->following.items,
                   replies->following.count, replies->muted.items, replies->muted.count, before, limit, &replies->page);
    return code;
}

static void put_following(struct replies *replies) {
    struct buffer *body = &replies->body;
    size_t muted, put = 0;
    buffer_string(body, ",\"following\":[");
    for (size_t i = 0; i < replies->following.count; i++) {
        if (id_list_find(&replies->muted, replies->following.items[i], &muted)) continue;
        buffer_format(body, "%s%" PRId64, put++ ? "," : "", replies->following.items[i]);
    }
    buffer_byte(body, ']');
}

bool replies_feed_now(struct replies *replies, struct http_request *request, int64_t user, int64_t before, size_t limit,
                      bool last) {
    int32_t partition = replies_partition(replies, user);
    struct error error;
    if (replies_refused(replies, request, partition)) return true;
    int code = look_at_inbox(replies, partition, user, before, limit, &error);
    bool complete = !code && inbox_complete(&replies->inbox);
    if (!code && !complete && !last) return false;
    if (!code) code = make_page(replies, partition, user, before, limit, &error);
    if (code) {
        replies_store_failed(replies, request, partition, code, &error);
        return true;
    }
    bool little = replies->page.count < limit && replies->page.horizon > 0;
    replies_start(replies, complete ? "{\"complete\":true,\"horizon\":" : "{\"complete\":false,\"horizon\":");
    replies_put_id(&replies->body, replies->page.count < limit ? replies->page.horizon : 0);
    buffer_byte(&replies->body, ',');
    replies_put_refs(&replies->body, replies->page.posts, replies->page.count);
    if (little) put_following(replies);
    buffer_byte(&replies->body, '}');
    replies_reply(replies, request);
    return true;
}

void replies_feed(struct replies *replies, struct http_request *request, int64_t user) {
    int64_t before, limit;
    if (!replies_limit(request, &limit) || !http_query_number(request, "before", INT64_MAX, INT64_MAX, &before))
        replies_bad_query(request);
    else if (!replies_feed_now(replies, request, user, before, (size_t)limit, false))
        replies_wait_feed(replies, request, user, before, (size_t)limit);
}
