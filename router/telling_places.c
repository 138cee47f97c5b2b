#include "router/telling_places.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "budget/rates.h"
#include "event/codec.h"
#include "event/topics.h"
#include "router/router_private.h"
#include "users/place.h"

enum {
    NONE_WAITS = -1,
    TOLD_A_SECOND =
        20, /* people, of one user's arrivals and departures: who goes to and fro at the edges of fifty places must not */
    TOLD_BURST =
        20000 /* have a fan-out that no feed can bear. The burst is four events to as many friends as a user may have */
};

struct telling_places {
    struct router *router;
    telling_places_failed *failed;
    struct codec *codec; /* own: an event's texts are read while records are written */
    struct id_list friends;
    struct rounding_list roundings;
    int64_t *waiting;    /* by partition: the offset of the first event that waits */
    struct rates *rates; /* of who is looked at, by the user who arrives */
    struct metric *told;
};

struct telling_places *telling_places_new(struct router *router, telling_places_failed *failed) {
    struct telling_places *telling = MEM_NEW(&(struct telling_places){
        .router = router,
        .failed = failed,
        .codec = codec_new(),
        .waiting = mem_zero((size_t)router->partitions, sizeof *telling->waiting),
        .rates = rates_new(&(struct rates_options){service_metrics(router->service), "places_told", "user",
                                                   TOLD_A_SECOND, TOLD_BURST}),
        .told = metrics_counter(service_metrics(router->service), "starling_router_places_told_total",
                                "Users who were told that somebody arrived at a place, or left it.", NULL),
    });
    for (int32_t p = 0; p < router->partitions; p++) telling->waiting[p] = NONE_WAITS;
    return telling;
}

void telling_places_free(struct telling_places *telling) {
    if (!telling) return;
    codec_free(telling->codec);
    rates_free(telling->rates);
    id_list_free(&telling->friends);
    rounding_list_free(&telling->roundings);
    free(telling->waiting);
    free(telling);
}

/* ---- one event ---- */

struct telling_event {
    struct telling_places *telling;
    struct place_told told;
};

/* The record's acknowledgement settles the epoch: the event is told once all of them are stored. */
static int tell(const struct telling_event *event, int64_t user) {
    struct router *router = event->telling->router;
    if (record_collector_place_told(router->collector, user, &event->told, epochs_open(router->epochs))) return -EAGAIN;
    epochs_expect(router->epochs);
    event->telling->told->value++;
    return 0;
}

static int tell_friend(const struct telling_event *event, int64_t friend, uint8_t bits) {
    bool may = !(bits & ROUNDING_MINE) && choices_sees(event->telling->router->choices, friend, event->told.user);
    return may ? tell(event, friend) : 0;
}

static int tell_friends(const struct telling_event *event) {
    const struct telling_places *telling = event->telling;
    size_t at = 0;
    int code = 0;
    for (size_t i = 0; !code && i < telling->friends.count; i++) {
        int64_t friend = telling->friends.items[i];
        code = tell_friend(event, friend, rounding_next(&telling->roundings, &at, friend));
    }
    return code;
}

static int tell_named(const struct telling_event *event, const struct event_longs *users) {
    const struct telling_places *telling = event->telling;
    int code = 0;
    for (size_t i = 0; !code && i < users->count; i++) {
        size_t where, at = 0;
        int64_t user = users->items[i];
        if (user == event->told.user)
            code = tell(event, user);
        else if (id_list_find(&telling->friends, user, &where))
            code = tell_friend(event, user, rounding_next(&telling->roundings, &at, user));
    }
    return code;
}

static bool is_for_oneself(int64_t user, const struct place_event *event) {
    return !event->friends && (event->users.count == 0 || (event->users.count == 1 && event->users.items[0] == user));
}

