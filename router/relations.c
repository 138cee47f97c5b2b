#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "event/topics.h"
#include "router/relations_private.h"

/* While restoring, records are gathered and applied in large lots: a list is then read and written once for many of them. What is
 * live, or a stand-by's, goes by lots.h. */
enum { RESTORE_LOT = 262144, RESTORE_LOT_MIN = 4096, RESTORE_LOT_BESIDE_LIVE = 16384, NEARLY = 10000 };

/* Records taken in one go: more at a time are cheaper to apply, and reports wait so long meanwhile (some 30 ms). */
enum { TAKEN_AT_ONCE = 4000, RETELL_S = 10 };

/* ---- what friend lists tell ---- */

/* Asks for the removal of friendships beyond the cap, those that are still on the list. */
static void remove_excess(struct relations *relations, int32_t partition) {
    struct router *router = relations->router;
    struct excess_item item;
    struct error error;
    while (excess_next(router->excess, partition, &item)) {
        size_t at, gone = excess_on_the_way(router->excess, item.user);
        if (graph_friends(router->graph, partition, item.user, &router->friends, &error)) {
            router_store_failed(router, &error);
            return;
        }
        bool listed = friend_list_find(&router->friends, item.other, &at);
        if (!listed || router->friends.count <= (size_t)router->settings->friends_cap + gone) {
            excess_drop(router->excess, item.ticket);
        } else {
            if (sending_remove(router, &item)) break; // tried again each second
            excess_sent(router->excess, item.ticket);
            router->metrics.excess->value++;
            log_info(router->log, "a friendship beyond the cap is removed", LOG_INT("user", item.user),
                     LOG_INT("friend", item.other));
        }
    }
    graph_release(router->graph, partition, excess_hold(router->excess, partition));
}

/* The friend lists are there, and not still being put together. */
static bool readable(const struct relations *relations, int32_t partition) {
    const struct graph *graph = relations->router->graph;
    return graph_next(graph, partition) >= 0 && !graph_building(graph, partition) && !graph_finishing(graph, partition);
}

/* Of a stand-by: what the owner has had removed is no longer too many. */
static void prune_excess(struct relations *relations, int32_t partition) {
    struct router *router = relations->router;
    struct excess_item item;
    struct error error;
    while (excess_next(router->excess, partition, &item)) {
        size_t at;
        if (graph_friends(router->graph, partition, item.user, &router->friends, &error)) {
            router_store_failed(router, &error);
            return;
        }
        if (friend_list_find(&router->friends, item.other, &at) &&
            router->friends.count > (size_t)router->settings->friends_cap)
            break;
        excess_drop(router->excess, item.ticket);
    }
    graph_release(router->graph, partition, excess_hold(router->excess, partition));
}

static void set_live(struct relations *relations, int32_t partition, bool live) {
    struct relation *part = &relations->parts[partition];
    if (part->live != live) relations->live += live ? 1 : (size_t)-1;
    part->live = live;
    lots_remove(relations->lots, partition); // what is queued is applied as all that is restored
}

static void apply(struct relations *relations, int32_t partition) {
    struct router *router = relations->router;
    struct relation *part = &relations->parts[partition];
    struct error error;
    int64_t next = kafka_consumer_position(relations->consumer, &TOPIC_FRIENDSHIPS, partition);
    lots_remove(relations->lots, partition);
    if (!part->attached || next < 0 || graph_finishing(router->graph, partition)) return;
    router->metrics.friendships_applied->value += (double)graph_queued(router->graph, partition);
    if (graph_apply(router->graph, partition, next, clock_wall_ms(), !part->live, &error)) {
        router_store_failed(router, &error);
        return;
    }
    part->reflected = next;
    if (part->standby) return;
    commands_read_back(router->commands, partition, next);
    if (part->live) remove_excess(relations, partition);
}

