#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/topics.h"
#include "feed/partitions_private.h"
#include "feed/rules.h"

enum {
    PUSH_SLICE = 2000,  /* readers that one turn pushes to */
    INBOX_SLICE = 5000, /* readers whose inboxes one turn writes */
    KEEP_S = 60,
    FORGET_MANY = 200, /* posts that one partition forgets at once */
    RETELL_S = 10
};

const struct topic *const PARTITIONS_TOPICS[STATES_OF_FEED] = {
    [STATE_FOLLOWS] = &TOPIC_FOLLOWS,         [STATE_POSTS] = &TOPIC_POSTS,         [STATE_TEXTS] = &TOPIC_POST_TEXTS,
    [STATE_FRIENDSHIPS] = &TOPIC_FRIENDSHIPS, [STATE_TIMELINES] = &TOPIC_TIMELINES,
};

void partitions_fail(struct partitions *partitions, const char *doing, const struct error *error) {
    partitions->options.failed(partitions->options.context, doing, error);
}

int partitions_apply_lists(struct partitions *partitions, int32_t partition, struct error *error) {
    struct feed_part *part = &partitions->parts[partition];
    return relation_lists_apply(partitions->options.relations, partition, part->halves_next, clock_wall_ms(),
                                !part->live, error);
}

/* ---- lists that are built from the beginning ---- */

static void build_work(void *context) {
    struct list_build *building = context;
    building->code = adjacency_finish_run(building->build, &building->error);
}

static void build_done(void *context) {
    struct list_build *building = context;
    struct partitions *partitions = building->partitions;
    int code = adjacency_finish_end(building->build, building->code, &building->error);
    building->build = NULL;
    if (!code)
        code =
            partitions_apply_lists(partitions, building->partition, &building->error); // what has come in the meantime
    if (code)
        partitions_fail(partitions, "the lists of follows cannot be built", &building->error);
    else
        owner_progress(partitions->owner);
}

/* Begins to put together lists that were read up to their end. */
static void build(struct partitions *partitions) {
    struct adjacency *adjacency = relation_lists_adjacency(partitions->options.relations);
    struct list_build *building = &partitions->building;
    struct error error;
    for (int32_t p = 0; !building->build && !partitions->stopped && p < partitions->options.partitions; p++) {
        const struct feed_part *part = &partitions->parts[p];
        const int64_t *ends = owner_ends(partitions->owner, p);
        if (!part->attached || part->live || !(adjacency_building(adjacency, p) || adjacency_queued(adjacency, p)))
            continue;
        if (ends ? !owner_reached(partitions->owner, STATE_FOLLOWS, p, ends[STATE_FOLLOWS])
                 : owner_state_lag(partitions->owner, STATE_FOLLOWS, p) != 0)
            continue;
        if (partitions_apply_lists(partitions, p, &error)) {
            partitions_fail(partitions, "the store failed", &error);
            return;
        }
        building->partition = p;
        building->build = adjacency_finish_begin(adjacency, p, clock_wall_ms());
        if (building->build) loop_work(partitions->options.loop, build_work, build_done, building);
    }
}

bool partitions_busy(const struct partitions *partitions) { return partitions && partitions->building.build; }

void partitions_stop(struct partitions *partitions) { partitions->stopped = true; }

/* ---- partitions come and go ---- */

static int64_t or_beginning(int64_t next) { return next < 0 ? KAFKA_OFFSET_BEGINNING : next; }

int partitions_attach(struct partitions *partitions, int32_t partition, int64_t *from, struct error *error) {
    const struct partitions_options *options = &partitions->options;
    int64_t index, texts, blocks, timelines;
    int code = relation_lists_attach(options->relations, partition, clock_wall_ms(), &from[STATE_FOLLOWS], error);
    if (!code) code = posts_attach(options->posts, partition, &index, &texts, error);
    if (!code) code = blocks_attach(options->blocks, partition, &blocks, error);
    if (!code) code = inboxes_attach(options->inboxes, partition, &timelines, error);
    if (code) return code;
    from[STATE_POSTS] = or_beginning(index);
    from[STATE_TEXTS] = or_beginning(texts);
    from[STATE_FRIENDSHIPS] = or_beginning(blocks);
    // Without inboxes there is nothing to be missed: each one begins with a record that is still to come.
    from[STATE_TIMELINES] = timelines < 0 ? KAFKA_OFFSET_END : timelines;
    partitions->parts[partition] =
        (struct feed_part){.attached = true, .halves_next = relation_lists_next(options->relations, partition)};
    return 0;
}