/* Whether it is known who shares; else the event waits. */
static bool known(struct telling_places *telling, const struct kafka_record *record) {
    struct choices *choices = telling->router->choices;
    struct error error;
    int64_t *waiting = &telling->waiting[record->partition];
    if (choices_ready(choices)) return true;
    if (choices_read(choices, &error)) telling->failed(telling->router, "who shares cannot be read", &error);
    if (*waiting == NONE_WAITS || record->offset < *waiting) *waiting = record->offset;
    return false;
}

static int read_event(struct telling_places *telling, const struct kafka_record *record, struct place_event_key *key,
                      struct place_event *event, struct error *error) {
    if (!place_event_key_read(record->key, record->key_size, key))
        return error_set(error, -EBADMSG, "the key must be a user and a number");
    if (!record->value) return 0;
    return event_decode_place_event(telling->codec, record->value, record->value_size, event, error);
}

static int read_friends(struct telling_places *telling, int32_t partition, int64_t user, struct error *error) {
    struct graph *graph = telling->router->graph;
    int code = graph_friends(graph, partition, user, &telling->friends, error);
    return code ? code : graph_roundings(graph, partition, user, &telling->friends, &telling->roundings, error);
}

int telling_places_tell(struct telling_places *telling, const struct kafka_record *record, struct error *error) {
    struct place_event_key key;
    struct place_event event;
    struct error unread; /* buried already */
    if (!record->value || read_event(telling, record, &key, &event, &unread)) return 0;
    const struct telling_event about = {
        .telling = telling,
        .told = {.user = key.user,
                 .number = key.number,
                 .name = event.name,
                 .what = event.what == PLACE_EVENT_ARRIVED ? PLACE_TOLD_ARRIVED : PLACE_TOLD_LEFT,
                 .time = event.time}};
    uint64_t user = (uint64_t)key.user;
    int64_t now_ms = clock_coarse_ms(), told = 1;
    int code = 0;
    if (rates_owing(telling->rates, user, now_ms)) {
        rates_take(telling->rates, user, 1, now_ms); // counts it as refused
        return 0;
    }
    if (is_for_oneself(key.user, &event)) {
        code = tell(&about, key.user);
    } else if (known(telling, record)) {
        code = read_friends(telling, record->partition, key.user, error);
        told = (int64_t)(event.friends ? telling->friends.count : event.users.count);
        if (!code) code = event.friends ? tell_friends(&about) : tell_named(&about, &event.users);
    } else {
        return 0;
    }
    // Not before, as an event that the outbox has no room for comes again.
    if (!code) rates_charge(telling->rates, user, told, now_ms);
    return code;
}

/* ---- those that wait ---- */

int64_t telling_places_held(const struct telling_places *telling, int32_t partition) {
    return telling->waiting[partition] == NONE_WAITS ? INT64_MAX : telling->waiting[partition];
}

void telling_places_tenth(struct telling_places *telling) {
    const struct router *router = telling->router;
    if (!choices_ready(router->choices)) return;
    for (int32_t p = 0; p < router->partitions; p++) {
        int64_t first = telling->waiting[p];
        if (first == NONE_WAITS) continue;
        telling->waiting[p] = NONE_WAITS;
        tasks_repeat(router->tasks, &TOPIC_PLACE_EVENTS, p, first);
    }
}

/* ---- the kind ---- */

static int take(void *store, size_t topic, const struct kafka_record *record, const char **reason,
                struct error *error) {
    struct place_event_key key;
    struct place_event event;
    if (read_event(store, record, &key, &event, error)) *reason = error->text;
    return 0;
}

static int64_t next(const void *store, int32_t partition, size_t topic) { return -1; }
static bool lost(void *store, int32_t partition, size_t topic) { return true; }

/* Whoever is the owner next reads them again: the group was not told of them. */
static void close_part(void *store, int32_t partition) {
    ((struct telling_places *)store)->waiting[partition] = NONE_WAITS;
}

static int live(void *store, int32_t partition, bool live, struct error *error) {
    close_part(store, partition);
    return 0;
}

const struct state_kind PLACE_EVENTS_KIND = {
    .from_effects = true, .close = close_part, .live = live, .take = take, .next = next, .lost = lost};
