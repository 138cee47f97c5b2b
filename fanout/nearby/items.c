#include "fanout/nearby/items.h"

#include <errno.h>

#include "event/types.h"

enum { AHEAD = 64 };

static struct view *view_of(const struct items *items, const struct session *session) {
    return session_part(session, items->offset);
}

/* An item counts for a session if it came by the session's route and the user is opted in. */
static bool listens(const struct session *session, const struct view *view, int32_t route) {
    return session_route(session) == route && !session_leaving(session) && view_shares(view);
}

/* A friend's position counts if the friend is opted in and was there not too long ago. One that no report can have had
 * (it came from elsewhere) counts for nothing. */
static bool shown(const struct items *items, int64_t friend, struct geo_point at, int64_t time) {
    return time >= 0 && time <= EVENT_TIME_MAX && geo_valid(at) &&
           protocol_now(items->clock) - time < items->inactive_ms &&
           sharing_modes_find(items->modes, friend, NULL) != SHARING_OFF;
}

static void note(const struct items *items, struct session *first, int32_t route, uint32_t move, int64_t time) {
    for (struct session *session = first; session; session = session_twin(session)) {
        struct view *view = view_of(items, session);
        if (!listens(session, view, route) || view_is_inactive(view)) continue;
        if (nearby_note(view_list(view), move, time)) view_changed(items->views, view);
    }
}

/* A recipient costs cache misses more than anything else: of the table of users, of the session, of its list's end. They are asked
 * for some recipients ahead of their use; the list itself is looked at when it is told. */
static void apply_move(const struct items *items, int32_t route, const struct deliver_envelope *to,
                       const struct lists_move *move) {
    struct session *sessions[AHEAD];
    if (!shown(items, move->user, move->at, move->time)) return;
    uint32_t put = views_move(items->views, move);
    for (size_t from = 0; from < to->recipient_count; from += AHEAD) {
        const int64_t *users = to->recipients + from;
        size_t count = to->recipient_count - from < AHEAD ? to->recipient_count - from : AHEAD;
        for (size_t i = 0; i < count; i++) sessions_prefetch(items->sessions, users[i]);
        for (size_t i = 0; i < count; i++) {
            sessions[i] = sessions_of(items->sessions, users[i]);
            if (sessions[i]) __builtin_prefetch(sessions[i], 1);
        }
        for (size_t i = 0; i < count; i++)
            if (sessions[i]) nearby_prefetch_note(view_list(view_of(items, sessions[i])));
        for (size_t i = 0; i < count; i++) note(items, sessions[i], route, put, move->time);
    }
}

static void apply_left(const struct items *items, int32_t route, const struct deliver_envelope *to,
                       const struct left *left) {
    for (size_t i = 0; i < to->recipient_count; i++) {
        struct session *session = sessions_of(items->sessions, to->recipients[i]);
        for (; session; session = session_twin(session)) {
            struct view *view = view_of(items, session);
            if (session_route(session) != route || !view_is_open(view)) continue;
            nearby_remove(view_list(view), left->user);
            view_changed(items->views, view);
        }
    }
}

static void apply_parted(const struct items *items, int32_t route, int64_t user, const struct parted *parted) {
    struct session *session = sessions_of(items->sessions, user);
    for (; session; session = session_twin(session)) {
        struct view *view = view_of(items, session);
        if (session_route(session) != route || !view_is_open(view)) continue;
        nearby_part(view_list(view), parted->friend);
        view_changed(items->views, view);
    }
}

/* The view that a Roster, Digest or Self is meant for; NULL: not here, or not any more. */
static struct view *meant(const struct items *items, int32_t route, int64_t user, int64_t number) {
    for (struct session *session = sessions_of(items->sessions, user); session; session = session_twin(session)) {
        struct view *view = view_of(items, session);
        if (view_is_open(view) && uplink_number(view_reporter(view)) == number)
            return listens(session, view, route) ? view : NULL;
    }
    return NULL;
}

/* rounded: whose places are, in the order of friends. */
static void apply_roster(const struct items *items, int32_t route, int64_t user, const struct roster *roster,
                         const struct event_longs *rounded) {
    size_t next = 0;
    struct view *view = meant(items, route, user, roster->session);
    if (!view) return;
    nearby_roster_start(view_list(view));
    for (size_t i = 0; i < roster->friends.count; i++) {
        const struct roster_friend *friend = &roster->friends.items[i];
        const struct geo_point at = {friend->lat, friend->lng};
        bool is_rounded = next < rounded->count && rounded->items[next] == friend->user;
        bool seen = !view_is_inactive(view) && shown(items, friend->user, at, friend->time);
        next += is_rounded;
        nearby_roster_entry(view_list(view), friend->user, at, seen ? friend->time : -1, is_rounded);
    }
    nearby_roster_end(view_list(view), roster->complete);
    view_answered(items->views, view);
}