static void end_live(struct partitions *partitions, int32_t partition) {
    if (!partitions->parts[partition].live) return;
    partitions->parts[partition].live = false;
    effects_drop(partitions->options.effects, partition);
    carried_stop(partitions->carried, partition);
}

void partitions_detach(struct partitions *partitions, int32_t partition) {
    const struct partitions_options *options = &partitions->options;
    end_live(partitions, partition);
    partitions->parts[partition] = (struct feed_part){.attached = false};
    relation_lists_detach(options->relations, partition);
    posts_detach(options->posts, partition);
    inboxes_detach(options->inboxes, partition);
}

void partitions_own(struct partitions *partitions, int32_t partition, const int64_t *told) {
    for (size_t s = 0; s < STATES_OF_FEED; s++) partitions->parts[partition].told[s] = told[s];
}

void partitions_silence(struct partitions *partitions, int32_t partition) { end_live(partitions, partition); }

/* All that the process knows of a state is gone. The others stay, but for posts and their texts, which belong together. */
bool partitions_lost(struct partitions *partitions, size_t state, int32_t partition) {
    const struct partitions_options *options = &partitions->options;
    struct feed_part *part = &partitions->parts[partition];
    struct error error;
    int code = 0;
    log_warn(options->log, "state is read anew: its offset is not in the topic",
             LOG_TEXT("topic", PARTITIONS_TOPICS[state]->name), LOG_INT("partition", partition));
    switch (state) {
    case STATE_FOLLOWS:
        code = relation_lists_reset(options->relations, partition, &error);
        part->halves_next = -1;
        break;
    case STATE_POSTS:
    case STATE_TEXTS: code = posts_reset(options->posts, partition, &error); break;
    case STATE_FRIENDSHIPS: code = blocks_reset(options->blocks, partition, &error); break;
    case STATE_TIMELINES: code = inboxes_forget(options->inboxes, partition, &error); break;
    }
    if (code) partitions_fail(partitions, "the store failed", &error);
    if (state == STATE_TIMELINES) return false; // inboxes are asked for again
    if (!code && (state == STATE_POSTS || state == STATE_TEXTS) &&
        owner_read_again(partitions->owner, state == STATE_POSTS ? STATE_TEXTS : STATE_POSTS, partition,
                         KAFKA_OFFSET_BEGINNING, &error))
        partitions_fail(partitions, "posts cannot be read anew", &error);
    part->told[state] = KAFKA_OFFSET_BEGINNING; // the group knows of another time
    end_live(partitions, partition);
    return true;
}

static bool stored(const struct partitions *partitions, size_t state, int32_t partition, int64_t next, int64_t end) {
    return next >= end || owner_reached(partitions->owner, state, partition, end);
}

bool partitions_reached(struct partitions *partitions, int32_t partition, const int64_t *ends) {
    const struct partitions_options *options = &partitions->options;
    struct feed_part *part = &partitions->parts[partition];
    struct adjacency *adjacency = relation_lists_adjacency(options->relations);
    if (!part->live) {
        for (size_t s = 0; s < STATES_OF_FEED; s++) part->ends[s] = ends[s];
    }
    bool lists = stored(partitions, STATE_FOLLOWS, partition, relation_lists_next(options->relations, partition),
                        ends[STATE_FOLLOWS]) &&
                 !adjacency_building(adjacency, partition) && (part->live || !adjacency_queued(adjacency, partition));
    return lists &&
           stored(partitions, STATE_POSTS, partition, posts_index_next(options->posts, partition), ends[STATE_POSTS]) &&
           stored(partitions, STATE_TEXTS, partition, posts_texts_next(options->posts, partition), ends[STATE_TEXTS]) &&
           stored(partitions, STATE_FRIENDSHIPS, partition, blocks_next(options->blocks, partition),
                  ends[STATE_FRIENDSHIPS]) &&
           owner_reached(partitions->owner, STATE_TIMELINES, partition, ends[STATE_TIMELINES]);
}

int64_t partitions_unapplied(const struct partitions *partitions, int32_t partition) {
    struct adjacency *adjacency = relation_lists_adjacency(partitions->options.relations);
    return adjacency_building(adjacency, partition) || adjacency_queued(adjacency, partition);
}

/* State is here. Effects go on where the group knows them to be, on records that are read once more. */
void partitions_live(struct partitions *partitions, int32_t partition) {
    struct feed_part *part = &partitions->parts[partition];
    int64_t from[STATES_OF_FEED];
    struct error error;
    int code = relation_lists_finish(partitions->options.relations, partition, clock_wall_ms(), &error);
    part->live = true;
    for (size_t s = 0; s < STATES_OF_FEED; s++)
        from[s] = part->told[s] == KAFKA_OFFSET_NONE ? part->ends[s] : part->told[s] < 0 ? 0 : part->told[s];
    carried_live(partitions->carried, partition, from);
    for (size_t s = 0; !code && s < STATES_OF_FEED; s++) {
        if (from[s] < owner_position(partitions->owner, s, partition))
            code = owner_read_again(partitions->owner, s, partition, from[s], &error);
    }
    if (code) partitions_fail(partitions, "a partition cannot be served", &error);
}

