/* test-spine-counter: a daemon of counters on the spine. Its parts:
 *
 *     common/counters.h   topics, records, and the rule by which commands are decided: pure
 *     common/ledger.h     its store, with the offset in the same write
 *     common/deciding.h   its decisions
 *     common/telling.h    its effects
 *     common/answers.h    its answers to questions
 *     this file           settings, the owner's callbacks, beginning and end
 */
#include <stdlib.h>

#include "answers.h"
#include "base/clock.h"
#include "base/mem.h"
#include "counters.h"
#include "deciding.h"
#include "decider/identity.h"
#include "ledger.h"
#include "owner/owner.h"
#include "service/service.h"
#include "telling.h"

enum { BATCH = 1000, STATE_BATCH = 2000, SECOND_MS = 1000, TENTH_MS = 100, RETELL_S = 10 };

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

enum { STATE_COUNTERS, STATE_WATCHES };
static const struct owner_topic OWNED[] = {
    {&COUNTER_COMMANDS, OWNER_COMMAND}, {&COUNTERS, OWNER_STATE}, {&COUNTER_WATCHES, OWNER_STATE}};

struct part {
    bool live;
    int64_t told; /* effects up to here were carried out, as the group knows; KAFKA_OFFSET_NONE: it does not */
    int64_t end;  /* up to where COUNTERS had to be read before it became live */
};

struct daemon {
    struct service *service;
    int32_t partitions;
    struct ledger *ledger;
    struct epochs *epochs;
    struct telling *telling;
    struct deciding *deciding;
    struct owner *owner;
    struct part *parts;
    struct kafka_position *positions; /* room for all partitions */
    struct loop_timer *second, *tenth;
};

static void failed(void *context, const char *doing, const struct error *error) {
    struct daemon *d = context;
    log_error(service_log(d->service), doing, LOG_TEXT("reason", error->text));
    service_fail(d->service, doing);
}

/* ---- the decider goes on, or begins again ---- */

static void handled(void *context) {
    struct daemon *d = context;
    if (d->owner) owner_progress(d->owner);
}

static void reset(void *context) {
    struct daemon *d = context;
    if (d->owner) owner_commands_lost(d->owner);
}

/* ---- state ---- */

static int attach(void *context, int32_t p, int64_t *from, struct error *error) {
    struct daemon *d = context;
    int code = ledger_attach(d->ledger, p, error);
    if (code) return code;
    d->parts[p] = (struct part){.told = KAFKA_OFFSET_NONE};
    telling_attach(d->telling, p);
    from[STATE_COUNTERS] = ledger_next(d->ledger, p) < 0 ? KAFKA_OFFSET_BEGINNING : ledger_next(d->ledger, p);
    from[STATE_WATCHES] = KAFKA_OFFSET_BEGINNING; // watches live in memory
    return 0;
}

static void detach(void *context, int32_t p) {
    struct daemon *d = context;
    d->parts[p].live = false;
    telling_detach(d->telling, p);
}

static void own(void *context, int32_t p, bool fresh, const int64_t *told, int64_t *again) {
    ((struct daemon *)context)->parts[p].told = told[STATE_COUNTERS];
}

/* A partition that is silent tells no edge anything, and forgets who watches: watches are read anew before it is live again. */
static void quieten(struct daemon *d, int32_t p) {
    if (!d->parts[p].live) return;
    d->parts[p].live = false;
    telling_detach(d->telling, p);
    telling_attach(d->telling, p);
    owner_read_again(d->owner, STATE_WATCHES, p, KAFKA_OFFSET_BEGINNING, NULL);
}

static void silence(void *context, int32_t p) { quieten(context, p); }

/* NULL: the record has a sense here. */
static const char *complaint(struct daemon *d, const struct kafka_record *record, bool *counter) {
    if (record->topic == &COUNTER_WATCHES) return telling_watch(d->telling, record) ? "no watch record" : NULL;
    return counter_state_valid(record, d->partitions, counter) ? NULL : "neither a counter nor an outcome";
}

