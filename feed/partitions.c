#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/topics.h"
#include "feed/partitions_private.h"

const struct topic *const PARTITIONS_TOPICS[STATES_OF_FEED] = {
    [STATE_FOLLOWS] = &TOPIC_FOLLOWS,      [STATE_POSTS] = &TOPIC_POSTS,
    [STATE_TEXTS] = &TOPIC_POST_TEXTS,     [STATE_FRIENDSHIPS] = &TOPIC_FRIENDSHIPS,
    [STATE_TIMELINES] = &TOPIC_TIMELINES,  [STATE_NAMES] = &TOPIC_NAMES,
    [STATE_NOTICES] = &TOPIC_NOTICES,      [STATE_REFUSALS] = &TOPIC_FOLLOW_REFUSALS,
    [STATE_WATCHES] = &TOPIC_FEED_WATCHES,
};

void partitions_fail(struct partitions *partitions, const char *doing, const struct error *error) {
    partitions->failed = true;
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

void partitions_build(struct partitions *partitions) {
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

static int reset_tables(struct partitions *partitions, int32_t partition, struct error *error) {
    int code = 0;
    for (size_t s = 0; !code && s < STATES_OF_FEED; s++)
        if (partitions->tables[s]) code = table_store_reset(partitions->tables[s], partition, 0, error);
    return code;
}

/* Posts, blocks, names and notices that were put aside for so long that they may have missed tombstones are forgotten. */
static int forget_old(struct partitions *partitions, int32_t partition, struct error *error) {
    const struct partitions_options *options = &partitions->options;
    int64_t now = clock_wall_ms();
    int old = ages_too_old(options->ages, partition, now - options->max_age_ms, error), code = old < 0 ? old : 0;
    if (old > 0) {
        log_info(options->log, "posts are read anew: they are too old to go on with", LOG_INT("partition", partition));
        code = posts_reset(options->posts, partition, error);
        if (!code) code = reset_tables(partitions, partition, error);
    }
    return code ? code : ages_touch(options->ages, partition, now, !old, error);
}

int partitions_attach(struct partitions *partitions, int32_t partition, int64_t *from, struct error *error) {
    const struct partitions_options *options = &partitions->options;
    int64_t index, texts, timelines;
    int code = relation_lists_attach(options->relations, partition, clock_wall_ms(), &from[STATE_FOLLOWS], error);
    if (!code) code = posts_attach(options->posts, partition, &index, &texts, error);
    for (size_t s = 0; !code && s < STATES_OF_FEED; s++)
        if (partitions->tables[s]) code = table_store_open(partitions->tables[s], partition, 0, 0, error);
    if (!code) code = inboxes_attach(options->inboxes, partition, &timelines, error);
    if (!code) code = forget_old(partitions, partition, error);
    if (code) return code;
    from[STATE_POSTS] = or_beginning(posts_index_next(options->posts, partition));
    from[STATE_TEXTS] = or_beginning(posts_texts_next(options->posts, partition));
    for (size_t s = 0; s < STATES_OF_FEED; s++)
        if (partitions->tables[s]) from[s] = or_beginning(table_store_next(partitions->tables[s], partition, 0));
    from[STATE_REFUSALS] = KAFKA_OFFSET_BEGINNING;
    refusals_attach(options->refusals, partition);
    // A stand-by without inboxes misses nothing: each one begins with a record that is still to come.
    from[STATE_TIMELINES] = timelines < 0 ? KAFKA_OFFSET_END : timelines;
    from[STATE_WATCHES] = KAFKA_OFFSET_BEGINNING; // they are kept in memory
    watches_attach(options->watches, partition);
    partitions->parts[partition] =
        (struct feed_part){.attached = true,
                           .no_inboxes = timelines < 0,
                           .halves_next = relation_lists_next(options->relations, partition)};
    return 0;
}

/* The partition is no longer live: nobody is told of its effects any more. */
static void end_live(struct partitions *partitions, int32_t partition) {
    struct feed_part *part = &partitions->parts[partition];
    if (!part->live) return;
    part->live = false;
    int64_t request = effects_drop(partitions->options.effects, partition);
    if (request < INT64_MAX) owner_lower(partitions->owner, INPUT_REQUESTS, partition, request);
    for (size_t s = 0; s < STATES_WITH_EFFECTS; s++)
        part->told[s] = carried_settled_at(partitions->carried, s, partition);
    carried_stop(partitions->carried, partition);
}

int partitions_empty(struct partitions *partitions, int32_t partition, struct error *error) {
    const struct partitions_options *options = &partitions->options;
    partitions->parts[partition].damaged = false;
    int code = relation_lists_reset(options->relations, partition, error);
    if (!code) code = posts_reset(options->posts, partition, error);
    if (!code) code = reset_tables(partitions, partition, error);
    if (!code) code = inboxes_forget(options->inboxes, partition, error);
    return code;
}

/* A partition that is given up before the turn that mends it must not be damaged when it comes back. */
void partitions_detach(struct partitions *partitions, int32_t partition) {
    const struct partitions_options *options = &partitions->options;
    struct error error;
    end_live(partitions, partition);
    if (partitions->parts[partition].damaged && partitions_empty(partitions, partition, &error))
        partitions_fail(partitions, "a damaged partition cannot be emptied", &error);
    partitions->parts[partition] = (struct feed_part){.attached = false};
    relation_lists_detach(options->relations, partition);
    posts_detach(options->posts, partition);
    inboxes_detach(options->inboxes, partition);
    refusals_detach(options->refusals, partition);
    watches_detach(options->watches, partition);
}

/* An owner without inboxes reads the requests for them that were not carried out yet. */
void partitions_own(struct partitions *partitions, int32_t partition, bool fresh, const int64_t *told, int64_t *again) {
    struct feed_part *part = &partitions->parts[partition];
    for (size_t s = 0; s < STATES_OF_FEED; s++) part->told[s] = told[s];
    if (fresh && part->no_inboxes)
        again[STATE_TIMELINES] = told[STATE_TIMELINES] >= 0 ? told[STATE_TIMELINES] : KAFKA_OFFSET_BEGINNING;
}

/* A partition that is silent forgets who watches: watches are read anew before it is live again. */
void partitions_quieten(struct partitions *partitions, int32_t partition) {
    struct error error;
    if (!partitions->parts[partition].live) return;
    end_live(partitions, partition);
    watches_detach(partitions->options.watches, partition);
    watches_attach(partitions->options.watches, partition);
    if (owner_read_again(partitions->owner, STATE_WATCHES, partition, KAFKA_OFFSET_BEGINNING, &error))
        partitions_fail(partitions, "watches cannot be read anew", &error);
}

void partitions_silence(struct partitions *partitions, int32_t partition) { partitions_quieten(partitions, partition); }

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
    case STATE_FRIENDSHIPS:
    case STATE_NAMES:
    case STATE_NOTICES: code = table_store_reset(partitions->tables[state], partition, 0, &error); break;
    case STATE_TIMELINES: code = inboxes_forget(options->inboxes, partition, &error); break;
    case STATE_REFUSALS: // they are too old to be of use
    case STATE_WATCHES:  // roll calls find missing watches
        break;
    }
    if (code) partitions_fail(partitions, "the store failed", &error);
    if (state == STATE_TIMELINES || state == STATE_WATCHES) return false; // inboxes are asked for again
    if (!code && (state == STATE_POSTS || state == STATE_TEXTS) &&
        owner_read_again(partitions->owner, state == STATE_POSTS ? STATE_TEXTS : STATE_POSTS, partition,
                         KAFKA_OFFSET_BEGINNING, &error))
        partitions_fail(partitions, "posts cannot be read anew", &error);
    partitions_quieten(partitions, partition);
    part->told[state] = KAFKA_OFFSET_BEGINNING; // the group knows of another time
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
    bool all = stored(partitions, STATE_FOLLOWS, partition, relation_lists_next(options->relations, partition),
                      ends[STATE_FOLLOWS]) &&
               !adjacency_building(adjacency, partition) && (part->live || !adjacency_queued(adjacency, partition));
    for (size_t s = 0; all && s < STATES_OF_FEED; s++)
        all = !partitions->tables[s] ||
              stored(partitions, s, partition, table_store_next(partitions->tables[s], partition, 0), ends[s]);
    return all &&
           stored(partitions, STATE_POSTS, partition, posts_index_next(options->posts, partition), ends[STATE_POSTS]) &&
           stored(partitions, STATE_TEXTS, partition, posts_texts_next(options->posts, partition), ends[STATE_TEXTS]) &&
           owner_reached(partitions->owner, STATE_TIMELINES, partition, ends[STATE_TIMELINES]) &&
           owner_reached(partitions->owner, STATE_REFUSALS, partition, ends[STATE_REFUSALS]) &&
           owner_reached(partitions->owner, STATE_WATCHES, partition, ends[STATE_WATCHES]);
}

