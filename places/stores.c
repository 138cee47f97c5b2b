#include "places/stores.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "users/user_key.h"

struct place_stores {
    struct store *database;
    struct ages *ages;
    struct table_store *places, *states, *events;
    int32_t partitions;
    struct codec *codec;
    struct buffer value;
};

/* ---- records ---- */

static const char *misplaced(const struct place_stores *stores, int64_t user, const struct kafka_record *record) {
    return hash_user_partition(user, stores->partitions) == record->partition ? NULL : "not in its user's partition";
}

static const char *take_place(void *context, struct table_store *table, const struct kafka_record *record,
                              struct error *error) {
    const struct place_stores *stores = context;
    struct place_key key;
    struct user_place place;
    if (!place_key_read(record->key, record->key_size, &key)) return "the key must be a user and a place's id";
    if (record->value && record->value_size > PLACE_VALUE_MAX) return "too large for a place";
    if (record->value && event_decode_user_place(stores->codec, record->value, record->value_size, &place, error))
        return error->text;
    return misplaced(stores, key.user, record);
}

static const char *take_state(void *context, struct table_store *table, const struct kafka_record *record,
                              struct error *error) {
    const struct place_stores *stores = context;
    struct place_state state;
    int64_t user = 0;
    if (user_key_read(record, &user, error)) return error->text;
    if (record->value && event_decode_place_state(stores->codec, record->value, record->value_size, &state, error))
        return error->text;
    return misplaced(stores, user, record);
}

static const char *take_event(void *context, struct table_store *table, const struct kafka_record *record,
                              struct error *error) {
    const struct place_stores *stores = context;
    struct place_event_key key;
    struct place_event event;
    if (!place_event_key_read(record->key, record->key_size, &key)) return "the key must be a user and a number";
    if (record->value && event_decode_place_event(stores->codec, record->value, record->value_size, &event, error))
        return error->text;
    return misplaced(stores, key.user, record);
}

/* ---- rows ---- */

int place_stores_state(struct place_stores *stores, int32_t partition, int64_t user, struct place_state *state,
                       struct error *error) {
    uint8_t key[8];
    bytes_put_be64(key, (uint64_t)user);
    int code = table_store_get(stores->states, partition, key, sizeof key, &stores->value, error);
    if (code <= 0) return code;
    return event_decode_place_state(stores->codec, stores->value.data, stores->value.size, state, error) ? -EBADMSG : 1;
}

int place_stores_place(struct place_stores *stores, int32_t partition, const struct place_key *key,
                       struct user_place *place, struct error *error) {
    uint8_t bytes[PLACE_KEY_MAX];
    size_t size = place_key_write(bytes, key);
    int code = table_store_get(stores->places, partition, bytes, size, &stores->value, error);
    if (code <= 0) return code;
    return event_decode_user_place(stores->codec, stores->value.data, stores->value.size, place, error) ? -EBADMSG : 1;
}

static void walk_from(struct place_stores *stores, struct table_store *table, int32_t partition,
                      const struct place_event_key *from, struct place_walk *walk) {
    uint8_t key[PLACE_EVENT_KEY_SIZE];
    place_event_key_write(key, from);
    *walk = (struct place_walk){
        .cursor = store_cursor_new(stores->database, table_store_family(table, partition, 0)),
        .codec = stores->codec,
        .user = from->user,
    };
    store_cursor_seek(walk->cursor, key, from->number < 0 ? 8 : sizeof key);
}

void place_walk_places(struct place_stores *stores, int32_t partition, int64_t user, struct place_walk *walk) {
    walk_from(stores, stores->places, partition, &(struct place_event_key){user < 0 ? 0 : user, -1}, walk);
    walk->user = user;
}

void place_walk_states(struct place_stores *stores, int32_t partition, struct place_walk *walk) {
    walk_from(stores, stores->states, partition, &(struct place_event_key){0, -1}, walk);
    walk->user = -1;
}

