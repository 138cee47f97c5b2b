#include "feed/partitions.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "event/delivery.h"
#include "event/topics.h"

enum {
    BUILD_LOT = 200000, /* halves that are queued before they are sorted, while lists are built */
    PUSH_SLICE = 2000,  /* readers that one turn pushes to */
    INBOX_SLICE = 5000, /* readers whose inboxes one turn writes */
    TOUCH_S = 60,
    RETELL_S = 10
};

const struct topic *const PARTITIONS_TOPICS[STATES_OF_FEED] = {
    [STATE_FOLLOWS] = &TOPIC_FOLLOWS,         [STATE_POSTS] = &TOPIC_POSTS,         [STATE_TEXTS] = &TOPIC_POST_TEXTS,
    [STATE_FRIENDSHIPS] = &TOPIC_FRIENDSHIPS, [STATE_TIMELINES] = &TOPIC_TIMELINES,
};

struct feed_part {
    bool attached, live;
    bool touched;                 /* this batch has records of it */
    int64_t told[STATES_OF_FEED]; /* as own() was told */
    int64_t ends[STATES_OF_FEED]; /* that were asked for while it was restored */
    int64_t halves_next;          /* everything before is queued or applied */
};

/* The relation lists that a worker thread puts together, one partition at a time. */
struct list_build {
    struct partitions *partitions;
    int32_t partition;
    struct adjacency_build *build; /* NULL: none is under way */
    int code;
    struct error error;
};

struct partitions {
    struct partitions_options options;
    struct owner *owner;
    struct progress *progress;
    struct kafka_position *positions; /* room for all states of all partitions */
    struct codec *codec, *payload_codec;
    struct deliver_reader *reader;
    struct loop_timer *turn; /* goes on with inboxes and pushes */
    struct feed_part *parts;
    struct list_build building;
    bool stopped, writing;
};

static void fail(struct partitions *partitions, const char *doing, const struct error *error) {
    partitions->options.failed(partitions->options.context, doing, error);
}

static void dead(struct partitions *partitions, const struct kafka_record *record, const char *reason) {
    outbox_dead(partitions->options.outbox, record, reason);
}

static size_t state_of(const struct topic *topic) {
    size_t state = 0;
    while (PARTITIONS_TOPICS[state] != topic) state++;
    return state;
}

/* ---- records ---- */

/* Each returns NULL, or the reason why the record is none of its topic. A store's failure is in *code. */

static bool in_partition(const struct partitions *partitions, int64_t user, int32_t partition) {
    return hash_user_partition(user, partitions->options.partitions) == partition;
}

static const char *read_half(struct partitions *partitions, const struct kafka_record *record,
                             struct relation_half *half, struct follow *follow, struct error *error) {
    if (!relation_key_read(record->key, record->key_size, half)) return "the key must be a relation of two users";
    if (!in_partition(partitions, half->user, record->partition)) return "not in the partition of its user";
    if (record->value && event_decode_follow(partitions->codec, record->value, record->value_size, follow, error))
        return error->text;
    return NULL;
}

static const char *take_half(struct partitions *partitions, const struct kafka_record *record, struct error *error) {
    struct feed_part *part = &partitions->parts[record->partition];
    struct relation_half half;
    struct follow follow = {.since = 0};
    const char *reason = read_half(partitions, record, &half, &follow, error);
    if (!reason && record->offset >= part->halves_next)
        relation_lists_take(partitions->options.relations, record->partition, record->offset, &half,
                            record->value != NULL, follow.since);
    if (record->offset >= part->halves_next) part->halves_next = record->offset + 1;
    return reason;
}

static const char *read_post_key(struct partitions *partitions, const struct kafka_record *record, int64_t *author,
                                 int64_t *id) {
    if (!post_key_read(record->key, record->key_size, author, id)) return "the key must be an author and an id";
    return in_partition(partitions, *author, record->partition) ? NULL : "not in the partition of its author";
}

static const char *take_post(struct partitions *partitions, const struct kafka_record *record, int *code,
                             struct error *error) {
    struct post post;
    int64_t author, id;
    const char *reason = read_post_key(partitions, record, &author, &id);
    if (reason) return reason;
    if (record->value && event_decode_post(partitions->codec, record->value, record->value_size, &post, error))
        return error->text;
    *code = posts_take_index(partitions->options.posts, record->partition, record->offset, author, id,
                             record->value ? &post : NULL, error);
    return NULL;
}