/* ---- time ---- */

bool partitions_push(struct partitions *partitions) {
    struct effects *effects = partitions->options.effects;
    struct error error;
    int code = outbox_blocked(partitions->options.outbox) ? 0 : effects_run(effects, PUSH_SLICE, &error);
    if (code < 0) partitions_fail(partitions, "the store failed", &error);
    for (int32_t p = 0; p < partitions->options.partitions; p++)
        carried_hold(partitions->carried, STATE_POSTS, p, effects_held(effects, p));
    return code > 0;
}

static void next_turn(void *context) {
    struct partitions *partitions = context;
    struct error error;
    int code = partitions->writing ? inboxes_write(partitions->options.inboxes, INBOX_SLICE, &error) : 0;
    if (code < 0) partitions_fail(partitions, "the store failed", &error);
    partitions->writing = code > 0;
    bool more = partitions_push(partitions);
    if (partitions->writing || more) loop_timer_again(partitions->turn, more && !partitions->writing ? 1 : 0, 0);
}

void partitions_idle(struct partitions *partitions) {
    if (partitions_push(partitions)) loop_timer_again(partitions->turn, 0, 0);
    outbox_flush(partitions->options.outbox);
    build(partitions);
}

void partitions_flush(struct partitions *partitions) {
    if (partitions_push(partitions)) loop_timer_again(partitions->turn, 0, 0);
    outbox_flush(partitions->options.outbox);
    carried_note(partitions->carried);
}

void partitions_effects_lost(struct partitions *partitions) {
    struct error error;
    carried_forget(partitions->carried);
    for (int32_t p = 0; p < partitions->options.partitions; p++) {
        if (!partitions->parts[p].live) continue;
        effects_drop(partitions->options.effects, p);
        for (size_t s = 0; s < STATES_OF_FEED; s++) {
            int64_t from = carried_rewind(partitions->carried, s, p);
            if (from >= 0 && owner_read_again(partitions->owner, s, p, from, &error))
                partitions_fail(partitions, "effects cannot be carried out again", &error);
        }
    }
}

static void commit(struct partitions *partitions, bool again) {
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

/* Once a minute for each live partition. */
static int keep(struct partitions *partitions, int32_t partition, int64_t now, struct error *error) {
    int code = adjacency_touch(relation_lists_adjacency(partitions->options.relations), partition, now, error);
    return code ? code : forget_posts(partitions, partition, now, error);
}

void partitions_second(struct partitions *partitions) {
    int64_t now = clock_wall_ms();
    struct error error;
    for (int32_t p = 0; p < partitions->options.partitions; p++) {
        if (!partitions->parts[p].live || (now / 1000 + p) % KEEP_S) continue;
        if (keep(partitions, p, now, &error)) partitions_fail(partitions, "the store failed", &error);
    }
    build(partitions);
    commit(partitions, now / 1000 % RETELL_S == 0); // a commit may have been lost
    partitions->writing = true;
    loop_timer_again(partitions->turn, 0, 0);
}

struct partitions *partitions_new(const struct partitions_options *options) {
    size_t count = (size_t)options->partitions;
    struct partitions *partitions = mem_alloc(sizeof *partitions);
    *partitions = (struct partitions){
        .options = *options,
        .carried = carried_new(PARTITIONS_TOPICS, STATES_OF_FEED, options->partitions, options->epochs),
        .positions = mem_zero(count * STATES_OF_FEED, sizeof *partitions->positions),
        .codec = codec_new(),
        .payload_codec = codec_new(),
        .reader = deliver_reader_new(),
        .turn = loop_timer_new(options->loop, 0, 0, next_turn, partitions),
        .parts = mem_zero(count, sizeof *partitions->parts),
        .building = {.partitions = partitions},
    };
    loop_timer_stop(partitions->turn);
    return partitions;
}

void partitions_set_owner(struct partitions *partitions, struct owner *owner) { partitions->owner = owner; }

void partitions_free(struct partitions *partitions) {
    if (!partitions) return;
    loop_timer_free(partitions->turn);
    deliver_reader_free(partitions->reader);
    codec_free(partitions->payload_codec);
    codec_free(partitions->codec);
    carried_free(partitions->carried);
    free(partitions->positions);
    free(partitions->parts);
    free(partitions);
}