void place_walk_events(struct place_stores *stores, int32_t partition, const struct place_event_key *first,
                       struct place_walk *walk) {
    walk_from(stores, stores->events, partition, first, walk);
}

void place_walk_end(struct place_walk *walk) {
    store_cursor_free(walk->cursor);
    walk->cursor = NULL;
}

/* The next row; behind all rows is that of numbers, whose key is one byte. */
static int row_of(struct place_walk *walk, struct kafka_record *row, struct error *error) {
    if (walk->begun) store_cursor_next(walk->cursor);
    walk->begun = true;
    *row = (struct kafka_record){.key = NULL};
    if (!store_cursor_valid(walk->cursor)) return store_cursor_error(walk->cursor, error);
    row->key = store_cursor_key(walk->cursor, &row->key_size);
    row->value = store_cursor_value(walk->cursor, &row->value_size);
    bool end = row->key_size < 8 || (walk->user >= 0 && (int64_t)bytes_get_be64(row->key) != walk->user);
    return end ? 0 : 1;
}

static int damaged(struct error *error) { return error_set(error, -EBADMSG, "a row of the store is damaged"); }

int place_walk_next_place(struct place_walk *walk, struct place_key *key, struct user_place *place,
                          struct error *error) {
    struct kafka_record row;
    int code = row_of(walk, &row, error);
    if (code <= 0) return code;
    if (!place_key_read(row.key, row.key_size, key)) return damaged(error);
    if (place && event_decode_user_place(walk->codec, row.value, row.value_size, place, error)) return -EBADMSG;
    return 1;
}

int place_walk_next_state(struct place_walk *walk, int64_t *user, struct place_state *state, struct error *error) {
    struct kafka_record row;
    int code = row_of(walk, &row, error);
    if (code <= 0) return code;
    if (user_key_read(&row, user, error)) return -EBADMSG;
    if (event_decode_place_state(walk->codec, row.value, row.value_size, state, error)) return -EBADMSG;
    return 1;
}

int place_walk_next_event(struct place_walk *walk, struct place_event_key *key, struct place_event *event,
                          struct error *error) {
    struct kafka_record row;
    int code = row_of(walk, &row, error);
    if (code <= 0) return code;
    if (!place_event_key_read(row.key, row.key_size, key)) return damaged(error);
    if (event_decode_place_event(walk->codec, row.value, row.value_size, event, error)) return -EBADMSG;
    return 1;
}

/* ---- beginning and end ---- */

int place_stores_open(const char *path, size_t memory_bytes, int32_t partitions, struct place_stores **out,
                      struct error *error) {
    const struct store_options options = {.memory_bytes = memory_bytes, .point_lookups = true};
    struct place_stores *stores = MEM_NEW(&(struct place_stores){.partitions = partitions, .codec = codec_new()});
    int code = store_open(path, &options, &stores->database, error);
    if (!code) code = ages_open(stores->database, &stores->ages, error);
    if (code) {
        place_stores_close(stores);
        return code;
    }
    stores->places = table_store_of_topic(stores->database, "places", partitions, take_place, stores);
    stores->states = table_store_of_topic(stores->database, "states", partitions, take_state, stores);
    stores->events = table_store_of_topic(stores->database, "events", partitions, take_event, stores);
    *out = stores;
    return 0;
}

void place_stores_close(struct place_stores *stores) {
    if (!stores) return;
    table_store_free(stores->places);
    table_store_free(stores->states);
    table_store_free(stores->events);
    ages_close(stores->ages);
    store_close(stores->database);
    codec_free(stores->codec);
    buffer_free(&stores->value);
    free(stores);
}

struct store *place_stores_database(struct place_stores *stores) {
    return stores->database;
}
struct ages *place_stores_ages(struct place_stores *stores) {
    return stores->ages;
}
struct table_store *place_stores_places(struct place_stores *stores) {
    return stores->places;
}
struct table_store *place_stores_states(struct place_stores *stores) {
    return stores->states;
}
struct table_store *place_stores_events(struct place_stores *stores) {
    return stores->events;
}
