#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/topics.h"
#include "router/ownership_private.h"

enum {
    RETRY_MS = 5,
    FLUSH_LOOK = 64,    /* records between two looks at the clock */
    COMMANDS_LOTS = 10, /* transactions' worth of commands that may be queued before their reading is paused */
    BEHIND_MS = 1000,
    STAY_TENTHS = 5
};

static const struct topic *const GROUP_TOPICS[] = {&TOPIC_LOCATIONS, &TOPIC_FRIEND_COMMANDS};

static int64_t *snapshot(struct ownership *ownership, uint64_t epoch) {
    return ownership->snapshots + (epoch % OUTBOX_EPOCHS) * (uint64_t)ownership->router->partitions;
}

void ownership_failed(struct ownership *ownership, const char *doing, const struct error *error) {
    log_error(ownership->router->log, doing, LOG_TEXT("reason", error->text));
    service_fail(ownership->router->service, doing);
}

/* ---- records ---- */

/* Has the reading of friend commands follow commands_paused: what is so already stays as it is, and what has just begun to be
 * read is not paused, whatever it was before. */
static void pause_follows(struct ownership *ownership) {
    struct router *router = ownership->router;
    for (int32_t p = 0; p < router->partitions; p++) {
        if (!router->parts[p].commands_live) continue;
        if (ownership->commands_paused)
            kafka_consumer_pause(ownership->consumer, &TOPIC_FRIEND_COMMANDS, p);
        else
            kafka_consumer_resume(ownership->consumer, &TOPIC_FRIEND_COMMANDS, p);
    }
}

static void pause_commands(struct ownership *ownership, bool pause) {
    if (ownership->commands_paused == pause) return;
    ownership->commands_paused = pause;
    pause_follows(ownership);
}

/* The first location after an assignment: how long it has waited is how long nobody served the partition. */
static void measure_pause(struct router *router, struct partition *part, const struct kafka_record *record) {
    double waited = (double)(clock_wall_ms() - record->timestamp) / 1000;
    part->resumed = false;
    if (waited > router->members.pause->value) router->members.pause->value = waited;
}

