#include "router/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "event/topics.h"
#include "router/overlay.h"

enum {
    INIT_TIMEOUT_MS = 10000,
    COMMIT_TIMEOUT_MS = 5000, /* the transaction itself is given up by the broker after 2 s */
    RETRY_MS = 500,
    SLICE = 4000,  /* commands decided in one go, before the loop may do something else */
    MANY = 500,    /* so many at once are bulk: their transaction waits for more of them, */
    HOLD_MS = 100, /* so long; and takes no more when it is so old, */
    FULL_MS = 300  /* or so old where more are there: nothing is decided while one is committed */
};

/* A record that is no command: goes to the dead letters within the transaction, so that it does so once. */
struct dead {
    struct kafka_record record; /* key and value are copies */
    char *reason;
};

struct queued {
    int32_t partition;
    int64_t offset;
    struct friend_command command;
    struct dead *dead; /* NULL: a command */
};

/* The user whose half decides a command. Commands of one user stand together in a slice, in order of offsets, and users as
 * they stand in the store. */
struct decision {
    int64_t lower;
    const struct queued *queued;
};

enum stage {
    STAGE_DOWN,     /* no producer; the timer makes one */
    STAGE_STARTING, /* a worker thread starts transactions */
    STAGE_IDLE,
    STAGE_OPEN,      /* a transaction is being filled */
    STAGE_COMMITTING /* a worker thread commits */
};

struct commands {
    struct commands_options options;
    char *transactional_id;
    struct kafka_producer *producer;
    struct kafka_consumer *consumer;
    struct codec *codec;
    struct overlay *overlay;
    struct loop_timer *timer, *turn;
    enum stage stage;
    bool stopped;
    bool revoked; /* since the transaction that is under way was begun */

    struct queued *queue; /* from first on */
    size_t first, count, capacity;

    int64_t *handled; /* by partition; -1: not begun */
    int64_t *ends;    /* by partition of friendships: behind the last half that was written */

    struct kafka_position *positions; /* of the transaction: the next command of each partition in it */
    size_t position_count;
    size_t taken; /* commands in it */
    int64_t opened_us;

    struct decision slice[SLICE];
    struct buffer value;
    struct friend_list lists[GRAPH_MANY]; /* of the users whose commands are being decided */

    int code; /* the worker's result */
    struct error reason;
};

static void producer_start(struct commands *commands);
static void run_on(void *context);
static void commit(struct commands *commands);

static void dead_free(struct dead *dead) {
    if (!dead) return;
    free((void *)(uintptr_t)dead->record.key);
    free((void *)(uintptr_t)dead->record.value);
    free(dead->reason);
    free(dead);
}

static void queue_clear(struct commands *commands) {
    for (size_t i = 0; i < commands->count; i++) dead_free(commands->queue[commands->first + i].dead);
    commands->first = commands->count = 0;
}

static void delivered(void *context, void *opaque, int code, const struct topic *topic, int32_t partition,
                      int64_t offset) {
    struct commands *commands = context;
    if (!code && topic == &TOPIC_FRIENDSHIPS && offset >= commands->ends[partition])
        commands->ends[partition] = offset + 1;
}

static void tried_again(void *context) {
    struct commands *commands = context;
    if (commands->stage == STAGE_DOWN && !commands->stopped) producer_start(commands);
}

int commands_new(const struct commands_options *options, struct commands **out, struct error *error) {
    size_t partitions = (size_t)options->partitions;
    struct commands *commands = mem_alloc(sizeof *commands);
    *commands = (struct commands){
        .options = *options,
        .transactional_id = mem_string(options->transactional_id),
        .codec = codec_new(),
        .overlay = overlay_new(),
        .timer = loop_timer_new(options->loop, 1, 0, tried_again, commands),
        .turn = loop_timer_new(options->loop, HOLD_MS, 0, run_on, commands),
        .stage = STAGE_DOWN,
        .handled = mem_alloc(partitions * sizeof *commands->handled),
        .ends = mem_zero(partitions, sizeof *commands->ends),
        .positions = mem_alloc(partitions * sizeof *commands->positions),
    };
    for (size_t p = 0; p < partitions; p++) commands->handled[p] = -1;
    *out = commands;
    return 0;
}

