#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "router/state.h"

enum {
    ASK_TIMEOUT_MS = 10000,
    ASK_AGAIN_MS = 300,
    RETRY_MS = 5,
    FLUSH_LOOK = 64,    /* records between two looks at the clock */
    COMMANDS_LOTS = 10, /* transactions' worth of commands that may be queued before their reading is paused */
    BEHIND_MS = 1000
};

static const enum topic GROUP_TOPICS[] = {TOPIC_LOCATIONS, TOPIC_FRIEND_COMMANDS};

/* Questions to the broker about owned partitions, asked on a worker thread. */
struct asked {
    int32_t partition;
    int64_t locations, commands, sharing; /* committed offsets; KAFKA_OFFSET_NONE */
    int64_t friendships_end, sharing_end; /* 0: nothing is there */
};

struct asking {
    struct ownership *ownership;
    uint64_t generation;
    struct asked *items;
    size_t count;
    int code;
    struct error reason;
};

struct ownership {
    struct router *router;
    struct kafka_consumer *consumer;
    struct loop_timer *again;
    struct kafka_position *positions; /* room for two a partition */

    uint64_t generation; /* of what has been asked: rises with each assignment and each reset */
    bool assigned, ever_assigned;
    bool asking, ask_wanted;
    bool stopped, held, commands_paused;

    int64_t *snapshots;  /* by epoch modulo, then partition: where reading was when the epoch was closed */
    uint64_t told_epoch; /* the last one whose snapshot was committed */
    uint64_t commit_failures;
};

static int64_t *snapshot(struct ownership *ownership, uint64_t epoch) {
    return ownership->snapshots + (epoch % OUTBOX_EPOCHS) * (uint64_t)ownership->router->partitions;
}

static struct kafka_position at(enum topic topic, int32_t partition, int64_t offset) {
    return (struct kafka_position){.topic = topic, .partition = partition, .offset = offset};
}

static void failed(struct ownership *ownership, const char *doing, const struct error *error) {
    log_error(ownership->router->log, doing, LOG_TEXT("reason", error->text));
    service_fail(ownership->router->service, doing);
}

/* ---- records ---- */

static void pause_commands(struct ownership *ownership, bool pause) {
    struct router *router = ownership->router;
    if (ownership->commands_paused == pause) return;
    ownership->commands_paused = pause;
    for (int32_t p = 0; p < router->partitions; p++) {
        if (!router->parts[p].commands_live) continue;
        if (pause)
            kafka_consumer_pause(ownership->consumer, TOPIC_FRIEND_COMMANDS, p);
        else
            kafka_consumer_resume(ownership->consumer, TOPIC_FRIEND_COMMANDS, p);
    }
}

static void take(void *context, const struct kafka_record *records, size_t count) {
    struct ownership *ownership = context;
    struct router *router = ownership->router;
    int64_t now_us = clock_monotonic_us(), wall_ms = clock_wall_ms();
    timeline_tick(router->timeline);
    for (size_t i = 0; i < count; i++) {
        const struct kafka_record *record = &records[i];
        struct partition *part = &router->parts[record->partition];
        if (record->topic == TOPIC_FRIEND_COMMANDS) {
            commands_take(router->commands, record);
            continue;
        }
        reports_handle(router, record, partition_owned(part), wall_ms, now_us);
        part->next = record->offset + 1;
        part->handled_ms = record->timestamp;
        if (i % FLUSH_LOOK != FLUSH_LOOK - 1) continue;
        now_us = clock_monotonic_us();
        outbox_flush_old(router->outbox, now_us);
    }
    outbox_set_stream_time(router->outbox, timeline_stream(router->timeline));
    outbox_flush_old(router->outbox, clock_monotonic_us());
    commands_run(router->commands);
    if (commands_queued(router->commands) > (size_t)router->settings->commands_batch * COMMANDS_LOTS)
        pause_commands(ownership, true);
    ownership_hold(ownership);
}

