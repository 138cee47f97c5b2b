/* What Kafka is told of a session: its reports, and that it came, wants its list again, or went. */
#include <errno.h>

#include "base/bytes.h"
#include "event/topics.h"
#include "fanout/edge.h"

enum { REJOIN_AGAIN_MS = 500 };

bool report_wanted(const struct edge *edge, const struct session *session) {
    return sharing_modes_find(edge->modes, session->user, NULL) != SHARING_OFF;
}

void report_unsent(struct edge *edge, struct session *session, bool unsent) {
    if (session->unsent == unsent) return;
    session->unsent = unsent;
    if (unsent)
        edge->unsent_count++;
    else
        edge->unsent_count--;
}

static int produce(struct edge *edge, const struct session *session, enum location_kind kind, struct geo_point at,
                   int64_t time, int32_t accuracy) {
    uint8_t key[8];
    struct location location = {
        .user = session->user,
        .lat = at.lat,
        .lng = at.lng,
        .time = time,
        .kind = kind,
        .session = session->id,
        .route = session->route,
        .accuracy = accuracy,
    };
    sharing_modes_find(edge->modes, session->user, &location.opted);
    /* What is queued while no broker is there would be sent before the latest, for nothing. */
    if (!kafka_producer_up(edge->producer)) return -EHOSTDOWN;
    buffer_clear(&edge->record);
    event_encode_location(&edge->record, &location);
    bytes_put_be64(key, (uint64_t)session->user);
    int code = kafka_producer_send(edge->producer, &TOPIC_LOCATIONS, KAFKA_PARTITION_BY_KEY, key, sizeof key,
                                   edge->record.data, edge->record.size, (void *)(uintptr_t)session->id);
    if (code == 0) edge->metrics.reports->value++;
    return code;
}

static void locate(struct edge *edge, struct session *session, const struct report *report) {
    nearby_locate(&session->nearby, report->at, report->time);
    session->accuracy = report->accuracy;
    session->inactive = edge_now(edge) - report->time >= edge_inactive_ms(edge);
}

void report_keep(struct edge *edge, struct session *session) {
    if (session->held && session->held_report.time >= session->nearby.time)
        locate(edge, session, &session->held_report);
    session->held = false;
}

void report_latest(struct edge *edge, struct session *session) {
    report_unsent(edge, session, false);
    report_keep(edge, session);
    if (session->leaving || session->nearby.time < 0 || !report_wanted(edge, session)) return;
    enum location_kind kind = session->joined ? LOCATION_REPORT : LOCATION_JOIN;
    session->report_ms = edge_clock() + edge->settings.min_report_ms;
    if (produce(edge, session, kind, session->nearby.at, session->nearby.time, session->accuracy))
        report_unsent(edge, session, true);
    else
        session->joined = true;
}

void report_held(struct edge *edge, struct session *session) {
    if (session->held && !session->superseded) report_latest(edge, session);
}

void report_due(struct edge *edge, struct session *session) {
    if (!session->held || edge_clock() < session->report_ms) return;
    report_latest(edge, session);
    session_moved(edge, session);
}

/* Too soon after the last: what is newest when the time is up goes out then. A JOIN never waits. */
static bool hold(struct edge *edge, struct session *session, const struct report *report) {
    bool due = edge_clock() >= session->report_ms, held = session->held;
    bool older = report->time < (held ? session->held_report.time : session->nearby.time);
    if (!session->joined || (due && !held)) return false;
    if (held || older) edge->metrics.replaced->value++;
    if (older) return true;
    session->held = !due;
    session->held_report = *report;
    if (session->held && !held) session_schedule(edge, session);
    return session->held;
}

void report_produce(struct edge *edge, struct session *session, const struct report *report) {
    if (hold(edge, session, report)) return;
    bool older = report->time < session->nearby.time;
    if (!older) locate(edge, session, report);
    /* An older one is for history. A session that nobody knows of must first be known where it is now. */
    if (older && session->joined && report_wanted(edge, session)) {
        session->report_ms = edge_clock() + edge->settings.min_report_ms;
        produce(edge, session, LOCATION_REPORT, report->at, report->time, report->accuracy);
    } else {
        report_latest(edge, session);
    }
}

void report_rejoin(struct edge *edge, struct session *session) {
    session->rejoin_ms = 0;
    if (session->held) { /* its position is news, and goes as a report */
        session->rejoin_ms = session->report_ms + 1;
        session_schedule(edge, session);
        return;
    }
    if (!session->joined || session->leaving || !report_wanted(edge, session))
        return; /* its JOIN will bring the list */
    if (produce(edge, session, LOCATION_REJOIN, session->nearby.at, session->nearby.time, session->accuracy)) {
        session->rejoin_ms = edge_clock() + REJOIN_AGAIN_MS;
        session_schedule(edge, session);
    } else {
        edge->metrics.rejoins->value++;
    }
}

void report_join_again(struct edge *edge, struct session *session, int64_t winner) {
    session->retried = true;
    session->joined = false;
    session_renumber(edge, session, winner + 1);
    report_latest(edge, session);
}

/* One that is lost is made good by the next JOIN or by inactivity. */
void report_quit(struct edge *edge, struct session *session) {
    report_held(edge, session);
    if (session->joined && !session->superseded)
        produce(edge, session, LOCATION_QUIT, session->nearby.at, session->nearby.time, session->accuracy);
}

void reports_delivered(void *context, void *session_id, int code, const struct topic *topic, int32_t partition,
                       int64_t offset) {
    struct edge *edge = context;
    (void)partition;
    (void)offset;
    if (code == 0 || topic != &TOPIC_LOCATIONS) return;
    struct session *session = map_pointer(edge->ids, (uint64_t)(uintptr_t)session_id);
    if (!session) return;
    session->joined = false; /* it may have been the JOIN that was lost */
    report_unsent(edge, session, true);
}

void reports_retry(void *context) {
    struct edge *edge = context;
    edge->metrics.unsent->value = (double)edge->unsent_count;
    if (!edge->unsent_count || !kafka_producer_up(edge->producer)) return;
    for (struct session *session = edge->sessions; session; session = session->next) {
        if (session->unsent) report_latest(edge, session);
    }
}
