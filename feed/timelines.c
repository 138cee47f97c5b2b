#include "feed/timelines.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "event/topics.h"
#include "feed/feed_private.h"
#include "ids/ids.h"

enum { AGAIN_MS = 3000, BEGUN_MS = 60000 };
enum { SPARE = 4 }; /* so many pages are read of an inbox: some posts are of authors who are no longer followed */

struct timelines {
    const struct feed *feed;
    struct page_scratch *scratch;
    struct page page;
    struct inbox inbox;
    struct id_list following, muted;
    struct map *begun;   /* readers for whom a Begin is under way -> when it was sent (ms, monotonic) */
    int64_t begun_since; /* ms, monotonic */
};

struct timelines *timelines_new(const struct feed *feed) {
    return MEM_NEW(
        &(struct timelines){.feed = feed, .scratch = page_scratch_new(), .inbox = {.request = -1}, .begun = map_new()});
}

void timelines_free(struct timelines *timelines) {
    if (!timelines) return;
    page_scratch_free(timelines->scratch);
    page_free(&timelines->page);
    inbox_free(&timelines->inbox);
    id_list_free(&timelines->following);
    id_list_free(&timelines->muted);
    map_free(timelines->begun);
    free(timelines);
}

/* Empties the map once a minute, so that it does not grow with every reader. */
void timelines_second(struct timelines *timelines) {
    int64_t now = clock_monotonic_us() / 1000;
    if (now - timelines->begun_since < BEGUN_MS) return;
    map_free(timelines->begun);
    timelines->begun = map_new();
    timelines->begun_since = now;
}

/* ---- the inbox ---- */

/* Begins the reader's inbox anew, unless that was done a moment ago. */
static int begin(struct timelines *timelines, int32_t partition, int64_t user, struct error *error) {
    int64_t wanted[IDS_PARTITIONS_MAX], now = clock_monotonic_us() / 1000;
    size_t count;
    bool created;
    uint64_t *sent = map_put(timelines->begun, (uint64_t)user, &created);
    if (!created && now - (int64_t)*sent < AGAIN_MS) return 0;
    *sent = (uint64_t)now;
    int code = effects_wanted(timelines->feed->effects, partition, user, wanted, &count, error);
    if (code) return code;
    struct timeline_item item = {.kind = TIMELINE_ITEM_BEGIN, .begin = {.wanted = {.items = wanted, .count = count}}};
    outbox_put(timelines->feed->outbox, &TOPIC_TIMELINES, partition, &user, 1, &item);
    outbox_flush_timeline(timelines->feed->outbox, partition);
    return 0;
}

/* The inbox as it is, as far as a page of that size needs it; begins it if there is none, or if it is nearly given up. */
static int look_at_inbox(struct timelines *timelines, int32_t partition, int64_t user, size_t newest,
                         struct error *error) {
    struct inboxes *inboxes = timelines->feed->inboxes;
    int code = inboxes_find(inboxes, partition, user, newest, &timelines->inbox, error);
    if (code) return code;
    if (!inbox_complete(&timelines->inbox) || inboxes_wants_begin(inboxes, &timelines->inbox, clock_wall_ms()))
        code = begin(timelines, partition, user, error);
    return code;
}

int timelines_complete(struct timelines *timelines, int32_t partition, int64_t user, bool *complete,
                       struct error *error) {
    int code = look_at_inbox(timelines, partition, user, 0, error);
    if (!code) *complete = inbox_complete(&timelines->inbox);
    return code;
}

/* ---- pages ---- */

static void merge(struct timelines *timelines, const struct timeline_wish *wish) {
    const struct id_list *following = &timelines->following, *muted = &timelines->muted;
    page_merge(timelines->scratch, &timelines->inbox, timelines->feed->hot_lists, following->items, following->count,
               muted->items, muted->count, wish->above, wish->before, wish->wanted, &timelines->page);
}

/* Posts that were not read of the inbox may belong on the page. */
static bool lacks_posts(const struct timelines *timelines, const struct timeline_wish *wish) {
    const struct inbox *inbox = &timelines->inbox;
    return timelines->page.count < wish->wanted && inbox->cut &&
           (!inbox->count || inbox->posts[inbox->count - 1].id > wish->above);
}

/* A page that comes out too short is made of the whole inbox, so that it does not depend on how much of it was read. */
int timelines_page(struct timelines *timelines, int32_t partition, const struct timeline_wish *wish,
                   struct timeline *timeline, struct error *error) {
    struct relation_lists *relations = timelines->feed->relations;
    int64_t user = wish->user;
    size_t newest = wish->before == INT64_MAX ? SPARE * wish->wanted : SIZE_MAX;
    int code = look_at_inbox(timelines, partition, user, newest, error);
    if (!code) code = relation_lists_all(relations, partition, user, RELATION_FOLLOWING, &timelines->following, error);
    if (!code) // a block ends follows, but a moment later
        code = blocks_leave_out(timelines->feed->store, timelines->feed->blocks, partition, user, &timelines->following,
                                &timelines->muted, error);
    if (!code) code = relation_lists_all(relations, partition, user, RELATION_MUTED, &timelines->muted, error);
    if (!code) merge(timelines, wish);
    if (!code && lacks_posts(timelines, wish)) {
        code = inboxes_find(timelines->feed->inboxes, partition, user, SIZE_MAX, &timelines->inbox, error);
        if (!code) merge(timelines, wish);
    }
    if (code) return code;
    *timeline = (struct timeline){.complete = inbox_complete(&timelines->inbox),
                                  .page = &timelines->page,
                                  .following = &timelines->following,
                                  .muted = &timelines->muted};
    return 0;
}

struct watch_version timeline_version(const struct timelines *timelines, const struct inbox_post *posts, size_t count) {
    uint64_t hash = 0;
    for (size_t i = 0; i < count && i < TIMELINE_NEWEST; i++) {
        uint64_t edits = (uint64_t)edited_version(timelines->feed->edited, posts[i].id) - 1;
        hash += hash_u64((uint64_t)posts[i].id) + (edits ? hash_u64((uint64_t)posts[i].id ^ edits << 56) : 0);
    }
    return (struct watch_version){.number = count ? posts[0].id : 0, .hash = hash ? hash : 1};
}