/* Lots that are due: of bulk one at a time, as reports wait meanwhile. */
static void apply_due(struct relations *relations) {
    int32_t due;
    do {
        due = lots_due(relations->lots, clock_monotonic_us());
        if (due >= 0) apply(relations, due);
    } while (due >= 0 && !lots_may_wait(relations->lots));
    int64_t wait_ms = lots_wait_ms(relations->lots, clock_monotonic_us());
    if (wait_ms >= 0) loop_timer_again(relations->turn, (uint64_t)wait_ms, 0);
}

static void next_turn(void *context) {
    struct relations *relations = context;
    apply_due(relations);
    ownership_progress(relations->router->ownership);
}

/* Of one that is ours no longer: what was read as news is told before the rest is not. */
static void end_live(struct relations *relations, int32_t partition) {
    if (!relations->parts[partition].live) return;
    if (graph_queued(relations->router->graph, partition)) apply(relations, partition);
    set_live(relations, partition, false);
}

/* ---- restoring from the beginning ---- */

static bool reached(const struct relations *relations, const struct topic *topic, int32_t partition, int64_t end) {
    return end == 0 || kafka_consumer_position(relations->consumer, topic, partition) >= end;
}

static void finish_work(void *context) {
    struct finishing *finishing = context;
    finishing->code = graph_finish_run(finishing->build, &finishing->error);
}

static void finish_done(void *context) {
    struct finishing *finishing = context;
    struct relations *relations = finishing->relations;
    int code = graph_finish_end(finishing->build, finishing->code, &finishing->error);
    finishing->build = NULL;
    if (code) {
        router_store_failed(relations->router, &finishing->error);
        return;
    }
    apply(relations, finishing->partition); // what has come in the meantime
    relations_progress(relations);
    ownership_progress(relations->router->ownership);
}

/* Read to the end that it had when that was asked, or nearly so if nobody has asked. */
static bool read_through(const struct relations *relations, int32_t partition) {
    const struct partition *part = &relations->router->parts[partition];
    if (part->stage == PARTITION_RESTORING)
        return reached(relations, &TOPIC_FRIENDSHIPS, partition, part->friendships_end);
    int64_t lag = kafka_consumer_lag(relations->consumer, &TOPIC_FRIENDSHIPS, partition);
    return lag >= 0 && lag < NEARLY;
}

void relations_progress(struct relations *relations) {
    struct router *router = relations->router;
    struct finishing *finishing = &relations->finishing;
    if (router->draining) return; // the end waits for what is being built
    for (int32_t p = 0; !finishing->build && p < router->partitions; p++) {
        const struct relation *part = &relations->parts[p];
        if (!part->attached || part->live || !(graph_building(router->graph, p) || graph_queued(router->graph, p)))
            continue;
        if (!read_through(relations, p)) continue;
        apply(relations, p);
        if (!graph_building(router->graph, p)) continue;
        finishing->partition = p;
        finishing->build = graph_finish_begin(router->graph, p, clock_wall_ms());
        if (finishing->build) loop_work(router->loop, finish_work, finish_done, finishing);
    }
}

bool relations_busy(const struct relations *relations) { return relations && relations->finishing.build; }

/* ---- records ---- */

static void take_friendship(struct relations *relations, const struct kafka_record *record, int64_t now_us) {
    struct router *router = relations->router;
    struct friendship half = {.state = FRIENDSHIP_NONE};
    struct error error = {.text = "the key must be two users"};
    const char *reason = record->key_size == 16 ? NULL : error.text;
    if (!reason && record->value &&
        event_decode_friendship(router->codec, record->value, record->value_size, &half, &error))
        reason = error.text;
    int64_t user = reason ? -1 : (int64_t)bytes_get_be64(record->key);
    int64_t other = reason ? -1 : (int64_t)bytes_get_be64(record->key + 8);
    if (!reason && (user < 0 || other < 0 || user == other)) reason = "the key must be two users";
    if (!reason && hash_user_partition(user, router->partitions) != record->partition)
        reason = "not in the partition of its user";
    if (reason) {
        router_undecodable(router, record, reason);
        return;
    }
    graph_add(router->graph, record->partition, record->offset, user, other, &half);
    struct relation *part = &relations->parts[record->partition];
    if (part->live || (part->standby && readable(relations, record->partition))) {
        lots_add(relations->lots, record->partition, now_us);
        return;
    }
    if (part->touched) return;
    part->touched = true;
    relations->touched[relations->touched_count++] = record->partition;
}