static void drained(void *context) {
    struct ownership *ownership = context;
    outbox_flush(ownership->router->outbox);
    ownership_hold(ownership);
}

void ownership_hold(struct ownership *ownership) {
    struct router *router = ownership->router;
    bool hold = ownership->stopped || outbox_blocked(router->outbox);
    if (hold == ownership->held) return;
    ownership->held = hold;
    if (hold && !ownership->stopped) router->metrics.held->value++;
    kafka_consumer_hold(ownership->consumer, hold);
    if (hold) loop_timer_again(router->retry, RETRY_MS, RETRY_MS);
}

/* ---- asking ---- */

static void ask(struct ownership *ownership);

static void ask_work(void *context) {
    struct asking *asking = context;
    struct kafka_consumer *consumer = asking->ownership->consumer;
    struct kafka_position *committed = mem_alloc((asking->count * 3 + 1) * sizeof *committed);
    for (size_t i = 0; i < asking->count; i++) {
        committed[i * 3] = at(TOPIC_LOCATIONS, asking->items[i].partition, KAFKA_OFFSET_NONE);
        committed[i * 3 + 1] = at(TOPIC_FRIEND_COMMANDS, asking->items[i].partition, KAFKA_OFFSET_NONE);
        committed[i * 3 + 2] = at(TOPIC_SHARING, asking->items[i].partition, KAFKA_OFFSET_NONE);
    }
    asking->code = kafka_consumer_committed(consumer, committed, asking->count * 3, ASK_TIMEOUT_MS, &asking->reason);
    for (size_t i = 0; !asking->code && i < asking->count; i++) {
        struct asked *item = &asking->items[i];
        int64_t low = 0, high = 0;
        item->locations = committed[i * 3].offset;
        item->commands = committed[i * 3 + 1].offset;
        item->sharing = committed[i * 3 + 2].offset;
        // After the committed offsets: whatever was written for commands before them is then below this end.
        asking->code = kafka_consumer_watermarks(consumer, TOPIC_FRIENDSHIPS, item->partition, &low, &high,
                                                 ASK_TIMEOUT_MS, &asking->reason);
        item->friendships_end = high > low ? high : 0;
        if (!asking->code)
            asking->code = kafka_consumer_watermarks(consumer, TOPIC_SHARING, item->partition, &low, &high,
                                                     ASK_TIMEOUT_MS, &asking->reason);
        item->sharing_end = high > low ? high : 0;
    }
    free(committed);
}

static int restore(struct router *router, const struct asked *item, struct error *error) {
    struct partition *part = &router->parts[item->partition];
    int code = 0;
    if (part->stage == PARTITION_ASKING) {
        if (item->locations < 0)
            part->next = part->first < part->next ? part->first : part->next;
        else if (item->locations < part->next)
            part->next = item->locations;
        part->settled = part->next;
        part->committed = item->locations;
        part->stage = PARTITION_RESTORING;
        code = relations_attach(router->relations, item->partition, item->sharing, error);
    }
    if (part->stage == PARTITION_RESTORING) {
        part->friendships_end = item->friendships_end;
        part->sharing_end = item->sharing_end;
    }
    part->commands_from = item->commands;
    part->commands_end = item->friendships_end;
    part->commands_asked = true;
    return code;
}

static void ask_done(void *context) {
    struct asking *asking = context;
    struct ownership *ownership = asking->ownership;
    struct router *router = ownership->router;
    struct error error;
    int code = 0;
    ownership->asking = false;
    if (asking->generation != ownership->generation || ownership->stopped) {
        ask(ownership);
    } else if (asking->code) {
        log_warn(router->log, "offsets of owned partitions cannot be had yet", LOG_TEXT("reason", asking->reason.text));
        ownership->ask_wanted = true;
        loop_timer_again(ownership->again, ASK_AGAIN_MS, 0);
    } else {
        for (size_t i = 0; !code && i < asking->count; i++) code = restore(router, &asking->items[i], &error);
        if (!code) code = relations_read(router->relations, &error);
        if (code)
            failed(ownership, "friend lists cannot be restored", &error);
        else
            ownership_progress(ownership);
    }
    free(asking->items);
    free(asking);
}

