#include "router/relations.h"

#include <errno.h>
#include <stdlib.h>

#include "adjacency/lots.h"
#include "base/clock.h"
#include "base/mem.h"
#include "event/codec.h"
#include "event/topics.h"
#include "users/half.h"

/* While a partition is restored, its records are gathered and applied in large lots, so that a list is read and written once for many
 * of them. Records of live and stand-by partitions go by adjacency/lots.h. */
enum { RESTORE_LOT = 262144, RESTORE_LOT_MIN = 4096, RESTORE_LOT_BESIDE_LIVE = 16384, NEARLY = 10000 };

enum { RETELL_S = 10, TOUCH_S = 60 };

struct relations_part {
    bool attached, live, standby;
    bool touched;      /* in the batch at hand */
    bool damaged;      /* to be read anew */
    int64_t reflected; /* friendships applied up to here; -1: not known yet */
    int64_t told;      /* what the group was told of that */
};

/* Friend lists that were read from the beginning are put together by a worker, one partition's at a time. */
struct finishing {
    struct relations *relations;
    int32_t partition;
    struct adjacency_build *build; /* NULL: none */
    int code;
    struct error error;
};

struct relations {
    struct relations_options options;
    struct owner *owner;
    struct codec *codec;
    struct relations_part *parts;
    int32_t *touched;
    size_t touched_count, attached, live;
    struct lots *lots; /* of what is live or stands by, and can be read */
    struct loop_timer *turn;
    struct kafka_position *told; /* room for all partitions */
    struct finishing finishing;
    bool stopped, any_damaged;
};

static void progress(struct relations *relations);

/* A damaged list is not the store's end: relations_damaged has taken note. */
static void store_failed(struct relations *relations, int code, const struct error *error) {
    if (code != -EBADMSG) relations->options.failed(relations->options.context, error);
}

/* The friend lists are there, and not still being put together. */
static bool readable(const struct relations *relations, int32_t partition) {
    const struct graph *graph = relations->options.graph;
    return graph_next(graph, partition) >= 0 && !graph_building(graph, partition) && !graph_finishing(graph, partition);
}

static int64_t position_of(const struct relations *relations, int32_t partition) {
    return owner_position(relations->owner, relations->options.state, partition);
}

static int64_t lag_of(const struct relations *relations, int32_t partition) {
    return owner_state_lag(relations->owner, relations->options.state, partition);
}

/* ---- applying ---- */

static void set_live(struct relations *relations, int32_t partition, bool live) {
    struct relations_part *part = &relations->parts[partition];
    if (part->live != live) relations->live += live ? 1 : (size_t)-1;
    part->live = live;
    lots_remove(relations->lots, partition); // what is queued is applied as all that is restored
}

static void remove_excess(struct relations *relations, int32_t partition) {
    struct error error;
    int code = cap_remove(relations->options.cap, partition, &error);
    if (code) store_failed(relations, code, &error);
}

static void apply(struct relations *relations, int32_t partition) {
    struct graph *graph = relations->options.graph;
    struct relations_part *part = &relations->parts[partition];
    struct error error;
    int64_t next = position_of(relations, partition);
    lots_remove(relations->lots, partition);
    if (!part->attached || next < 0 || graph_finishing(graph, partition)) return;
    double count = (double)graph_queued(graph, partition);
    int code = graph_apply(graph, partition, next, clock_wall_ms(), !part->live, &error);
    if (code) {
        store_failed(relations, code, &error);
        return;
    }
    relations->options.metrics->friendships_applied->value += count;
    part->reflected = next;
    if (part->standby) return;
    decider_read_back(relations->options.decider, &TOPIC_FRIENDSHIPS, partition, next);
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

/* The partition is no longer ours: first tells the changes that were read while it was live. */
static void end_live(struct relations *relations, int32_t partition) {
    if (!relations->parts[partition].live) return;
    if (graph_queued(relations->options.graph, partition)) apply(relations, partition);
    set_live(relations, partition, false);
}

/* ---- lists that must be read anew ---- */

static void forget(struct relations *relations, int32_t partition) {
    struct error error;
    set_live(relations, partition, false);
    relations->parts[partition].reflected = -1;
    relations->parts[partition].damaged = false;
    cap_detach(relations->options.cap, partition);
    int code = graph_rebuild(relations->options.graph, partition, &error);
    if (code) store_failed(relations, code, &error);
}

void relations_lost(struct relations *relations, int32_t partition) {
    log_warn(relations->options.log, "friend lists are read anew: their offset is not in the topic",
             LOG_INT("partition", partition), LOG_INT("offset", graph_next(relations->options.graph, partition)));
    forget(relations, partition);
}

void relations_damaged(struct relations *relations, int32_t partition, const struct error *error) {
    if (!relations->parts[partition].attached || relations->parts[partition].damaged) return;
    log_error(relations->options.log, "friend lists are read anew: one of the partition's is damaged on the disk",
              LOG_INT("partition", partition), LOG_TEXT("reason", error->text));
    relations->options.metrics->damaged->value++;
    relations->parts[partition].damaged = relations->any_damaged = true;
    loop_timer_again(relations->turn, 0, 0);
}

static void mend(struct relations *relations) {
    struct error error;
    relations->any_damaged = false;
    for (int32_t p = 0; p < relations->options.partitions; p++) {
        if (!relations->parts[p].damaged) continue;
        relations->parts[p].damaged = false;
        if (!relations->parts[p].attached) continue;
        forget(relations, p);
        owner_restore_again(relations->owner, p);
        int code = owner_read_again(relations->owner, relations->options.state, p, KAFKA_OFFSET_BEGINNING, &error);
        if (code) relations->options.failed(relations->options.context, &error);
    }
}

static void next_turn(void *context) {
    struct relations *relations = context;
    if (relations->any_damaged) mend(relations);
    apply_due(relations);
    owner_progress(relations->owner);
}

/* ---- restoring from the beginning ---- */

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
        relations->options.failed(relations->options.context, &finishing->error);
        return;
    }
    apply(relations, finishing->partition); // what has come in the meantime
    progress(relations);
    owner_progress(relations->owner);
}