void commands_free(struct commands *commands) {
    if (!commands) return;
    kafka_producer_free(commands->producer, 0);
    queue_clear(commands);
    loop_timer_free(commands->timer);
    loop_timer_free(commands->turn);
    overlay_free(commands->overlay);
    codec_free(commands->codec);
    buffer_free(&commands->value);
    for (size_t i = 0; i < GRAPH_MANY; i++) friend_list_free(&commands->lists[i]);
    free(commands->queue);
    free(commands->handled);
    free(commands->ends);
    free(commands->positions);
    free(commands->transactional_id);
    free(commands);
}

void commands_set_consumer(struct commands *commands, struct kafka_consumer *consumer) {
    commands->consumer = consumer;
}

bool commands_ready(const struct commands *commands) { return commands->stage >= STAGE_IDLE; }

bool commands_busy(const struct commands *commands) {
    return commands->stage == STAGE_STARTING || commands->stage == STAGE_COMMITTING;
}

bool commands_committing(const struct commands *commands) { return commands->stage >= STAGE_OPEN; }

size_t commands_queued(const struct commands *commands) { return commands->count; }

int64_t commands_handled(const struct commands *commands, int32_t partition) { return commands->handled[partition]; }

/* ---- the producer ---- */

static void producer_drop(struct commands *commands) {
    kafka_producer_free(commands->producer, 0);
    commands->producer = NULL;
    commands->stage = STAGE_DOWN;
    if (!commands->stopped) loop_timer_again(commands->timer, RETRY_MS, 0);
}

static void init_work(void *context) {
    struct commands *commands = context;
    commands->code = kafka_transactions_init(commands->producer, INIT_TIMEOUT_MS, &commands->reason);
}

static void init_done(void *context) {
    struct commands *commands = context;
    if (commands->code) {
        log_warn(commands->options.log, "transactions cannot be started yet",
                 LOG_TEXT("reason", commands->reason.text));
        producer_drop(commands);
        return;
    }
    commands->stage = STAGE_IDLE;
    commands->options.on_handled(commands->options.context);
}

static void producer_start(struct commands *commands) {
    struct kafka_producer_options options = {
        .loop = commands->options.loop,
        .settings = commands->options.settings,
        .transactional_id = commands->transactional_id,
        .linger_ms = HOLD_MS, // committing sends what is left
        .context = commands,
        .on_delivered = delivered,
    };
    commands->code = kafka_producer_new(&options, &commands->producer, &commands->reason);
    if (commands->code) {
        log_error(commands->options.log, "no producer for transactions", LOG_TEXT("reason", commands->reason.text));
        producer_drop(commands);
        return;
    }
    commands->stage = STAGE_STARTING;
    loop_work(commands->options.loop, init_work, init_done, commands);
}

/* ---- partitions come and go ---- */

void commands_begin(struct commands *commands, int32_t partition, int64_t offset) {
    commands->handled[partition] = offset;
}

static void forget(struct commands *commands) {
    queue_clear(commands);
    overlay_clear(commands->overlay);
    for (int32_t p = 0; p < commands->options.partitions; p++) commands->handled[p] = -1;
}

void commands_revoke(struct commands *commands) {
    commands->revoked = true;
    forget(commands);
    if (commands->stage != STAGE_OPEN) return;
    // The broker would refuse its offsets after the next assignment; until then they need not be waited for.
    commands->code = error_set(&commands->reason, -ESTALE, "the group has taken the partitions away");
    commit(commands);
}