/* Asks if it is wanted and possible. Not while a transaction is open: its end is part of the answer. */
static void ask(struct ownership *ownership) {
    struct router *router = ownership->router;
    if (!ownership->ask_wanted || ownership->asking || !ownership->assigned || ownership->stopped) return;
    if (commands_committing(router->commands)) return;
    struct asking *asking = mem_alloc(sizeof *asking);
    *asking = (struct asking){.ownership = ownership,
                              .generation = ownership->generation,
                              .items = mem_zero((size_t)router->partitions, sizeof *asking->items)};
    for (int32_t p = 0; p < router->partitions; p++) {
        if (partition_owned(&router->parts[p])) asking->items[asking->count++].partition = p;
    }
    ownership->ask_wanted = false;
    ownership->asking = true;
    loop_work(router->loop, ask_work, ask_done, asking);
}

static void ask_again(void *context) { ask(context); }

static void want_answers(struct ownership *ownership) {
    ownership->generation++;
    ownership->ask_wanted = true;
    ask(ownership);
}

/* ---- assignments ---- */

static void commands_forgotten(struct ownership *ownership) {
    struct router *router = ownership->router;
    for (int32_t p = 0; p < router->partitions; p++)
        router->parts[p].commands_asked = router->parts[p].commands_live = false;
    ownership->commands_paused = false;
}

static void release(struct router *router, int32_t partition) {
    struct partition *part = &router->parts[partition];
    if (part->stage == PARTITION_RESTORING || part->stage == PARTITION_LIVE)
        relations_detach(router->relations, partition);
    part->stage = PARTITION_FOREIGN;
}

/* Reads all that may be read now: what is others', and what is ours and restored. */
static void read_all(struct ownership *ownership) {
    struct router *router = ownership->router;
    struct error error;
    size_t count = 0;
    for (int32_t p = 0; p < router->partitions; p++) {
        struct partition *part = &router->parts[p];
        if (part->stage == PARTITION_FOREIGN || part->stage == PARTITION_LIVE)
            ownership->positions[count++] = at(TOPIC_LOCATIONS, p, part->next);
        if (part->commands_live) {
            int64_t next = kafka_consumer_position(ownership->consumer, TOPIC_FRIEND_COMMANDS, p);
            if (next < 0) next = part->commands_from < 0 ? KAFKA_OFFSET_BEGINNING : part->commands_from;
            ownership->positions[count++] = at(TOPIC_FRIEND_COMMANDS, p, next);
        }
    }
    if (kafka_consumer_read(ownership->consumer, ownership->positions, count, &error))
        failed(ownership, "locations cannot be read", &error);
}

static void assigned(void *context, const struct kafka_position *owned, size_t count) {
    struct ownership *ownership = context;
    struct router *router = ownership->router;
    bool *mine = mem_zero((size_t)router->partitions, sizeof *mine);
    struct error error;
    int64_t given = 0, kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (owned[i].topic == TOPIC_LOCATIONS && owned[i].partition < router->partitions)
            mine[owned[i].partition] = true;
    }
    for (int32_t p = 0; p < router->partitions; p++) {
        struct partition *part = &router->parts[p];
        given += mine[p];
        kept += mine[p] && partition_owned(part);
        if (mine[p] && part->stage == PARTITION_FOREIGN)
            part->stage = PARTITION_ASKING;
        else if (!mine[p] && partition_owned(part))
            release(router, p);
    }
    free(mine);
    ownership->assigned = ownership->ever_assigned = true;
    log_info(router->log, "partitions assigned", LOG_INT("owned", given), LOG_INT("kept", kept));
    if (relations_read(router->relations, &error)) failed(ownership, "friendships cannot be read", &error);
    read_all(ownership);
    want_answers(ownership);
    ownership_progress(ownership);
}