static const char *take_text(struct partitions *partitions, const struct kafka_record *record, int *code,
                             struct error *error) {
    struct post_text text;
    int64_t author, id;
    const char *reason = read_post_key(partitions, record, &author, &id);
    if (reason) return reason;
    if (record->value && event_decode_post_text(partitions->codec, record->value, record->value_size, &text, error))
        return error->text;
    *code = posts_take_text(partitions->options.posts, record->partition, record->offset, author, id, record->value,
                            record->value_size, error);
    return NULL;
}

static const char *read_friendship(struct partitions *partitions, const struct kafka_record *record, int64_t *user,
                                   int64_t *other, bool *blocked, struct error *error) {
    struct friendship half = {.state = FRIENDSHIP_NONE};
    if (record->key_size != 16) return "the key must be two users";
    *user = (int64_t)bytes_get_be64(record->key);
    *other = (int64_t)bytes_get_be64(record->key + 8);
    if (*user < 0 || *other < 0 || *user == *other) return "the key must be two users";
    if (!in_partition(partitions, *user, record->partition)) return "not in the partition of its user";
    if (record->value && event_decode_friendship(partitions->codec, record->value, record->value_size, &half, error))
        return error->text;
    *blocked = half.blocked_by_me || half.blocked_by_them;
    return NULL;
}

/* The router sends a record of friendships that nobody can read to the dead letters; here it only counts for nothing. */
static void take_friendship(struct partitions *partitions, const struct kafka_record *record) {
    int64_t user, other;
    bool blocked;
    struct error error;
    if (!read_friendship(partitions, record, &user, &other, &blocked, &error))
        blocks_take(partitions->options.blocks, record->partition, record->offset, user, other, blocked);
}

/* Calls `each` for the items of a batch. NULL, or why it is none. */
static const char *each_item(struct partitions *partitions, const struct kafka_record *record,
                             int (*each)(struct partitions *, const struct kafka_record *,
                                         const struct deliver_envelope *, const struct timeline_item *, struct error *),
                             int *code, struct error *error) {
    struct deliver_head head;
    struct deliver_envelope envelope;
    struct timeline_item item;
    int more;
    if (deliver_reader_start(partitions->reader, record->value, record->value_size, &head, error)) return error->text;
    while ((more = deliver_reader_next(partitions->reader, &envelope)) > 0 && !*code) {
        if (envelope.kind != DELIVERY_TIMELINE) continue; // of a later release
        if (delivery_read_timeline(partitions->payload_codec, envelope.payload, envelope.payload_size, &item))
            return "an item cannot be read";
        *code = each(partitions, record, &envelope, &item, error);
    }
    return more < 0 ? "the batch cannot be read to its end" : NULL;
}

static int take_item(struct partitions *partitions, const struct kafka_record *record,
                     const struct deliver_envelope *envelope, const struct timeline_item *item, struct error *error) {
    return inboxes_take(partitions->options.inboxes, record->partition, record->offset, record->timestamp,
                        envelope->recipients, envelope->recipient_count, item, error);
}

static const char *take_timeline(struct partitions *partitions, const struct kafka_record *record, int *code,
                                 struct error *error) {
    const char *reason = each_item(partitions, record, take_item, code, error);
    if (!*code) inboxes_read_to(partitions->options.inboxes, record->partition, record->offset + 1);
    return reason;
}

static int take_record(struct partitions *partitions, const struct kafka_record *record, struct error *error) {
    const char *reason = NULL;
    int code = 0;
    switch (state_of(record->topic)) {
    case STATE_FOLLOWS: reason = take_half(partitions, record, error); break;
    case STATE_POSTS: reason = take_post(partitions, record, &code, error); break;
    case STATE_TEXTS: reason = take_text(partitions, record, &code, error); break;
    case STATE_FRIENDSHIPS: take_friendship(partitions, record); break;
    case STATE_TIMELINES: reason = take_timeline(partitions, record, &code, error); break;
    }
    if (reason && !code) dead(partitions, record, reason);
    partitions->parts[record->partition].touched = true;
    return code;
}

