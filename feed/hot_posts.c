#include "feed/hot_posts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/mem.h"
#include "copies/copies.h"
#include "event/topics.h"
#include "feed/feed_private.h"
#include "ids/ids.h"

enum { EXPIRE_AUTHORS = 100000 /* a second */, DAY_MS = 86400000 };

struct hot_posts {
    struct feed *feed;
    struct hot *lists;
    struct edited *edited;
    struct copies *copies;
    struct timeline_reader *reader;
    struct metric *ids, *bytes;
};

static void apply_to(struct hot_posts *posts, int64_t author, int64_t time_ms, const struct timeline_item *item) {
    struct watches *watches = posts->feed->watches; // NULL: not there yet
    if (item->kind == TIMELINE_ITEM_HOT) {
        bool first = !hot_newest(posts->lists, author);
        hot_put(posts->lists, author, item->hot.id);
        if (watches && item->hot.id > hot_horizon(posts->lists)) watches_hot(watches, author, item->hot.id, first);
    } else if (item->kind == TIMELINE_ITEM_HOT_GONE) {
        hot_remove(posts->lists, author, item->hot_gone.id);
        if (watches) watches_hot_gone(watches, author, item->hot_gone.id);
    } else if (item->kind == TIMELINE_ITEM_EDITED) {
        bool news = edited_put(posts->edited, item->edited.id, item->edited.version, time_ms, clock_wall_ms());
        if (news && watches) watches_edited(watches, item->edited.id);
    } else if (item->kind == TIMELINE_ITEM_MODERATED) {
        const struct timeline_moderated *moderated = &item->moderated;
        bool news =
            hot_moderate(posts->lists, moderated->id, moderated->times, moderated->hidden, time_ms, clock_wall_ms());
        if (news && watches) watches_moderated(watches, author, moderated->id, moderated->hidden);
    }
}

static int apply_item(void *context, const struct kafka_record *record, const struct deliver_envelope *envelope,
                      const struct timeline_item *item, struct error *error) {
    for (size_t i = 0; i < envelope->recipient_count; i++)
        apply_to(context, envelope->recipients[i], record->timestamp, item);
    return 0;
}

static int apply(void *context, const struct kafka_record *record, struct error *error) {
    struct hot_posts *posts = context;
    struct error reason;
    const char *unread;
    timeline_reader_each(posts->reader, record, apply_item, posts, &unread, &reason);
    return unread ? error_set(error, -EBADMSG, "%s", unread) : 0;
}

/* Some records were deleted before they were read: they were too old in any case. */
static void forget(void *context) { (void)context; }

static void copied(void *context) {
    const struct hot_posts *posts = context;
    service_ready(posts->feed->service, "hot", true);
    tasks_may_join(posts->feed->tasks);
}

int hot_posts_new(struct feed *feed, struct hot_posts **out, struct error *error) {
    struct metrics *m = service_metrics(feed->service);
    struct hot_posts *posts = MEM_NEW(&(struct hot_posts){
        .feed = feed,
        .lists = hot_new(),
        .edited = edited_new(),
        .reader = timeline_reader_new(service_kafka(feed->service)->tracer),
        .ids = metrics_gauge(m, "starling_feed_hot_posts", "Posts of hot authors in memory.", NULL),
        .bytes = metrics_gauge(m, "starling_feed_hot_bytes", "Memory that they take.", NULL),
    });
    hot_posts_second(posts);
    const struct copy_definition definitions[] = {
        {.topic = &TOPIC_HOT_POSTS, .context = posts, .apply = apply, .forget = forget}, bans_copy(feed->bans)};
    struct copies_options copies = {
        .loop = service_loop(feed->service),
        .settings = service_kafka(feed->service),
        .partitions = feed->partitions,
        .definitions = definitions,
        .count = ARRAY_SIZE(definitions),
        .log = service_log(feed->service),
        .metrics = m,
        .dead_letters = outbox_producer(feed->outbox),
        .context = posts,
        .on_ready = copied,
    };
    int code = copies_new(&copies, &posts->copies, error);
    if (code)
        hot_posts_free(posts);
    else
        *out = posts;
    return code;
}

void hot_posts_free(struct hot_posts *posts) {
    if (!posts) return;
    copies_free(posts->copies);
    hot_free(posts->lists);
    edited_free(posts->edited);
    timeline_reader_free(posts->reader);
    free(posts);
}

struct hot *hot_posts_lists(struct hot_posts *posts) {
    return posts->lists;
}

const struct edited *hot_posts_edited(const struct hot_posts *posts) { return posts->edited; }

void hot_posts_second(struct hot_posts *posts) {
    hot_expire(posts->lists, ids_first_at(clock_wall_ms() - posts->feed->settings->hot_days * DAY_MS), EXPIRE_AUTHORS);
    struct hot_usage usage = hot_used(posts->lists);
    posts->ids->value = (double)usage.ids;
    posts->bytes->value = (double)usage.bytes;
}