static void take_sharing(struct relations *relations, const struct kafka_record *record) {
    struct router *router = relations->router;
    struct sharing sharing = {.mode = SHARING_OFF}; // what a tombstone means
    struct error error = {.text = "the key must be a user"};
    const char *reason = record->key_size == 8 ? NULL : error.text;
    if (!reason && record->value &&
        event_decode_sharing(router->codec, record->value, record->value_size, &sharing, &error))
        reason = error.text;
    int64_t user = reason ? -1 : (int64_t)bytes_get_be64(record->key);
    if (!reason && user < 0) reason = "the key must be a user";
    if (!reason && hash_user_partition(user, router->partitions) != record->partition)
        reason = "not in the partition of its user";
    if (reason) {
        // Sharing is read from its beginning by each owner; what was dead to one before stays so in silence.
        if (record->offset >= consents_told(router->consents, record->partition))
            router_undecodable(router, record, reason);
        consents_pass(router->consents, record->partition, record->offset);
        return;
    }
    if (!consents_record(router->consents, record->partition, user, sharing.mode, record->offset)) return;
    uint64_t ticket = consents_sent(router->consents, record->partition);
    if (sending_leave(router, user, record->offset, ticket)) consents_acknowledge(router->consents, ticket, false);
}

/* Of a partition that is restored. Live ones wait while a lot is written; one that is only sorted, to be built from, takes no
 * time. */
static size_t lot(const struct relations *relations, int32_t partition) {
    if (relations->live && readable(relations, partition)) return RESTORE_LOT_BESIDE_LIVE;
    size_t each = RESTORE_LOT / (relations->attached ? relations->attached : 1);
    return each > RESTORE_LOT_MIN ? each : RESTORE_LOT_MIN;
}

static void take(void *context, const struct kafka_record *records, size_t count) {
    struct relations *relations = context;
    struct router *router = relations->router;
    int64_t now_us = clock_monotonic_us();
    timeline_tick(router->timeline);
    relations->touched_count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct relation *part = &relations->parts[records[i].partition];
        if (!part->attached) continue;
        if (part->standby)
            router->members.standby_records->value++;
        else if (!part->live)
            router->members.restore_records->value++;
        if (records[i].topic == &TOPIC_FRIENDSHIPS)
            take_friendship(relations, &records[i], now_us);
        else
            take_sharing(relations, &records[i]);
    }
    for (size_t i = 0; i < relations->touched_count; i++) {
        int32_t partition = relations->touched[i];
        relations->parts[partition].touched = false;
        if (graph_queued(router->graph, partition) >= lot(relations, partition)) apply(relations, partition);
    }
    lots_added(relations->lots, now_us);
    apply_due(relations);
    ownership_progress(router->ownership);
}

static void drained(void *context) {
    struct relations *relations = context;
    for (int32_t p = 0; p < relations->router->partitions; p++) {
        bool waits = lots_waits(relations->lots, p);
        if (relations->parts[p].standby && !waits && readable(relations, p)) apply(relations, p);
    }
    relations_progress(relations);
    outbox_flush(relations->router->outbox);
    ownership_progress(relations->router->ownership);
}

static void offset_lost(void *context, const struct topic *topic, int32_t partition) {
    struct relations *relations = context;
    struct router *router = relations->router;
    struct error error;
    struct kafka_position start = {.topic = topic, .partition = partition, .offset = KAFKA_OFFSET_BEGINNING};
    if (!relations->parts[partition].attached) return;
    if (topic == &TOPIC_FRIENDSHIPS) {
        log_warn(router->log, "friend lists are read anew: what they reflect is not in the topic",
                 LOG_INT("partition", partition), LOG_INT("offset", graph_next(router->graph, partition)));
        set_live(relations, partition, false);
        relations->parts[partition].reflected = -1;
        excess_detach(router->excess, partition);
        if (graph_rebuild(router->graph, partition, &error)) {
            router_store_failed(router, &error);
            return;
        }
        ownership_restore_again(router->ownership, partition);
    }
    kafka_consumer_seek(relations->consumer, &start, NULL);
}

