#include <errno.h>

#include "base/clock.h"
#include "base/hash.h"
#include "event/topics.h"
#include "feed/partitions_private.h"
#include "ids/ids.h"
#include "users/half.h"

enum { BUILD_LOT = 200000 }; /* halves that are queued before they are sorted, while lists are built */

static size_t state_of(const struct topic *topic) {
    size_t state = 0;
    while (PARTITIONS_TOPICS[state] != topic) state++;
    return state;
}

/* ---- records ---- */

/* Each returns NULL, or the reason why the record is none of its topic. */

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
    struct follow follow;
    const char *reason = read_half(partitions, record, &half, &follow, error);
    if (!reason) {
        relation_lists_take(partitions->options.relations, record->partition, record->offset, record->timestamp, &half,
                            record->value != NULL);
        watches_half(partitions->options.watches, &half);
    }
    if (record->offset >= part->halves_next) part->halves_next = record->offset + 1;
    return reason;
}

static const char *read_post_key(struct partitions *partitions, const struct kafka_record *record, int64_t *author,
                                 int64_t *id) {
    if (!post_key_read(record->key, record->key_size, author, id)) return "the key must be an author and an id";
    // A migration to more partitions puts a copy where the id says that the post is.
    bool here = in_partition(partitions, *author, record->partition) || ids_partition(*id) == record->partition;
    return here ? NULL : "neither in the partition of its author nor in that of its id";
}

static const char *take_post(struct partitions *partitions, const struct kafka_record *record, struct error *error) {
    struct post post;
    int64_t author, id;
    const char *reason = read_post_key(partitions, record, &author, &id);
    if (reason) return reason;
    if (record->value && event_decode_post(partitions->codec, record->value, record->value_size, &post, error))
        return error->text;
    posts_take_index(partitions->options.posts, record->partition, record->offset, author, id,
                     record->value ? &post : NULL);
    return NULL;
}

static const char *take_text(struct partitions *partitions, const struct kafka_record *record, struct error *error) {
    struct post_text text;
    int64_t author, id;
    const char *reason = read_post_key(partitions, record, &author, &id);
    if (reason) return reason;
    if (record->value && event_decode_post_text(partitions->codec, record->value, record->value_size, &text, error))
        return error->text;
    posts_take_text(partitions->options.posts, record->partition, record->offset, author, id, record->value,
                    record->value_size);
    return NULL;
}

static bool blocks(const struct half_record *read) { return read->half.blocked_by_me || read->half.blocked_by_them; }

/* The router sends a record of friendships that nobody can read to the dead letters; here it only counts for nothing. */
static void take_friendship(struct partitions *partitions, const struct kafka_record *record) {
    struct half_record read;
    struct error error;
    if (!half_read(partitions->codec, partitions->options.partitions, record, &read, &error))
        blocks_take(partitions->options.blocks, record->partition, record->offset, read.user, read.other,
                    blocks(&read));
}

static const char *take_name(struct partitions *partitions, const struct kafka_record *record, struct error *error) {
    struct names *names = partitions->options.names;
    const char *reason = names_complaint(names, record->partition, record->key, record->key_size, record->value,
                                         record->value_size, error);
    if (!reason)
        table_store_put(names_table(names), record->partition, record->offset, record->key, record->key_size,
                        record->value, record->value_size);
    return reason;
}

static const char *take_notice(struct partitions *partitions, const struct kafka_record *record, struct error *error) {
    struct notices *notices = partitions->options.notices;
    const char *reason = notices_complaint(notices, record->partition, record->key, record->key_size, record->value,
                                           record->value_size, error);
    if (!reason)
        table_store_put(notices_table(notices), record->partition, record->offset, record->key, record->key_size,
                        record->value, record->value_size);
    return reason;
}

static int take_item(void *context, const struct kafka_record *record, const struct deliver_envelope *envelope,
                     const struct timeline_item *item, struct error *error) {
    struct partitions *partitions = context;
    inboxes_take(partitions->options.inboxes, record->partition, record->offset, record->timestamp,
                 envelope->recipients, envelope->recipient_count, item);
    watches_item(partitions->options.watches, envelope->recipients, envelope->recipient_count, item);
    return 0;
}

