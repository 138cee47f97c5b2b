#include "router/join.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

void join_result_init(struct join_result *result) { memset(result, 0, sizeof *result); }

void join_result_free(struct join_result *result) {
    free(result->answers);
    free(result->recipients);
    free(result->rounded_recipients);
    free(result->roster_friends);
    free(result->roster_rounded);
    free(result->newcomers);
    free(result->found);
    join_result_init(result);
}

static size_t twice_until(size_t capacity, size_t wanted) {
    if (!capacity) capacity = 64;
    while (capacity < wanted) capacity *= 2;
    return capacity;
}

static void reserve_recipients(struct join_result *result, size_t count) {
    if (count <= result->recipient_capacity) return;
    size_t capacity = result->recipient_capacity = twice_until(result->recipient_capacity, count);
    result->recipients = mem_resize(result->recipients, capacity, sizeof *result->recipients);
    result->rounded_recipients = mem_resize(result->rounded_recipients, capacity, sizeof *result->rounded_recipients);
}

void join_reserve(struct join_result *result, size_t friends) {
    reserve_recipients(result, friends);
    if (friends <= result->capacity) return;
    size_t capacity = twice_until(result->capacity, friends);
    result->roster_friends = mem_resize(result->roster_friends, capacity, sizeof *result->roster_friends);
    result->roster_rounded = mem_resize(result->roster_rounded, capacity, sizeof *result->roster_rounded);
    result->newcomers = mem_resize(result->newcomers, capacity, sizeof *result->newcomers);
    result->found = mem_resize(result->found, capacity, sizeof *result->found);
    result->capacity = capacity;
}

/* An empty result for a user, which keeps its memory. */
static void reset(struct join_result *result, int64_t user) {
    *result = (struct join_result){
        .user = user,
        .answers = result->answers ? result->answers : mem_alloc(DEVICES_MAX * sizeof *result->answers),
        .recipients = result->recipients,
        .rounded_recipients = result->rounded_recipients,
        .roster_friends = result->roster_friends,
        .roster_rounded = result->roster_rounded,
        .newcomers = result->newcomers,
        .found = result->found,
        .capacity = result->capacity,
        .recipient_capacity = result->recipient_capacity,
    };
}

static void take_place(struct join_result *result, const struct presence_slot *slot) {
    result->at = slot->at;
    result->time = slot->time;
}

static void add_answer(struct join_result *result, int64_t session, int32_t route, bool self) {
    result->answers[result->answer_count++] = (struct join_answer){.session = session, .route = route, .self = self};
}

/* All sessions of the user are answered. self: all but that one are told the position. */
static void answer_all(const struct join_context *context, const struct presence_slot *slot, bool self,
                       int64_t reporter, struct join_result *result) {
    struct device_entry devices[DEVICES_MAX];
    if (!slot->more) {
        if (slot->session) add_answer(result, slot->session, (int32_t)slot->route, self && slot->session != reporter);
        return;
    }
    size_t count = presence_entries(context->presence, slot, devices);
    for (size_t i = 0; i < count; i++)
        add_answer(result, devices[i].session, devices[i].route, self && devices[i].session != reporter);
}

/* The session of the event alone is answered. */
static void answer_one(const struct location *event, bool self, struct join_result *result) {
    if (event->session && event->route != PRESENCE_ROUTE_NONE) add_answer(result, event->session, event->route, self);
}