int64_t partitions_unapplied(const struct partitions *partitions, int32_t partition) {
    struct adjacency *adjacency = relation_lists_adjacency(partitions->options.relations);
    return adjacency_building(adjacency, partition) || adjacency_queued(adjacency, partition);
}

/* State is here. Effects go on where the group knows them to be, on records that are read once more. */
void partitions_live(struct partitions *partitions, int32_t partition) {
    struct feed_part *part = &partitions->parts[partition];
    int64_t from[STATES_WITH_EFFECTS];
    struct error error;
    int code = relation_lists_finish(partitions->options.relations, partition, clock_wall_ms(), &error);
    part->live = true;
    for (size_t s = 0; s < STATES_WITH_EFFECTS; s++) {
        from[s] = part->told[s] == KAFKA_OFFSET_NONE ? part->ends[s] : part->told[s] < 0 ? 0 : part->told[s];
        if (from[s] > part->ends[s]) from[s] = part->ends[s]; // the group knows of another time
    }
    carried_live(partitions->carried, partition, from);
    watches_live(partitions->options.watches, partition);
    for (size_t s = 0; !code && s < STATES_WITH_EFFECTS; s++) {
        if (from[s] < owner_position(partitions->owner, s, partition))
            code = owner_read_again(partitions->owner, s, partition, from[s], &error);
    }
    if (code)
        partitions_fail(partitions, "a partition cannot be served", &error);
    else
        partitions_commit(partitions, false); // so that whoever takes over knows where effects began
}