static const char *take_timeline(struct partitions *partitions, const struct kafka_record *record,
                                 struct error *error) {
    const char *unread;
    if (inboxes_has(partitions->options.inboxes, record->partition, record->offset)) return NULL;
    timeline_reader_each(partitions->reader, record, take_item, partitions, &unread, error);
    inboxes_read_to(partitions->options.inboxes, record->partition, record->offset + 1);
    return unread;
}

static const char *take_refusal(struct partitions *partitions, const struct kafka_record *record, struct error *error) {
    struct follow_refusal refusal;
    if (!record->value) return "a refusal needs a value";
    if (event_decode_follow_refusal(partitions->codec, record->value, record->value_size, &refusal, error))
        return error->text;
    refusals_take(partitions->options.refusals, record->partition, record->offset, record->timestamp, &refusal);
    return NULL;
}

static void take_record(struct partitions *partitions, const struct kafka_record *record) {
    const char *reason = NULL;
    struct error error;
    switch (state_of(record->topic)) {
    case STATE_FOLLOWS: reason = take_half(partitions, record, &error); break;
    case STATE_POSTS: reason = take_post(partitions, record, &error); break;
    case STATE_TEXTS: reason = take_text(partitions, record, &error); break;
    case STATE_FRIENDSHIPS: take_friendship(partitions, record); break;
    case STATE_TIMELINES: reason = take_timeline(partitions, record, &error); break;
    case STATE_REFUSALS: reason = take_refusal(partitions, record, &error); break;
    case STATE_WATCHES: reason = watches_read(partitions->options.watches, record) ? "no watch" : NULL; break;
    case STATE_NAMES: reason = take_name(partitions, record, &error); break;
    case STATE_NOTICES: reason = take_notice(partitions, record, &error); break;
    }
    if (reason) outbox_dead(partitions->options.outbox, record, reason);
    partitions->parts[record->partition].touched = true;
}

/* ---- writing ---- */

static bool lists_readable(const struct partitions *partitions, int32_t partition) {
    return !adjacency_building(relation_lists_adjacency(partitions->options.relations), partition);
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
    for (size_t s = 0; !code && s < STATES_OF_FEED; s++)
        if (partitions->tables[s]) code = table_store_write(partitions->tables[s], error);
    for (int32_t p = 0; !code && p < partitions->options.partitions; p++) {
        if (partitions->parts[p].touched && lists_due(partitions, p))
            code = partitions_apply_lists(partitions, p, error);
    }
    return code;
}

/* ---- effects ---- */

static void tell_block(struct partitions *partitions, const struct kafka_record *record, struct error *error) {
    struct half_record read;
    if (half_read(partitions->codec, partitions->options.partitions, record, &read, error) || !blocks(&read)) return;
    struct follow_command command = {.kind = FOLLOW_COMMAND_UNFOLLOW,
                                     .user = read.user,
                                     .other = read.other,
                                     .time = clock_wall_ms(),
                                     .blocked = record->timestamp};
    outbox_follow_command(partitions->options.outbox, &command);
    command.user = read.other;
    command.other = read.user;
    outbox_follow_command(partitions->options.outbox, &command);
}

static int tell_item(void *context, const struct kafka_record *record, const struct deliver_envelope *envelope,
                     const struct timeline_item *item, struct error *error) {
    struct partitions *partitions = context;
    if (item->kind != TIMELINE_ITEM_BEGIN) return 0;
    int code = 0;
    for (size_t i = 0; !code && i < envelope->recipient_count; i++)
        code = effects_begin(partitions->options.effects, record->partition, envelope->recipients[i], record->offset,
                             item->begin.wanted.items, item->begin.wanted.count, error);
    return code;
}

static void drop_notice(void *context, const uint8_t key[NOTICE_KEY_SIZE]) {
    outbox_notice_gone(((struct partitions *)context)->options.outbox, key);
}

/* Deletes what of a user's notices is too much. All notices of the batch are stored, so one look for each user is enough, but for notices
 * that are not shown now: each of these goes before others. */
