/* Records of the topics become rows of the store. */
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "comments/heat.h"
#include "comments/threads_private.h"
#include "ids/ids.h"

/* A record in its parts. */
struct taken {
    const struct kafka_record *record;
    struct threads_part *part;
    struct subject_key parts;
    struct event_text subject;
};

static void put(struct threads *threads, struct store_family *family, const struct threads_key *key, const void *value,
                size_t size) {
    store_batch_put(threads->batch, family, key->bytes, key->size, value, size);
}

static void put_id(struct threads *threads, const struct taken *taken, const struct threads_key *key, int64_t id) {
    uint8_t value[8];
    bytes_put_be64(value, (uint64_t)id);
    put(threads, taken->part->index, key, value, sizeof value);
}

bool threads_subject_of(const struct comment_subject *record, struct subject_state *state) {
    *state = (struct subject_state){
        .owner = record->owner,
        .who_may = record->who_may,
        .review = record->review,
        .closed = record->closed,
        .level = record->level,
        .roots = record->roots,
        .visible = record->visible,
        .held = record->held,
        .likes = record->likes,
        .structure = record->structure,
        .counters = record->counters,
        .command = record->command,
        .pins = record->pinned.count,
    };
    if (state->pins > COMMENT_PINS_MAX) return false;
    if (state->pins) memcpy(state->pinned, record->pinned.items, state->pins * sizeof *state->pinned);
    return true;
}

/* Each of the following returns 0 or a negative code of the store, and sets *reason where the record is none of its topic. */

static int take_subject(struct threads *threads, const struct taken *taken, const char **reason, struct error *error) {
    const struct kafka_record *record = taken->record;
    struct comment_subject subject;
    struct subject_state state;
    struct threads_key key;
    *reason = "it is no subject";
    if (!record->value) return 0;
    if (event_decode_comment_subject(threads->codec, record->value, record->value_size, &subject, error)) return 0;
    if (!threads_subject_of(&subject, &state)) return 0;
    *reason = NULL;
    threads_key_start(&key, KIND_SUBJECT, &taken->subject);
    put(threads, taken->part->index, &key, record->value, record->value_size);
    return 0;
}

/* Whether the comment cannot be there yet: ids of a partition rise. */
static bool is_new(const struct threads *threads, const struct taken *taken) {
    return ids_tick_of(taken->parts.comment) > threads_last_tick(threads, taken->record->partition);
}

/* Under how many likes the root lies in the index by heat; -1: it is not there. */
static int indexed_likes(struct threads *threads, const struct taken *taken, int64_t *likes, struct error *error) {
    const uint64_t *newest = map_find(threads->likes, (uint64_t)taken->parts.comment);
    struct comment old;
    *likes = newest ? (int64_t)*newest : -1;
    if (newest || is_new(threads, taken)) return 0;
    int code = threads_read_comment(threads, taken->part, &taken->subject, taken->parts.comment, &old, error);
    if (code == 1) *likes = old.likes;
    return code < 0 ? code : 0;
}

/* 1: the root was there already. */
static int index_heat(struct threads *threads, const struct taken *taken, const struct comment *comment,
                      struct error *error) {
    int64_t id = taken->parts.comment, time = comment_time(id, comment), likes = comment->likes, old;
    struct threads_key key;
    int code = indexed_likes(threads, taken, &old, error);
    if (code) return code;
    *map_put(threads->likes, (uint64_t)id, NULL) = (uint64_t)likes;
    int64_t heat = heat_of(likes, time), was = old < 0 ? -1 : heat_of(old, time);
    if (heat == was) return 1;
    if (old >= 0) {
        threads_key_heat(&key, &taken->subject, was, id);
        store_batch_delete(threads->batch, taken->part->index, key.bytes, key.size);
    }
    threads_key_heat(&key, &taken->subject, heat, id);
    put(threads, taken->part->index, &key, "", 0);
    return old >= 0;
}

static int take_comment(struct threads *threads, const struct taken *taken, const char **reason, struct error *error) {
    const struct kafka_record *record = taken->record;
    struct comment comment;
    struct threads_key key;
    *reason = "it is no comment";
    if (!record->value) return 0;
    if (event_decode_comment(threads->codec, record->value, record->value_size, &comment, error)) return 0;
    if (taken->parts.comment < 1 || comment.floor < 1 || comment.likes < 0 || comment.root < 0 || comment.time < 0)
        return 0;
    *reason = NULL;
    threads_rows_drop(threads->rows, taken->parts.comment);
    int there = comment.root ? 0 : index_heat(threads, taken, &comment, error);
    if (there < 0) return there;
    if (!there) { // its floor never changes
        threads_key_start(&key, KIND_FLOOR, &taken->subject);
        threads_key_number(&key, comment.root);
        threads_key_floor(&key, comment.floor);
        put_id(threads, taken, &key, taken->parts.comment);
    }
    if (comment.answers != comment.root) { // it answers a reply
        threads_key_start(&key, KIND_ANSWER, &taken->subject);
        threads_key_number(&key, comment.answers);
        threads_key_floor(&key, comment.floor);
        put_id(threads, taken, &key, taken->parts.comment);
    }
    threads_key_start(&key, KIND_COMMENT, &taken->subject);
    threads_key_number(&key, taken->parts.comment);
    put(threads, taken->part->index, &key, record->value, record->value_size);
    table_store_raise(threads->table, record->partition, ids_tick_of(taken->parts.comment));
    return 0;
}

