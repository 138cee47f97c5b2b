#include "fanout/nearby/uplink.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/chance.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "event/codec.h"
#include "users/report.h"

enum { RETRY_MS = 500, REJOIN_AGAIN_MS = 500, REJOIN_SPREAD_MS = 1000, WORDS_A_WINDOW = 3 };

struct uplink {
    struct uplink_options options;
    struct map *numbers; /* a session's number -> its reporter */
    struct reporter *unsent, **unsent_tail;
    size_t unsent_count;
    struct loop_timer *retry;
    struct loop_idle *sender; /* while unsent reports are being produced */
    int64_t gather_ms;        /* reports wait for others; 0: they do not */
    double reports_s;
    uint64_t reports; /* since the last RETRY_MS */
    struct loop_timer *gather;
    struct chance chance;
    struct buffer record;
    struct {
        struct metric *reports, *unsent, *rejoins, *replaced, *words;
    } metrics;
};

/* ---- unsent reports ---- */

static void unsent_remove(struct uplink *uplink, struct reporter *reporter) {
    if (!reporter->unsent_link) return;
    *reporter->unsent_link = reporter->unsent_next;
    if (reporter->unsent_next)
        reporter->unsent_next->unsent_link = reporter->unsent_link;
    else
        uplink->unsent_tail = reporter->unsent_link;
    reporter->unsent_link = NULL;
    uplink->unsent_count--;
}

static void unsent_add(struct uplink *uplink, struct reporter *reporter) {
    if (reporter->unsent_link) return;
    reporter->unsent_next = NULL;
    reporter->unsent_link = uplink->unsent_tail;
    *uplink->unsent_tail = reporter;
    uplink->unsent_tail = &reporter->unsent_next;
    uplink->unsent_count++;
}

/* ---- producing ---- */

static bool shares(const struct uplink *uplink, const struct reporter *reporter) {
    int64_t opted;
    return uplink->options.shares(uplink->options.context, session_user(reporter->session), &opted);
}

/* A record of the user's; number: of the session that it is of. 0: of none, as a report by HTTP. */
static int produce_of(struct uplink *uplink, struct reporter *reporter, int64_t number, enum location_kind kind,
                      const struct report *report) {
    const struct uplink_options *options = &uplink->options;
    uint8_t key[8];
    struct location location = {
        .user = session_user(reporter->session),
        .lat = report->at.lat,
        .lng = report->at.lng,
        .time = report->time,
        .kind = kind,
        .session = number,
        .route = number ? session_route(reporter->session) : ROUTE_NONE,
        .accuracy = report->accuracy,
        DETAILS_OF(&report->details),
    };
    options->shares(options->context, location.user, &location.opted);
    location.shown = reporter->shown = options->shows_details(options->context, location.user);
    /* A record that is queued while no broker is there would be sent before the latest, for nothing. */
    if (!options->up(options->context)) return -EHOSTDOWN;
    buffer_clear(&uplink->record);
    report_encode(&uplink->record, &location);
    bytes_put_be64(key, (uint64_t)location.user);
    int code = options->send(options->context, key, sizeof key, uplink->record.data, uplink->record.size,
                             (void *)(uintptr_t)reporter->number);
    if (code == 0) uplink->metrics.reports->value++;
    return code;
}

/* A record of the session's: a word of it. */
static int produce(struct uplink *uplink, struct reporter *reporter, enum location_kind kind,
                   const struct report *report) {
    int code = produce_of(uplink, reporter, reporter->number, kind, report);
    if (code == 0) reporter->word_ms = clock_coarse_ms() + uplink->options.inactive_ms / WORDS_A_WINDOW;
    return code;
}

/* The session's own place, as it is now. */
static struct report place_of(const struct reporter *reporter) {
    return (struct report){reporter->list->at, reporter->list->time, reporter->accuracy, reporter->details};
}

static void take_place(struct uplink *uplink, struct reporter *reporter, const struct report *report) {
    nearby_locate(reporter->list, report->at, report->time);
    reporter->accuracy = report->accuracy;
    reporter->details = report->details;
    uplink->options.moved(uplink->options.context, reporter);
}

