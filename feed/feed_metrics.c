/* The metrics of the whole process. */
#include "feed/feed_private.h"

static void collect(void *context) {
    const struct feed *feed = context;
    struct inboxes_usage inboxes = inboxes_used(feed->inboxes);
    struct recent_usage lists = relation_lists_cached(feed->relations);
    struct store_usage store = store_usage(feed->store);
    const struct metric_now now[] = {
        {"starling_feed_inboxes", "Readers who have an inbox here.", (double)inboxes.inboxes},
        {"starling_feed_inbox_bytes", "Memory of inbox entries that are not written yet.", (double)inboxes.bytes},
        {"starling_feed_inbox_entries_total", "Items taken in for inboxes, once for each reader.",
         (double)inboxes.taken},
        {"starling_feed_inbox_dropped_total", "Of inbox_entries_total, dropped items of readers without an inbox.",
         (double)inboxes.dropped},
        {"starling_feed_pushes", "Posts that are being pushed in slices.", (double)effects_pushes(feed->effects)},
        {"starling_feed_requested_authors", "Authors in requests for posts that wait for their answer.",
         (double)effects_waiting_authors(feed->effects)},
        {"starling_feed_store_cache_bytes", "Block cache of the posts' store.", (double)store.block_cache},
        {"starling_feed_store_disk_bytes", "The posts' store on the disk.", (double)store.sst_files},
        {"starling_feed_readers_bytes", "Memory of follow lists and inboxes that pages have read lately.",
         (double)(inboxes.cache.bytes + lists.bytes)},
        {"starling_feed_readers_hits_total", "Lists and inboxes that pages have found in that memory.",
         (double)(inboxes.cache.hits + lists.hits)},
        {"starling_feed_readers_misses_total", "Lists and inboxes that were not there, and were read from the store.",
         (double)(inboxes.cache.misses + lists.misses)},
    };
    metrics_set(service_metrics(feed->service), now, ARRAY_SIZE(now));
}

void feed_metrics_start(struct feed *feed) { metrics_on_collect(service_metrics(feed->service), collect, feed); }