static void take(void *context, const struct kafka_record *records, size_t count) {
    struct ownership *ownership = context;
    struct router *router = ownership->router;
    int64_t now_us = clock_monotonic_us();
    timeline_tick(router->timeline);
    for (size_t i = 0; i < count; i++) {
        const struct kafka_record *record = &records[i];
        struct partition *part = &router->parts[record->partition];
        if (record->topic == &TOPIC_FRIEND_COMMANDS) {
            commands_take(router->commands, record);
            continue;
        }
        if (part->resumed && partition_owned(part)) measure_pause(router, part, record);
        reports_handle(router, record, partition_owned(part), now_us);
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

/* ---- assignments ---- */

static void commit(struct ownership *ownership);

static void commands_forgotten(struct ownership *ownership) {
    struct router *router = ownership->router;
    for (int32_t p = 0; p < router->partitions; p++)
        router->parts[p].commands_asked = router->parts[p].commands_live = false;
    ownership->commands_paused = false;
}

/* Its friend lists stay, as a stand-by's, until the group says who stands by for whom now. */
static void release(struct ownership *ownership, int32_t partition) {
    struct router *router = ownership->router;
    struct partition *part = &router->parts[partition];
    struct error error;
    bool attached = part->stage == PARTITION_RESTORING || part->stage == PARTITION_LIVE;
    part->stage = PARTITION_FOREIGN;
    if (attached && !router->settings->standby_replicas)
        relations_detach(router->relations, partition);
    else if (attached && relations_standby(router->relations, partition, &error))
        ownership_failed(ownership, "friend lists cannot be kept", &error);
}

/* Reads all that may be read now: what is others', and what is ours and restored. */
static void read_all(struct ownership *ownership) {
    struct router *router = ownership->router;
    struct error error;
    size_t count = 0;
    for (int32_t p = 0; p < router->partitions; p++) {
        struct partition *part = &router->parts[p];
        if (part->stage == PARTITION_FOREIGN || part->stage == PARTITION_LIVE)
            ownership->positions[count++] = ownership_at(&TOPIC_LOCATIONS, p, part->next);
        if (part->commands_live) {
            int64_t next = kafka_consumer_position(ownership->consumer, &TOPIC_FRIEND_COMMANDS, p);
            if (next < 0) next = part->commands_from < 0 ? KAFKA_OFFSET_BEGINNING : part->commands_from;
            ownership->positions[count++] = ownership_at(&TOPIC_FRIEND_COMMANDS, p, next);
        }
    }
    if (kafka_consumer_read(ownership->consumer, ownership->positions, count, &error))
        ownership_failed(ownership, "locations cannot be read", &error);
    else
        pause_follows(ownership);
}

static void assigned(void *context, const struct kafka_position *owned, size_t count) {
    struct ownership *ownership = context;
    struct router *router = ownership->router;
    bool *mine = mem_zero((size_t)router->partitions, sizeof *mine);
    struct error error;
    int64_t given = 0, kept = 0;
    ownership->left = ownership->leaving;
    for (size_t i = 0; i < count; i++) {
        if (owned[i].topic == &TOPIC_LOCATIONS && owned[i].partition < router->partitions)
            mine[owned[i].partition] = true;
    }
    for (int32_t p = 0; p < router->partitions; p++) {
        struct partition *part = &router->parts[p];
        given += mine[p];
        kept += mine[p] && partition_owned(part);
        if (mine[p] && part->stage == PARTITION_FOREIGN)
            part->stage = PARTITION_ASKING;
        else if (!mine[p] && partition_owned(part))
            release(ownership, p);
        part->resumed = mine[p];
    }
    free(mine);
    router->members.pause->value = 0;
    ownership->assigned = ownership->ever_assigned = true;
    log_info(router->log, "partitions assigned", LOG_INT("owned", given), LOG_INT("kept", kept));
    if (relations_read(router->relations, &error)) ownership_failed(ownership, "friendships cannot be read", &error);
    if (ownership->stopped) return;
    read_all(ownership);
    ownership_want_answers(ownership);
    ownership_progress(ownership);
    standby_look(router->standby);
}

static void revoked(void *context, bool lost) {
    struct ownership *ownership = context;
    struct router *router = ownership->router;
    struct error error;
    overload_settle(router->overload);
    outbox_flush(router->outbox);
    if (!lost) commit(ownership); // the less for the next owner to do again
    ownership->assigned = false;
    ownership->generation++;
    commands_revoke(router->commands);
    commands_forgotten(ownership);
    log_info(router->log, lost ? "partitions lost" : "partitions revoked");
    // When lost, somebody else may have handled them since; otherwise what stays ours goes on where it is.
    for (int32_t p = 0; lost && p < router->partitions; p++) release(ownership, p);
    if (relations_read(router->relations, &error)) ownership_failed(ownership, "friendships cannot be read", &error);
    peer_handled(router->peer);
}

static void broker_changed(void *context, bool up, const char *reason) {
    struct ownership *ownership = context;
    if (up)
        log_info(ownership->router->log, "Kafka is back");
    else
        log_warn(ownership->router->log, "Kafka cannot be reached", LOG_TEXT("reason", reason));
}

/* A member again only as a new process: whoever has this one's name now is not to be thrown out in turn. */
static void given_up(void *context, const char *reason) {
    struct ownership *ownership = context;
    service_fail(ownership->router->service, reason);
}

void ownership_progress(struct ownership *ownership) {
    if (!ownership || !ownership->assigned || ownership->stopped) return;
    struct router *router = ownership->router;
    struct error error;
    size_t count = 0, owned = 0, live = 0, commanding = 0;
    ownership_ask(ownership);
    relations_progress(router->relations);
    for (int32_t p = 0; p < router->partitions; p++) {
        struct partition *part = &router->parts[p];
        if (part->stage == PARTITION_RESTORING &&
            relations_reached(router->relations, p, part->friendships_end, part->sharing_end)) {
            part->stage = PARTITION_LIVE;
            part->live_epoch = outbox_epoch(router->outbox);
            relations_live(router->relations, p);
            ownership->positions[count++] = ownership_at(&TOPIC_LOCATIONS, p, part->next);
        }
        if (part->stage == PARTITION_LIVE && part->commands_asked && !part->commands_live &&
            commands_ready(router->commands) && relations_reached(router->relations, p, part->commands_end, 0)) {
            part->commands_live = true;
            commands_begin(router->commands, p, part->commands_from < 0 ? 0 : part->commands_from);
            ownership->positions[count++] = ownership_at(
                &TOPIC_FRIEND_COMMANDS, p, part->commands_from < 0 ? KAFKA_OFFSET_BEGINNING : part->commands_from);
        }
        owned += partition_owned(part);
        live += part->stage == PARTITION_LIVE;
        commanding += part->commands_live;
    }
    if (count && kafka_consumer_read_more(ownership->consumer, ownership->positions, count, &error))
        ownership_failed(ownership, "restored partitions cannot be read", &error);
    else if (count)
        pause_follows(ownership);
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
        if (router->parts[p].commands_live) ownership->positions[count++] = ownership_at(&TOPIC_FRIEND_COMMANDS, p, 0);
    }
    commands_forgotten(ownership);
    if (!ownership->assigned) return;
    if (count) kafka_consumer_read_less(ownership->consumer, ownership->positions, count, NULL);
    ownership_want_answers(ownership);
}

void ownership_restore_again(struct ownership *ownership, int32_t partition) {
    if (!ownership) return; // a stand-by's, who is yet to join
    struct router *router = ownership->router;
    struct partition *part = &router->parts[partition];
    struct kafka_position positions[2];
    size_t count = 0;
    if (part->stage != PARTITION_LIVE && part->stage != PARTITION_RESTORING) return;
    if (part->stage == PARTITION_LIVE) positions[count++] = ownership_at(&TOPIC_LOCATIONS, partition, 0);
    if (part->commands_live) positions[count++] = ownership_at(&TOPIC_FRIEND_COMMANDS, partition, 0);
    if (ownership->assigned && count) kafka_consumer_read_less(ownership->consumer, positions, count, NULL);
    part->stage = PARTITION_RESTORING;
    part->friendships_end = INT64_MAX; // until the answer comes
    commands_revoke(router->commands);
    ownership_reset_commands(ownership);
}

const char *ownership_member(const struct ownership *ownership) { return kafka_consumer_member(ownership->consumer); }

bool ownership_assigned(const struct ownership *ownership) { return ownership && ownership->assigned; }

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
        ownership->positions[count++] = ownership_at(&TOPIC_LOCATIONS, p, part->settled);
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
        overload_lower(router->overload, offsets);
    }
    commit(ownership);
    ownership_hold(ownership);
    router->metrics.unsettled->value = (double)(outbox_epoch(router->outbox) - outbox_settled(router->outbox));
}