/* Takes a report that is held back as its place; nobody is told. */
static void keep(struct uplink *uplink, struct reporter *reporter) {
    bool held = reporter->held;
    reporter->held = false;
    if (held && reporter->held_report.time >= reporter->list->time)
        take_place(uplink, reporter, &reporter->held_report);
}

/* The JOIN. If the phone has come again before its edge has noticed that it was gone, the session before would be told for minutes. */
static int join(struct uplink *uplink, struct reporter *reporter, const struct report *place) {
    int code = reporter->before ? produce_of(uplink, reporter, reporter->before, LOCATION_QUIT, place) : 0;
    if (code == 0) code = produce(uplink, reporter, LOCATION_JOIN, place);
    if (code) return code;
    reporter->before = 0;
    session_schedule(uplink->options.sessions, reporter->session); /* of words there are deadlines from now on */
    return 0;
}

/* Its place goes out now, once more or for the first time. */
static void send_latest(struct uplink *uplink, struct reporter *reporter) {
    unsent_remove(uplink, reporter);
    keep(uplink, reporter);
    if (session_leaving(reporter->session) || reporter->list->time < 0 || !shares(uplink, reporter)) return;
    struct report place = place_of(reporter);
    reporter->report_ms = clock_coarse_ms() + uplink->options.min_report_ms;
    if (reporter->joined ? produce(uplink, reporter, LOCATION_REPORT, &place) : join(uplink, reporter, &place))
        unsent_add(uplink, reporter);
    else
        reporter->joined = true;
}

/* Too soon after the last: what is newest when the time is up goes out then. A JOIN never waits. */
static bool hold(struct uplink *uplink, struct reporter *reporter, const struct report *report) {
    bool due = clock_coarse_ms() >= reporter->report_ms, held = reporter->held;
    bool older = report->time < (held ? reporter->held_report.time : reporter->list->time);
    if (!reporter->joined || (due && !held)) return false;
    if (held || older) uplink->metrics.replaced->value++;
    if (older) return true;
    reporter->held = !due;
    reporter->held_report = *report;
    if (reporter->held && !held) session_schedule(uplink->options.sessions, reporter->session);
    return reporter->held;
}

/* The report says again what the one before said: nobody's list would change. */
static bool repeats(const struct reporter *reporter, const struct report *report) {
    struct geo_point at = reporter->held ? reporter->held_report.at : reporter->list->at;
    int64_t newest = reporter->held ? reporter->held_report.time : reporter->list->time;
    return reporter->joined && report->time == newest && report->at.lat == at.lat && report->at.lng == at.lng;
}

/* The place goes out with those of others. */
static void send_together(struct uplink *uplink, struct reporter *reporter) {
    if (!uplink->gather_ms || !reporter->joined) {
        send_latest(uplink, reporter);
        return;
    }
    reporter->report_ms = clock_coarse_ms() + uplink->options.min_report_ms;
    if (!uplink->unsent) loop_timer_again(uplink->gather, (uint64_t)uplink->gather_ms, 0);
    unsent_add(uplink, reporter);
}

void uplink_report(struct uplink *uplink, struct reporter *reporter, const struct report *report) {
    if (repeats(reporter, report)) return;
    if (hold(uplink, reporter, report)) return;
    uplink->reports++;
    if (reporter->unsent_link) send_latest(uplink, reporter); /* history has each of them */
    bool older = report->time < reporter->list->time;
    if (!older) take_place(uplink, reporter, report);
    /* An older one is for history, and no word of the session: routers would tell it where it is. A session that nobody knows of must first
     * be known where it is now. */
    if (older && reporter->joined && shares(uplink, reporter)) {
        reporter->report_ms = clock_coarse_ms() + uplink->options.min_report_ms;
        produce_of(uplink, reporter, 0, LOCATION_REPORT, report);
    } else {
        send_together(uplink, reporter);
    }
}

void uplink_place(struct uplink *uplink, struct reporter *reporter, const struct report *report) {
    if (reporter->unsent_link) send_latest(uplink, reporter);
    take_place(uplink, reporter, report);
}

