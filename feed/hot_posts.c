#include "feed/hot_posts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/topics.h"
#include "feed/timeline_reader.h"
#include "ids/ids.h"

enum { EXPIRE_AUTHORS = 100000 }; /* a second */

struct hot_posts {
    struct hot_posts_options options;
    struct hot *lists;
    struct edited *edited;
    struct copies *copies;
    struct timeline_reader *reader;
    struct metric *ids, *bytes;
};

static void apply_to(struct hot_posts *posts, int64_t author, int64_t time_ms, const struct timeline_item *item) {
    const struct hot_posts_options *options = &posts->options;
    if (item->kind == TIMELINE_ITEM_HOT) {
        bool first = !hot_newest(posts->lists, author);
        hot_put(posts->lists, author, item->hot.id);
        if (item->hot.id > hot_horizon(posts->lists)) options->on_post(options->context, author, item->hot.id, first);
    } else if (item->kind == TIMELINE_ITEM_HOT_GONE) {
        hot_remove(posts->lists, author, item->hot_gone.id);
        options->on_gone(options->context, author, item->hot_gone.id);
    } else if (item->kind == TIMELINE_ITEM_EDITED &&
               edited_put(posts->edited, item->edited.id, item->edited.version, time_ms, clock_wall_ms())) {
        options->on_edit(options->context, item->edited.id);
    }
}

static int apply_item(void *context, const struct kafka_record *record, const struct deliver_envelope *envelope,
                      const struct timeline_item *item, struct error *error) {
    for (size_t i = 0; i < envelope->recipient_count; i++) apply_to(context, envelope->recipients[i], record->timestamp, item);
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
    struct hot_posts *posts = context;
    posts->options.on_ready(posts->options.context);
}

int hot_posts_new(const struct hot_posts_options *options, struct hot_posts **out, struct error *error) {
    struct hot_posts *posts = MEM_NEW(&(struct hot_posts){
        .options = *options,
        .lists = hot_new(),
        .edited = edited_new(),
        .reader = timeline_reader_new(options->kafka->tracer),
        .ids = metrics_gauge(options->metrics, "starling_feed_hot_posts", "Posts of hot authors in memory.", NULL),
        .bytes = metrics_gauge(options->metrics, "starling_feed_hot_bytes", "Memory that they take.", NULL),
    });
    hot_posts_second(posts);
    struct copy_definition definition = {.topic = &TOPIC_HOT_POSTS, .context = posts, .apply = apply, .forget = forget};
    struct copies_options copies = {
        .loop = options->loop,
        .settings = options->kafka,
        .partitions = options->partitions,
        .definitions = &definition,
        .count = 1,
        .log = options->log,
        .metrics = options->metrics,
        .dead_letters = options->dead_letters,
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
    hot_expire(posts->lists, ids_first_at(clock_wall_ms() - posts->options.keep_ms), EXPIRE_AUTHORS);
    struct hot_usage usage = hot_used(posts->lists);
    posts->ids->value = (double)usage.ids;
    posts->bytes->value = (double)usage.bytes;
}