bool join_event(const struct join_context *context, const struct location *event, int64_t arrived,
                struct join_result *result) {
    struct presence_slot old = {0};
    bool had = false;

    reset(result, event->user);
    enum presence_change change = presence_apply(context->presence, event, arrived, &old, &had);
    if (change == PRESENCE_UNCHANGED) return false;
    result->left = change == PRESENCE_LEFT;
    if (result->left) return true;
    const struct presence_slot *slot = presence_find(context->presence, event->user);
    take_place(result, slot);
    if (change == PRESENCE_OLDER) {
        answer_one(event, true, result);
        return false;
    }

    /* A report from so long ago makes nobody active: there is nobody to tell, and an inactive session's list is empty. */
    if (!presence_active(slot, context->now, context->inactive_ms)) return false;

    /* A position that is not older than the event (read again, or a repair) proves nothing of what friends were told. */
    bool news = !had || old.left || old.time < event->time;
    result->had_position = had && presence_active(&old, context->now, context->inactive_ms) && news;
    result->before = old.at;
    result->fresh = had ? old.time < event->time : context->warm;

    result->everyone = event->kind == LOCATION_JOIN || event->kind == LOCATION_REJOIN || !result->had_position;
    result->complete = result->everyone && context->warm;
    if (change == PRESENCE_JOINED || (event->kind == LOCATION_REJOIN && !news))
        answer_one(event, change == PRESENCE_JOINED, result);
    else
        answer_all(context, slot, true, event->session, result);
    if (result->answer_count) {
        result->roster = result->complete;
        result->digest = !result->everyone && context->digests;
    }
    return true;
}

static struct deliver_recipient recipient_of(const struct presence_slot *slot) {
    return (struct deliver_recipient){.destination = (int32_t)slot->route, .user = slot->user};
}

/* A friend with several sessions: one recipient for each of their routes. */
static void add_routes(const struct join_context *context, struct join_result *result, const struct presence_slot *slot,
                       bool rounded) {
    int32_t routes[DEVICES_MAX];
    size_t count = presence_routes(context->presence, slot, routes);
    reserve_recipients(result, result->capacity + result->recipient_count + result->rounded_recipient_count + count);
    struct deliver_recipient *to = rounded ? result->rounded_recipients : result->recipients;
    size_t *at = rounded ? &result->rounded_recipient_count : &result->recipient_count;
    for (size_t i = 0; i < count; i++)
        to[(*at)++] = (struct deliver_recipient){.destination = routes[i], .user = slot->user};
}

static inline void add_recipient(const struct join_context *context, struct join_result *result,
                                 const struct presence_slot *slot) {
    if (slot->more)
        add_routes(context, result, slot, false);
    else if (slot->route != PRESENCE_ROUTE_NONE)
        result->recipients[result->recipient_count++] = recipient_of(slot);
}

static void add_rounded_recipient(const struct join_context *context, struct join_result *result,
                                  const struct presence_slot *slot) {
    if (slot->more)
        add_routes(context, result, slot, true);
    else if (slot->route != PRESENCE_ROUTE_NONE)
        result->rounded_recipients[result->rounded_recipient_count++] = recipient_of(slot);
}

static void add_to_roster(struct join_result *result, const struct presence_slot *slot, struct geo_point at) {
    result->roster_friends[result->roster_count++] =
        (struct roster_friend){.user = slot->user, .lat = at.lat, .lng = at.lng, .time = slot->time};
}

/* A place of a friend's as the user sees it. */
static void add_seen(const struct join_context *context, struct join_result *result, const struct presence_slot *slot,
                     uint8_t rounding) {
    bool rounded = rounding & ROUNDING_THEIRS;
    add_to_roster(result, slot, rounding_place(&context->rounded, slot->at, rounded));
    if (rounded) result->roster_rounded[result->roster_rounded_count++] = slot->user;
}

static void add_newcomer(struct join_result *result, const struct join_newcomer *newcomer) {
    result->newcomers[result->newcomer_count++] = *newcomer;
}

static void count_near(struct join_result *result, const struct presence_slot *slot) {
    result->digest_count++;
    result->digest_hash += hash_u64((uint64_t)slot->user);
}

/* All friends with a route hear that the user left, however old their own last reports are. */
static void leave(const struct join_context *context, struct join_result *result, size_t known) {
    for (size_t i = 0; i < known; i++) add_recipient(context, result, result->found[i]);
}

