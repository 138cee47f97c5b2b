#include "places/deciding_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/mem.h"
#include "event/topics.h"
#include "users/user_key.h"

enum { COVERS = 4000 /* states that a transaction writes for no other reason */ };

static const struct topic *const COMMANDS[] = {&TOPIC_LOCATIONS, &TOPIC_PLACE_COMMANDS};
static const struct decider_state STATES[] = {
    {&TOPIC_PLACES, PLACE_KEY_MAX, PLACE_VALUE_MAX}, {&TOPIC_PLACE_STATES, 1, 1}, {&TOPIC_PLACE_EVENTS, 1, 1}};

static int begin(struct deciding_places *deciding, int32_t partition, struct error *error) {
    int64_t end = decider_topic_end(deciding->decider, &TOPIC_LOCATIONS, partition);
    return standing_begin(deciding->standing, partition, end, error);
}

/* ---- reading ---- */

static bool wanted(void *context, const struct kafka_record *record) {
    struct deciding_places *deciding = context;
    struct error error;
    int64_t number;
    if (record->topic == &TOPIC_PLACE_COMMANDS) return true;
    if (user_key_read(record, &number, &error)) return false;
    // Where the users cannot be read, deciding fails for that.
    if (begin(deciding, record->partition, &error)) return true;
    const struct standing_user *user = standing_find(deciding->standing, record->partition, number);
    return user && user->count;
}

static int read_item(void *context, const struct kafka_record *record, void *slot, struct error *error) {
    struct deciding_places *deciding = context;
    struct placing_item *item = slot;
    *item = (struct placing_item){.change = record->topic == &TOPIC_PLACE_COMMANDS, .arrived_ms = record->timestamp};
    if (item->change) {
        int code = deciding_read_change(deciding, record, error);
        if (code) return code;
        item->value = mem_copy(record->value, record->value_size);
        item->size = record->value_size;
    } else {
        item->unreadable = !record->value || event_decode_location(deciding->codec, record->value, record->value_size,
                                                                   &item->event, error);
    }
    item->user = (int64_t)bytes_get_be64(record->key);
    return 0;
}

static void release(void *item) { free(((struct placing_item *)item)->value); }

/* ---- writing ---- */

static int write_record(struct deciding_places *deciding, const struct topic *topic, int32_t partition, const void *key,
                        size_t key_size, bool tombstone, struct error *error) {
    int code = decider_write(deciding->decider, topic, partition, key, key_size,
                             tombstone ? NULL : deciding->value.data, tombstone ? 0 : deciding->value.size);
    return code ? error_set(error, code, "%s could not be written: %s", topic->name, strerror(-code)) : 0;
}

int deciding_write_state(struct deciding_places *deciding, int32_t partition, struct standing_user *user,
                         struct error *error) {
    uint8_t key[8];
    bytes_put_be64(key, (uint64_t)user->user);
    buffer_clear(&deciding->value);
    event_encode_place_state(&deciding->value, &user->state);
    standing_wait_end(deciding->standing, partition, user);
    return write_record(deciding, &TOPIC_PLACE_STATES, partition, key, sizeof key, false, error);
}

int deciding_write_place(struct deciding_places *deciding, int32_t partition, const struct place_key *key,
                         const struct user_place *place, struct error *error) {
    uint8_t bytes[PLACE_KEY_MAX];
    size_t size = place_key_write(bytes, key);
    buffer_clear(&deciding->value);
    if (place) event_encode_user_place(&deciding->value, place);
    overlay_put(deciding->rows, partition, (uint64_t)key->user, bytes, size, deciding->value.data,
                deciding->value.size);
    return write_record(deciding, &TOPIC_PLACES, partition, bytes, size, !place, error);
}

int deciding_write_event(struct deciding_places *deciding, int32_t partition, const struct place_event_key *key,
                         const struct place_event *event, struct error *error) {
    uint8_t bytes[PLACE_EVENT_KEY_SIZE];
    place_event_key_write(bytes, key);
    buffer_clear(&deciding->value);
    if (event) event_encode_place_event(&deciding->value, event);
    return write_record(deciding, &TOPIC_PLACE_EVENTS, partition, bytes, sizeof bytes, !event, error);
}