static int tell_notice(struct partitions *partitions, const struct kafka_record *record, struct error *error) {
    const struct partitions_options *options = &partitions->options;
    struct notice_key key;
    struct notice notice;
    bool shown;
    if (!record->value || !notice_key_read(record->key, record->key_size, &key) ||
        event_decode_notice(partitions->codec, record->value, record->value_size, &notice, error))
        return 0;
    int64_t *trimmed = &partitions->trimmed[hash_fold((uint64_t)key.user) % TRIMMED];
    int code =
        notice_shown(options->blocks, options->relations, record->partition, key.user, notice.user, &shown, error);
    if (code || (*trimmed == key.user && shown)) return code;
    *trimmed = key.user;
    return notices_trim(options->notices, record->partition, key.user, shown ? NULL : &key, drop_notice, partitions,
                        error);
}

static int tell(struct partitions *partitions, const struct kafka_record *record, struct error *error) {
    struct effects *effects = partitions->options.effects;
    struct relation_half half;
    struct follow follow;
    const char *unread;
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
    case STATE_FRIENDSHIPS: tell_block(partitions, record, error); break;
    case STATE_TIMELINES:
        code = timeline_reader_each(partitions->reader, record, tell_item, partitions, &unread, error);
        break;
    case STATE_NOTICES: code = tell_notice(partitions, record, error); break;
    }
    return code;
}

static void read_back(struct partitions *partitions, int32_t partition) {
    const struct partitions_options *options = &partitions->options;
    int64_t halves = relation_lists_next(options->relations, partition);
    if (halves >= 0) decider_read_back(options->decider, &TOPIC_FOLLOWS, partition, halves);
    decider_read_back(options->decider, &TOPIC_POSTS, partition, posts_index_next(options->posts, partition));
    decider_read_back(options->decider, &TOPIC_FOLLOW_REFUSALS, partition, refusals_next(options->refusals, partition));
    decider_read_back(options->decider, &TOPIC_POST_TEXTS, partition, posts_texts_next(options->posts, partition));
    decider_read_back(options->decider, &TOPIC_NAMES, partition,
                      table_store_next(partitions->tables[STATE_NAMES], partition, 0));
}

/* While the outbox has no room, effects are put off: the records are read once more when it has. */
static int tell_all(struct partitions *partitions, const struct kafka_record *records, size_t count,
                    struct error *error) {
    int code = 0;
    for (size_t i = 0; !code && i < count; i++) {
        partitions->put_off = partitions->put_off || outbox_blocked(partitions->options.outbox);
        if (partitions->put_off) return 0;
        size_t state = state_of(records[i].topic);
        if (state < STATES_WITH_EFFECTS &&
            carried_due(partitions->carried, state, records[i].partition, records[i].offset))
            code = tell(partitions, &records[i], error);
    }
    return code;
}

/* A value that one of the batch's partitions has on the disk is damaged. */
static void damaged(struct partitions *partitions, const struct error *error) {
    for (int32_t p = 0; p < partitions->options.partitions; p++) {
        if (partitions->parts[p].touched) partitions_damaged(partitions, p, error);
        partitions->parts[p].touched = false;
    }
}

/* Everything is stored before any of it is told: an effect is made from the state that the stores have. */
void partitions_take(struct partitions *partitions, const struct kafka_record *records, size_t count) {
    struct error error;
    bool live = false;
    if (partitions->failed) return;
    for (size_t i = 0; i < TRIMMED; i++) partitions->trimmed[i] = -1;
    for (size_t i = 0; i < count; i++) take_record(partitions, &records[i]);
    int code = write_all(partitions, &error);
    if (!code) code = tell_all(partitions, records, count, &error);
    if (code == -EBADMSG) { // it cannot be told which one
        damaged(partitions, &error);
        return;
    }
    if (code) {
        partitions_fail(partitions, "the store failed", &error);
        return;
    }
    for (int32_t p = 0; p < partitions->options.partitions; p++) {
        if (!partitions->parts[p].touched) continue;
        partitions->parts[p].touched = false;
        read_back(partitions, p);
        live = live || partitions->parts[p].live;
    }
    if (inboxes_full(partitions->options.inboxes)) partitions->writing = true;
    if (partitions->writing) partitions_turn_soon(partitions);
    if (live) partitions->options.changed(partitions->options.context);
}