/* Everything is stored before any of it is told. */
static void state(void *context, const struct kafka_record *records, size_t count) {
    struct daemon *d = context;
    struct error error;
    bool is_counter;
    for (size_t i = 0; i < count; i++) {
        const char *reason = complaint(d, &records[i], &is_counter);
        if (reason)
            telling_dead(d->telling, &records[i], reason);
        else if (records[i].topic == &COUNTERS)
            ledger_take(d->ledger, &records[i]);
    }
    if (ledger_write(d->ledger, &error)) {
        failed(d, "the store failed", &error);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct counter counter;
        if (records[i].topic != &COUNTERS || !counter_state_valid(&records[i], d->partitions, &is_counter)) continue;
        if (is_counter) counter_get(records[i].value, &counter);
        telling_applied(d->telling, &records[i], is_counter ? &counter : NULL);
        decider_read_back(deciding_decider(d->deciding), &COUNTERS, records[i].partition,
                          ledger_next(d->ledger, records[i].partition));
    }
}

static bool state_lost(void *context, size_t number, int32_t p) {
    struct daemon *d = context;
    struct error error;
    if (number != STATE_COUNTERS) return false;
    quieten(d, p);
    d->parts[p].told = KAFKA_OFFSET_BEGINNING; // what the group knows is of another time
    if (ledger_reset(d->ledger, p, &error)) failed(d, "the store failed", &error);
    return true;
}

static bool reached(void *context, int32_t p, const int64_t *ends) {
    struct daemon *d = context;
    if (!d->parts[p].live) d->parts[p].end = ends[STATE_COUNTERS];
    return (ledger_next(d->ledger, p) >= ends[STATE_COUNTERS] ||
            owner_reached(d->owner, STATE_COUNTERS, p, ends[STATE_COUNTERS])) &&
           owner_reached(d->owner, STATE_WATCHES, p, ends[STATE_WATCHES]);
}

static int64_t unapplied(void *context, int32_t p) { return 0; }

/* State is here; effects go on where the group knows them to be, on records that are read once more. */
static void live(void *context, int32_t p) {
    struct daemon *d = context;
    struct part *part = &d->parts[p];
    int64_t from = part->told == KAFKA_OFFSET_NONE ? part->end : part->told < 0 ? 0 : part->told;
    part->live = true;
    telling_live(d->telling, p, from);
    if (from < owner_position(d->owner, STATE_COUNTERS, p)) owner_read_again(d->owner, STATE_COUNTERS, p, from, NULL);
}

/* Called by the outbox, perhaps from within telling: what was lost is read again in the next turn of the timer. */
static void effects_lost(void *context) {
    struct daemon *d = context;
    if (!d->owner) return;
    owner_effects_lost(d->owner);
    telling_forgotten(d->telling);
    for (int32_t p = 0; p < d->partitions; p++) {
        int64_t from = telling_rewind(d->telling, p);
        if (from >= 0) owner_read_again(d->owner, STATE_COUNTERS, p, from, NULL);
    }
}

static void idle(void *context) { telling_flush(((struct daemon *)context)->telling); }
static void flush_old(void *context, int64_t now_us) { telling_flush_old(((struct daemon *)context)->telling, now_us); }
static bool blocked(void *context) { return telling_blocked(((struct daemon *)context)->telling); }

static void prepared(void *context) {
    struct daemon *d = context;
    struct error error;
    if (owner_join(d->owner, &error)) failed(d, "the group cannot be joined", &error);
}

static void drained(void *context) { service_finished(((struct daemon *)context)->service); }

static const struct owner_product PRODUCT = {
    .attach = attach,
    .detach = detach,
    .own = own,
    .silence = silence,
    .state = state,
    .state_idle = idle,
    .state_lost = state_lost,
    .reached = reached,
    .unapplied = unapplied,
    .live = live,
    .flush_old = flush_old,
    .flush = idle,
    .settle = idle,
    .blocked = blocked,
    .prepared = prepared,
    .drained = drained,
    .failed = failed,
};

static void each_second(void *context) {
    struct daemon *d = context;
    owner_second(d->owner);
    bool again = clock_wall_ms() / SECOND_MS % RETELL_S == 0; // a commit may have been lost
    owner_commit(d->owner, d->positions, telling_settled(d->telling, again, d->positions));
}

static void each_tenth(void *context) {
    struct daemon *d = context;
    owner_tenth(d->owner);
    telling_continue(d->telling);
    service_ready(d->service, "assigned", owner_was_assigned(d->owner));
    service_ready(d->service, "restored", owner_ready(d->owner));
}

/* ---- questions ---- */

