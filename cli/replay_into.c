#include "cli/replay_into.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/progress.h"
#include "cli/reader.h"
#include "cli/sender.h"
#include "event/topics.h"

enum { ASK_MS = 8000, CREATE_MS = 30000, PREFIX_MAX = 64 };
enum {
    SETTINGS_S = 2
}; /* after which all brokers go by changed settings: they take them up some time after they acknowledged them */

/* Lists of friends and history are made from these. */
static const struct topic *const NEARBY[] = {&TOPIC_SHARING, &TOPIC_PROFILES, &TOPIC_FRIENDSHIPS, &TOPIC_LOCATIONS};

struct into {
    const struct into_options *options;
    const struct topic *const *topics;
    size_t count;
    struct kafka_settings copies;
    bool changed; /* a topic was there, and gave records the time of their arrival */
    struct sender *sender;
    struct progress progress;
    int64_t sent;
    int64_t began_us, began_ms; /* when the first record of the period was sent, and its time; 0: it was not yet */
    int failure;
    struct error *error;
};

bool into_prefix_good(const char *prefix) {
    size_t size = strlen(prefix);
    for (size_t i = 0; i < size; i++)
        if (!isalnum((unsigned char)prefix[i]) && !strchr("._-", prefix[i])) return false;
    return size && size <= PREFIX_MAX;
}

static int begin_again(const struct into *into, int code) {
    char *why = mem_string(into->error->text);
    error_set(into->error, code,
              "%s. To begin again, delete the copies or give another prefix: kafka-topics.sh --bootstrap-server %s "
              "--delete --topic '%s.*'",
              why, into->copies.bootstrap, into->copies.prefix);
    free(why);
    return code;
}

/* A topic that is there already has the right partitions, and nobody has ever written to it. */
static int check_unused(struct into *into, struct kafka_admin *admin, const struct topic *topic, int partitions) {
    const struct topic_list one = {.items = &topic, .count = 1};
    struct topics_shape shape;
    int code = kafka_topics_verify(admin, &one, &shape, ASK_MS, into->error);
    if (code == -ENOENT) return 0; // it will be made
    if (code) return code;
    if (shape.partitions[topic->space] != partitions)
        return error_set(into->error, -EINVAL, "%s%s has %d partitions, and the original has %d", into->copies.prefix,
                         topic->name, shape.partitions[topic->space], partitions);
    if (topic->append_time) into->changed = true;
    int64_t *committed = mem_zero((size_t)partitions, sizeof *committed);
    int64_t *end = mem_zero((size_t)partitions, sizeof *end);
    code = kafka_group_offsets(admin, KAFKA_READERS_GROUP, topic, partitions, committed, end, ASK_MS, into->error);
    for (int p = 0; !code && p < partitions; p++) {
        if (end[p] <= 0) continue;
        error_set(into->error, -EEXIST, "%s%s has records already", into->copies.prefix, topic->name);
        code = begin_again(into, -EEXIST);
    }
    free(committed);
    free(end);
    return code;
}

static bool is_copied(const struct into *into, const struct topic *topic) {
    for (size_t i = 0; i < into->count; i++)
        if (into->topics[i] == topic) return true;
    return false;
}

static int make_topics(struct into *into, const struct topics_shape *shape) {
    struct kafka_admin *admin = NULL;
    int code = kafka_admin_new(&into->copies, &admin, into->error);
    for (size_t i = 0; !code && i < into->count; i++)
        code = check_unused(into, admin, into->topics[i], shape->partitions[into->topics[i]->space]);
    const struct topic **others = mem_zero(TOPICS_ALL.count, sizeof *others);
    struct topic_list copied = {.items = into->topics, .count = into->count}, rest = {.items = others};
    for (size_t i = 0; i < TOPICS_ALL.count; i++)
        if (!is_copied(into, TOPICS_ALL.items[i])) others[rest.count++] = TOPICS_ALL.items[i];
    struct topics_plan plan = {.topics = &copied, .replication = -1, .copies = true};
    memcpy(plan.partitions, shape->partitions, sizeof plan.partitions);
    if (!code) code = kafka_topics_create(admin, &plan, CREATE_MS, into->error);
    plan.topics = &rest;
    plan.copies = false;
    if (!code) code = kafka_topics_create(admin, &plan, CREATE_MS, into->error);
    if (!code && into->changed) sleep(SETTINGS_S);
    free(others);
    kafka_admin_free(admin);
    return code;
}

/* State from before the period is sent at once; from the period's first record on, times pass as they did. */
static bool due(void *context, const struct kafka_record *record) {
    struct into *into = context;
    double speed = into->options->speed;
    if (speed <= 0) return true;
    int64_t now = clock_monotonic_us();
    if (!into->began_us) {
        if (record->topic->cleanup == TOPIC_COMPACTED) return true;
        into->began_us = now;
        into->began_ms = record->timestamp;
    }
    return (double)(record->timestamp - into->began_ms) * 1000 <= (double)(now - into->began_us) * speed;
}

static void copy(void *context, const struct kafka_record *record) {
    struct into *into = context;
    into->failure = sender_put_copy(into->sender, record, into->error);
    if (!into->failure) into->sent++;
}

static void show(void *context, int64_t done, int64_t total) {
    struct into *into = context;
    if (!into->progress.terminal || !progress_due(&into->progress)) return;
    progress_bar(&into->progress, total ? (double)done / (double)total : 1, into->sent, "records copied");
}

static int copy_all(struct into *into, const struct topics_shape *shape) {
    const struct reader_merge merge = {.topics = into->topics, .count = into->count, .shape = shape, .due = due};
    const struct reader_options reader = {
        .settings = &into->options->cli->kafka,
        .merge = &merge,
        .from_ms = into->options->from_ms,
        .to_ms = into->options->to_ms,
        .context = into,
        .take = copy,
        .failure = &into->failure,
        .progressed = show,
    };
    int code = sender_new(&into->copies, &into->sender, into->error);
    if (code) return code;
    progress_start(&into->progress, "replay");
    code = reader_run(&reader, into->error);
    if (code == -EINTR) error_set(into->error, code, "interrupted");
    if (!code) code = sender_flush(into->sender, into->error);
    if (into->progress.open) progress_end(&into->progress, into->sent, "records copied");
    return code && into->sent ? begin_again(into, code) : code;
}

int into_run(const struct into_options *options, struct error *error) {
    struct into into = {
        .options = options,
        .topics = options->count ? options->topics : NEARBY,
        .count = options->count ? options->count : ARRAY_SIZE(NEARBY),
        .copies = options->cli->kafka,
        .error = error,
    };
    struct topics_shape shape;
    into.copies.prefix = options->prefix;
    int code = reader_shape(options->cli, &shape, error);
    if (!code) code = make_topics(&into, &shape);
    if (!code) code = copy_all(&into, &shape);
    sender_free(into.sender);
    if (!code) printf("%" PRId64 " records are in %s*\n", into.sent, options->prefix);
    return code;
}
