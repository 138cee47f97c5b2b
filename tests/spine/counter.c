/* test-spine-counter: a daemon of counters on the spine. Its parts:
 *
 *     common/counters.h   topics, records, and the rule by which commands are decided: pure
 *     common/ledger.h     its store, with the offset in the same write
 *     common/telling.h    its effects
 *     this file           settings, the decider's and the owner's callbacks, questions
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "counters.h"
#include "decider/decider.h"
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
static const struct topic *const COMMANDS[] = {&COUNTER_COMMANDS};
static const struct decider_state STATES[] = {{&COUNTERS, COUNTER_KEY_MAX, COUNTER_VALUE_MAX}};

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
    struct decider *decider;
    struct overlay *overlay;
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

/* ---- deciding ---- */

static int read_command(void *context, const struct kafka_record *record, void *item, struct error *error) {
    return counter_command_read(record, ((struct daemon *)context)->partitions, item, error);
}

/* State as the next command finds it: what is written and not read back yet goes first. 1: found. */
static int look_up(struct daemon *d, int32_t partition, const void *key, size_t key_size, uint8_t *value, size_t size,
                   struct error *error) {
    const void *newest = overlay_find(d->overlay, key, key_size, NULL);
    if (!newest) return ledger_get(d->ledger, partition, key, key_size, value, size, error);
    memcpy(value, newest, size);
    return 1;
}

static int write_state(struct daemon *d, int32_t partition, const void *key, size_t key_size, const uint8_t *value,
                       size_t size) {
    overlay_put(d->overlay, partition, 0, key, key_size, value, size);
    return decider_write(d->decider, &COUNTERS, partition, key, key_size, value, size);
}

static int decide_one(struct daemon *d, const struct decider_command *slot, struct error *error) {
    const struct counter_command *command = slot->item;
    struct counter counter = {.sum = 0}, next = counter;
    uint8_t value[COUNTER_VALUE_MAX];
    int32_t p = slot->partition;
    bool keyed = command->key_size > command->name_size;
    int code = keyed ? look_up(d, p, command->key, command->key_size, value, COUNTER_OUTCOME_SIZE, error) : 0;
    if (code) return code < 0 ? code : 0; // the key has its outcome
    code = look_up(d, p, command->key, command->name_size, value, COUNTER_SIZE, error);
    if (code < 0) return code;
    if (code) counter_get(value, &counter);
    bool accepted = counter_add(&counter, command->add, slot->offset, &next);
    if (!accepted) next = counter;
    counter_outcome_put(value, &(struct counter_outcome){accepted, next.sum, next.version});
    code = keyed ? write_state(d, p, command->key, command->key_size, value, COUNTER_OUTCOME_SIZE) : 0;
    counter_put(value, &next);
    if (!code && accepted) code = write_state(d, p, command->key, command->name_size, value, COUNTER_SIZE);
    return code ? error_set(error, code, "state could not be written: %s", strerror(-code)) : 0;
}

static int decide(void *context, struct decider_command *commands, size_t count, struct error *error) {
    int code = 0;
    for (size_t i = 0; !code && i < count; i++) code = decide_one(context, &commands[i], error);
    return code;
}

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
        decider_read_back(d->decider, &COUNTERS, records[i].partition, ledger_next(d->ledger, records[i].partition));
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

/* ---- questions: GET /peer/counter/NAME, and with ?key=KEY the outcome of that key ---- */

static bool version(void *context, int32_t p, const void *name, size_t size, struct watch_version *out) {
    struct daemon *d = context;
    uint8_t value[COUNTER_SIZE];
    struct counter counter = {.sum = 0};
    struct error error;
    if (ledger_get(d->ledger, p, name, size, value, sizeof value, &error) == 1) counter_get(value, &counter);
    *out = (struct watch_version){.number = counter.version};
    return true;
}

static int page_of(struct daemon *d, int32_t p, const char *name, const char *key, struct buffer *body) {
    uint8_t value[COUNTER_VALUE_MAX];
    struct counter counter = {.sum = 0};
    struct counter_outcome outcome;
    struct error error;
    char *whole = mem_format("%s%c%s", name, 0, key ? key : "");
    size_t size = strlen(name) + 1 + strlen(key ? key : "");
    int code = key ? ledger_get(d->ledger, p, whole, size, value, COUNTER_OUTCOME_SIZE, &error)
                   : ledger_get(d->ledger, p, name, strlen(name), value, COUNTER_SIZE, &error);
    free(whole);
    if (key && code == 1) {
        counter_outcome_get(value, &outcome);
        buffer_format(body, "{\"accepted\":%s,\"value\":%lld,\"version\":%lld}", outcome.accepted ? "true" : "false",
                      (long long)outcome.sum, (long long)outcome.version);
    } else if (!key && code >= 0) {
        if (code) counter_get(value, &counter);
        buffer_format(body, "{\"value\":%lld,\"version\":%lld}", (long long)counter.sum, (long long)counter.version);
        code = 1;
    }
    return code;
}

