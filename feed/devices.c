#include "feed/devices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"

enum {
    LOOK_S = 60,        /* between two looks for runs that are silent */
    ROWS_LOOKED = 2000, /* that a second of such a look takes */
    ROWS_OF_USER = 1000 /* that are read of a user at most */
};

/* What is known of a partition that was opened once. */
struct device_part {
    struct map *runs; /* run -> the second in which it was last heard */
    int64_t second;
    bool looking;               /* a look is under way, */
    uint8_t at[DEVICE_KEY_MAX]; /* and goes on at this key */
    size_t at_size;
    size_t found; /* rows of silent runs in this look */
};

struct device_store {
    struct device_store_options options;
    struct table_store *table;
    struct device_part *parts;
    struct codec *codec;
};

/* ---- runs ---- */

/* A run that was not heard of before counts as heard now. */
static bool is_silent(const struct device_store *devices, struct device_part *part, int64_t run) {
    bool created;
    uint64_t *heard = map_put(part->runs, (uint64_t)run, &created);
    if (created) *heard = (uint64_t)part->second;
    return part->second - (int64_t)*heard > devices->options.silent_s;
}

static void hear(const struct device_store *devices, struct device_part *part, const struct device_key *key,
                 bool gone) {
    if (key->user >= 0)
        is_silent(devices, part, key->run);
    else if (gone)
        map_remove(part->runs, (uint64_t)key->run, NULL);
    else
        *map_put(part->runs, (uint64_t)key->run, NULL) = (uint64_t)part->second;
}

/* ---- the store ---- */

static const char *complaint(void *context, struct table_store *table, const struct kafka_record *record,
                             struct error *error) {
    struct device_store *devices = context;
    struct device_key key;
    struct device device;
    if (!record->key || !device_key_read(record->key, record->key_size, &key))
        return "the key must be a session of a user, or a run";
    if (key.user >= 0 && hash_user_partition(key.user, devices->options.partitions) != record->partition)
        return "not in the partition of its user";
    if (record->value && event_decode_device(devices->codec, record->value, record->value_size, &device, error))
        return error->text;
    if (record->value && device.name.size && !device_name_is(device.name.data, device.name.size))
        return "no name of a device";
    hear(devices, &devices->parts[record->partition], &key, !record->value);
    return NULL;
}

struct device_store *device_store_new(const struct device_store_options *options) {
    struct device_store *devices =
        MEM_NEW(&(struct device_store){.options = *options,
                                       .parts = mem_zero((size_t)options->partitions, sizeof *devices->parts),
                                       .codec = codec_new()});
    for (int32_t p = 0; p < options->partitions; p++) devices->parts[p].runs = map_new();
    devices->table = table_store_of_topic(options->store, "devices", options->partitions, complaint, devices);
    return devices;
}

void device_store_free(struct device_store *devices) {
    if (!devices) return;
    for (int32_t p = 0; p < devices->options.partitions; p++) map_free(devices->parts[p].runs);
    table_store_free(devices->table);
    codec_free(devices->codec);
    free(devices->parts);
    free(devices);
}

struct table_store *device_store_table(struct device_store *devices) {
    return devices->table;
}

static struct store_cursor *cursor_from(const struct device_store *devices, int32_t partition, const void *key,
                                        size_t size) {
    struct store_cursor *cursor =
        store_cursor_new(devices->options.store, table_store_family(devices->table, partition, 0));
    store_cursor_seek(cursor, key, size);
    return cursor;
}

/* False: the cursor is behind the last row or beat. */
static bool key_at(const struct store_cursor *cursor, struct device_key *key) {
    size_t size;
    if (!store_cursor_valid(cursor)) return false;
    const uint8_t *bytes = store_cursor_key(cursor, &size);
    return device_key_read(bytes, size, key);
}

/* ---- a user's sessions ---- */

/* Puts the row in its place, newest first. A session that an edge has written anew in another run is one. */
static void insert(struct device_row rows[DEVICES_SHOWN], size_t *count, bool silent, const struct device_row *row) {
    size_t at = *count;
    for (size_t i = 0; i < *count; i++)
        if (rows[i].session == row->session && !silent) return;
    while (at && rows[at - 1].since < row->since) at--;
    if (at == DEVICES_SHOWN) return;
    size_t moved = *count - at < DEVICES_SHOWN - 1 - at ? *count - at : DEVICES_SHOWN - 1 - at;
    memmove(&rows[at + 1], &rows[at], moved * sizeof *rows);
    rows[at] = *row;
    if (*count < DEVICES_SHOWN) ++*count;
}

