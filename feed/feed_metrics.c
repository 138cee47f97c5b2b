/* The metrics of the whole process. */
#include "feed/feed_private.h"

static void collect(void *context) {
    struct feed *feed = context;
    struct inboxes_usage inboxes = inboxes_used(feed->inboxes);
    struct recent_usage lists = relation_lists_cached(feed->relations);
    struct store_usage store = store_usage(feed->store);
    feed->metrics.inboxes->value = (double)inboxes.inboxes;
    feed->metrics.unwritten->value = (double)inboxes.bytes;
    feed->metrics.entries->value = (double)inboxes.taken;
    feed->metrics.dropped->value = (double)inboxes.dropped;
    feed->metrics.pushes->value = (double)effects_pushes(feed->effects);
    feed->metrics.requests->value = (double)effects_waiting_authors(feed->effects);
    feed->metrics.cache->value = (double)store.block_cache;
    feed->metrics.files->value = (double)store.sst_files;
    feed->metrics.rows->value = (double)(inboxes.cache.bytes + lists.bytes);
    feed->metrics.hits->value = (double)(inboxes.cache.hits + lists.hits);
    feed->metrics.misses->value = (double)(inboxes.cache.misses + lists.misses);
}

void feed_metrics_start(struct feed *feed) {
    struct metrics *m = service_metrics(feed->service);
    feed->metrics.inboxes = metrics_gauge(m, "starling_feed_inboxes", "Readers who have an inbox here.", NULL);
    feed->metrics.unwritten =
        metrics_gauge(m, "starling_feed_inbox_bytes", "Memory of inbox entries that are not written yet.", NULL);
    feed->metrics.entries = metrics_counter(m, "starling_feed_inbox_entries_total",
                                            "Items taken in for inboxes, once for each reader.", NULL);
    feed->metrics.dropped = metrics_counter(m, "starling_feed_inbox_dropped_total",
                                            "Of inbox_entries_total, dropped items of readers without an inbox.", NULL);
    feed->metrics.pushes = metrics_gauge(m, "starling_feed_pushes", "Posts that are being pushed in slices.", NULL);
    feed->metrics.requests = metrics_gauge(m, "starling_feed_requested_authors",
                                           "Authors in requests for posts that wait for their answer.", NULL);
    feed->metrics.cache = metrics_gauge(m, "starling_feed_store_cache_bytes", "Block cache of the posts' store.", NULL);
    feed->metrics.files = metrics_gauge(m, "starling_feed_store_disk_bytes", "The posts' store on the disk.", NULL);
    feed->metrics.rows = metrics_gauge(m, "starling_feed_readers_bytes",
                                       "Memory of follow lists and inboxes that pages have read lately.", NULL);
    feed->metrics.hits = metrics_counter(m, "starling_feed_readers_hits_total",
                                         "Lists and inboxes that pages have found in that memory.", NULL);
    feed->metrics.misses =
        metrics_counter(m, "starling_feed_readers_misses_total",
                        "Lists and inboxes that were not there, and were read from the store.", NULL);
    metrics_on_collect(m, collect, feed);
}