/* ---- the list again ---- */

static void produce_rejoin(struct uplink *uplink, struct reporter *reporter, struct metric *counter) {
    struct report place = place_of(reporter);
    reporter->rejoin_ms = 0;
    if (reporter->held) { /* its position is news, and goes as a report */
        reporter->rejoin_ms = reporter->report_ms + 1;
        session_schedule(uplink->options.sessions, reporter->session);
        return;
    }
    if (!reporter->joined || session_leaving(reporter->session) || !shares(uplink, reporter))
        return; /* its JOIN will bring the list */
    if (reporter->unsent_link) send_latest(uplink, reporter);
    if (produce(uplink, reporter, LOCATION_REJOIN, &place)) {
        reporter->rejoin_ms = clock_coarse_ms() + REJOIN_AGAIN_MS;
        session_schedule(uplink->options.sessions, reporter->session);
    } else {
        counter->value++;
    }
}

void uplink_rejoin(struct uplink *uplink, struct reporter *reporter) {
    produce_rejoin(uplink, reporter, uplink->metrics.rejoins);
}

void uplink_rejoin_soon(struct uplink *uplink, struct reporter *reporter) {
    reporter->rejoin_ms = clock_coarse_ms() + 1 + chance_next(&uplink->chance) % REJOIN_SPREAD_MS;
}

int64_t uplink_deadline(const struct reporter *reporter) {
    int64_t due = reporter->joined ? reporter->word_ms : INT64_MAX;
    if (reporter->rejoin_ms && reporter->rejoin_ms < due) due = reporter->rejoin_ms;
    return reporter->held && reporter->report_ms < due ? reporter->report_ms : due;
}

void uplink_due(struct uplink *uplink, struct reporter *reporter) {
    int64_t now = clock_coarse_ms();
    if (reporter->held && now >= reporter->report_ms) send_latest(uplink, reporter);
    if (reporter->rejoin_ms && now >= reporter->rejoin_ms) uplink_rejoin(uplink, reporter);
    if (!reporter->joined || now < reporter->word_ms) return;
    reporter->word_ms =
        now + uplink->options.inactive_ms / WORDS_A_WINDOW; /* what cannot go out now goes out by rejoin_ms */
    produce_rejoin(uplink, reporter, uplink->metrics.words);
}

/* ---- opting in and out ---- */

void uplink_opted_out(struct uplink *uplink, struct reporter *reporter) {
    reporter->joined = false;
    keep(uplink, reporter);
    unsent_remove(uplink, reporter);
}

void uplink_opted_in(struct uplink *uplink, struct reporter *reporter) { send_latest(uplink, reporter); }

/* Friends are told now of what the phone has said already, not only with its next report. */
void uplink_show(struct uplink *uplink, struct reporter *reporter) {
    bool before = reporter->shown;
    reporter->shown = uplink->options.shows_details(uplink->options.context, session_user(reporter->session));
    if (reporter->shown && !before) uplink_rejoin(uplink, reporter);
}

/* ---- the end of a session ---- */

void uplink_leave(struct uplink *uplink, struct reporter *reporter) {
    if (reporter->held || reporter->unsent_link) send_latest(uplink, reporter);
}

void uplink_quit(struct uplink *uplink, struct reporter *reporter) {
    uplink_leave(uplink, reporter);
    struct report place = place_of(reporter);
    if (reporter->joined) produce(uplink, reporter, LOCATION_QUIT, &place);
}

void uplink_begin(struct uplink *uplink, struct reporter *reporter, struct session *session, struct nearby *list) {
    *reporter = (struct reporter){.session = session,
                                  .list = list,
                                  .accuracy = -1,
                                  .details = {DETAILS_NONE},
                                  .number = session_number(session),
                                  .before = reporter->before};
    *map_put(uplink->numbers, (uint64_t)reporter->number, NULL) = (uint64_t)(uintptr_t)reporter;
}