static int take_comments(struct threads *threads, const struct taken *taken, const char **reason, struct error *error) {
    if (!taken->parts.numbers) return take_subject(threads, taken, reason, error);
    return take_comment(threads, taken, reason, error);
}

/* The newest record of an author under a subject has the newest time. */
static void put_rested(struct threads *threads, const struct taken *taken, const struct comment_text *text) {
    struct threads_key key;
    threads_key_start(&key, KIND_RESTED, &taken->subject);
    threads_key_number(&key, text->user);
    put_id(threads, taken, &key, text->rested_at);
}

static int take_text(struct threads *threads, const struct taken *taken, const char **reason, struct error *error) {
    const struct kafka_record *record = taken->record;
    struct comment_text text;
    struct threads_key key;
    *reason = "it is no text";
    if (taken->parts.numbers == 2 && !record->value) {
        *reason = NULL;
        store_batch_delete(threads->batch, taken->part->texts, record->key, record->key_size);
        return 0;
    }
    if (!record->value || !taken->parts.numbers) return 0;
    if (event_decode_comment_text(threads->codec, record->value, record->value_size, &text, error)) return 0;
    if (text.key.size > COMMENT_CLIENT_KEY_MAX || text.mentions.count > EDIT_TOLD_MAX) return 0;
    *reason = NULL;
    if (taken->parts.numbers == 1) {
        threads_rows_drop(threads->rows, taken->parts.comment);
        threads_key_start(&key, KIND_KEY, &taken->subject);
        threads_key_number(&key, text.user);
        threads_key_bytes(&key, text.key.data, text.key.size);
        put_id(threads, taken, &key, taken->parts.comment);
        if (text.rested_at) put_rested(threads, taken, &text);
    }
    store_batch_put(threads->batch, taken->part->texts, record->key, record->key_size, record->value,
                    record->value_size);
    return 0;
}

static int take_reaction(struct threads *threads, const struct taken *taken, const char **reason, struct error *error) {
    const struct kafka_record *record = taken->record;
    struct comment_reaction reaction;
    struct threads_key key;
    *reason = "it is no reaction";
    if (taken->parts.numbers != 2) return 0;
    if (record->value &&
        event_decode_comment_reaction(threads->codec, record->value, record->value_size, &reaction, error))
        return 0;
    *reason = NULL;
    threads_key_start(&key, KIND_REACTION, &taken->subject);
    threads_key_number(&key, taken->parts.comment);
    threads_key_number(&key, taken->parts.second);
    if (record->value)
        put(threads, taken->part->index, &key, record->value, record->value_size);
    else
        store_batch_delete(threads->batch, taken->part->index, key.bytes, key.size);
    return 0;
}

static int take_refusal(struct threads *threads, const struct taken *taken, const char **reason, struct error *error) {
    const struct kafka_record *record = taken->record;
    struct comment_refusal refusal;
    struct threads_key key, time = {.bytes = {KIND_REFUSAL_TIME}, .size = 1};
    uint8_t value[9];
    *reason = "it is no refusal";
    if (!record->value || taken->parts.numbers) return 0;
    if (event_decode_comment_refusal(threads->codec, record->value, record->value_size, &refusal, error)) return 0;
    if (refusal.key.size > COMMENT_CLIENT_KEY_MAX) return 0;
    *reason = NULL;
    bytes_put_be64(value, (uint64_t)record->timestamp);
    value[8] = (uint8_t)refusal.reason;
    threads_key_start(&key, KIND_REFUSAL, &taken->subject);
    threads_key_number(&key, refusal.user);
    threads_key_bytes(&key, refusal.key.data, refusal.key.size);
    put(threads, taken->part->index, &key, value, sizeof value);
    threads_refused_put(taken->part, key.bytes, key.size, record->timestamp);
    if (record->timestamp < taken->part->refusals_ms) taken->part->refusals_ms = record->timestamp;
    threads_key_number(&time, record->timestamp);
    threads_key_bytes(&time, key.bytes, key.size);
    put(threads, taken->part->index, &time, "", 0);
    return 0;
}

/* False: it names no subject of the record's partition. */
static bool read_key(const struct threads *threads, struct taken *taken) {
    const struct kafka_record *record = taken->record;
    if (!record->key || !subject_key_read(record->key, record->key_size, &taken->parts)) return false;
    taken->subject = (struct event_text){taken->parts.subject, taken->parts.size};
    return hash_partition(taken->parts.subject, taken->parts.size, threads->partitions) == record->partition;
}

int threads_take(void *store, size_t topic, const struct kafka_record *record, const char **reason,
                 struct error *error) {
    static int (*const TAKE[THREADS_STATES])(struct threads *, const struct taken *, const char **, struct error *) = {
        [THREADS_COMMENTS] = take_comments,
        [THREADS_TEXTS] = take_text,
        [THREADS_REACTIONS] = take_reaction,
        [THREADS_REFUSALS] = take_refusal,
    };
    struct threads *threads = store;
    struct taken taken = {.record = record, .part = &threads->parts[record->partition]};
    int code = 0;
    *reason = NULL;
    if (record->offset < threads_next(threads, record->partition, topic)) return 0;
    if (read_key(threads, &taken))
        code = TAKE[topic](threads, &taken, reason, error);
    else
        *reason = "its key names no subject of this partition";
    if (!code) table_store_pass(threads->table, record->partition, topic, record->offset + 1);
    return code;
}

const struct state_kind THREADS_KIND = {
    .open = threads_open,
    .take = threads_take,
    .next = threads_next,
    .write = threads_write,
    .reset = threads_reset,
    .lost = threads_lost,
    .touch = threads_touch,
    .keep = threads_forget,
};