static void apply_digest(const struct items *items, int32_t route, int64_t user, const struct digest *digest) {
    struct view *view = meant(items, route, user, digest->session);
    if (!view) return;
    nearby_expire(view_list(view), protocol_now(items->clock), items->inactive_ms);
    if (nearby_digest(view_list(view), digest->time, digest->count, (uint64_t)digest->hash, items->strikes))
        uplink_rejoin(items->uplink, view_reporter(view));
    view_changed(items->views, view);
}

static void apply_self(const struct items *items, int32_t route, int64_t user, const struct self *self) {
    struct view *view = meant(items, route, user, self->session);
    struct report report = {
        .at = {self->lat, self->lng}, .time = self->time, .accuracy = -1, .details = {DETAILS_NONE}};
    if (!view || self->time <= view_list(view)->time || self->time > EVENT_TIME_MAX || !geo_valid(report.at)) return;
    uplink_place(items->uplink, view_reporter(view), &report);
}

static struct lists_move move_of(int64_t user, int32_t lat, int32_t lng, int64_t time, bool rounded) {
    return (struct lists_move){.user = user, .at = {lat, lng}, .time = time, .rounded = rounded};
}

/* True: entries with that place may say something else now. */
static bool take_details(const struct items *items, const struct detailed_move *move) {
    return faces_tell(items->faces, &(struct user_details){.user = move->user,
                                                           .time = move->time,
                                                           .accuracy = move->accuracy,
                                                           .shown = sharing_modes_details(items->modes, move->user),
                                                           .said = {DETAILS_OF(move)}});
}

int items_apply(const struct items *items, int32_t route, const struct deliver_envelope *envelope) {
    struct nearby_item item;
    if (delivery_read_nearby(items->codec, envelope->payload, envelope->payload_size, &item)) return -EBADMSG;
    bool many = item.kind == NEARBY_ITEM_MOVE || item.kind == NEARBY_ITEM_ROUNDED_MOVE ||
                item.kind == NEARBY_ITEM_DETAILED_MOVE || item.kind == NEARBY_ITEM_LEFT;
    if (!many && envelope->recipient_count != 1) return -EBADMSG;
    const struct event_longs nobody = {.count = 0};
    const struct move *to = &item.move;
    const struct detailed_move *detailed = &item.detailed_move;
    const struct rounded_move *rounded_to = &item.rounded_move;
    const struct rounded_roster *rounded = &item.rounded_roster;
    struct lists_move move;
    struct roster roster;
    switch (item.kind) {
    case NEARBY_ITEM_MOVE:
        move = move_of(to->user, to->lat, to->lng, to->time, false);
        apply_move(items, route, envelope, &move);
        break;
    case NEARBY_ITEM_DETAILED_MOVE:
        move = move_of(detailed->user, detailed->lat, detailed->lng, detailed->time, false);
        move.anew = take_details(items, detailed);
        apply_move(items, route, envelope, &move);
        break;
    case NEARBY_ITEM_ROUNDED_MOVE:
        move = move_of(rounded_to->user, rounded_to->lat, rounded_to->lng, rounded_to->time, true);
        apply_move(items, route, envelope, &move);
        break;
    case NEARBY_ITEM_ROSTER: apply_roster(items, route, envelope->recipients[0], &item.roster, &nobody); break;
    case NEARBY_ITEM_ROUNDED_ROSTER:
        roster =
            (struct roster){.session = rounded->session, .complete = rounded->complete, .friends = rounded->friends};
        apply_roster(items, route, envelope->recipients[0], &roster, &rounded->rounded);
        break;
    case NEARBY_ITEM_DIGEST: apply_digest(items, route, envelope->recipients[0], &item.digest); break;
    case NEARBY_ITEM_SELF: apply_self(items, route, envelope->recipients[0], &item.self); break;
    case NEARBY_ITEM_LEFT: apply_left(items, route, envelope, &item.left); break;
    case NEARBY_ITEM_PARTED: apply_parted(items, route, envelope->recipients[0], &item.parted); break;
    case NEARBY_ITEM_SUPERSEDED: break; /* routers of 0.2 send it: sessions live side by side now */
    }
    return 0;
}
