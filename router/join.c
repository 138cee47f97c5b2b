#include "router/join.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

void join_result_init(struct join_result *result) { *result = (struct join_result){.route = PRESENCE_ROUTE_NONE}; }

void join_result_free(struct join_result *result) {
    free(result->recipients);
    free(result->rounded_recipients);
    free(result->roster_friends);
    free(result->roster_rounded);
    free(result->newcomers);
    free(result->found);
    join_result_init(result);
}

void join_reserve(struct join_result *result, size_t friends) {
    if (friends <= result->capacity) return;
    size_t capacity = result->capacity ? result->capacity : 64;
    while (capacity < friends) capacity *= 2;
    result->recipients = mem_resize(result->recipients, capacity, sizeof *result->recipients);
    result->rounded_recipients = mem_resize(result->rounded_recipients, capacity, sizeof *result->rounded_recipients);
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
        .beaten_route = PRESENCE_ROUTE_NONE,
        .older_route = PRESENCE_ROUTE_NONE,
        .route = PRESENCE_ROUTE_NONE,
        .recipients = result->recipients,
        .rounded_recipients = result->rounded_recipients,
        .roster_friends = result->roster_friends,
        .roster_rounded = result->roster_rounded,
        .newcomers = result->newcomers,
        .found = result->found,
        .capacity = result->capacity,
    };
}

static void answer_to(struct join_result *result, const struct presence_slot *slot) {
    result->route = (int32_t)slot->route;
    result->session = slot->session;
    result->at = slot->at;
    result->time = slot->time;
}

bool join_event(const struct join_context *context, const struct location *event, struct join_result *result) {
    struct presence_slot old = {0};
    bool had = false;

    reset(result, event->user);
    enum presence_change change = presence_apply(context->presence, event, &old, &had);
    switch (change) {
    case PRESENCE_UNCHANGED: return false;
    case PRESENCE_SUPERSEDED:
        result->beaten_route = event->route;
        result->beaten_by = old.session;
        return false;
    case PRESENCE_LEFT: result->left = true; return true;
    case PRESENCE_MOVED:
    case PRESENCE_JOINED: break;
    }
    const struct presence_slot *slot = presence_find(context->presence, event->user);
    answer_to(result, slot);
    if (had && old.session && result->session > old.session) result->older_route = (int32_t)old.route;

    /* A report from so long ago makes nobody active: there is nobody to tell, and an inactive session's list is empty. */
    if (!presence_active(slot, context->now, context->inactive_ms)) return false;

    /* A position that is not older than the event (read again, or a repair) proves nothing of what friends were told. */
    result->had_position = had && presence_active(&old, context->now, context->inactive_ms) && old.time < event->time;
    result->before = old.at;
    result->fresh = had ? old.time < event->time : context->warm;

    result->everyone = event->kind == LOCATION_JOIN || event->kind == LOCATION_REJOIN || !result->had_position;
    result->complete = result->everyone && context->warm;
    if (result->route != PRESENCE_ROUTE_NONE) {
        result->self = event->session == 0;
        result->roster = result->complete;
        result->digest = !result->everyone && context->digests;
    }
    return true;
}

static struct deliver_recipient recipient_of(const struct presence_slot *slot) {
    return (struct deliver_recipient){.destination = (int32_t)slot->route, .user = slot->user};
}

static void add_recipient(struct join_result *result, const struct presence_slot *slot) {
    result->recipients[result->recipient_count++] = recipient_of(slot);
}

static void add_rounded_recipient(struct join_result *result, const struct presence_slot *slot) {
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
static void leave(struct join_result *result, size_t known) {
    for (size_t i = 0; i < known; i++) {
        const struct presence_slot *slot = result->found[i];
        if (slot->route != PRESENCE_ROUTE_NONE) add_recipient(result, slot);
    }
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
    if (slot->route == PRESENCE_ROUTE_NONE || (!seen && !was_seen)) return;
    if (rounded)
        add_rounded_recipient(result, slot);
    else
        add_recipient(result, slot);
}

void join_friends(const struct join_context *context, const int64_t *friends, size_t count,
                  const struct rounding_list *roundings, struct join_result *result) {
    size_t known = presence_find_many(context->presence, friends, count, result->found), at = 0;
    if (result->left) {
        leave(result, known);
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
        if ((near || was_near) && slot->route != PRESENCE_ROUTE_NONE) add_recipient(result, slot);
        if (!near) continue;
        count_near(result, slot);
        if (result->everyone || !was_near) add_to_roster(result, slot, slot->at);
        if (!was_near && result->fresh)
            add_newcomer(result, &(struct join_newcomer){
                                     .slot = slot, .sees = true, .seen = true, .there = slot->at, .here = result->at});
    }
    if (result->roster_count && result->route != PRESENCE_ROUTE_NONE) result->roster = true;
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
    if (!mine || mine->route == PRESENCE_ROUTE_NONE) return;
    join_reserve(result, 1);
    answer_to(result, mine);
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
    if (!both_active(context, user, other, &mine, &theirs) || theirs->route == PRESENCE_ROUTE_NONE) return;
    join_reserve(result, 1);
    answer_to(result, mine);
    result->rounded_at = rounding_place(&context->rounded, result->at, true);
    if (rounded)
        add_rounded_recipient(result, theirs);
    else
        add_recipient(result, theirs);
}