void ownership_rewind(struct ownership *ownership) {
    struct router *router = ownership->router;
    overload_settle(router->overload);
    outbox_forget(router->outbox);
    ownership->told_epoch = outbox_settled(router->outbox) - 1; // which has no snapshot
    log_warn(router->log, "deliveries were lost: their events are handled again");
    for (int32_t p = 0; p < router->partitions; p++) {
        struct partition *part = &router->parts[p];
        bool handled = part->stage == PARTITION_LIVE || part->stage == PARTITION_RESTORING;
        if (handled && part->settled < part->next) part->next = part->settled;
    }
    if (ownership->assigned && !ownership->stopped) read_all(ownership);
}

void ownership_commit_positions(struct ownership *ownership, const struct kafka_position *positions, size_t count) {
    if (ownership->assigned) kafka_consumer_commit(ownership->consumer, positions, count);
}

/* ---- lag ---- */

/* How long (ms) the oldest event that is waiting in a partition may have waited. */
static int64_t waiting_ms(struct ownership *ownership, int32_t partition, int64_t now) {
    struct partition *part = &ownership->router->parts[partition];
    bool read = part->stage == PARTITION_FOREIGN || part->stage == PARTITION_LIVE;
    if (read && kafka_consumer_lag(ownership->consumer, &TOPIC_LOCATIONS, partition) == 0) {
        part->current_ms = now;
        return 0;
    }
    // While it is restored nobody looks: what has come in the meantime is not known, but since when.
    int64_t since = part->handled_ms > part->current_ms ? part->handled_ms : part->current_ms;
    return since ? now - since : BEHIND_MS;
}