static void revoked(void *context, bool lost) {
    struct ownership *ownership = context;
    struct router *router = ownership->router;
    struct error error;
    ownership->assigned = false;
    ownership->generation++;
    outbox_flush(router->outbox);
    commands_revoke(router->commands);
    commands_forgotten(ownership);
    log_info(router->log, lost ? "partitions lost" : "partitions revoked");
    // When lost, somebody else may have handled them since; otherwise what stays ours goes on where it is.
    for (int32_t p = 0; lost && p < router->partitions; p++) release(router, p);
    if (relations_read(router->relations, &error)) failed(ownership, "friendships cannot be read", &error);
    peer_handled(router->peer);
}

static void broker_changed(void *context, bool up, const char *reason) {
    struct ownership *ownership = context;
    if (up)
        log_info(ownership->router->log, "Kafka is back");
    else
        log_warn(ownership->router->log, "Kafka cannot be reached", LOG_TEXT("reason", reason));
}

void ownership_progress(struct ownership *ownership) {
    if (!ownership || !ownership->assigned || ownership->stopped) return;
    struct router *router = ownership->router;
    struct error error;
    size_t count = 0, owned = 0, live = 0, commanding = 0;
    ask(ownership);
    for (int32_t p = 0; p < router->partitions; p++) {
        struct partition *part = &router->parts[p];
        if (part->stage == PARTITION_RESTORING &&
            relations_reached(router->relations, p, part->friendships_end, part->sharing_end)) {
            part->stage = PARTITION_LIVE;
            part->live_epoch = outbox_epoch(router->outbox);
            part->current_ms = 0;
            relations_live(router->relations, p);
            ownership->positions[count++] = at(TOPIC_LOCATIONS, p, part->next);
        }
        if (part->stage == PARTITION_LIVE && part->commands_asked && !part->commands_live &&
            commands_ready(router->commands) && relations_reached(router->relations, p, part->commands_end, 0)) {
            part->commands_live = true;
            commands_begin(router->commands, p, part->commands_from < 0 ? 0 : part->commands_from);
            ownership->positions[count++] =
                at(TOPIC_FRIEND_COMMANDS, p, part->commands_from < 0 ? KAFKA_OFFSET_BEGINNING : part->commands_from);
        }
        owned += partition_owned(part);
        live += part->stage == PARTITION_LIVE;
        commanding += part->commands_live;
    }
    if (count && kafka_consumer_read_more(ownership->consumer, ownership->positions, count, &error))
        failed(ownership, "restored partitions cannot be read", &error);
    router->metrics.owned->value = (double)owned;
    router->metrics.restored->value = (double)live;
    service_ready(router->service, "assigned", ownership->ever_assigned);
    service_ready(router->service, "restored",
                  live == owned && commanding == owned && commands_ready(router->commands));
    if (count) peer_handled(router->peer);
}

void ownership_reset_commands(struct ownership *ownership) {
    struct router *router = ownership->router;
    size_t count = 0;
    for (int32_t p = 0; p < router->partitions; p++) {
        if (router->parts[p].commands_live) ownership->positions[count++] = at(TOPIC_FRIEND_COMMANDS, p, 0);
    }
    commands_forgotten(ownership);
    if (!ownership->assigned) return;
    if (count) kafka_consumer_read_less(ownership->consumer, ownership->positions, count, NULL);
    want_answers(ownership);
}