void commands_stop(struct commands *commands) {
    commands->stopped = true;
    queue_clear(commands);
    if (commands->stage == STAGE_OPEN) commit(commands);
}

void commands_read_back(struct commands *commands, int32_t partition, int64_t next) {
    overlay_read_back(commands->overlay, partition, next);
    commands->options.metrics->overlay->value = (double)overlay_count(commands->overlay);
}

/* ---- the queue ---- */

static void *copy(const void *bytes, size_t size) {
    if (!bytes) return NULL;
    void *own = mem_alloc(size);
    if (size) memcpy(own, bytes, size);
    return own;
}

static struct dead *dead_new(const struct kafka_record *record, const char *reason) {
    struct dead *dead = mem_alloc(sizeof *dead);
    *dead = (struct dead){.record = *record, .reason = mem_string(reason)};
    dead->record.key = copy(record->key, record->key_size);
    dead->record.value = copy(record->value, record->value_size);
    return dead;
}

/* NULL: a command that can be handled here; else why it cannot. */
static const char *complaint(const struct commands *commands, int32_t partition, const struct friend_command *command) {
    if (!friendship_command_valid(command)) return "from and to must be two users";
    if (command->time <= 0 || command->since < 0) return "the time is out of range";
    int64_t lower = friendship_lower(command->from, command->to);
    if (hash_user_partition(lower, commands->options.partitions) != partition)
        return "not in the partition of the lower user of the pair";
    return NULL;
}

void commands_take(struct commands *commands, const struct kafka_record *record) {
    struct queued queued = {.partition = record->partition, .offset = record->offset, .dead = NULL};
    struct error error;
    const char *reason = NULL;
    if (event_decode_friend_command(commands->codec, record->value, record->value_size, &queued.command, &error))
        reason = error.text;
    else
        reason = complaint(commands, record->partition, &queued.command);
    if (reason) queued.dead = dead_new(record, reason);
    if (commands->first + commands->count == commands->capacity) {
        if (commands->first >= commands->count) {
            if (commands->count)
                memmove(commands->queue, commands->queue + commands->first, commands->count * sizeof queued);
            commands->first = 0;
        }
        if (commands->first + commands->count == commands->capacity) {
            commands->capacity = commands->capacity ? commands->capacity * 2 : 256;
            commands->queue = mem_resize(commands->queue, commands->capacity, sizeof queued);
        }
    }
    commands->queue[commands->first + commands->count++] = queued;
}

/* ---- deciding ---- */

int commands_half(struct commands *commands, int32_t partition, int64_t lower, int64_t other, struct friendship *half,
                  struct error *error) {
    const struct friendship *newest = overlay_find(commands->overlay, lower, other);
    if (!newest) return graph_half(commands->options.graph, partition, lower, other, half, NULL, error);
    *half = *newest;
    return 0;
}

static int send_half(struct commands *commands, int64_t user, int64_t other, const struct friendship *half) {
    uint8_t key[16];
    bytes_put_be64(key, (uint64_t)user);
    bytes_put_be64(key + 8, (uint64_t)other);
    buffer_clear(&commands->value);
    bool tombstone = friendship_empty(half);
    if (!tombstone) event_encode_friendship(&commands->value, half);
    commands->options.metrics->halves->value++;
    return kafka_producer_send(commands->producer, &TOPIC_FRIENDSHIPS,
                               hash_user_partition(user, commands->options.partitions), key, sizeof key,
                               tombstone ? NULL : commands->value.data, commands->value.size, NULL);
}

/* Whether the lower user's list is at its cap, those included that wait to be read back. */
static bool is_full(const struct commands *commands, int64_t lower, const struct friend_list *list) {
    size_t cap = commands->options.cap;
    if (list->count + overlay_waiting(commands->overlay, lower) < cap) return false;
    return (int64_t)list->count + overlay_growth(commands->overlay, lower, list) >= (int64_t)cap;
}

