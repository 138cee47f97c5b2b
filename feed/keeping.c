#include <errno.h>

#include "base/clock.h"
#include "event/topics.h"
#include "feed/partitions_private.h"
#include "feed/rules.h"
#include "ids/ids.h"

enum {
    EFFECTS_SLICE = 2000, /* readers that one turn pushes to, or moves within the store to answer requests */
    INBOX_SLICE = 5000,   /* readers whose inboxes one turn writes */
    KEEP_S = 60,
    FORGET_MANY = 1000, /* posts that one partition forgets in a minute */
    COOL_SLICE = 20,    /* texts that one turn moves */
    SWEEP = 5000,       /* slots of readers that are looked at in a second */
    RETELL_S = 10
};

static void store_failed(struct partitions *partitions, int32_t partition, int code, const struct error *error) {
    if (code == -EBADMSG)
        partitions_damaged(partitions, partition, error);
    else
        partitions_fail(partitions, "the store failed", error);
}

/* A slice of the pushes and answers that are under way. True: more are left. */
static bool go_on(struct partitions *partitions) {
    struct effects *effects = partitions->options.effects;
    struct error error;
    if (partitions->failed) return false;
    int code = outbox_blocked(partitions->options.outbox) ? 1 : effects_run(effects, EFFECTS_SLICE, &error);
    if (code < 0) store_failed(partitions, effects_failed(effects), code, &error);
    for (int32_t p = 0; p < partitions->options.partitions; p++)
        carried_hold(partitions->carried, STATE_POSTS, p, effects_held(effects, p));
    return code > 0;
}

/* A partition whose store is damaged forgets all state, and reads it from the beginning. */
static int begin_anew(struct partitions *partitions, int32_t partition, struct error *error) {
    static const size_t STATES[] = {STATE_FOLLOWS,     STATE_POSTS, STATE_TEXTS,
                                    STATE_FRIENDSHIPS, STATE_NAMES, STATE_NOTICES};
    partitions_quieten(partitions, partition);
    int code = partitions_empty(partitions, partition, error);
    partitions->parts[partition].halves_next = -1;
    owner_restore_again(partitions->owner, partition);
    for (size_t i = 0; !code && i < ARRAY_SIZE(STATES); i++)
        code = owner_read_again(partitions->owner, STATES[i], partition, KAFKA_OFFSET_BEGINNING, error);
    return code;
}

static void mend(struct partitions *partitions) {
    struct error error;
    partitions->any_damaged = false;
    for (int32_t p = 0; p < partitions->options.partitions; p++) {
        struct feed_part *part = &partitions->parts[p];
        if (!part->damaged) continue;
        if (part->attached && begin_anew(partitions, p, &error))
            partitions_fail(partitions, "a damaged partition cannot be read anew", &error);
    }
}

void partitions_damaged(struct partitions *partitions, int32_t partition, const struct error *error) {
    struct feed_part *part = &partitions->parts[partition];
    if (!part->attached || part->damaged) return;
    log_error(partitions->options.log, "state is read anew: a value is damaged on the disk",
              LOG_INT("partition", partition), LOG_TEXT("reason", error->text));
    part->damaged = partitions->any_damaged = true;
    partitions_turn_soon(partitions);
}

/* Everything that Kafka has of the partition's state is in the stores. */
static bool current(const struct partitions *partitions, int32_t partition) {
    const struct feed_part *part = &partitions->parts[partition];
    if (part->live) return true;
    bool all = part->attached && !partitions_unapplied(partitions, partition);
    for (size_t s = 0; all && s < STATES_WITH_EFFECTS; s++) all = owner_state_lag(partitions->owner, s, partition) == 0;
    return all;
}

/* Moves some texts that have become old. The partition's index must be read to its end: only texts that it names are moved. */
static void cool(struct partitions *partitions) {
    int32_t partition = partitions->cooling;
    int64_t below = ids_first_at(clock_wall_ms() - PARTITIONS_COLD_MS);
    struct error error;
    int code = 0;
    if (current(partitions, partition))
        code = posts_cool(partitions->options.posts, partition, below, COOL_SLICE, &error);
    if (code < 0) store_failed(partitions, partition, code, &error);
    if (code <= 0) partitions->cooling = partition + 1 < partitions->options.partitions ? partition + 1 : -1;
}

void partitions_turn_soon(struct partitions *partitions) {
    if (partitions->turning) return;
    partitions->turning = true;
    loop_timer_again(partitions->turn, 0, 0);
}