void ownership_restore_again(struct ownership *ownership, int32_t partition) {
    struct router *router = ownership->router;
    struct partition *part = &router->parts[partition];
    struct kafka_position positions[2];
    size_t count = 0;
    if (part->stage != PARTITION_LIVE && part->stage != PARTITION_RESTORING) return;
    if (part->stage == PARTITION_LIVE) positions[count++] = at(TOPIC_LOCATIONS, partition, 0);
    if (part->commands_live) positions[count++] = at(TOPIC_FRIEND_COMMANDS, partition, 0);
    if (ownership->assigned && count) kafka_consumer_read_less(ownership->consumer, positions, count, NULL);
    part->stage = PARTITION_RESTORING;
    part->friendships_end = INT64_MAX; // until the answer comes
    ownership_reset_commands(ownership);
}

int ownership_serves(const struct ownership *ownership, int32_t partition) {
    const struct partition *part = &ownership->router->parts[partition];
    if (!ownership->assigned) return -EAGAIN;
    if (!partition_owned(part)) return -ESTALE;
    return part->stage == PARTITION_LIVE ? 0 : -EAGAIN;
}

/* ---- offsets ---- */

static void commit(struct ownership *ownership) {
    struct router *router = ownership->router;
    uint64_t epoch = outbox_settled(router->outbox) - 1;
    size_t count = 0;
    uint64_t failures = kafka_consumer_commit_failures(ownership->consumer);
    if (failures != ownership->commit_failures) {
        ownership->commit_failures = failures;
        for (int32_t p = 0; p < router->partitions; p++) router->parts[p].committed = -1;
    }
    if (epoch != ownership->told_epoch && epoch > 0) {
        const int64_t *offsets = snapshot(ownership, epoch);
        ownership->told_epoch = epoch;
        for (int32_t p = 0; p < router->partitions; p++) {
            struct partition *part = &router->parts[p];
            if (part->stage == PARTITION_LIVE && part->live_epoch <= epoch) part->settled = offsets[p];
        }
    }
    for (int32_t p = 0; p < router->partitions; p++) {
        struct partition *part = &router->parts[p];
        if (part->stage != PARTITION_LIVE || part->settled <= part->committed) continue;
        part->committed = part->settled;
        ownership->positions[count++] = at(TOPIC_LOCATIONS, p, part->settled);
    }
    if (!count || !ownership->assigned) return;
    kafka_consumer_commit(ownership->consumer, ownership->positions, count);
    router->metrics.commits->value++;
}

void ownership_second(struct ownership *ownership) {
    struct router *router = ownership->router;
    uint64_t epoch = outbox_epoch(router->outbox);
    if (outbox_close_epoch(router->outbox)) {
        int64_t *offsets = snapshot(ownership, epoch);
        for (int32_t p = 0; p < router->partitions; p++) offsets[p] = router->parts[p].next;
    }
    commit(ownership);
    ownership_hold(ownership);
    router->metrics.unsettled->value = (double)(outbox_epoch(router->outbox) - outbox_settled(router->outbox));
}

void ownership_rewind(struct ownership *ownership) {
    struct router *router = ownership->router;
    outbox_forget(router->outbox);
    ownership->told_epoch = outbox_settled(router->outbox) - 1; // which has no snapshot
    log_warn(router->log, "deliveries were lost: their events are handled again");
    for (int32_t p = 0; p < router->partitions; p++) {
        struct partition *part = &router->parts[p];
        if (part->stage == PARTITION_LIVE) part->next = part->settled;
    }
    if (ownership->assigned && !ownership->stopped) read_all(ownership);
}

void ownership_commit_sharing(struct ownership *ownership, const struct kafka_position *positions, size_t count) {
    if (ownership->assigned) kafka_consumer_commit(ownership->consumer, positions, count);
}

/* ---- lag ---- */

/* How long (ms) the oldest event that is waiting in a partition may have waited. */
static int64_t waiting_ms(struct ownership *ownership, int32_t partition, int64_t now) {
    struct partition *part = &ownership->router->parts[partition];
    if (kafka_consumer_lag(ownership->consumer, TOPIC_LOCATIONS, partition) == 0) {
        part->current_ms = now;
        return 0;
    }
    int64_t since = part->handled_ms > part->current_ms ? part->handled_ms : part->current_ms;
    return since ? now - since : BEHIND_MS;
}