/* ---- partitions come and go ---- */

int relations_new(struct router *router, struct relations **out, struct error *error) {
    struct relations *relations = mem_alloc(sizeof *relations);
    *relations = (struct relations){
        .router = router,
        .parts = mem_zero((size_t)router->partitions, sizeof *relations->parts),
        .touched = mem_zero((size_t)router->partitions, sizeof *relations->touched),
        .more = mem_zero((size_t)router->partitions * 2, sizeof *relations->more),
        .less = mem_zero((size_t)router->partitions * 2, sizeof *relations->less),
        .lots = lots_new(router->partitions),
        .turn = loop_timer_new(router->loop, 1, 0, next_turn, relations),
        .finishing = {.relations = relations, .build = NULL},
    };
    struct kafka_consumer_options options = {
        .loop = router->loop,
        .settings = router->kafka,
        .batch = TAKEN_AT_ONCE,
        .context = relations,
        .on_records = take,
        .on_drained = drained,
        .on_offset_lost = offset_lost,
    };
    int code = kafka_consumer_new(&options, &relations->consumer, error);
    if (code) {
        relations_free(relations);
        return code;
    }
    *out = relations;
    return 0;
}

void relations_free(struct relations *relations) {
    if (!relations) return;
    kafka_consumer_free(relations->consumer);
    loop_timer_free(relations->turn);
    lots_free(relations->lots);
    free(relations->parts);
    free(relations->touched);
    free(relations->more);
    free(relations->less);
    free(relations);
}

static int attach(struct relations *relations, int32_t partition, bool standby, struct error *error) {
    struct router *router = relations->router;
    int64_t from;
    int code = graph_attach(router->graph, partition, clock_wall_ms(), &from, error);
    if (code) return code;
    relations->parts[partition] =
        (struct relation){.attached = true, .standby = standby, .reflected = graph_next(router->graph, partition)};
    relations->attached++;
    relations->more[relations->more_count++] =
        (struct kafka_position){.topic = &TOPIC_FRIENDSHIPS, .partition = partition, .offset = from};
    relations->more[relations->more_count++] =
        (struct kafka_position){.topic = &TOPIC_SHARING, .partition = partition, .offset = KAFKA_OFFSET_BEGINNING};
    return 0;
}

int relations_attach(struct relations *relations, int32_t partition, int64_t told, struct error *error) {
    struct router *router = relations->router;
    struct kafka_position sharing = {.topic = &TOPIC_SHARING, .partition = partition};
    if (!relations->parts[partition].standby) {
        int code = attach(relations, partition, false, error);
        if (!code) consents_attach(router->consents, partition, told);
        return code;
    }
    relations->parts[partition].standby = false;
    if (!consents_resume(router->consents, partition, told, &sharing.offset)) return 0;
    return kafka_consumer_seek(relations->consumer, &sharing, error);
}

int relations_standby(struct relations *relations, int32_t partition, struct error *error) {
    struct router *router = relations->router;
    if (relations->parts[partition].standby) return 0;
    if (!relations->parts[partition].attached) {
        int code = attach(relations, partition, true, error);
        if (code) return code;
    }
    end_live(relations, partition);
    relations->parts[partition].standby = true;
    consents_watch(router->consents, partition);
    excess_renotice(router->excess, partition); // kept, for when it becomes ours again
    return 0;
}

bool relations_stands_by(const struct relations *relations, int32_t partition) {
    return relations->parts[partition].standby;
}

int64_t relations_left(const struct relations *relations, int32_t partition, int64_t end) {
    int64_t next = kafka_consumer_position(relations->consumer, &TOPIC_FRIENDSHIPS, partition);
    if (!relations->parts[partition].attached || end == INT64_MAX || next >= end) return 0;
    return end - (next < 0 ? 0 : next);
}