/* ---- reports ---- */

int64_t deciding_position(const struct deciding_places *deciding, int32_t partition) {
    int64_t decided = deciding->parts[partition].decided;
    return decided < 0 ? decider_committed(deciding->decider, &TOPIC_LOCATIONS, partition) : decided;
}

/* An event beyond those that are kept ends the oldest. */
static int tell(struct deciding_places *deciding, const struct decider_command *report, struct standing_user *user,
                const struct watched_place *place, struct error *error) {
    const struct placing_item *item = report->item;
    struct user_place row;
    struct place_state *state = &user->state;
    const struct place_key place_key = {user->user, place->id, place->id_size};
    int code = deciding_places_row(deciding, report->partition, &place_key, &row, error);
    if (code <= 0) return code ? code : error_set(error, -EBADMSG, "a place has no row");
    const struct place_event event = {
        .place = {place->id, place->id_size},
        .name = row.name,
        .what = state->inside >> place->slot & 1 ? PLACE_EVENT_ARRIVED : PLACE_EVENT_LEFT,
        .time = item->event.time,
        .friends = row.friends,
        .users = row.users,
        .offset = report->offset,
    };
    const struct place_event_key key = {user->user, ++state->number}, oldest = {user->user, state->first + 1};
    code = deciding_write_event(deciding, report->partition, &key, &event, error);
    if (!code && state->number - state->first > PLACE_EVENTS_KEPT) {
        state->first++;
        code = deciding_write_event(deciding, report->partition, &oldest, NULL, error);
    }
    deciding->events->value++;
    return code;
}

/* The lefts come first, then the arrivals, by id. */
static int tell_all(struct deciding_places *deciding, const struct decider_command *report, struct standing_user *user,
                    uint64_t turned, struct error *error) {
    int code = 0;
    for (int arrived = 0; arrived <= 1; arrived++) {
        for (size_t i = 0; !code && i < user->count; i++) {
            const struct watched_place *place = &user->places[i];
            if (turned >> i & 1 && (user->state.inside >> place->slot & 1) == arrived)
                code = tell(deciding, report, user, place, error);
        }
    }
    return code ? code : deciding_write_state(deciding, report->partition, user, error);
}

static int decide_report(struct deciding_places *deciding, const struct decider_command *report, struct error *error) {
    const struct placing_item *item = report->item;
    struct deciding_part *part = &deciding->parts[report->partition];
    struct standing_user *user = standing_find(deciding->standing, report->partition, item->user);
    part->decided = report->offset + 1;
    part->arrived_ms = item->arrived_ms;
    part->arrived_us = clock_monotonic_us();
    if (item->unreadable || !user || !user->count || report->offset < user->state.offset) return 0;
    int code = standing_load(deciding->standing, report->partition, user, error);
    if (code) return code;
    int64_t newest = user->state.newest, left = user->state.left;
    uint64_t turned = verdict_take(&user->state, user->places, user->bands, user->count, &item->event, item->arrived_ms,
                                   deciding->options.ahead_ms);
    user->state.offset = report->offset + 1;
    if (turned) return tell_all(deciding, report, user, turned, error);
    if (newest != user->state.newest || left != user->state.left)
        standing_wait(deciding->standing, report->partition, user, report->offset, item->arrived_ms);
    return 0;
}

static int decide(void *context, struct decider_command *slice, size_t count, struct error *error) {
    struct deciding_places *deciding = context;
    int code = 0;
    for (size_t i = 0; !code && i < count; i++) {
        const struct placing_item *item = slice[i].item;
        code = begin(deciding, slice[i].partition, error);
        if (!code)
            code = item->change ? deciding_change(deciding, slice[i].partition, item, error)
                                : decide_report(deciding, &slice[i], error);
        tasks_damaged(deciding->options.tasks, slice[i].partition, code, error);
    }
    return code;
}

/* ---- what is kept of the newest report ---- */

