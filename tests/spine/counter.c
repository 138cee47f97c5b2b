/* test-spine-counter: a daemon of counters on the spine. Its parts:
 *
 *     common/counters.h   topics, records, and the rule by which commands are decided: pure
 *     common/ledger.h     its store, with the offset in the same write
 *     common/deciding.h   its decisions
 *     common/telling.h    its effects
 *     common/answers.h    its answers to questions
 *     this file           settings, topology, beginning and end
 */
#include <stdlib.h>

#include "answers.h"
#include "base/mem.h"
#include "counters.h"
#include "deciding.h"
#include "decider/identity.h"
#include "ledger.h"
#include "service/service.h"
#include "telling.h"

enum { BATCH = 1000, STATE_BATCH = 2000, SECOND_MS = 1000, TENTH_MS = 100 };

static struct settings {
    const char *group_id;
    int64_t standbys, watch_speed;
} settings;

static const struct config_property PROPERTIES[] = {
    {"counter.group.id", CONFIG_STRING, offsetof(struct settings, group_id), "counters", .doc = "Consumer group."},
    {"counter.standbys", CONFIG_INT, offsetof(struct settings, standbys), "1", .min = 0, .max = 16,
     .doc = "Processes that stand by for a partition."},
    {"watch.speed", CONFIG_INT, offsetof(struct settings, watch_speed), "1", .min = 1, .max = 1000,
     .doc = "The minute of watching is that many times shorter."},
};
static const struct config_section SECTION = {"Counter", PROPERTIES, ARRAY_SIZE(PROPERTIES), &settings};

struct daemon {
    struct service *service;
    int32_t partitions;
    struct store *store;
    struct table_store *ledger;
    struct epochs *epochs;
    struct telling *telling;
    struct deciding *deciding;
    struct tasks *tasks;
    struct loop_timer *second, *tenth;
};

/* ---- the topology: topics, stores, what changes lead to ---- */

static int tell(void *context, const struct kafka_record *record, struct error *error) {
    struct daemon *d = context;
    struct counter counter;
    bool is_counter;
    if (!counter_state_valid(record, d->partitions, &is_counter) || !is_counter) return 0; // nobody is told an outcome
    counter_get(record->value, &counter);
    telling_change(d->telling, record, &counter);
    return 0;
}

enum { LEDGER, WATCHES, STORES };
static const struct state_kind *const KINDS[STORES] = {[LEDGER] = &TABLE_STORE_KIND, [WATCHES] = &TELLING_KIND};
static const struct tasks_topic TABLE[] = {
    {.topic = &COUNTER_COMMANDS, .role = OWNER_COMMAND},
    {.topic = &COUNTERS, .role = OWNER_STATE, .store = LEDGER, .effect = tell},
    {.topic = &COUNTER_WATCHES, .role = OWNER_STATE, .store = WATCHES},
};

static void changed(void *context) {}
static void flush_old(void *context, int64_t now_us) { telling_flush_old(((struct daemon *)context)->telling, now_us); }
static void flush(void *context) { telling_flush(((struct daemon *)context)->telling); }
static bool blocked(void *context) { return telling_blocked(((struct daemon *)context)->telling); }
static void drained(void *context) { service_finished(((struct daemon *)context)->service); }

static void failed(void *context, const char *doing, const struct error *error) {
    struct daemon *d = context;
    log_error(service_log(d->service), doing, LOG_TEXT("reason", error->text));
    service_fail(d->service, doing);
}

static const struct tasks_product TOPOLOGY = {
    .topics = TABLE,
    .topic_count = ARRAY_SIZE(TABLE),
    .kinds = KINDS,
    .store_count = STORES,
    .changed = changed,
    .flush_old = flush_old,
    .flush = flush,
    .blocked = blocked,
    .drained = drained,
    .failed = failed,
};

/* ---- the daemon ---- */

static void lost(void *context) {
    struct daemon *d = context;
    if (d->tasks) tasks_effects_lost(d->tasks);
}

static void each_second(void *context) { tasks_second(((struct daemon *)context)->tasks); }

static void each_tenth(void *context) {
    struct daemon *d = context;
    struct owner *owner = tasks_owner(d->tasks);
    owner_tenth(owner);
    telling_continue(d->telling);
    service_ready(d->service, "assigned", owner_was_assigned(owner));
    service_ready(d->service, "restored", owner_ready(owner));
}

static void peer(void *state, struct http_request *request) {
    struct daemon *d = state;
    answers_give(request, d->tasks, d->ledger, d->partitions);
}

static void daemon_free(void *state) {
    struct daemon *d = state;
    if (!d) return;
    loop_timer_free(d->second);
    loop_timer_free(d->tenth);
    tasks_free(d->tasks);
    d->tasks = NULL; // what was told may still get lost
    deciding_free(d->deciding);
    telling_free(d->telling);
    epochs_free(d->epochs);
    table_store_free(d->ledger);
    store_close(d->store);
    free(d);
}

