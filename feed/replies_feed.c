#include <inttypes.h>

#include "base/hash.h"
#include "feed/replies_private.h"

/* ---- the home timeline ---- */

static void put_following(struct buffer *body, const struct timeline *timeline) {
    size_t muted, put = 0;
    buffer_string(body, ",\"following\":[");
    for (size_t i = 0; i < timeline->following->count; i++) {
        if (id_list_find(timeline->muted, timeline->following->items[i], &muted)) continue;
        buffer_format(body, "%s%" PRId64, put++ ? "," : "", timeline->following->items[i]);
    }
    buffer_byte(body, ']');
}

static void put_timeline(struct replies *replies, const struct timeline *timeline, int64_t age_ms, bool newest,
                         size_t limit) {
    struct buffer *body = &replies->body;
    const struct page *page = timeline->page;
    bool little = page->count < limit;
    buffer_format(body, "{\"age_ms\":%" PRId64 ",\"complete\":%s,\"horizon\":", age_ms,
                  timeline->complete ? "true" : "false");
    replies_put_id(body, little ? page->horizon : 0);
    buffer_byte(body, ',');
    replies_put_refs(replies, page->posts, page->count);
    if (little && page->horizon > 0) put_following(body, timeline);
    if (newest) {
        char version[WATCH_VERSION_TEXT];
        watch_version_write(timeline_version(replies->options.timelines, page->posts, page->count), version);
        buffer_format(body, ",\"version\":\"%s\"", version);
    }
    buffer_byte(body, '}');
}

/* The version of the newest page is of TIMELINE_NEWEST posts, however few are wanted. */
static bool is_newest(const struct timeline_wish *wish) { return !wish->above && wish->before == INT64_MAX; }

static int make_page(struct replies *replies, int32_t partition, const struct timeline_wish *wish,
                     struct timeline *timeline, struct error *error) {
    struct timeline_wish wider = *wish;
    if (is_newest(wish) && wider.wanted < TIMELINE_NEWEST) wider.wanted = TIMELINE_NEWEST;
    return timelines_page(replies->options.timelines, partition, &wider, timeline, error);
}

bool replies_feed_now(struct replies *replies, struct http_request *request, const struct timeline_wish *wish,
                      bool last) {
    int32_t partition = hash_user_partition(wish->user, replies->options.partitions);
    struct timeline timeline;
    struct error error;
    if (rpc_refused(request, replies_serves(replies, partition))) return true;
    int code = make_page(replies, partition, wish, &timeline, &error);
    if (!code && !timeline.complete && !last) return false;
    if (code) {
        replies_store_failed(replies, request, partition, code, &error);
        return true;
    }
    replies_start(replies, "");
    put_timeline(replies, &timeline, owner_age_ms(tasks_owner(replies->options.tasks), partition), is_newest(wish),
                 wish->wanted);
    http_reply_json(request, 200, &replies->body);
    return true;
}

void replies_feed(void *context, struct http_request *request, const struct rpc_asked *asked) {
    const int64_t *numbers = asked->numbers;
    const struct timeline_wish wish = {.user = numbers[RPC_USER],
                                       .above = numbers[RPC_ABOVE],
                                       .before = numbers[RPC_BEFORE],
                                       .wanted = (size_t)numbers[RPC_LIMIT]};
    if (!replies_feed_now(context, request, &wish, false)) replies_wait_feed(context, request, &wish);
}