int64_t relations_standby_lag(const struct relations *relations, int32_t partition) {
    int64_t friendships = kafka_consumer_lag(relations->consumer, &TOPIC_FRIENDSHIPS, partition);
    int64_t sharing = kafka_consumer_lag(relations->consumer, &TOPIC_SHARING, partition);
    if (friendships < 0 || sharing < 0) return -1;
    // What is read is of no use yet while it waits to be put together.
    const struct graph *graph = relations->router->graph;
    bool waits =
        graph_building(graph, partition) || (graph_next(graph, partition) < 0 && graph_queued(graph, partition));
    return friendships + sharing + waits;
}

void relations_detach(struct relations *relations, int32_t partition) {
    struct router *router = relations->router;
    if (!relations->parts[partition].attached) return;
    end_live(relations, partition);
    lots_remove(relations->lots, partition);
    relations->parts[partition] = (struct relation){.attached = false};
    relations->attached--;
    graph_detach(router->graph, partition);
    consents_detach(router->consents, partition);
    excess_detach(router->excess, partition);
    relations->less[relations->less_count++] =
        (struct kafka_position){.topic = &TOPIC_FRIENDSHIPS, .partition = partition};
    relations->less[relations->less_count++] = (struct kafka_position){.topic = &TOPIC_SHARING, .partition = partition};
}

int relations_read(struct relations *relations, struct error *error) {
    int code = 0;
    if (relations->less_count)
        code = kafka_consumer_read_less(relations->consumer, relations->less, relations->less_count, error);
    if (!code && relations->more_count)
        code = kafka_consumer_read_more(relations->consumer, relations->more, relations->more_count, error);
    relations->less_count = relations->more_count = 0;
    return code;
}

bool relations_reached(const struct relations *relations, int32_t partition, int64_t friendships, int64_t sharing) {
    const struct relation *part = &relations->parts[partition];
    if (!part->attached) return false;
    // What is read and still queued is written when the partition turns live; afterwards it counts when it is.
    bool queued = part->live && graph_queued(relations->router->graph, partition);
    bool listed =
        part->reflected >= friendships || (!queued && reached(relations, &TOPIC_FRIENDSHIPS, partition, friendships));
    listed = listed && !graph_building(relations->router->graph, partition);
    return listed && reached(relations, &TOPIC_SHARING, partition, sharing);
}

void relations_live(struct relations *relations, int32_t partition) {
    apply(relations, partition);
    // Of those that were built there is nothing left but what an end without records has begun.
    struct error error;
    if (graph_finish(relations->router->graph, partition, clock_wall_ms(), &error))
        router_store_failed(relations->router, &error);
    set_live(relations, partition, true);
    remove_excess(relations, partition);
}

bool relations_current(const struct relations *relations) {
    for (int32_t p = 0; p < relations->router->partitions; p++) {
        if (!relations->parts[p].live) continue;
        if (kafka_consumer_lag(relations->consumer, &TOPIC_FRIENDSHIPS, p)) return false;
        if (kafka_consumer_lag(relations->consumer, &TOPIC_SHARING, p)) return false;
        if (graph_queued(relations->router->graph, p)) return false;
    }
    return true;
}

void relations_second(struct relations *relations) {
    struct router *router = relations->router;
    struct error error;
    int64_t now = clock_wall_ms();
    excess_expire(router->excess, now);
    for (int32_t p = 0; p < router->partitions; p++) {
        if (relations->parts[p].standby && readable(relations, p)) prune_excess(relations, p);
        if (relations->parts[p].live) remove_excess(relations, p);
        bool current =
            relations->parts[p].live || (relations->parts[p].standby && !relations_standby_lag(relations, p));
        if (!current) continue;
        // Partition by partition, each once a minute: the age of the lists is counted in hours.
        if ((now / 1000 + p) % 60 == 0 && graph_touch(router->graph, p, now, &error))
            router_store_failed(router, &error);
    }
    relations_tell(relations, now / 1000 % RETELL_S == 0); // a commit may have been lost
    relations_progress(relations);
}