/* Whether the partition is read to the end for which the owner has asked, or nearly to the end if it has not asked. */
static bool read_through(const struct relations *relations, int32_t partition) {
    const int64_t *ends = owner_ends(relations->owner, partition);
    size_t state = relations->options.state;
    if (ends) return owner_reached(relations->owner, state, partition, ends[state]);
    int64_t lag = lag_of(relations, partition);
    return lag >= 0 && lag < NEARLY;
}

/* Friend lists that were read whole are put together. */
static void progress(struct relations *relations) {
    struct graph *graph = relations->options.graph;
    struct finishing *finishing = &relations->finishing;
    if (relations->stopped) return; // the end waits for what is being built
    for (int32_t p = 0; !finishing->build && p < relations->options.partitions; p++) {
        const struct relations_part *part = &relations->parts[p];
        if (!part->attached || part->live || !(graph_building(graph, p) || graph_queued(graph, p))) continue;
        if (!read_through(relations, p)) continue;
        apply(relations, p);
        if (!graph_building(graph, p)) continue;
        finishing->partition = p;
        finishing->build = graph_finish_begin(graph, p, clock_wall_ms());
        if (finishing->build) loop_work(relations->options.loop, finish_work, finish_done, finishing);
    }
}

bool relations_busy(const struct relations *relations) { return relations && relations->finishing.build; }

void relations_stop(struct relations *relations) { relations->stopped = true; }

/* ---- records ---- */

static void take_one(struct relations *relations, const struct kafka_record *record, int64_t now_us) {
    struct relations_part *part = &relations->parts[record->partition];
    struct half_record read;
    struct error error;
    const char *reason = half_read(relations->codec, relations->options.partitions, record, &read, &error);
    if (reason) {
        sending_dead(relations->options.sending, record, reason);
        return;
    }
    graph_add(relations->options.graph, record->partition, record->offset, read.user, read.other, &read.half);
    if (part->live || (part->standby && readable(relations, record->partition))) {
        lots_add(relations->lots, record->partition, now_us);
        return;
    }
    if (part->touched) return;
    part->touched = true;
    relations->touched[relations->touched_count++] = record->partition;
}

/* Of a partition that is restored. Live ones wait while a lot is written; one that is only sorted, to be built from, takes no
 * time. */
static size_t lot(const struct relations *relations, int32_t partition) {
    if (relations->live && readable(relations, partition)) return RESTORE_LOT_BESIDE_LIVE;
    size_t each = RESTORE_LOT / (relations->attached ? relations->attached : 1);
    return each > RESTORE_LOT_MIN ? each : RESTORE_LOT_MIN;
}

void relations_take(struct relations *relations, const struct kafka_record *records, size_t count) {
    int64_t now_us = clock_monotonic_us();
    relations->touched_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (records[i].topic == &TOPIC_FRIENDSHIPS) take_one(relations, &records[i], now_us);
    }
    for (size_t i = 0; i < relations->touched_count; i++) {
        int32_t partition = relations->touched[i];
        relations->parts[partition].touched = false;
        if (graph_queued(relations->options.graph, partition) >= lot(relations, partition)) apply(relations, partition);
    }
    lots_added(relations->lots, now_us);
    apply_due(relations);
    progress(relations);
}

void relations_idle(struct relations *relations) {
    for (int32_t p = 0; p < relations->options.partitions; p++) {
        if (relations->parts[p].standby && !lots_waits(relations->lots, p) && readable(relations, p))
            apply(relations, p);
    }
    progress(relations);
}

/* ---- partitions come and go ---- */

struct relations *relations_new(const struct relations_options *options) {
    size_t partitions = (size_t)options->partitions;
    struct relations *relations = mem_alloc(sizeof *relations);
    *relations = (struct relations){
        .options = *options,
        .codec = codec_new(),
        .parts = mem_zero(partitions, sizeof *relations->parts),
        .touched = mem_zero(partitions, sizeof *relations->touched),
        .told = mem_zero(partitions, sizeof *relations->told),
        .lots = lots_new(options->partitions),
        .turn = loop_timer_new(options->loop, 1, 0, next_turn, relations),
        .finishing = {.relations = relations, .build = NULL},
    };
    return relations;
}

