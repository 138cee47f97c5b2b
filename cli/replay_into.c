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
#include "cli/audit.h"
#include "cli/progress.h"
#include "cli/reader.h"
#include "cli/repartition.h"
#include "cli/sender.h"
#include "event/topics.h"

enum {
    ASK_MS = 8000,
    CREATE_MS = 30000, /* also until new partitions have leaders */
    PREFIX_MAX = 64,
    ID_AHEAD_MAX_MS = 60000
};
enum {
    SETTINGS_S = 2
}; /* after which all brokers go by changed settings: they take them up some time after they acknowledged them */

/* Lists of friends and history are made from these. */
static const struct topic *const NEARBY[] = {&TOPIC_SHARING, &TOPIC_PROFILES, &TOPIC_FRIENDSHIPS, &TOPIC_LOCATIONS};

struct into {
    const struct into_options *options;
    const struct topic *const *topics;
    size_t count;
    struct topics_shape before, after; /* of the topics that are copied, and of the copies */
    struct repartition *repartition;   /* NULL: records stay in partitions of the same number */
    struct kafka_settings copies;
    bool changed; /* a topic was there, and gave records the time of their arrival */
    struct sender *sender;
    struct progress_meter progress;
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
        return error_set(into->error, -EINVAL, "%s%s has %d partitions, and %s %d", into->copies.prefix, topic->name,
                         shape.partitions[topic->space], into->repartition ? "--partitions says" : "the original has",
                         partitions);
    if (topic->append_time) into->changed = true;
    int64_t *committed = mem_zero((size_t)partitions, sizeof *committed);
    int64_t *end = mem_zero((size_t)partitions, sizeof *end);
    code = kafka_group_offsets(admin, KAFKA_READERS_GROUP, topic, partitions, committed, end, CREATE_MS, into->error);
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

static int make_topics(struct into *into) {
    const struct topics_shape *shape = &into->after;
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

static int put(void *context, const struct kafka_record *record) {
    struct into *into = context;
    int code = sender_put_copy(into->sender, record, into->error);
    if (!code) into->sent++;
    return code;
}

static void copy(void *context, const struct kafka_record *record) {
    struct into *into = context;
    into->failure = into->repartition ? repartition_record(into->repartition, record, into, put) : put(into, record);
}

static void show(void *context, int64_t done, int64_t total) {
    struct into *into = context;
    if (!into->progress.terminal || !progress_due(&into->progress)) return;
    progress_bar(&into->progress, total ? (double)done / (double)total : 1, into->sent, "records copied");
}

static int copy_all(struct into *into) {
    const struct reader_merge merge = {
        .topics = into->topics, .count = into->count, .shape = &into->before, .due = due};
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

/* ---- migrations ---- */

/* All topics whose records mean the same among other partitions. The caller frees. */
static const struct topic **all_keyed(size_t *count) {
    const struct topic **keyed = mem_zero(TOPICS_ALL.count, sizeof *keyed);
    for (size_t i = 0; i < TOPICS_ALL.count; i++)
        if (TOPICS_ALL.items[i]->keyed != TOPIC_KEYED_NOT) keyed[(*count)++] = TOPICS_ALL.items[i];
    return keyed;
}

static int check_migration(const struct into *into) {
    int before = into->before.partitions[TOPIC_SPACE_USERS], after = into->after.partitions[TOPIC_SPACE_USERS];
    for (size_t i = 0; i < into->count; i++)
        if (into->topics[i]->keyed == TOPIC_KEYED_NOT)
            return error_set(into->error, -EINVAL, "%s belongs to its partitions: it cannot be copied into others",
                             into->topics[i]->name);
    // An id names a partition, of which its post would have to be found.
    return after < before ? error_set(into->error, -EINVAL, "%d partitions are fewer than %d: there may only be more",
                                      after, before)
                          : 0;
}

/* New ids are made of the time of their commands, and old ones must not come again: those of comments that moved elsewhere are unknown to
 * their partition. */
static int outlast_ids(const struct into *into) {
    int64_t newest = repartition_counts(into->repartition).newest_ms;
    if (newest > clock_wall_ms() + ID_AHEAD_MAX_MS)
        return error_set(into->error, -ERANGE,
                         "the newest post or comment has a time that is more than %d s ahead of this machine's clock: "
                         "ids could come twice. Start no daemon before that time, or set the clock",
                         ID_AHEAD_MAX_MS / 1000);
    while (clock_wall_ms() <= newest) sleep(1);
    return 0;
}

/* The copies become topics like all others: they delete by age again, and give records the time of their arrival. */
static int settle(struct into *into) {
    struct kafka_admin *admin = NULL;
    struct topics_plan plan = {.topics = &TOPICS_ALL, .replication = -1};
    memcpy(plan.partitions, into->after.partitions, sizeof plan.partitions);
    int code = outlast_ids(into);
    if (!code) code = kafka_admin_new(&into->copies, &admin, into->error);
    if (!code) code = kafka_topics_create(admin, &plan, CREATE_MS, into->error);
    kafka_admin_free(admin);
    int64_t left_out = repartition_counts(into->repartition).left_out;
    if (!code && left_out)
        printf("%" PRId64 " records were left out: they lay in partitions where their keys do not belong\n", left_out);
    return code;
}

/* The numbers of partitions; and, for a migration, what is copied if nothing is named. */
static int plan_copies(struct into *into, const struct topic ***keyed) {
    const struct into_options *options = into->options;
    int code = reader_shape(options->cli, &into->before, into->error);
    if (code) return code;
    into->after = into->before;
    if (options->delivery_partitions) into->after.partitions[TOPIC_SPACE_ROUTES] = options->delivery_partitions;
    if (!options->partitions) return 0;
    struct topics_shape placed = into->before;
    enum topic_space spaces[] = {TOPIC_SPACE_USERS, TOPIC_SPACE_SUBJECTS};
    for (size_t i = 0; i < ARRAY_SIZE(spaces); i++) {
        into->after.partitions[spaces[i]] = options->partitions;
        if (options->placed_among) placed.partitions[spaces[i]] = options->placed_among;
    }
    if (!options->count) into->topics = *keyed = all_keyed(&into->count);
    into->repartition = repartition_new(&placed, &into->after);
    return check_migration(into);
}

int into_run(const struct into_options *options, struct error *error) {
    struct into into = {
        .options = options,
        .topics = options->count || options->partitions ? options->topics : NEARBY,
        .count = options->count || options->partitions ? options->count : ARRAY_SIZE(NEARBY),
        .copies = options->cli->kafka,
        .error = error,
    };
    const struct topic **keyed = NULL;
    into.copies.prefix = options->prefix;
    int code = plan_copies(&into, &keyed);
    for (size_t i = 0; !code && i < into.count; i++)
        code = audit_read(options->cli, into.topics[i]->name, NULL, 0, error);
    if (!code) code = make_topics(&into);
    if (!code) code = copy_all(&into);
    if (!code && into.repartition) code = settle(&into);
    sender_free(into.sender);
    repartition_free(into.repartition);
    free(keyed);
    if (!code) printf("%" PRId64 " records are in %s*\n", into.sent, options->prefix);
    return code;
}