static void peer(void *state, struct http_request *request) {
    static const char PATH[] = "/peer/counter/";
    struct daemon *d = state;
    struct buffer body = {.data = NULL};
    const char *path = http_path(request), *name = path + sizeof PATH - 1;
    if (strncmp(path, PATH, sizeof PATH - 1) != 0 || !*name || strlen(name) > COUNTER_NAME_MAX) {
        http_problem(request, 404, "not-found", "there is /peer/counter/NAME", 0);
        return;
    }
    int32_t p = counter_partition(name, strlen(name), d->partitions);
    int code = owner_serves(d->owner, p);
    if (code == -ESTALE) {
        http_problem(request, 421, "not-the-owner", "another process owns this counter", 0);
        return;
    }
    if (!code) code = page_of(d, p, name, http_query(request, "key"), &body);
    if (code == 1)
        http_reply_json(request, 200, &body);
    else if (code == 0)
        http_problem(request, 404, "not-found", "nothing was decided for this key", 0);
    else
        http_problem(request, 503, "restoring", "this counter is being restored", 1);
    buffer_free(&body);
}

/* ---- beginning and end ---- */

static void daemon_free(void *state) {
    struct daemon *d = state;
    if (!d) return;
    loop_timer_free(d->second);
    loop_timer_free(d->tenth);
    owner_free(d->owner);
    d->owner = NULL;
    decider_free(d->decider);
    telling_free(d->telling);
    epochs_free(d->epochs);
    ledger_close(d->ledger);
    free(d->parts);
    free(d->positions);
    free(d);
}

static void make_decider(struct daemon *d, const char *transactional_id) {
    struct metrics *registry = service_metrics(d->service);
    struct decider_options options = {
        .loop = service_loop(d->service),
        .settings = service_kafka(d->service),
        .log = service_log(d->service),
        .registry = registry,
        .metrics = {.commands = metrics_counter(registry, "counter_commands_total", "Commands decided", NULL),
                    .queued = metrics_gauge(registry, "counter_queued", "Commands that wait", NULL),
                    .overlay = metrics_gauge(registry, "counter_overlay", "State not read back", NULL),
                    .transactions = metrics_counter(registry, "counter_transactions_total", "Committed", NULL),
                    .failed = metrics_counter(registry, "counter_transactions_failed_total", "Not committed", NULL),
                    .dead = metrics_counter(registry, "counter_dead_total", "Records that are no command", NULL)},
        .transactional_id = transactional_id,
        .partitions = d->partitions,
        .commands = COMMANDS,
        .command_count = ARRAY_SIZE(COMMANDS),
        .states = STATES,
        .state_count = ARRAY_SIZE(STATES),
        .offsets = &COUNTER_OFFSETS,
        .batch = BATCH,
        .item_size = sizeof(struct counter_command),
        .context = d,
        .read = read_command,
        .decide = decide,
        .on_handled = handled,
        .on_reset = reset,
    };
    d->decider = decider_new(&options);
    d->overlay = decider_overlay(d->decider, &COUNTERS);
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
        .decider = d->decider,
        .product = &PRODUCT,
        .context = d,
    };
    return owner_new(&options, &d->owner, error);
}

static int make_parts(struct daemon *d, int32_t routes, struct error *error) {
    const char *folder = service_settings(d->service)->data_dir;
    char *path = mem_format("%s/counters", folder), *file = mem_format("%s/identity", folder), *name = NULL;
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
    if (!code) code = identity_load(service_settings(d->service)->group_instance_id, file, &name, error);
    if (!code) code = telling_new(&telling, &d->telling, error);
    if (!code) {
        char *id = mem_format("%s%s-%s", service_kafka(d->service)->prefix, settings.group_id, name);
        make_decider(d, id);
        free(id);
        code = make_owner(d, error);
    }
    free(path);
    free(file);
    free(name);
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
    return owner_busy(d->owner) || decider_busy(d->decider);
}

int main(int argc, char **argv) {
    static const char *const CONDITIONS[] = {"assigned", "restored", NULL};
    static const struct topic *const NEEDED[] = {&COUNTER_COMMANDS, &COUNTERS,        &COUNTER_OFFSETS,
                                                 &COUNTER_WATCHES,  &COUNTER_CHANGES, &COUNTER_DELIVERIES};
    static const struct topic_list TOPICS = {NEEDED, ARRAY_SIZE(NEEDED)};
    static const struct service_definition DEFINITION = {
        .name = "test-spine-counter",
        .ops_listen = "127.0.0.1:0",
        .peer_listen = "127.0.0.1:0",
        .section = &SECTION,
        .topics = &TOPICS,
        .conditions = CONDITIONS,
        .start = daemon_start,
        .drain = daemon_drain,
        .busy = daemon_busy,
        .free = daemon_free,
        .peer = peer,
    };
    return service_main(argc, argv, &DEFINITION);
}