static bool commands_current(struct ownership *ownership) {
    struct router *router = ownership->router;
    if (commands_queued(router->commands) || commands_committing(router->commands)) return false;
    for (int32_t p = 0; p < router->partitions; p++) {
        if (!partition_owned(&router->parts[p])) continue;
        if (!router->parts[p].commands_live) return false;
        if (kafka_consumer_lag(ownership->consumer, &TOPIC_FRIEND_COMMANDS, p)) return false;
    }
    return true;
}

void ownership_measure(struct ownership *ownership) {
    struct router *router = ownership->router;
    int64_t now = clock_wall_ms(), lag = 0;
    for (int32_t p = 0; p < router->partitions; p++) {
        int64_t waiting = waiting_ms(ownership, p, now);
        if (waiting > lag) lag = waiting;
        router->members.partition_lag[p]->value = (double)waiting / 1000;
    }
    overload_measure(router->overload, lag);
    router->lagging = lag >= BEHIND_MS || overload_holding(router->overload);
    outbox_set_flush_us(router->outbox, 1000 * (router->lagging ? router->settings->outbox_flush_behind_ms
                                                                : router->settings->outbox_flush_ms));
    router->metrics.lag->value = (double)lag / 1000;
    router->metrics.digesting->value = router->warm && !router->lagging;
    router->metrics.caught_up->value = router->warm && ownership->assigned && !router->lagging &&
                                       kafka_producer_up(router->producer) && !outbox_blocked(router->outbox) &&
                                       commands_current(ownership) && relations_current(router->relations);
    if (commands_queued(router->commands) <= (size_t)router->settings->commands_batch * COMMANDS_LOTS / 2)
        pause_commands(ownership, false);
}

/* ---- beginning and end ---- */

static void ask_again(void *context) { ownership_ask(context); }

int ownership_new(struct router *router, struct ownership **out, struct error *error) {
    struct ownership *ownership = mem_alloc(sizeof *ownership);
    *ownership = (struct ownership){
        .router = router,
        .again = loop_timer_new(router->loop, OWNERSHIP_ASK_AGAIN_MS, 0, ask_again, ownership),
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
        .on_fatal = given_up,
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
    overload_settle(ownership->router->overload);
    outbox_flush(ownership->router->outbox);
    ownership_hold(ownership);
}

bool ownership_leave(struct ownership *ownership) {
    const struct router *router = ownership->router;
    struct error error;
    // Others that hand over at the same moment need an answer of this member's, as long as it has a place.
    if (ownership->left) return ownership->stays++ >= STAY_TENTHS;
    if (ownership->leaving) return false;
    ownership->leaving = true;
    // Of the topics that the group's members do not share among themselves, any will do.
    int code = kafka_consumer_hand_over(ownership->consumer, &TOPIC_SHARING, &error);
    if (code)
        log_warn(router->log, "partitions cannot be handed over", LOG_TEXT("reason", error.text));
    else
        kafka_consumer_hold(ownership->consumer, false); // nothing is read: what it waits for are rebalances
    return code != 0;
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