/* ---- writing ---- */

static bool lists_readable(const struct partitions *partitions, int32_t partition) {
    return !adjacency_building(relation_lists_adjacency(partitions->options.relations), partition);
}

static int apply_lists(struct partitions *partitions, int32_t partition, struct error *error) {
    struct feed_part *part = &partitions->parts[partition];
    return relation_lists_apply(partitions->options.relations, partition, part->halves_next, clock_wall_ms(),
                                !part->live, error);
}

/* Lists that are being built take halves in large lots. */
static bool lists_due(const struct partitions *partitions, int32_t partition) {
    struct adjacency *adjacency = relation_lists_adjacency(partitions->options.relations);
    size_t queued = adjacency_queued(adjacency, partition);
    return queued && (queued >= BUILD_LOT || partitions->parts[partition].live ||
                      (lists_readable(partitions, partition) && adjacency_next(adjacency, partition) >= 0));
}

static int write_all(struct partitions *partitions, struct error *error) {
    int code = posts_write(partitions->options.posts, error);
    if (!code) code = blocks_write(partitions->options.blocks, error);
    for (int32_t p = 0; !code && p < partitions->options.partitions; p++) {
        if (partitions->parts[p].touched && lists_due(partitions, p)) code = apply_lists(partitions, p, error);
    }
    return code;
}

/* ---- effects ---- */

static int tell_block(struct partitions *partitions, const struct kafka_record *record, struct error *error) {
    int64_t user, other;
    bool blocked;
    if (read_friendship(partitions, record, &user, &other, &blocked, error) || !blocked) return 0;
    struct follow_command command = {
        .kind = FOLLOW_COMMAND_UNFOLLOW, .user = user, .other = other, .time = clock_wall_ms()};
    outbox_follow_command(partitions->options.outbox, &command);
    command.user = other;
    command.other = user;
    outbox_follow_command(partitions->options.outbox, &command);
    return 0;
}

static int tell_item(struct partitions *partitions, const struct kafka_record *record,
                     const struct deliver_envelope *envelope, const struct timeline_item *item, struct error *error) {
    if (item->kind != TIMELINE_ITEM_BEGIN) return 0;
    int code = 0;
    for (size_t i = 0; !code && i < envelope->recipient_count; i++)
        code = effects_begin(partitions->options.effects, record->partition, envelope->recipients[i], record->offset,
                             item->begin.wanted.items, item->begin.wanted.count, error);
    return code;
}

static int tell(struct partitions *partitions, const struct kafka_record *record, struct error *error) {
    struct effects *effects = partitions->options.effects;
    struct relation_half half;
    struct follow follow;
    int64_t author, id;
    int code = 0;
    switch (state_of(record->topic)) {
    case STATE_FOLLOWS:
        if (!read_half(partitions, record, &half, &follow, error))
            code = effects_half(effects, record->partition, &half, record->value != NULL, error);
        break;
    case STATE_POSTS:
        if (record->value && !read_post_key(partitions, record, &author, &id))
            code = effects_post(effects, record->partition, author, id, record->offset, error);
        break;
    case STATE_FRIENDSHIPS: code = tell_block(partitions, record, error); break;
    case STATE_TIMELINES: each_item(partitions, record, tell_item, &code, error); break;
    }
    return code;
}

static void read_back(struct partitions *partitions, int32_t partition) {
    const struct partitions_options *options = &partitions->options;
    int64_t halves = relation_lists_next(options->relations, partition);
    if (halves >= 0) decider_read_back(options->decider, &TOPIC_FOLLOWS, partition, halves);
    decider_read_back(options->decider, &TOPIC_POSTS, partition, posts_index_next(options->posts, partition));
    decider_read_back(options->decider, &TOPIC_POST_TEXTS, partition, posts_texts_next(options->posts, partition));
}

