/* Connects the modules of live threads with the core and Kafka.
 *
 *     phone ---- watch, unwatch -------> request.c ---> live_threads.c ----> comment-watches
 *           <--- comments, stale <--- frames.c <--- live_thread.c <--- live_threads.c, change.c <--- deliveries
 */
#include "fanout/comments/product.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "event/topics.h"
#include "fanout/comments/live_thread.h"
#include "fanout/comments/live_threads.h"
#include "fanout/comments/request.h"
#include "fanout/comments/settings.h"

enum { SUBJECTS_A_SESSION = 4 /* on average, of as many sessions as there may be */ };

struct comments_screen {
    struct screen_options core;
    struct live_threads *threads;
};

static int write_thread_watch(void *context, int32_t partition, const void *key, size_t key_size, const void *value,
                              size_t value_size) {
    struct comments_screen *product = context;
    return kafka_producer_send(product->core.producer, &TOPIC_COMMENT_WATCHES, partition, key, key_size, value,
                               value_size, NULL)
               ? -EAGAIN
               : 0;
}

/* ---- callbacks of the core ---- */

static int message(void *context, struct session *session, const char *type, const json_t *object, const char **code,
                   struct error *error) {
    struct comments_screen *product = context;
    struct thread_request request;
    int result = thread_request_parse(type, object, &request, code, error);
    if (result) return result;
    if (!request.watch) {
        live_threads_unwatch(product->threads, session, request.subject);
        return 0;
    }
    result =
        live_threads_watch(product->threads, session, request.subject, request.has_version ? &request.version : NULL);
    *code = result == -E2BIG ? "too_many_subjects" : "too_many_watches";
    if (result == -E2BIG) return error_set(error, -EINVAL, "this session watches too many subjects");
    return result ? error_set(error, -EINVAL, "too many subjects are watched here just now; try again later") : 0;
}

static int delivery(void *context, int32_t route, const struct deliver_envelope *envelope) {
    struct comments_screen *product = context;
    (void)route;
    return live_threads_take(product->threads, envelope);
}

static void produced(void *context, void *opaque, int code, const struct topic *topic) {
    struct comments_screen *product = context;
    (void)opaque;
    if (topic == &TOPIC_COMMENT_WATCHES && code) live_threads_record_lost(product->threads);
}

static void on_routes(void *context, int32_t first) {
    struct comments_screen *product = context;
    live_threads_route(product->threads, first);
}

static struct screen_filled fill(void *context, struct session *session, struct buffer *frame) {
    struct comments_screen *product = context;
    return live_threads_fill(product->threads, session, frame);
}

static void leave_threads(void *context, struct session *session) {
    struct comments_screen *product = context;
    live_threads_leave(product->threads, session);
}

static void stop(void *context) {
    struct comments_screen *product = context;
    if (!product) return;
    live_threads_free(product->threads);
    free(product);
}

static int start(const struct screen_options *options, void **made, struct error *error) {
    const struct comments_screen_settings *settings = COMMENTS_SCREEN_SECTION.values;
    struct comments_screen *product = mem_alloc(sizeof *product);
    (void)error;
    *product = (struct comments_screen){.core = *options};
    product->threads = live_threads_new(&(struct live_threads_options){
        .loop = service_loop(options->service),
        .metrics = service_metrics(options->service),
        .sessions = options->sessions,
        .profiles = options->profiles,
        .offset = options->offset,
        .place = options->place,
        .partitions = options->shape->partitions[TOPIC_SPACE_SUBJECTS],
        .session_subjects = (size_t)settings->subjects,
        .subjects = SUBJECTS_A_SESSION * (size_t)options->settings->max_sessions,
        .replay_bytes = (size_t)settings->replay_kb << 10,
        .context = product,
        .write = write_thread_watch,
    });
    *made = product;
    return 0;
}

const struct screen COMMENTS_SCREEN = {
    .name = "comments",
    .kind = SCREEN_COMMENTS,
    .session_bytes = sizeof(struct live_thread *),
    .start = start,
    .stop = stop,
    .message = message,
    .delivery = delivery,
    .produced = produced,
    .routes = on_routes,
    .fill = fill,
    .free = leave_threads,
};
