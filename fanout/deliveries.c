/* What routers say, applied to the sessions it is for (DESIGN 3, rule 3). */
#include <errno.h>

#include "base/clock.h"
#include "event/delivery.h"
#include "fanout/edge.h"

enum { LOG_EVERY_S = 10, LOG_ITEM_EVERY_S = 1, AHEAD = 64 };

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
static void apply_move(struct edge *edge, int32_t route, const struct event_longs *to, const struct move *move) {
    struct session *sessions[AHEAD];
    if (!shown(edge, move->user, move->lat, move->lng, move->time)) return;
    uint32_t put =
        sessions_move(edge, &(struct lists_move){.user = move->user, .at = {move->lat, move->lng}, .time = move->time});
    for (size_t from = 0; from < to->count; from += AHEAD) {
        size_t count = to->count - from < AHEAD ? to->count - from : AHEAD;
        for (size_t i = 0; i < count; i++) map_prefetch(edge->users, (uint64_t)to->items[from + i]);
        for (size_t i = 0; i < count; i++) {
            sessions[i] = sessions_of(edge, to->items[from + i]);
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

static void apply_left(struct edge *edge, int32_t route, const struct event_longs *to, const struct left *left) {
    for (size_t i = 0; i < to->count; i++) {
        for (struct session *session = sessions_of(edge, to->items[i]); session; session = session->twin) {
            if (session->route != route) continue;
            nearby_remove(&session->nearby, left->user);
            session_changed(edge, session);
        }
    }
}

static void apply_parted(struct edge *edge, int32_t route, int64_t user, const struct parted *parted) {
    for (struct session *session = sessions_of(edge, user); session; session = session->twin) {
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

static void apply_roster(struct edge *edge, int32_t route, int64_t user, const struct roster *roster) {
    struct session *session = meant(edge, route, user, roster->session);
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

static void apply_digest(struct edge *edge, int32_t route, int64_t user, const struct digest *digest) {
    struct session *session = meant(edge, route, user, digest->session);
    if (!session) return;
    nearby_expire(&session->nearby, edge_now(edge), edge_inactive_ms(edge));
    if (nearby_digest(&session->nearby, digest->time, digest->count, (uint64_t)digest->hash,
                      (uint32_t)edge->settings.strikes))
        report_rejoin(edge, session);
    session_changed(edge, session);
}

static void apply_self(struct edge *edge, int32_t route, int64_t user, const struct self *self) {
    struct session *session = meant(edge, route, user, self->session);
    if (!session || self->time <= session->nearby.time || self->time > EVENT_TIME_MAX) return;
    if (!geo_valid((struct geo_point){self->lat, self->lng})) return;
    nearby_locate(&session->nearby, (struct geo_point){self->lat, self->lng}, self->time);
    session->accuracy = -1;
    session->inactive = edge_now(edge) - self->time >= edge_inactive_ms(edge);
    session_changed(edge, session);
}

static void apply_superseded(struct edge *edge, int32_t route, int64_t user, const struct superseded *superseded) {
    struct session *next;
    for (struct session *session = sessions_of(edge, user); session; session = next) {
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

/* 0; -EBADMSG: the payload is malformed, or is for one recipient and has another number of them. */
static int apply_nearby(struct edge *edge, int32_t route, const struct deliver_envelope *envelope) {
    const struct event_longs to = {.items = envelope->recipients, .count = envelope->recipient_count};
    struct nearby_item item;
    if (delivery_read_nearby(edge->codec, envelope->payload, envelope->payload_size, &item)) return -EBADMSG;
    bool many = item.kind == NEARBY_ITEM_MOVE || item.kind == NEARBY_ITEM_LEFT;
    if (!many && to.count != 1) return -EBADMSG;
    switch (item.kind) {
    case NEARBY_ITEM_MOVE: apply_move(edge, route, &to, &item.move); break;
    case NEARBY_ITEM_ROSTER: apply_roster(edge, route, to.items[0], &item.roster); break;
    case NEARBY_ITEM_DIGEST: apply_digest(edge, route, to.items[0], &item.digest); break;
    case NEARBY_ITEM_SELF: apply_self(edge, route, to.items[0], &item.self); break;
    case NEARBY_ITEM_LEFT: apply_left(edge, route, &to, &item.left); break;
    case NEARBY_ITEM_PARTED: apply_parted(edge, route, to.items[0], &item.parted); break;
    case NEARBY_ITEM_SUPERSEDED: apply_superseded(edge, route, to.items[0], &item.superseded); break;
    }
    return 0;
}

/* What cannot be read costs its own item only: the others of the batch are applied. */
static void apply(struct edge *edge, const struct kafka_record *record, const struct deliver_envelope *envelope) {
    edge->metrics.items->value++;
    if (envelope->kind != DELIVERY_NEARBY) {
        edge->metrics.items_unknown->value++;
    } else if (apply_nearby(edge, record->partition, envelope)) {
        edge->metrics.items_malformed->value++;
        if (log_due(&edge->last_bad_item_us, LOG_ITEM_EVERY_S))
            log_warn(service_log(edge->service), "undecodable item of a delivery batch",
                     LOG_INT("partition", record->partition), LOG_INT("offset", record->offset),
                     LOG_INT("kind", envelope->kind));
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

/* Begins with a batch of one of the versions that may arrive: routers write the older one while they are replaced. */
static int batch_start(struct edge *edge, const struct kafka_record *record, bool v1, struct deliver_head *head,
                       struct error *error) {
    if (!v1) return deliver_reader_start(edge->batches, record->value, record->value_size, head, error);
    return delivery_v1_start(edge->old_batches, record->value, record->value_size, &head->stream_time,
                             &head->oldest_received, error);
}

/* As deliver_reader_next. */
static int batch_next(struct edge *edge, bool v1, struct deliver_envelope *envelope) {
    struct delivery_v1_item item;
    if (!v1) return deliver_reader_next(edge->batches, envelope);
    int more = delivery_v1_next(edge->old_batches, &item);
    if (more > 0)
        *envelope = (struct deliver_envelope){.kind = DELIVERY_NEARBY,
                                              .recipients = item.recipients.items,
                                              .recipient_count = item.recipients.count,
                                              .payload = item.payload.data,
                                              .payload_size = item.payload.size};
    return more;
}

static void apply_batch(struct edge *edge, const struct kafka_record *record) {
    struct deliver_head head;
    struct deliver_envelope envelope;
    struct error error = {.text = "malformed item"};
    bool v1 = deliver_schema_id(record->value, record->value_size) == DELIVERY_BATCH_V1_SCHEMA_ID;
    if (batch_start(edge, record, v1, &head, &error)) {
        refuse(edge, record, error.text);
        return;
    }
    if (head.stream_time < 0 || head.stream_time > EVENT_TIME_MAX) {
        refuse(edge, record, "stream_time is out of range"); /* it would stop the clock for ever */
        return;
    }
    advance_stream(edge, head.stream_time);
    int more;
    while ((more = batch_next(edge, v1, &envelope)) > 0) apply(edge, record, &envelope);
    if (more < 0) refuse(edge, record, error.text);
    if (head.oldest_received > 0)
        histogram_observe(edge->metrics.latency, (double)(clock_wall_ms() - head.oldest_received) / 1000);
}

void deliveries_records(void *context, const struct kafka_record *records, size_t count) {
    struct edge *edge = context;
    for (size_t i = 0; i < count; i++) {
        if (records[i].value) apply_batch(edge, &records[i]);
    }
    sessions_flush_ready(edge);
}