static int decide(struct commands *commands, const struct queued *queued, int64_t lower, const struct friend_list *list,
                  struct error *error) {
    const struct friend_command *command = &queued->command;
    int64_t higher = friendship_higher(command->from, command->to);
    const struct friendship *newest = overlay_find(commands->overlay, lower, higher);
    bool with_since = command->kind == FRIEND_COMMAND_REMOVE && command->since; // nothing else asks for it
    struct friendship half, next;
    int code = 0;
    if (newest)
        half = *newest;
    else
        code = graph_half_beside(commands->options.graph, queued->partition, lower, list, higher, with_since, &half,
                                 error);
    if (code || !friendship_decide(&half, command, is_full(commands, lower, list), &next)) return code;

    struct friendship mirror = friendship_mirror(&next);
    overlay_put(commands->overlay, queued->partition, lower, higher, &next);
    code = send_half(commands, lower, higher, &next);
    if (!code) code = send_half(commands, higher, lower, &mirror);
    return code ? error_set(error, code, "a half could not be written: %s", strerror(-code)) : 0;
}

static int by_user(const void *a, const void *b) {
    const struct decision *x = a, *y = b;
    if (x->queued->partition != y->queued->partition) return x->queued->partition < y->queued->partition ? -1 : 1;
    if (x->lower != y->lower) return x->lower < y->lower ? -1 : 1;
    return (x->queued > y->queued) - (x->queued < y->queued); // as they came: they stand in one array
}

/* Those of the first users of a partition, whose lists are read at once; *from: behind them. */
static int decide_some(struct commands *commands, size_t *from, size_t count, struct error *error) {
    const struct decision *slice = commands->slice;
    int32_t partition = slice[*from].queued->partition;
    int64_t users[GRAPH_MANY];
    size_t user_count = 0, to = *from;
    for (; to < count && slice[to].queued->partition == partition; to++) {
        if (user_count && users[user_count - 1] == slice[to].lower) continue;
        if (user_count == GRAPH_MANY) break;
        users[user_count++] = slice[to].lower;
    }
    int code = graph_friends_many(commands->options.graph, partition, users, user_count, commands->lists, error);
    for (size_t user = 0; !code && *from < to; (*from)++) {
        while (users[user] != slice[*from].lower) user++;
        code = decide(commands, slice[*from].queued, users[user], &commands->lists[user], error);
    }
    return code;
}

/* Users do not depend on each other, so that each one's friends are read once for all commands of a slice. */
static int decide_slice(struct commands *commands, size_t count, struct error *error) {
    int code = 0;
    qsort(commands->slice, count, sizeof *commands->slice, by_user);
    for (size_t at = 0; !code && at < count;) code = decide_some(commands, &at, count, error);
    return code;
}

/* ---- transactions ---- */

static void commit_work(void *context) {
    struct commands *commands = context;
    if (!commands->code)
        commands->code = kafka_transaction_commit(commands->producer, commands->positions, commands->position_count,
                                                  COMMIT_TIMEOUT_MS, &commands->reason);
    bool given_up = commands->code == -EAGAIN || commands->code == -ESTALE;
    // Whose abort fails too is replaced: a new producer of the same id ends what it left.
    if (given_up && kafka_transaction_abort(commands->producer, COMMIT_TIMEOUT_MS, NULL)) commands->code = -EIO;
}

static void committed(struct commands *commands) {
    struct router_metrics *metrics = commands->options.metrics;
    metrics->transactions->value++;
    metrics->commands->value += (double)commands->taken;
    if (commands->revoked) {
        // Other halves may have been written since by another owner: nothing of this is to be relied on.
        overlay_clear(commands->overlay);
    } else {
        overlay_commit(commands->overlay, commands->ends);
        for (size_t i = 0; i < commands->position_count; i++)
            commands->handled[commands->positions[i].partition] = commands->positions[i].offset;
    }
    commands->options.on_handled(commands->options.context);
    commands_run(commands);
}