struct partitions *partitions_new(const struct partitions_options *options) {
    size_t count = (size_t)options->partitions;
    struct partitions *partitions = mem_alloc(sizeof *partitions);
    *partitions = (struct partitions){
        .options = *options,
        .carried = carried_new(PARTITIONS_TOPICS, STATES_WITH_EFFECTS, options->partitions, options->epochs),
        .positions = mem_zero(count * STATES_WITH_EFFECTS, sizeof *partitions->positions),
        .codec = codec_new(),
        .reader = timeline_reader_new(options->tracer),
        .turn = loop_timer_new(options->loop, 0, 0, partitions_turn, partitions),
        .parts = mem_zero(count, sizeof *partitions->parts),
        .building = {.partitions = partitions},
        .cooling = -1,
        .tables = {[STATE_FRIENDSHIPS] = options->blocks,
                   [STATE_NAMES] = names_table(options->names),
                   [STATE_NOTICES] = notices_table(options->notices)},
    };
    loop_timer_stop(partitions->turn);
    return partitions;
}

void partitions_set_owner(struct partitions *partitions, struct owner *owner) { partitions->owner = owner; }

void partitions_free(struct partitions *partitions) {
    if (!partitions) return;
    loop_timer_free(partitions->turn);
    timeline_reader_free(partitions->reader);
    codec_free(partitions->codec);
    carried_free(partitions->carried);
    free(partitions->positions);
    free(partitions->parts);
    free(partitions);
}