static int start_tasks(struct daemon *d, struct error *error) {
    void *const stores[STORES] = {[LEDGER] = d->ledger, [WATCHES] = d->telling};
    const struct owner_options owner = {
        .loop = service_loop(d->service),
        .log = service_log(d->service),
        .kafka = service_kafka(d->service),
        .metrics = service_metrics(d->service),
        .prefix = "counter",
        .group = settings.group_id,
        .instance_id = service_settings(d->service)->group_instance_id,
        .partitions = d->partitions,
        .offsets = &COUNTER_OFFSETS,
        .leaving = &COUNTER_WATCHES,
        .batch = BATCH,
        .state_batch = STATE_BATCH,
        .standbys = (size_t)settings.standbys,
        .hands_over = true,
        .queue_max = 10 * BATCH,
        .epochs = d->epochs,
        .decider = deciding_decider(d->deciding),
    };
    const struct tasks_options tasks = {
        .owner = &owner, .stores = stores, .dead_letters = telling_producer(d->telling)};
    tasks_may_join(d->tasks);
    return tasks_start(d->tasks, &tasks, error);
}

static int make_parts(struct daemon *d, int32_t routes, struct error *error) {
    const char *folder = service_settings(d->service)->data_dir;
    char *path = mem_format("%s/counters", folder), *id = NULL;
    struct store_options store = {.cache_bytes = 8 << 20, .memtable_bytes = 8 << 20, .point_lookups = true};
    int code = store_open(path, &store, &d->store, error);
    if (!code)
        code = identity_transactional(service_kafka(d->service)->prefix, settings.group_id,
                                      service_settings(d->service)->group_instance_id, folder, &id, error);
    free(path);
    if (code) return code;
    d->ledger = ledger_new(d->store, d->partitions);
    d->tasks = tasks_new(service_loop(d->service), service_log(d->service), d->partitions, &TOPOLOGY, d);
    d->deciding = deciding_new(&(struct deciding_options){.service = d->service,
                                                          .transactional_id = id,
                                                          .partitions = d->partitions,
                                                          .batch = BATCH,
                                                          .ledger = d->ledger,
                                                          .tasks = d->tasks});
    free(id);
    code = telling_new(&(struct telling_options){.loop = service_loop(d->service),
                                                 .kafka = service_kafka(d->service),
                                                 .partitions = d->partitions,
                                                 .routes = routes,
                                                 .speed = settings.watch_speed,
                                                 .epochs = d->epochs,
                                                 .ledger = d->ledger,
                                                 .context = d,
                                                 .lost = lost},
                       &d->telling, error);
    return code ? code : start_tasks(d, error);
}

static int daemon_start(struct service *service, const struct topics_shape *shape, void **state, struct error *error) {
    struct daemon *d = mem_alloc(sizeof *d);
    *d =
        (struct daemon){.service = service, .partitions = shape->partitions[TOPIC_SPACE_USERS], .epochs = epochs_new()};
    int code = make_parts(d, shape->partitions[TOPIC_SPACE_ROUTES], error);
    if (code) {
        daemon_free(d);
        return code;
    }
    d->second = loop_timer_new(service_loop(service), SECOND_MS, SECOND_MS, each_second, d);
    d->tenth = loop_timer_new(service_loop(service), TENTH_MS, TENTH_MS, each_tenth, d);
    *state = d;
    return 0;
}

static void daemon_drain(void *state) { tasks_drain(((struct daemon *)state)->tasks); }

static bool daemon_busy(void *state) {
    struct daemon *d = state;
    return tasks_busy(d->tasks) || decider_busy(deciding_decider(d->deciding));
}

int main(int argc, char **argv) {
    static const char *const CONDITIONS[] = {"assigned", "restored", NULL};
    static const struct topic_use TOPICS[] = {
        {&COUNTER_COMMANDS, TOPIC_READS | TOPIC_BURIES}, {&COUNTERS, TOPIC_READS | TOPIC_WRITES},
        {&COUNTER_OFFSETS, TOPIC_READS | TOPIC_WRITES},  {&COUNTER_WATCHES, TOPIC_READS | TOPIC_WRITES},
        {&COUNTER_CHANGES, TOPIC_READS | TOPIC_WRITES},  {&COUNTER_DELIVERIES, TOPIC_WRITES}};
    static const struct topic_uses USES = {TOPICS, ARRAY_SIZE(TOPICS)};
    static const struct service_definition DEFINITION = {
        .name = "test-spine-counter",
        .ops_listen = "127.0.0.1:0",
        .peer_listen = "127.0.0.1:0",
        .section = &SECTION,
        .uses = &USES,
        .conditions = CONDITIONS,
        .start = daemon_start,
        .drain = daemon_drain,
        .busy = daemon_busy,
        .free = daemon_free,
        .peer = peer,
    };
    return service_main(argc, argv, &DEFINITION);
}