void partitions_turn(void *context) {
    struct partitions *partitions = context;
    struct error error;
    partitions->turning = false;
    if (partitions->any_damaged) mend(partitions);
    if (partitions->failed) return;
    int code = partitions->writing ? inboxes_write(partitions->options.inboxes, INBOX_SLICE, &error) : 0;
    if (code < 0) partitions_fail(partitions, "the store failed", &error);
    partitions->writing = code > 0;
    bool more = go_on(partitions);
    if (partitions->cooling >= 0 && !partitions->failed) cool(partitions);
    if (partitions->writing || more || partitions->cooling >= 0) partitions_turn_soon(partitions);
}

void partitions_idle(struct partitions *partitions) {
    if (go_on(partitions)) partitions_turn_soon(partitions);
    outbox_flush(partitions->options.outbox);
    partitions_build(partitions);
}

void partitions_flush(struct partitions *partitions) {
    if (go_on(partitions)) partitions_turn_soon(partitions);
    outbox_flush(partitions->options.outbox);
    if (!partitions->failed) carried_note(partitions->carried);
}

void partitions_unblocked(struct partitions *partitions) {
    struct error error;
    if (!partitions->put_off || partitions->failed) return;
    partitions->put_off = false;
    for (int32_t p = 0; p < partitions->options.partitions; p++) {
        for (size_t s = 0; partitions->parts[p].live && s < STATES_WITH_EFFECTS; s++) {
            int64_t next = carried_next(partitions->carried, s, p);
            if (next < owner_position(partitions->owner, s, p) &&
                owner_read_again(partitions->owner, s, p, next, &error))
                partitions_fail(partitions, "effects cannot be carried out", &error);
        }
    }
}

void partitions_effects_lost(struct partitions *partitions) {
    struct error error;
    carried_forget(partitions->carried);
    for (int32_t p = 0; p < partitions->options.partitions; p++) {
        if (!partitions->parts[p].live) continue;
        effects_drop(partitions->options.effects, p);
        for (size_t s = 0; s < STATES_WITH_EFFECTS; s++) {
            int64_t from = carried_rewind(partitions->carried, s, p);
            if (from >= 0 && owner_read_again(partitions->owner, s, p, from, &error))
                partitions_fail(partitions, "effects cannot be carried out again", &error);
        }
    }
}

void partitions_commit(struct partitions *partitions, bool again) {
    if (partitions->failed) return;
    size_t count = carried_settled(partitions->carried, again, partitions->positions);
    owner_commit(partitions->owner, partitions->positions, count);
}

/* Posts that were deleted a day ago are forgotten: by commands, as only they change state. One that gets lost is sent again. */
static int forget_posts(struct partitions *partitions, int32_t partition, int64_t now, struct error *error) {
    struct post_found posts[FORGET_MANY];
    size_t count;
    int code =
        posts_forgettable(partitions->options.posts, partition, now - POST_KEPT_MS, posts, FORGET_MANY, &count, error);
    for (size_t i = 0; !code && i < count; i++) {
        struct post_command command = {
            .kind = POST_COMMAND_FORGET, .user = posts[i].author, .id = posts[i].id, .time = now};
        outbox_post_command(partitions->options.outbox, &command);
    }
    return code;
}

/* Once a minute for each partition. */
static int keep(struct partitions *partitions, int32_t partition, int64_t now, struct error *error) {
    const struct partitions_options *options = &partitions->options;
    if (!current(partitions, partition)) return 0;
    int code = adjacency_touch(relation_lists_adjacency(options->relations), partition, now, error);
    if (!code) code = ages_touch(options->ages, partition, now, false, error);
    return code || !partitions->parts[partition].live ? code : forget_posts(partitions, partition, now, error);
}

void partitions_second(struct partitions *partitions) {
    int64_t now = clock_wall_ms();
    struct error error;
    for (int32_t p = 0; p < partitions->options.partitions; p++) {
        if ((now / 1000 + p) % KEEP_S || partitions->failed) continue;
        int code = keep(partitions, p, now, &error);
        if (code) store_failed(partitions, p, code, &error);
    }
    if (partitions->cooling < 0 && now / 1000 % KEEP_S == 0) partitions->cooling = 0;
    inboxes_sweep(partitions->options.inboxes, SWEEP);
    refusals_forget(partitions->options.refusals, now);
    partitions_build(partitions);
    if (outbox_retry(partitions->options.outbox)) partitions_unblocked(partitions);
    partitions_commit(partitions, now / 1000 % RETELL_S == 0); // a commit may have been lost
    if (now / 1000 % partitions->options.write_s == 0 || inboxes_unwritten(partitions->options.inboxes))
        partitions->writing = true;
    partitions_turn_soon(partitions);
}