/* An active friend, if one of the two sees the other rounded: each way is judged on its own. */
static void join_rounding(const struct join_context *context, const struct presence_slot *slot, uint8_t rounding,
                          struct join_result *result) {
    const struct grid *grid = &context->rounded;
    struct geo_point theirs = rounding_place(grid, slot->at, rounding & ROUNDING_THEIRS);
    bool near = geo_near(&result->circle, theirs);
    bool was_near = result->moved ? geo_near(&result->circle_before, theirs) : result->had_position && near;
    if (near) {
        count_near(result, slot);
        if (result->everyone || !was_near) add_seen(context, result, slot, rounding);
    }
    bool rounded = rounding & ROUNDING_MINE;
    struct geo_circle around = geo_circle(slot->at, context->radius_m);
    struct geo_point mine = rounding_place(grid, result->at, rounded);
    struct geo_point before = rounding_place(grid, result->before, rounded);
    bool seen = geo_near(&around, mine), was_seen = result->had_position && geo_near(&around, before);
    struct join_newcomer newcomer = {
        .slot = slot, .sees = near && !was_near, .seen = seen && !was_seen, .there = theirs, .here = mine};
    if (result->fresh && (newcomer.sees || newcomer.seen)) add_newcomer(result, &newcomer);
    if (!seen && !was_seen) return;
    if (rounded)
        add_rounded_recipient(context, result, slot);
    else
        add_recipient(context, result, slot);
}

void join_friends(const struct join_context *context, const int64_t *friends, size_t count,
                  const struct rounding_list *roundings, struct join_result *result) {
    size_t known = presence_find_many(context->presence, friends, count, result->found), at = 0;
    if (result->left) {
        leave(context, result, known);
        return;
    }
    bool moved = result->had_position && (result->before.lat != result->at.lat || result->before.lng != result->at.lng);
    result->moved = moved;
    result->circle = geo_circle(result->at, context->radius_m);
    result->circle_before = moved ? geo_circle(result->before, context->radius_m) : result->circle;
    result->rounded_at = rounding_place(&context->rounded, result->at, true);
    const struct geo_circle now = result->circle, before = result->circle_before;

    for (size_t i = 0; i < known; i++) {
        const struct presence_slot *slot = result->found[i];
        if (!presence_active(slot, context->now, context->inactive_ms)) continue;
        result->active++;
        uint8_t rounding = roundings->count ? rounding_next(roundings, &at, slot->user) : ROUNDING_NONE;
        if (rounding) {
            join_rounding(context, slot, rounding, result);
            continue;
        }
        bool near = geo_near(&now, slot->at);
        bool was_near = moved ? geo_near(&before, slot->at) : result->had_position && near;
        if (near || was_near) add_recipient(context, result, slot);
        if (!near) continue;
        count_near(result, slot);
        if (result->everyone || !was_near) add_to_roster(result, slot, slot->at);
        if (!was_near && result->fresh)
            add_newcomer(result, &(struct join_newcomer){
                                     .slot = slot, .sees = true, .seen = true, .there = slot->at, .here = result->at});
    }
    if (result->roster_count && result->answer_count) result->roster = true;
}

/* Both slots, if both users are active. */
static bool both_active(const struct join_context *context, int64_t user, int64_t other,
                        const struct presence_slot **mine, const struct presence_slot **theirs) {
    *mine = presence_find(context->presence, user);
    *theirs = presence_find(context->presence, other);
    return presence_active(*mine, context->now, context->inactive_ms) &&
           presence_active(*theirs, context->now, context->inactive_ms);
}

void join_befriended(const struct join_context *context, int64_t user, int64_t other, uint8_t rounding,
                     struct join_result *result) {
    const struct presence_slot *mine, *theirs;
    reset(result, user);
    bool active = both_active(context, user, other, &mine, &theirs);
    if (!mine || !mine->session) return;
    join_reserve(result, 1);
    take_place(result, mine);
    answer_all(context, mine, false, 0, result);
    if (active)
        add_seen(context, result, theirs, rounding);
    else
        result->roster_friends[result->roster_count++] = (struct roster_friend){.user = other, .time = -1};
    result->roster = true;
}

void join_rounded(const struct join_context *context, int64_t user, int64_t other, bool rounded,
                  struct join_result *result) {
    const struct presence_slot *mine, *theirs;
    reset(result, user);
    if (!both_active(context, user, other, &mine, &theirs)) return;
    join_reserve(result, 1);
    take_place(result, mine);
    result->rounded_at = rounding_place(&context->rounded, result->at, true);
    if (rounded)
        add_rounded_recipient(context, result, theirs);
    else
        add_recipient(context, result, theirs);
}
