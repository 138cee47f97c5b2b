#include "deciding.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "counters.h"

static const struct topic *const COMMANDS[] = {&COUNTER_COMMANDS};
static const struct decider_state STATES[] = {{&COUNTERS, COUNTER_KEY_MAX, COUNTER_VALUE_MAX}};

struct deciding {
    struct deciding_options options;
    struct decider *decider;
    struct overlay *overlay; /* the decider's, of COUNTERS */
};

/* ---- deciding ---- */

static int read_command(void *context, const struct kafka_record *record, void *item, struct error *error) {
    return counter_command_read(record, ((struct deciding *)context)->options.partitions, item, error);
}

/* State as the next command finds it: what is written and not read back yet goes first. 1: found. */
static int look_up(struct deciding *deciding, int32_t partition, const void *key, size_t key_size, uint8_t *value,
                   size_t size, struct error *error) {
    const void *newest = overlay_find(deciding->overlay, key, key_size, NULL);
    if (!newest) return ledger_get(deciding->options.ledger, partition, key, key_size, value, size, error);
    memcpy(value, newest, size);
    return 1;
}

static int write_state(struct deciding *deciding, int32_t partition, const void *key, size_t key_size,
                       const uint8_t *value, size_t size) {
    overlay_put(deciding->overlay, partition, 0, key, key_size, value, size);
    return decider_write(deciding->decider, &COUNTERS, partition, key, key_size, value, size);
}

static int decide_one(struct deciding *deciding, const struct decider_command *slot, struct error *error) {
    const struct counter_command *command = slot->item;
    struct counter counter = {.sum = 0}, next = counter;
    uint8_t value[COUNTER_VALUE_MAX];
    int32_t p = slot->partition;
    bool keyed = command->key_size > command->name_size;
    int code = keyed ? look_up(deciding, p, command->key, command->key_size, value, COUNTER_OUTCOME_SIZE, error) : 0;
    if (code) return code < 0 ? code : 0; // the key has its outcome
    code = look_up(deciding, p, command->key, command->name_size, value, COUNTER_SIZE, error);
    if (code < 0) return code;
    if (code) counter_get(value, &counter);
    bool accepted = counter_add(&counter, command->add, slot->offset, &next);
    if (!accepted) next = counter;
    counter_outcome_put(value, &(struct counter_outcome){accepted, next.sum, next.version});
    code = keyed ? write_state(deciding, p, command->key, command->key_size, value, COUNTER_OUTCOME_SIZE) : 0;
    counter_put(value, &next);
    if (!code && accepted) code = write_state(deciding, p, command->key, command->name_size, value, COUNTER_SIZE);
    return code ? error_set(error, code, "state could not be written: %s", strerror(-code)) : 0;
}

static int decide(void *context, struct decider_command *commands, size_t count, struct error *error) {
    int code = 0;
    for (size_t i = 0; !code && i < count; i++) code = decide_one(context, &commands[i], error);
    return code;
}

static void handled(void *context) { tasks_decided(((struct deciding *)context)->options.tasks); }

static void reset(void *context) { tasks_commands_lost(((struct deciding *)context)->options.tasks); }

/* ---- beginning and end ---- */

struct deciding *deciding_new(const struct deciding_options *options) {
    struct deciding *deciding = mem_alloc(sizeof *deciding);
    struct metrics *registry = service_metrics(options->service);
    struct decider_options decider = {
        .loop = service_loop(options->service),
        .settings = service_kafka(options->service),
        .log = service_log(options->service),
        .registry = registry,
        .metrics = decider_metrics_of(registry, "counter"),
        .transactional_id = options->transactional_id,
        .partitions = options->partitions,
        .commands = COMMANDS,
        .command_count = ARRAY_SIZE(COMMANDS),
        .states = STATES,
        .state_count = ARRAY_SIZE(STATES),
        .offsets = &COUNTER_OFFSETS,
        .batch = options->batch,
        .item_size = sizeof(struct counter_command),
        .context = deciding,
        .read = read_command,
        .decide = decide,
        .on_handled = handled,
        .on_reset = reset,
    };
    *deciding = (struct deciding){.options = *options};
    deciding->options.transactional_id = NULL; // the decider has its copy
    deciding->decider = decider_new(&decider);
    deciding->overlay = decider_overlay(deciding->decider, &COUNTERS);
    return deciding;
}

void deciding_free(struct deciding *deciding) {
    if (!deciding) return;
    decider_free(deciding->decider);
    free(deciding);
}

struct decider *deciding_decider(const struct deciding *deciding) {
    return deciding->decider;
}
