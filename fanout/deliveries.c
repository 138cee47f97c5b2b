/* What routers say, applied to the sessions it is for (DESIGN 3, rule 3). */
#include "base/clock.h"
#include "fanout/edge.h"

enum { LOG_EVERY_S = 10, AHEAD = 64 };

/* An item counts for a session if it came by the session's route and the user is opted in. */
static bool listens(const struct session *session, int32_t route) {
    return session->route == route && !session->leaving && session->shares;
}

/* A friend's position counts if the friend is opted in and was there not too long ago. One that no report can have had
 * (it came from elsewhere) counts for nothing. */
static bool shown(const struct edge *edge, int64_t friend, int32_t lat, int32_t lng, int64_t time) {
    return time >= 0 && time <= EVENT_TIME_MAX && geo_valid((struct geo_point){lat, lng}) &&
           edge_now(edge) - time < edge_inactive_ms(edge) &&
           sharing_modes_find(edge->modes, friend, NULL) != SHARING_OFF;
}

/* A recipient costs cache misses more than anything else: of the table of users, of the session, of its list's end. They are asked
 * for some recipients ahead of their use; the list itself is looked at when it is told. */
static void apply_move(struct edge *edge, int32_t route, const struct move *move) {
    struct session *sessions[AHEAD];
    if (!shown(edge, move->user, move->lat, move->lng, move->time)) return;
    uint32_t put =
        sessions_move(edge, &(struct lists_move){.user = move->user, .at = {move->lat, move->lng}, .time = move->time});
    for (size_t from = 0; from < move->recipients.count; from += AHEAD) {
        size_t count = move->recipients.count - from < AHEAD ? move->recipients.count - from : AHEAD;
        for (size_t i = 0; i < count; i++) map_prefetch(edge->users, (uint64_t)move->recipients.items[from + i]);
        for (size_t i = 0; i < count; i++) {
            sessions[i] = sessions_of(edge, move->recipients.items[from + i]);
            if (sessions[i]) __builtin_prefetch(sessions[i], 1);
        }
        for (size_t i = 0; i < count; i++) {
            if (sessions[i]) nearby_prefetch_note(&sessions[i]->nearby);
        }
        for (size_t i = 0; i < count; i++) {
            for (struct session *session = sessions[i]; session; session = session->twin) {
                if (!listens(session, route) || session->inactive) continue;
                if (nearby_note(&session->nearby, put, move->time)) session_changed(edge, session);
            }
        }
    }
}

static void apply_left(struct edge *edge, int32_t route, const struct left *left) {
    for (size_t i = 0; i < left->recipients.count; i++) {
        for (struct session *session = sessions_of(edge, left->recipients.items[i]); session; session = session->twin) {
            if (session->route != route) continue;
            nearby_remove(&session->nearby, left->user);
            session_changed(edge, session);
        }
    }
}

static void apply_parted(struct edge *edge, int32_t route, const struct parted *parted) {
    for (struct session *session = sessions_of(edge, parted->recipient); session; session = session->twin) {
        if (session->route != route) continue;
        nearby_part(&session->nearby, parted->friend);
        session_changed(edge, session);
    }
}

/* The session that a Roster, Digest or Self is meant for; NULL: not here, or not any more. */
static struct session *meant(const struct edge *edge, int32_t route, int64_t user, int64_t id) {
    for (struct session *session = sessions_of(edge, user); session; session = session->twin) {
        if (session->id == id) return listens(session, route) ? session : NULL;
    }
    return NULL;
}

static void apply_roster(struct edge *edge, int32_t route, const struct roster *roster) {
    struct session *session = meant(edge, route, roster->recipient, roster->session);
    if (!session) return;
    nearby_roster_start(&session->nearby);
    for (size_t i = 0; i < roster->friends.count; i++) {
        const struct roster_friend *friend = &roster->friends.items[i];
        bool seen = !session->inactive && shown(edge, friend->user, friend->lat, friend->lng, friend->time);
        nearby_roster_entry(&session->nearby, friend->user, (struct geo_point){friend->lat, friend->lng},
                            seen ? friend->time : -1);
    }
    nearby_roster_end(&session->nearby, roster->complete);
    session_answered(edge, session);
}