/* Everything is stored before any of it is told: an effect is made from the state that the stores have. */
void partitions_take(struct partitions *partitions, const struct kafka_record *records, size_t count) {
    struct error error;
    int code = 0;
    bool live = false;
    for (size_t i = 0; !code && i < count; i++) code = take_record(partitions, &records[i], &error);
    if (!code) code = write_all(partitions, &error);
    for (size_t i = 0; !code && i < count; i++) {
        if (progress_due(partitions->progress, state_of(records[i].topic), records[i].partition, records[i].offset))
            code = tell(partitions, &records[i], &error);
    }
    if (code) {
        fail(partitions, "the store failed", &error);
        return;
    }
    for (int32_t p = 0; p < partitions->options.partitions; p++) {
        if (!partitions->parts[p].touched) continue;
        partitions->parts[p].touched = false;
        read_back(partitions, p);
        live = live || partitions->parts[p].live;
    }
    if (inboxes_full(partitions->options.inboxes)) partitions->writing = true;
    if (partitions->writing) loop_timer_again(partitions->turn, 0, 0);
    if (live) partitions->options.changed(partitions->options.context);
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
    if (!code) code = apply_lists(partitions, building->partition, &building->error); // what has come in the meantime
    if (code)
        fail(partitions, "the lists of follows cannot be built", &building->error);
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
        if (apply_lists(partitions, p, &error)) {
            fail(partitions, "the store failed", &error);
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
    progress_stop(partitions->progress, partition);
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
    if (code) fail(partitions, "the store failed", &error);
    if (state == STATE_TIMELINES) return false; // inboxes are asked for again
    if (!code && (state == STATE_POSTS || state == STATE_TEXTS) &&
        owner_read_again(partitions->owner, state == STATE_POSTS ? STATE_TEXTS : STATE_POSTS, partition,
                         KAFKA_OFFSET_BEGINNING, &error))
        fail(partitions, "posts cannot be read anew", &error);
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
    return !lists_readable(partitions, partition) ||
           adjacency_queued(relation_lists_adjacency(partitions->options.relations), partition);
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
    progress_live(partitions->progress, partition, from);
    for (size_t s = 0; !code && s < STATES_OF_FEED; s++) {
        if (from[s] < owner_position(partitions->owner, s, partition))
            code = owner_read_again(partitions->owner, s, partition, from[s], &error);
    }
    if (code) fail(partitions, "a partition cannot be served", &error);
}

/* ---- time ---- */

bool partitions_push(struct partitions *partitions) {
    struct effects *effects = partitions->options.effects;
    struct error error;
    int code = outbox_blocked(partitions->options.outbox) ? 0 : effects_run(effects, PUSH_SLICE, &error);
    if (code < 0) fail(partitions, "the store failed", &error);
    for (int32_t p = 0; p < partitions->options.partitions; p++)
        progress_hold(partitions->progress, STATE_POSTS, p, effects_held(effects, p));
    return code > 0;
}

static void next_turn(void *context) {
    struct partitions *partitions = context;
    struct error error;
    int code = partitions->writing ? inboxes_write(partitions->options.inboxes, INBOX_SLICE, &error) : 0;
    if (code < 0) fail(partitions, "the store failed", &error);
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
    progress_note(partitions->progress);
}

void partitions_effects_lost(struct partitions *partitions) {
    struct error error;
    progress_forget(partitions->progress);
    for (int32_t p = 0; p < partitions->options.partitions; p++) {
        if (!partitions->parts[p].live) continue;
        effects_drop(partitions->options.effects, p);
        for (size_t s = 0; s < STATES_OF_FEED; s++) {
            int64_t from = progress_rewind(partitions->progress, s, p);
            if (from >= 0 && owner_read_again(partitions->owner, s, p, from, &error))
                fail(partitions, "effects cannot be carried out again", &error);
        }
    }
}

static void commit(struct partitions *partitions, bool again) {
    size_t count = progress_settled(partitions->progress, again, partitions->positions);
    owner_commit(partitions->owner, partitions->positions, count);
}

void partitions_second(struct partitions *partitions) {
    int64_t now = clock_wall_ms();
    struct error error;
    for (int32_t p = 0; p < partitions->options.partitions; p++) {
        if (!partitions->parts[p].live || (now / 1000 + p) % TOUCH_S) continue;
        if (adjacency_touch(relation_lists_adjacency(partitions->options.relations), p, now, &error))
            fail(partitions, "the store failed", &error);
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
        .progress = progress_new(PARTITIONS_TOPICS, STATES_OF_FEED, options->partitions, options->epochs),
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
    progress_free(partitions->progress);
    free(partitions->positions);
    free(partitions->parts);
    free(partitions);
}
