/* Connects the feed's modules with the core, Kafka and the feed processes.
 *
 *     phone ---- watch, unwatch ----> request.c ----> feeds.c ----> feed-watches
 *           <--- posts, stale <--- frames.c <--- live.c <--- feeds.c <--- deliveries; feed processes: texts
 *           <--- notices <-------------------- bells.c <--- feeds.c: other versions; feed processes: lists
 */
#include "fanout/screens.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "event/topics.h"
#include "fanout/authors.h"
#include "fanout/feed/bells.h"
#include "fanout/feed/feeds.h"
#include "fanout/feed/request.h"

#define AT(member) offsetof(struct feed_screen_settings, member)

static const struct config_property PROPERTIES[] = {
    {"feed.group.id", CONFIG_STRING, AT(group), "starling-feed",
     .doc =
         "Consumer group of the feed processes, which the edge asks for the texts of new posts, and who may see them."},
    {"edge.feed.texts", CONFIG_INT, AT(texts), "4000", .max = 1000000,
     .doc =
         "How many texts of posts an edge keeps, so that it fetches each only once for all phones; some kilobytes each, and 64 MiB in all."},
    {"edge.feed.texts.s", CONFIG_INT, AT(texts_s), "10", .max = 3600,
     .doc = "How long it keeps a text (s). It forgets a deleted post when one of its phones is told of the deletion."},
};

static struct feed_screen_settings configured;

const struct config_section FEED_SCREEN_SECTION = {"Edge: feed (starling-fanout)", PROPERTIES, ARRAY_SIZE(PROPERTIES),
                                                   &configured};

/* The context of the feeds, which are the product that the core knows. */
struct feed_screen {
    struct screen_options core;
    struct authors *authors;
    struct bells *bells;
};

struct feed_session {
    struct live_feed *live;
    struct bell *bell;
};

/* ---- callbacks of the feeds ---- */

static int write_watch(void *context, int32_t partition, const void *key, size_t key_size, const void *value,
                       size_t value_size) {
    struct feed_screen *product = context;
    return kafka_producer_send(product->core.producer, &TOPIC_FEED_WATCHES, partition, key, key_size, value, value_size,
                               NULL)
               ? -EAGAIN
               : 0;
}

static void fetch_posts(void *context, int32_t partition, const char *path, int timeout_ms,
                        void (*done)(void *context, int code, unsigned status, const char *reply, size_t size),
                        void *done_context) {
    struct feed_screen *product = context;
    peers_fetch(authors_peers(product->authors), partition, path, timeout_ms, done, done_context);
}

static void notices_stale(void *context, struct session *session, int64_t after_ms) {
    bells_stale(((struct feed_screen *)context)->bells, session, after_ms);
}

/* ---- callbacks of the core ---- */

static int message(void *context, struct session *session, const char *type, const json_t *object, const char **code,
                   struct error *error) {
    struct feed_screen *product = feeds_context(context);
    struct feed_request request;
    int result = feed_request_parse(type, object, &request, code, error);
    if (result) return result;
    if (!request.watch) {
        if (request.notices)
            bells_unwatch(product->bells, session);
        else
            feeds_unwatch(context, session);
        return 0;
    }
    peers_prepare(authors_peers(product->authors)); /* the first post's text is then as quick as the others' */
    if (request.notices ? bells_watch(product->bells, session)
                        : feeds_watch(context, session, request.has_version ? &request.version : NULL)) {
        *code = "too_many_watches";
        return error_set(error, -EINVAL, "too many feeds are watched here just now; try again later");
    }
    return 0;
}

static struct screen_filled fill(void *context, struct session *session, struct buffer *frame) {
    struct screen_filled filled = bells_fill(((struct feed_screen *)feeds_context(context))->bells, session, frame);
    return filled.frame ? filled : feeds_fill(context, session, frame);
}

static void leave(void *context, struct session *session) {
    bells_leave(((struct feed_screen *)feeds_context(context))->bells, session);
    feeds_leave(context, session);
}

/* Questions under way end, and tell the feeds so. */
static void stop(void *context) {
    if (!context) return;
    struct feed_screen *product = feeds_context(context);
    authors_stop(product->authors);
    bells_free(product->bells);
    feeds_free(context);
    authors_free(product->authors);
    free(product);
}

static int start(const struct screen_options *options, void **made, struct error *error) {
    int32_t partitions = options->shape->partitions[TOPIC_SPACE_USERS];
    struct feed_screen *product = MEM_NEW(&(struct feed_screen){.core = *options});
    int code = authors_new(options, configured.group, &product->authors, error);
    if (code) {
        free(product);
        return code;
    }
    struct feeds *feeds = feeds_new(&(struct feeds_options){
        .loop = service_loop(options->service),
        .metrics = service_metrics(options->service),
        .sessions = options->sessions,
        .profiles = options->profiles,
        .sights = authors_sights(product->authors),
        .offset = options->offset + offsetof(struct feed_session, live),
        .place = options->place,
        .partitions = partitions,
        .sessions_max = (size_t)options->settings->max_sessions,
        .texts_max = (size_t)configured.texts,
        .texts_ms = configured.texts_s * 1000,
        .context = product,
        .write = write_watch,
        .fetch = fetch_posts,
        .notices_stale = notices_stale,
    });
    product->bells = bells_new(&(struct bells_options){
        .loop = service_loop(options->service),
        .sessions = options->sessions,
        .watch = feeds_watching(feeds),
        .owners = authors_peers(product->authors),
        .sights = authors_sights(product->authors),
        .offset = options->offset + offsetof(struct feed_session, bell),
        .place = options->place,
    });
    *made = feeds;
    return 0;
}

const struct screen FEED_SCREEN = {
    .name = "feed",
    .kind = SCREEN_FEED,
    .session_bytes = sizeof(struct feed_session),
    .start = start,
    .stop = stop,
    .message = message,
    .delivery = feeds_take,
    .produced = feeds_produced,
    .profile = feeds_profile_changed,
    .routes = feeds_route,
    .fill = fill,
    .free = leave,
};