void relations_free(struct relations *relations) {
    if (!relations) return;
    loop_timer_free(relations->turn);
    lots_free(relations->lots);
    codec_free(relations->codec);
    free(relations->parts);
    free(relations->touched);
    free(relations->told);
    free(relations);
}

void relations_set_owner(struct relations *relations, struct owner *owner) { relations->owner = owner; }

int relations_attach(struct relations *relations, int32_t partition, int64_t *from, struct error *error) {
    struct graph *graph = relations->options.graph;
    int code = graph_attach(graph, partition, clock_wall_ms(), from, error);
    if (code) return code;
    relations->parts[partition] = (struct relations_part){.attached = true, .reflected = graph_next(graph, partition)};
    relations->attached++;
    return 0;
}

void relations_own(struct relations *relations, int32_t partition) { relations->parts[partition].standby = false; }

void relations_silence(struct relations *relations, int32_t partition) {
    end_live(relations, partition);
    relations->parts[partition].standby = true;
    cap_silence(relations->options.cap, partition); // kept, for when it becomes ours again
}

void relations_detach(struct relations *relations, int32_t partition) {
    end_live(relations, partition);
    lots_remove(relations->lots, partition);
    relations->parts[partition] = (struct relations_part){.attached = false};
    relations->attached--;
    graph_detach(relations->options.graph, partition);
    cap_detach(relations->options.cap, partition);
}

bool relations_reached(const struct relations *relations, int32_t partition, int64_t end) {
    const struct relations_part *part = &relations->parts[partition];
    const struct graph *graph = relations->options.graph;
    // Records that are read and still queued are written when the partition turns live; afterwards they count once they are.
    bool queued = part->live && graph_queued(graph, partition);
    bool read = owner_reached(relations->owner, relations->options.state, partition, end);
    return (part->reflected >= end || (!queued && read)) && !graph_building(graph, partition) && !part->damaged;
}

/* Records that wait to be built into lists are of no use yet. */
int64_t relations_unapplied(const struct relations *relations, int32_t partition) {
    const struct graph *graph = relations->options.graph;
    return graph_building(graph, partition) || (graph_next(graph, partition) < 0 && graph_queued(graph, partition));
}

void relations_live(struct relations *relations, int32_t partition) {
    struct error error;
    apply(relations, partition);
    // Of those that were built there is nothing left but what an end without records has begun.
    int code = graph_finish(relations->options.graph, partition, clock_wall_ms(), &error);
    if (code) store_failed(relations, code, &error);
    set_live(relations, partition, true);
    remove_excess(relations, partition);
}

bool relations_current(const struct relations *relations) {
    for (int32_t p = 0; p < relations->options.partitions; p++) {
        if (relations->parts[p].live && (lag_of(relations, p) || graph_queued(relations->options.graph, p)))
            return false;
    }
    return true;
}

/* ---- once a second ---- */

/* Commits how far friend lists are, as the group's offset of friendships. No router goes on from there, but tools that wait for an import
 * or show a group's lag find it beside all other progress. */
static void tell(struct relations *relations, bool again) {
    size_t count = 0;
    for (int32_t p = 0; p < relations->options.partitions; p++) {
        struct relations_part *part = &relations->parts[p];
        if (!part->live) continue;
        // Past the markers of transactions, too, which are not applied.
        int64_t next = graph_queued(relations->options.graph, p) ? part->reflected : position_of(relations, p);
        if (next < 0 || (next <= part->told && !again)) continue;
        part->told = next;
        relations->told[count++] = (struct kafka_position){.topic = &TOPIC_FRIENDSHIPS, .partition = p, .offset = next};
    }
    owner_commit(relations->owner, relations->told, count);
}

static void keep(struct relations *relations, int32_t partition, int64_t now) {
    const struct relations_part *part = &relations->parts[partition];
    struct error error;
    int code = 0;
    if (part->standby && readable(relations, partition)) code = cap_prune(relations->options.cap, partition, &error);
    if (!code && part->live) code = cap_remove(relations->options.cap, partition, &error);
    bool current =
        part->live || (part->standby && !lag_of(relations, partition) && !relations_unapplied(relations, partition));
    // Partition by partition, each once a minute: the age of the lists is counted in hours.
    if (!code && current && (now / 1000 + partition) % TOUCH_S == 0)
        code = graph_touch(relations->options.graph, partition, now, &error);
    if (code) store_failed(relations, code, &error);
}

void relations_tenth(struct relations *relations) { progress(relations); }

void relations_second(struct relations *relations) {
    int64_t now = clock_wall_ms();
    cap_second(relations->options.cap, now);
    for (int32_t p = 0; p < relations->options.partitions; p++) keep(relations, p, now);
    tell(relations, now / 1000 % RETELL_S == 0); // a commit may have been lost
}
