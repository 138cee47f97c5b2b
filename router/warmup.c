#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/topics.h"
#include "router/state.h"

enum { ASK_TIMEOUT_MS = 10000, AGAIN_MS = 500, LOOK_MS = 10, NEARLY = 1000 };

/*   locations   ......[ rest: the inactive window )[ newest: warm.first.s )[ what the group's consumer reads
 *                     ^ from                       ^ first                 ^ next
 *
 * Older records that are applied after newer ones change nothing: position, session and `opted` each take the greatest. */
enum part_of_window { NEWEST, REST };

struct warmup {
    struct router *router;
    void (*on_first)(struct router *router);
    struct kafka_consumer *consumer;
    struct loop_timer *timer;
    enum part_of_window reading;
    bool asking, reading_now;

    struct kafka_position *from; /* of the part at hand, by partition */
    int64_t *until;
    int64_t since_ms; /* REST: Kafka time at which it begins; -1: everything that is kept */
    int code;         /* the worker's result */
    struct error reason;
};

static void take(void *context, const struct kafka_record *records, size_t count) {
    struct warmup *warmup = context;
    struct router *router = warmup->router;
    timeline_tick(router->timeline);
    int64_t now_us = clock_monotonic_us();
    for (size_t i = 0; i < count; i++) reports_handle(router, &records[i], false, now_us);
}

static int ask_start(struct warmup *warmup, int64_t since_ms) {
    int32_t partitions = warmup->router->partitions;
    for (int32_t p = 0; p < partitions; p++)
        warmup->from[p] =
            (struct kafka_position){.topic = &TOPIC_LOCATIONS, .partition = p, .offset = KAFKA_OFFSET_NONE};
    return kafka_consumer_offsets_at(warmup->consumer, warmup->from, (size_t)partitions, since_ms, ASK_TIMEOUT_MS,
                                     &warmup->reason);
}

static void ask_work(void *context) {
    struct warmup *warmup = context;
    struct router *router = warmup->router;
    int64_t now = clock_wall_ms();
    warmup->code = 0;
    if (warmup->reading == REST && warmup->since_ms >= 0) {
        warmup->code = ask_start(warmup, now - router->common->inactive_after_s * 1000);
        return;
    }
    for (int32_t p = 0; !warmup->code && p < router->partitions; p++) {
        int64_t low, high;
        warmup->code = kafka_consumer_watermarks(warmup->consumer, &TOPIC_LOCATIONS, p, &low, &high, ASK_TIMEOUT_MS,
                                                 &warmup->reason);
        if (warmup->code) return;
        warmup->from[p] = (struct kafka_position){.topic = &TOPIC_LOCATIONS, .partition = p, .offset = low};
        if (warmup->reading == NEWEST) warmup->until[p] = high;
    }
    if (warmup->reading == NEWEST) warmup->code = ask_start(warmup, now - router->settings->warm_first_s * 1000);
}

static void ask_done(void *context) {
    struct warmup *warmup = context;
    struct router *router = warmup->router;
    struct kafka_position *read = mem_alloc((size_t)router->partitions * sizeof *read);
    size_t count = 0;
    warmup->asking = false;
    for (int32_t p = 0; p < router->partitions && !warmup->code; p++) {
        if (warmup->from[p].offset < warmup->until[p]) read[count++] = warmup->from[p];
    }
    if (!warmup->code) warmup->code = kafka_consumer_read(warmup->consumer, read, count, &warmup->reason);
    free(read);
    warmup->reading_now = !warmup->code;
    if (warmup->code) log_warn(router->log, "presence cannot be read yet", LOG_TEXT("reason", warmup->reason.text));
    loop_timer_again(warmup->timer, warmup->code ? AGAIN_MS : LOOK_MS, LOOK_MS);
}

/* The newest part is read on for as long as more has come in the meantime: the partitions that the group gives wait for what
 * is missing. */
static bool all_read(const struct warmup *warmup) {
    for (int32_t p = 0; p < warmup->router->partitions; p++) {
        if (warmup->from[p].offset >= warmup->until[p]) continue;
        if (kafka_consumer_position(warmup->consumer, &TOPIC_LOCATIONS, p) < warmup->until[p]) return false;
        if (warmup->reading == NEWEST && kafka_consumer_lag(warmup->consumer, &TOPIC_LOCATIONS, p) > NEARLY)
            return false;
    }
    return true;
}

static void newest_done(struct warmup *warmup) {
    struct router *router = warmup->router;
    for (int32_t p = 0; p < router->partitions; p++) {
        struct partition *part = &router->parts[p];
        int64_t position = kafka_consumer_position(warmup->consumer, &TOPIC_LOCATIONS, p);
        part->first = warmup->from[p].offset;
        part->next = part->first < warmup->until[p] ? position : part->first;
        warmup->until[p] = part->first; // where the rest ends
    }
    log_info(router->log, "presence holds the newest reports",
             LOG_INT("users", (int64_t)presence_count(router->presence)));
    warmup->reading = REST;
    warmup->on_first(router);
}

static void rest_done(struct warmup *warmup) {
    struct router *router = warmup->router;
    router->warm = true;
    router->metrics.warm->value = 1;
    service_ready(router->service, "warm", true);
    log_info(router->log, "presence is warm", LOG_INT("users", (int64_t)presence_count(router->presence)));
    loop_timer_free(warmup->timer);
    warmup->timer = NULL;
    kafka_consumer_free(warmup->consumer);
    warmup->consumer = NULL;
}

static void look(void *context) {
    struct warmup *warmup = context;
    if (warmup->asking || warmup->router->draining) return;
    if (warmup->reading_now) {
        if (!all_read(warmup)) return;
        warmup->reading_now = false;
        if (warmup->reading == REST) {
            rest_done(warmup);
            return;
        }
        newest_done(warmup);
    }
    warmup->asking = true;
    loop_work(warmup->router->loop, ask_work, ask_done, warmup);
}

int warmup_new(struct router *router, void (*on_first)(struct router *router), struct warmup **out,
               struct error *error) {
    struct warmup *warmup = mem_alloc(sizeof *warmup);
    *warmup = (struct warmup){
        .router = router,
        .on_first = on_first,
        .timer = loop_timer_new(router->loop, 1, LOOK_MS, look, warmup),
        .reading = NEWEST,
        .from = mem_zero((size_t)router->partitions, sizeof *warmup->from),
        .until = mem_zero((size_t)router->partitions, sizeof *warmup->until),
        // The stream's time is not Kafka's: how far back its inactive window reaches cannot be told by timestamps.
        .since_ms = router->common->clock == SERVICE_CLOCK_STREAM ? -1 : 0,
    };
    struct kafka_consumer_options options = {
        .loop = router->loop,
        .settings = router->kafka,
        .batch = (size_t)router->settings->batch_records,
        .context = warmup,
        .on_records = take,
    };
    int code = kafka_consumer_new(&options, &warmup->consumer, error);
    if (code) {
        warmup_free(warmup);
        return code;
    }
    *out = warmup;
    return 0;
}

void warmup_free(struct warmup *warmup) {
    if (!warmup) return;
    loop_timer_free(warmup->timer);
    kafka_consumer_free(warmup->consumer);
    free(warmup->from);
    free(warmup->until);
    free(warmup);
}

bool warmup_busy(const struct warmup *warmup) { return warmup && warmup->asking; }
