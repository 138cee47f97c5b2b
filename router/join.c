#include "router/join.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

void join_result_init(struct join_result *result) { *result = (struct join_result){.route = PRESENCE_ROUTE_NONE}; }

void join_result_free(struct join_result *result) {
    free(result->recipients);
    free(result->roster_friends);
    free(result->found);
    join_result_init(result);
}

void join_reserve(struct join_result *result, size_t friends) {
    if (friends <= result->capacity) return;
    size_t capacity = result->capacity ? result->capacity : 64;
    while (capacity < friends) capacity *= 2;
    result->recipients = mem_resize(result->recipients, capacity, sizeof *result->recipients);
    result->roster_friends = mem_resize(result->roster_friends, capacity, sizeof *result->roster_friends);
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
        .roster_friends = result->roster_friends,
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

static void add_recipient(struct join_result *result, const struct presence_slot *slot) {
    result->recipients[result->recipient_count++] =
        (struct deliver_recipient){.destination = (int32_t)slot->route, .user = slot->user};
}

static void add_to_roster(struct join_result *result, const struct presence_slot *slot) {
    result->roster_friends[result->roster_count++] =
        (struct roster_friend){.user = slot->user, .lat = slot->at.lat, .lng = slot->at.lng, .time = slot->time};
}

/* All friends with a route hear that the user left, however old their own last reports are. */
static void leave(struct join_result *result, size_t known) {
    for (size_t i = 0; i < known; i++) {
        const struct presence_slot *slot = result->found[i];
        if (slot->route != PRESENCE_ROUTE_NONE) add_recipient(result, slot);
    }
}

void join_friends(const struct join_context *context, const int64_t *friends, size_t count,
                  struct join_result *result) {
    size_t known = presence_find_many(context->presence, friends, count, result->found);
    if (result->left) {
        leave(result, known);
        return;
    }
    struct geo_circle now = geo_circle(result->at, context->radius_m);
    bool moved = result->had_position && (result->before.lat != result->at.lat || result->before.lng != result->at.lng);
    struct geo_circle before = moved ? geo_circle(result->before, context->radius_m) : now;

    for (size_t i = 0; i < known; i++) {
        const struct presence_slot *slot = result->found[i];
        if (!presence_active(slot, context->now, context->inactive_ms)) continue;
        result->active++;
        bool near = geo_near(&now, slot->at);
        bool was_near = moved ? geo_near(&before, slot->at) : result->had_position && near;
        if ((near || was_near) && slot->route != PRESENCE_ROUTE_NONE) add_recipient(result, slot);
        if (!near) continue;
        result->digest_count++;
        result->digest_hash += hash_u64((uint64_t)slot->user);
        if (result->everyone || !was_near) add_to_roster(result, slot);
        if (!was_near && result->fresh) result->found[result->newcomers++] = slot; // behind i: it was looked at
    }
    if (result->roster_count && result->route != PRESENCE_ROUTE_NONE) result->roster = true;
}

void join_befriended(const struct join_context *context, int64_t user, int64_t other, struct join_result *result) {
    reset(result, user);
    const struct presence_slot *mine = presence_find(context->presence, user);
    if (!mine || mine->route == PRESENCE_ROUTE_NONE) return;
    join_reserve(result, 1);
    answer_to(result, mine);
    const struct presence_slot *theirs = presence_find(context->presence, other);
    bool active = presence_active(mine, context->now, context->inactive_ms) &&
                  presence_active(theirs, context->now, context->inactive_ms);
    if (active)
        add_to_roster(result, theirs);
    else
        result->roster_friends[result->roster_count++] = (struct roster_friend){.user = other, .time = -1};
    result->roster = true;
}