static int read_row(const struct device_store *devices, const struct store_cursor *cursor, struct device_row *row,
                    struct error *error) {
    struct device device;
    size_t size;
    const uint8_t *value = store_cursor_value(cursor, &size);
    int code = event_decode_device(devices->codec, value, size, &device, error);
    if (code || device.name.size > DEVICE_NAME_MAX) return error_set(error, -EBADMSG, "not a session of a user");
    row->since = device.since;
    row->size = device.name.size;
    memcpy(row->name, device.name.data, device.name.size);
    return 0;
}

int device_store_of(struct device_store *devices, int32_t partition, int64_t user, bool silent,
                    struct device_row rows[DEVICES_SHOWN], size_t *count, struct error *error) {
    uint8_t first[8];
    struct device_key key;
    struct device_row row;
    int code = 0;
    bytes_put_be64(first, (uint64_t)user);
    struct store_cursor *cursor = cursor_from(devices, partition, first, sizeof first);
    *count = 0;
    for (int i = 0; !code && i < ROWS_OF_USER && key_at(cursor, &key) && key.user == user; i++) {
        if (silent || !is_silent(devices, &devices->parts[partition], key.run)) {
            row.run = key.run;
            row.session = key.session;
            code = read_row(devices, cursor, &row, error);
            if (!code) insert(rows, count, silent, &row);
        }
        store_cursor_next(cursor);
    }
    if (!code) code = store_cursor_error(cursor, error);
    store_cursor_free(cursor);
    return code;
}

/* ---- runs that are silent ---- */

static bool find_silent(const struct device_store *devices, struct device_part *part, uint64_t *run) {
    uint64_t heard;
    for (size_t cursor = 0; map_next(part->runs, &cursor, run, &heard);)
        if (is_silent(devices, part, (int64_t)*run)) return true;
    return false;
}

/* Beats that an earlier process has read become known: their runs are heard from now on. */
static int begin_look(struct device_store *devices, int32_t partition, struct error *error) {
    static const uint8_t BEATS[] = {DEVICE_BEAT_MARK};
    struct device_part *part = &devices->parts[partition];
    struct store_cursor *cursor = cursor_from(devices, partition, BEATS, sizeof BEATS);
    struct device_key key;
    uint64_t run;
    for (; key_at(cursor, &key); store_cursor_next(cursor)) is_silent(devices, part, key.run);
    int code = store_cursor_error(cursor, error);
    store_cursor_free(cursor);
    part->looking = !code && find_silent(devices, part, &run);
    part->at_size = part->found = 0;
    return code;
}

static void forget(const struct device_store *devices, int32_t partition, const struct device_key *key) {
    uint8_t bytes[DEVICE_KEY_MAX];
    size_t size = device_key_write(bytes, key);
    devices->options.forget(devices->options.context, partition, bytes, size);
}

/* The beat of a silent run goes when the look has found no row of one: until then tombstones may have got lost. */
static bool look_at(struct device_store *devices, int32_t partition, const struct device_key *key) {
    struct device_part *part = &devices->parts[partition];
    if (!is_silent(devices, part, key->run)) return false;
    if (key->user >= 0) part->found++;
    return key->user >= 0 || !part->found;
}

/* Runs that have no rows any more need no look. */
static void end_look(const struct device_store *devices, struct device_part *part) {
    uint64_t run;
    while (!part->found && find_silent(devices, part, &run)) map_remove(part->runs, run, NULL);
}

static int go_on(struct device_store *devices, int32_t partition, struct error *error) {
    struct device_part *part = &devices->parts[partition];
    struct store_cursor *cursor = cursor_from(devices, partition, part->at, part->at_size);
    struct device_key key;
    bool more = key_at(cursor, &key);
    for (int i = 0; more && i < ROWS_LOOKED; i++) {
        if (look_at(devices, partition, &key)) forget(devices, partition, &key);
        store_cursor_next(cursor);
        more = key_at(cursor, &key);
    }
    int code = store_cursor_error(cursor, error);
    store_cursor_free(cursor);
    part->looking = !code && more;
    if (more)
        part->at_size = device_key_write(part->at, &key);
    else
        end_look(devices, part);
    return code;
}

int device_store_second(struct device_store *devices, int32_t partition, struct error *error) {
    struct device_part *part = &devices->parts[partition];
    part->second++;
    if (part->looking) return go_on(devices, partition, error);
    int64_t every_s = devices->options.silent_s < LOOK_S ? devices->options.silent_s : LOOK_S;
    return (part->second + partition) % every_s == 0 ? begin_look(devices, partition, error) : 0;
}