static void commit_done(void *context) {
    struct commands *commands = context;
    bool revoked = commands->revoked;
    commands->stage = STAGE_IDLE;
    if (!commands->code) {
        committed(commands);
        return;
    }
    commands->options.metrics->transactions_failed->value++;
    log_warn(commands->options.log, "friend commands were not committed and will be handled again",
             LOG_INT("commands", (int64_t)commands->taken), LOG_TEXT("reason", commands->reason.text));
    if (!revoked) forget(commands);
    overlay_clear(commands->overlay);
    if (commands->code != -EAGAIN && commands->code != -ESTALE) producer_drop(commands);
    // A stale member is told by the group what it owns; until then nothing of it may be asked for.
    commands->options.on_reset(commands->options.context);
}

static void position_put(struct commands *commands, const struct queued *queued) {
    struct kafka_position position = {
        .topic = &TOPIC_FRIEND_COMMANDS, .partition = queued->partition, .offset = queued->offset + 1};
    for (size_t i = 0; i < commands->position_count; i++) {
        if (commands->positions[i].partition != queued->partition) continue;
        commands->positions[i] = position;
        return;
    }
    commands->positions[commands->position_count++] = position;
}

static int bury(struct commands *commands, const struct dead *dead, struct error *error) {
    commands->options.metrics->undecodable->value++;
    int code = kafka_producer_send_dead(commands->producer, &dead->record, dead->reason);
    return code ? error_set(error, code, "a dead letter could not be written: %s", strerror(-code)) : 0;
}

/* One slice of the queue into the transaction. */
static int fill(struct commands *commands, struct error *error) {
    size_t room = commands->options.batch - commands->taken, count = 0, taken = 0;
    int code = 0;
    for (; !code && taken < commands->count && taken < room && taken < SLICE; taken++) {
        struct queued *queued = &commands->queue[commands->first + taken];
        if (queued->dead)
            code = bury(commands, queued->dead, error);
        else
            commands->slice[count++] = (struct decision){
                .lower = friendship_lower(queued->command.from, queued->command.to), .queued = queued};
        position_put(commands, queued);
    }
    if (!code) code = decide_slice(commands, count, error);
    for (size_t i = 0; i < taken; i++) dead_free(commands->queue[commands->first + i].dead);
    commands->first += taken;
    commands->count -= taken;
    commands->taken += taken;
    if (!commands->count) commands->first = 0;
    commands->options.metrics->commands_queued->value = (double)commands->count;
    return code;
}

static void commit(struct commands *commands) {
    commands->stage = STAGE_COMMITTING;
    loop_work(commands->options.loop, commit_work, commit_done, commands);
}

static void open_transaction(struct commands *commands) {
    commands->position_count = commands->taken = 0;
    commands->revoked = false;
    commands->opened_us = clock_monotonic_us();
    commands->code = kafka_transaction_begin(commands->producer, commands->consumer, &commands->reason);
    commands->stage = STAGE_OPEN;
}

void commands_run(struct commands *commands) {
    if (commands->stopped || !commands->consumer) return;
    if (commands->stage == STAGE_IDLE && commands->count) open_transaction(commands);
    if (commands->stage != STAGE_OPEN) return;
    if (!commands->code) commands->code = fill(commands, &commands->reason);
    // What could not be put into the transaction, whatever it was, is given up with it.
    if (commands->code) commands->code = -EAGAIN;
    int64_t left_ms = (commands->count ? FULL_MS : HOLD_MS) - (clock_monotonic_us() - commands->opened_us) / 1000;
    bool full = commands->taken >= commands->options.batch || left_ms <= 0;
    if (commands->code || full || (!commands->count && commands->taken < MANY))
        commit(commands);
    else
        loop_timer_again(commands->turn, commands->count ? 0 : left_ms, 0);
}

static void run_on(void *context) { commands_run(context); }