void ownership_measure(struct ownership *ownership) {
    struct router *router = ownership->router;
    int64_t now = clock_wall_ms(), lag = 0;
    bool current = router->warm && ownership->assigned && commands_queued(router->commands) == 0 &&
                   !commands_committing(router->commands);
    for (int32_t p = 0; p < router->partitions; p++) {
        const struct partition *part = &router->parts[p];
        if (part->stage == PARTITION_FOREIGN || part->stage == PARTITION_LIVE) {
            int64_t waiting = waiting_ms(ownership, p, now);
            if (waiting > lag) lag = waiting;
        }
        if (!partition_owned(part)) continue;
        current =
            current && part->commands_live && kafka_consumer_lag(ownership->consumer, TOPIC_FRIEND_COMMANDS, p) == 0;
    }
    router->lagging = lag >= BEHIND_MS;
    router->metrics.lag->value = (double)lag / 1000;
    router->metrics.caught_up->value = current && !router->lagging && relations_current(router->relations);
    router->metrics.digesting->value = router->warm && !router->lagging;
    if (commands_queued(router->commands) <= (size_t)router->settings->commands_batch * COMMANDS_LOTS / 2)
        pause_commands(ownership, false);
}

/* ---- beginning and end ---- */

int ownership_new(struct router *router, struct ownership **out, struct error *error) {
    struct ownership *ownership = mem_alloc(sizeof *ownership);
    *ownership = (struct ownership){
        .router = router,
        .again = loop_timer_new(router->loop, ASK_AGAIN_MS, 0, ask_again, ownership),
        .positions = mem_zero((size_t)router->partitions * 2, sizeof *ownership->positions),
        .snapshots = mem_zero((size_t)router->partitions * OUTBOX_EPOCHS, sizeof *ownership->snapshots),
        .told_epoch = outbox_settled(router->outbox) - 1,
    };
    struct kafka_consumer_options options = {
        .loop = router->loop,
        .settings = router->kafka,
        .group = router->settings->group_id,
        .instance_id = router->common->group_instance_id,
        .subscribe = GROUP_TOPICS,
        .subscribe_count = ARRAY_SIZE(GROUP_TOPICS),
        .batch = (size_t)router->settings->batch_records,
        .context = ownership,
        .on_records = take,
        .on_assigned = assigned,
        .on_revoked = revoked,
        .on_drained = drained,
        .on_broker = broker_changed,
    };
    int code = kafka_consumer_new(&options, &ownership->consumer, error);
    if (code) {
        ownership_free(ownership);
        return code;
    }
    commands_set_consumer(router->commands, ownership->consumer);
    *out = ownership;
    return 0;
}

void ownership_free(struct ownership *ownership) {
    if (!ownership) return;
    commands_set_consumer(ownership->router->commands, NULL);
    kafka_consumer_free(ownership->consumer);
    loop_timer_free(ownership->again);
    free(ownership->positions);
    free(ownership->snapshots);
    free(ownership);
}

bool ownership_busy(const struct ownership *ownership) { return ownership && ownership->asking; }

void ownership_stop(struct ownership *ownership) {
    ownership->stopped = true;
    outbox_flush(ownership->router->outbox);
    ownership_hold(ownership);
}

bool ownership_settled(const struct ownership *ownership) {
    const struct router *router = ownership->router;
    if (outbox_settled(router->outbox) != outbox_epoch(router->outbox)) return false;
    for (int32_t p = 0; ownership->assigned && p < router->partitions; p++) {
        const struct partition *part = &router->parts[p];
        if (part->stage == PARTITION_LIVE && part->committed < part->next) return false;
    }
    return true;
}