void uplink_end(struct uplink *uplink, struct reporter *reporter) {
    if (!reporter->session) return;
    unsent_remove(uplink, reporter);
    map_remove(uplink->numbers, (uint64_t)reporter->number, NULL);
    reporter->session = NULL;
}

/* ---- a broker goes and comes back ---- */

void uplink_produced(struct uplink *uplink, void *opaque, int code) {
    struct reporter *reporter = code ? map_pointer(uplink->numbers, (uint64_t)(uintptr_t)opaque) : NULL;
    if (!reporter) return;
    reporter->joined = false; /* it may have been the JOIN that was lost */
    unsent_add(uplink, reporter);
}

static void send_some(void *context) {
    struct uplink *uplink = context;
    bool up = uplink->options.up(uplink->options.context);
    for (int i = 0; up && i < UPLINK_SLICE && uplink->unsent; i++) {
        struct reporter *reporter = uplink->unsent;
        send_latest(uplink, reporter);
        up = !reporter->unsent_link; /* it may have been put back: the others wait, too */
    }
    uplink->metrics.unsent->value = (double)uplink->unsent_count;
    loop_idle_on(uplink->sender, up && uplink->unsent);
}

/* ---- reports that wait for others ---- */

int64_t uplink_gathering_ms(double reports_s, int32_t partitions, int64_t linger_ms, int64_t most_ms) {
    if (reports_s <= 0) return 0;
    double between = 1000 * partitions / reports_s; /* ms between two reports of a partition */
    double few = 1000.0 * partitions / UPLINK_REQUESTS_S - between, full = (UPLINK_RECORDS - 1) * between;
    double wait = few < full ? few : full;
    if (wait > (double)most_ms) wait = (double)most_ms;
    return wait > (double)linger_ms ? (int64_t)wait - linger_ms : 0;
}

static void gathered(void *context) {
    const struct uplink *uplink = context;
    loop_idle_on(uplink->sender, true);
}

/* By what came in the last second or two. Also what waits for a broker is tried again. */
static void ticked(void *context) {
    struct uplink *uplink = context;
    double now_s = (double)uplink->reports * 1000 / RETRY_MS;
    uplink->reports_s += (now_s - uplink->reports_s) / 2;
    uplink->reports = 0;
    const struct uplink_options *options = &uplink->options;
    uplink->gather_ms =
        uplink_gathering_ms(uplink->reports_s, options->partitions, options->linger_ms, options->gather_most_ms);
    send_some(uplink);
}

struct uplink *uplink_new(const struct uplink_options *options) {
    struct metrics *m = options->metrics;
    struct uplink *uplink =
        MEM_NEW(&(struct uplink){.options = *options, .numbers = map_new(), .chance = chance_new()});
    uplink->unsent_tail = &uplink->unsent;
    uplink->metrics.reports = metrics_counter(m, "starling_edge_locations_produced_total",
                                              "Location records produced, repairs included.", NULL);
    uplink->metrics.unsent =
        metrics_gauge(m, "starling_edge_unsent_sessions", "Sessions whose latest position waits for a broker.", NULL);
    uplink->metrics.rejoins = metrics_counter(m, "starling_edge_rejoins_total",
                                              "Complete lists asked for: routes changed, and repairs.", NULL);
    uplink->metrics.replaced =
        metrics_counter(m, "starling_edge_reports_replaced_total",
                        "Reports that a later one within edge.min.report.ms took the place of.", NULL);
    uplink->metrics.words = metrics_counter(m, "starling_edge_words_total",
                                            "Location records of sessions that had long said nothing.", NULL);
    uplink->retry = loop_timer_new(options->loop, RETRY_MS, RETRY_MS, ticked, uplink);
    uplink->gather = loop_timer_new(options->loop, 0, 0, gathered, uplink);
    uplink->sender = loop_idle_new(options->loop, send_some, uplink);
    return uplink;
}

void uplink_free(struct uplink *uplink) {
    if (!uplink) return;
    loop_timer_free(uplink->retry);
    loop_timer_free(uplink->gather);
    loop_idle_free(uplink->sender);
    map_free(uplink->numbers);
    buffer_free(&uplink->record);
    free(uplink);
}