static int64_t held(void *context, const struct topic *topic, int32_t partition) {
    const struct deciding_places *deciding = context;
    const struct standing_user *first = NULL;
    if (topic == &TOPIC_LOCATIONS && standing_begun(deciding->standing, partition))
        first = standing_waiting(deciding->standing, partition);
    return first ? first->waits : INT64_MAX;
}

/* The time by which users wait: that of reports' arrivals, which goes on where none are left. */
static int64_t now_ms(const struct deciding_part *part) {
    return part->arrived_ms + (clock_monotonic_us() - part->arrived_us) / 1000;
}

static int cover(struct deciding_places *deciding, int32_t partition, size_t *room, struct error *error) {
    int64_t since = now_ms(&deciding->parts[partition]) - deciding->options.cover_ms;
    int64_t position = deciding_position(deciding, partition);
    struct standing_user *user;
    int code = 0;
    while (!code && *room && (user = standing_waiting(deciding->standing, partition)) && user->waits_ms <= since) {
        if (position > user->state.offset) user->state.offset = position;
        code = deciding_write_state(deciding, partition, user, error);
        deciding->covers->value++;
        --*room;
    }
    return code;
}

struct tidying {
    struct deciding_places *deciding;
    int32_t partition;
    int code;
    struct error *error;
};

static bool tidy(void *context, struct standing_user *user) {
    struct tidying *tidying = context;
    struct deciding_places *deciding = tidying->deciding;
    uint8_t key[8];
    user->listed = user->state.bare;
    if (!user->listed || tidying->code) return user->listed;
    if (user->state.offset > decider_committed(deciding->decider, &TOPIC_LOCATIONS, tidying->partition)) return true;
    bytes_put_be64(key, (uint64_t)user->user);
    tidying->code =
        write_record(deciding, &TOPIC_PLACE_STATES, tidying->partition, key, sizeof key, true, tidying->error);
    standing_remove(deciding->standing, tidying->partition, user);
    return false;
}

static int finish(void *context, struct error *error) {
    struct deciding_places *deciding = context;
    size_t room = COVERS;
    int code = 0;
    for (int32_t p = 0; !code && p < deciding->options.partitions; p++) {
        struct tidying tidying = {deciding, p, 0, error};
        if (!standing_begun(deciding->standing, p)) continue;
        code = cover(deciding, p, &room, error);
        if (code) break;
        standing_bare_each(deciding->standing, p, &tidying, tidy);
        code = tidying.code;
    }
    return code;
}

void deciding_places_second(struct deciding_places *deciding) {
    deciding->users->value = (double)standing_count(deciding->standing);
    decider_second(deciding->decider);
}

/* ---- rows ---- */

/* In the overlay, where a tombstone has no bytes; 0: neither is there. */
static int from_overlay(struct deciding_places *deciding, const void *value, size_t size, struct user_place *place,
                        struct error *error) {
    if (!size) return 0;
    return event_decode_user_place(deciding->row_codec, value, size, place, error) ? -EBADMSG : 1;
}

int deciding_places_row(struct deciding_places *deciding, int32_t partition, const struct place_key *key,
                        struct user_place *place, struct error *error) {
    uint8_t bytes[PLACE_KEY_MAX];
    size_t size, key_size = place_key_write(bytes, key);
    const void *value = overlay_find(deciding->rows, bytes, key_size, &size);
    return value ? from_overlay(deciding, value, size, place, error)
                 : place_stores_place(deciding->options.stores, partition, key, place, error);
}

struct place_names {
    struct place_name {
        uint32_t size;
        char id[PLACE_ID_MAX];
    } * items;
    size_t count;
};

static void note_name(struct place_names *names, const struct place_key *key) {
    names->items = mem_resize(names->items, names->count + 1, sizeof *names->items);
    names->items[names->count].size = (uint32_t)key->id_size;
    memcpy(names->items[names->count++].id, key->id, key->id_size);
}

static int compare_names(const void *a, const void *b) {
    const struct place_name *one = a, *other = b;
    return place_id_compare(one->id, one->size, other->id, other->size);
}