static void apply_digest(struct edge *edge, int32_t route, const struct digest *digest) {
    struct session *session = meant(edge, route, digest->recipient, digest->session);
    if (!session) return;
    nearby_expire(&session->nearby, edge_now(edge), edge_inactive_ms(edge));
    if (nearby_digest(&session->nearby, digest->time, digest->count, (uint64_t)digest->hash,
                      (uint32_t)edge->settings.strikes))
        report_rejoin(edge, session);
    session_changed(edge, session);
}

static void apply_self(struct edge *edge, int32_t route, const struct self *self) {
    struct session *session = meant(edge, route, self->recipient, self->session);
    if (!session || self->time <= session->nearby.time || self->time > EVENT_TIME_MAX) return;
    if (!geo_valid((struct geo_point){self->lat, self->lng})) return;
    nearby_locate(&session->nearby, (struct geo_point){self->lat, self->lng}, self->time);
    session->accuracy = -1;
    session->inactive = edge_now(edge) - self->time >= edge_inactive_ms(edge);
    session_changed(edge, session);
}

static void apply_superseded(struct edge *edge, int32_t route, const struct superseded *superseded) {
    struct session *next;
    for (struct session *session = sessions_of(edge, superseded->user); session; session = next) {
        next = session->twin;
        if (session->route != route || session->id >= superseded->session || session->leaving) continue;
        if (!session->rostered && !session->retried && superseded->session < INT64_MAX) {
            report_join_again(edge, session, superseded->session);
            continue;
        }
        edge->metrics.superseded->value++;
        session->superseded = true;
        session_leave(edge, session, WS_SUPERSEDED, "connected elsewhere", -1);
    }
}

static void apply(struct edge *edge, int32_t route, const struct delivery_item *item) {
    switch (item->kind) {
    case DELIVERY_ITEM_MOVE: apply_move(edge, route, &item->move); break;
    case DELIVERY_ITEM_ROSTER: apply_roster(edge, route, &item->roster); break;
    case DELIVERY_ITEM_DIGEST: apply_digest(edge, route, &item->digest); break;
    case DELIVERY_ITEM_SELF: apply_self(edge, route, &item->self); break;
    case DELIVERY_ITEM_LEFT: apply_left(edge, route, &item->left); break;
    case DELIVERY_ITEM_PARTED: apply_parted(edge, route, &item->parted); break;
    case DELIVERY_ITEM_SUPERSEDED: apply_superseded(edge, route, &item->superseded); break;
    }
}

static void advance_stream(struct edge *edge, int64_t stream_time) {
    if (service_settings(edge->service)->clock != SERVICE_CLOCK_STREAM || stream_time <= edge->stream_time) return;
    edge->stream_time = stream_time;
    edge->metrics.stream_time->value = (double)stream_time / 1000;
    edge_expire(edge);
}

static void refuse(struct edge *edge, const struct kafka_record *record, const char *reason) {
    if (kafka_producer_send_dead(edge->producer, record, reason) || log_due(&edge->last_bad_batch_us, LOG_EVERY_S))
        log_warn(service_log(edge->service), "undecodable delivery batch", LOG_INT("partition", record->partition),
                 LOG_INT("offset", record->offset), LOG_TEXT("reason", reason));
}

static void apply_batch(struct edge *edge, const struct kafka_record *record) {
    struct delivery_reader reader;
    struct delivery_item item;
    struct error error = {.text = "malformed item"};
    if (delivery_reader_start(&reader, edge->codec, record->value, record->value_size, &error)) {
        refuse(edge, record, error.text);
        return;
    }
    if (reader.stream_time < 0 || reader.stream_time > EVENT_TIME_MAX) {
        refuse(edge, record, "stream_time is out of range"); /* it would stop the clock for ever */
        return;
    }
    advance_stream(edge, reader.stream_time);
    int more;
    while ((more = delivery_reader_next(&reader, &item)) > 0) {
        apply(edge, record->partition, &item);
        edge->metrics.items->value++;
    }
    if (more < 0) refuse(edge, record, error.text);
    if (reader.oldest_received > 0)
        histogram_observe(edge->metrics.latency, (double)(clock_wall_ms() - reader.oldest_received) / 1000);
}

void deliveries_records(void *context, const struct kafka_record *records, size_t count) {
    struct edge *edge = context;
    for (size_t i = 0; i < count; i++) {
        if (records[i].value) apply_batch(edge, &records[i]);
    }
    sessions_flush_ready(edge);
}