static bool version(void *context, int32_t p, const void *name, size_t size, struct watch_version *out) {
    struct daemon *d = context;
    uint8_t value[COUNTER_SIZE];
    struct counter counter = {.sum = 0};
    struct error error;
    if (ledger_get(d->ledger, p, name, size, value, sizeof value, &error) == 1) counter_get(value, &counter);
    *out = (struct watch_version){.number = counter.version};
    return true;
}

static void peer(void *state, struct http_request *request) {
    struct daemon *d = state;
    answers_give(request, d->owner, d->ledger, d->partitions);
}

/* ---- beginning and end ---- */

static void daemon_free(void *state) {
    struct daemon *d = state;
    if (!d) return;
    loop_timer_free(d->second);
    loop_timer_free(d->tenth);
    owner_free(d->owner);
    d->owner = NULL;
    deciding_free(d->deciding);
    telling_free(d->telling);
    epochs_free(d->epochs);
    ledger_close(d->ledger);
    free(d->parts);
    free(d->positions);
    free(d);
}

static int make_owner(struct daemon *d, struct error *error) {
    struct owner_options options = {
        .loop = service_loop(d->service),
        .log = service_log(d->service),
        .kafka = service_kafka(d->service),
        .metrics = service_metrics(d->service),
        .prefix = "counter",
        .group = settings.group_id,
        .instance_id = service_settings(d->service)->group_instance_id,
        .partitions = d->partitions,
        .topics = OWNED,
        .topic_count = ARRAY_SIZE(OWNED),
        .offsets = &COUNTER_OFFSETS,
        .leaving = &COUNTER_WATCHES,
        .batch = BATCH,
        .state_batch = STATE_BATCH,
        .standbys = (size_t)settings.standbys,
        .hands_over = true,
        .queue_max = 10 * BATCH,
        .epochs = d->epochs,
        .decider = deciding_decider(d->deciding),
        .product = &PRODUCT,
        .context = d,
    };
    return owner_new(&options, &d->owner, error);
}

static int make_parts(struct daemon *d, int32_t routes, struct error *error) {
    const char *folder = service_settings(d->service)->data_dir;
    char *path = mem_format("%s/counters", folder), *id = NULL;
    struct telling_options telling = {
        .loop = service_loop(d->service),
        .kafka = service_kafka(d->service),
        .partitions = d->partitions,
        .routes = routes,
        .speed = settings.watch_speed,
        .epochs = d->epochs,
        .context = d,
        .lost = effects_lost,
        .version = version,
    };
    int code = ledger_open(path, d->partitions, &d->ledger, error);
    if (!code)
        code = identity_transactional(service_kafka(d->service)->prefix, settings.group_id,
                                      service_settings(d->service)->group_instance_id, folder, &id, error);
    if (!code) code = telling_new(&telling, &d->telling, error);
    if (!code) {
        d->deciding = deciding_new(&(struct deciding_options){
            .service = d->service,
            .transactional_id = id,
            .partitions = d->partitions,
            .batch = BATCH,
            .ledger = d->ledger,
            .context = d,
            .handled = handled,
            .reset = reset,
        });
        code = make_owner(d, error);
    }
    free(path);
    free(id);
    return code;
}

static int daemon_start(struct service *service, const struct topics_shape *shape, void **state, struct error *error) {
    int32_t partitions = shape->partitions[TOPIC_SPACE_USERS];
    struct daemon *d = mem_alloc(sizeof *d);
    *d = (struct daemon){
        .service = service,
        .partitions = partitions,
        .epochs = epochs_new(),
        .parts = mem_zero((size_t)partitions, sizeof *d->parts),
        .positions = mem_zero((size_t)partitions, sizeof *d->positions),
    };
    int code = make_parts(d, shape->partitions[TOPIC_SPACE_ROUTES], error);
    if (!code) code = owner_start(d->owner, error);
    if (code) {
        daemon_free(d);
        return code;
    }
    d->second = loop_timer_new(service_loop(service), SECOND_MS, SECOND_MS, each_second, d);
    d->tenth = loop_timer_new(service_loop(service), TENTH_MS, TENTH_MS, each_tenth, d);
    *state = d;
    return 0;
}

static void daemon_drain(void *state) { owner_drain(((struct daemon *)state)->owner); }

static bool daemon_busy(void *state) {
    struct daemon *d = state;
    owner_stop(d->owner);
    return owner_busy(d->owner) || decider_busy(deciding_decider(d->deciding));
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