/* Of rows that are stored, and of those that wait to be read back, in no order, and some twice. */
static int name_all(struct deciding_places *deciding, int32_t partition, int64_t user, struct place_names *names,
                    struct error *error) {
    struct place_walk walk;
    struct place_key key;
    int code;
    place_walk_places(deciding->options.stores, partition, user, &walk);
    while ((code = place_walk_next_place(&walk, &key, NULL, error)) == 1) note_name(names, &key);
    place_walk_end(&walk);
    for (struct overlay_entry e = overlay_first(deciding->rows, (uint64_t)user); e.key; overlay_next(&e))
        if (place_key_read(e.key, e.key_size, &key)) note_name(names, &key);
    return code;
}

int deciding_places_rows(struct deciding_places *deciding, int32_t partition, int64_t user, void *context,
                         void (*each)(void *context, const struct place_key *key, const struct user_place *place),
                         struct error *error) {
    struct place_names names = {.items = NULL};
    struct user_place place;
    int code = name_all(deciding, partition, user, &names, error);
    if (names.count) qsort(names.items, names.count, sizeof *names.items, compare_names);
    for (size_t i = 0; code >= 0 && i < names.count; i++) {
        const struct place_key key = {user, names.items[i].id, names.items[i].size};
        if (i && !compare_names(&names.items[i - 1], &names.items[i])) continue;
        code = deciding_places_row(deciding, partition, &key, &place, error);
        if (code == 1) each(context, &key, &place);
    }
    free(names.items);
    return code < 0 ? code : 0;
}

/* ---- beginning and end ---- */

static void handled(void *context) { tasks_decided(((struct deciding_places *)context)->options.tasks); }
static void reset(void *context) { tasks_commands_lost(((struct deciding_places *)context)->options.tasks); }

static void forget(void *context) {
    struct deciding_places *deciding = context;
    standing_forget(deciding->standing);
    for (int32_t p = 0; p < deciding->options.partitions; p++)
        deciding->parts[p] = (struct deciding_part){.decided = -1, .arrived_us = clock_monotonic_us()};
}

struct deciding_places *deciding_places_new(const struct deciding_places_options *options) {
    struct deciding_places *deciding = MEM_NEW(&(struct deciding_places){
        .options = *options,
        .standing = standing_new(options->stores, options->partitions),
        .parts = mem_zero((size_t)options->partitions, sizeof(struct deciding_part)),
        .codec = codec_new(),
        .row_codec = codec_new(),
        .events = metrics_counter(options->metrics, "starling_places_events_total", "Arrivals and departures.", NULL),
        .covers = metrics_counter(options->metrics, "starling_places_covers_total",
                                  "States that were written for the time of the newest report alone.", NULL),
        .users = metrics_gauge(options->metrics, "starling_places_users", "Users with places, in memory.", NULL),
    });
    deciding->options.transactional_id = NULL; // the decider has its copy
    forget(deciding);
    deciding->decider = decider_new(&(struct decider_options){
        .loop = options->loop,
        .settings = options->kafka,
        .log = options->log,
        .registry = options->metrics,
        .metrics = decider_metrics_of(options->metrics, "starling_places"),
        .transactional_id = options->transactional_id,
        .partitions = options->partitions,
        .commands = COMMANDS,
        .command_count = ARRAY_SIZE(COMMANDS),
        .states = STATES,
        .state_count = ARRAY_SIZE(STATES),
        .offsets = &TOPIC_PLACE_OFFSETS,
        .batch = options->batch,
        .item_size = sizeof(struct placing_item),
        .release = release,
        .context = deciding,
        .wanted = wanted,
        .held = held,
        .finish = finish,
        .read = read_item,
        .decide = decide,
        .on_handled = handled,
        .on_reset = reset,
        .on_forget = forget,
    });
    deciding->rows = decider_overlay(deciding->decider, &TOPIC_PLACES);
    return deciding;
}

void deciding_places_free(struct deciding_places *deciding) {
    if (!deciding) return;
    decider_free(deciding->decider);
    standing_free(deciding->standing);
    free(deciding->parts);
    codec_free(deciding->codec);
    codec_free(deciding->row_codec);
    buffer_free(&deciding->value);
    free(deciding);
}

struct decider *deciding_places_decider(const struct deciding_places *deciding) {
    return deciding->decider;
}
