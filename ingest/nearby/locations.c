#include "ingest/nearby/locations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/mem.h"
#include "budget/rates.h"
#include "event/codec.h"
#include "event/topics.h"
#include "geo/geo.h"
#include "ingest/nearby/parts.h"
#include "ingest/write.h"
#include "json/place.h"
#include "users/report.h"
#include "users/user_copies.h"

enum {
    VALUES_MAX = 32768 /* of a body; the largest batch has 12,001 */
};

static const char AVRO_TYPE[] = "application/avro";

struct locations {
    const struct nearby_gateway *nearby;
    struct place_times times;
    struct codec *codec;
    struct rates *users;
    struct metric *reports, *refused;
};

struct report_refusal { /* why a report cannot be taken: what the problem says */
    unsigned status;
    const char *code;
    size_t index; /* of the report in the list; HTTP_NO_INDEX: it is about none */
    struct error error;
};

static int refuse(struct report_refusal *refusal, unsigned status, const char *code, const char *reason) {
    refusal->status = status;
    refusal->code = code;
    if (reason) error_set(&refusal->error, 0, "%s", reason);
    return -EINVAL;
}

/* The report must be about the caller or, from a gateway, the user it names. user -1: neither is there. */
static int check_user(const struct call *call, int64_t user, struct report_refusal *refusal) {
    if (user < 0) return refuse(refusal, 400, "bad_user", "\"user\" is missing, and the token names none");
    if (user != call->claims.user && !call->claims.gateway)
        return refuse(refusal, 403, "not_your_user", "only a gateway may report for others");
    return 0;
}

struct report_batch {
    struct locations *owner;
    struct location *locations;
    size_t count, sharing_off;
    int64_t now; /* ms; when it came */
};

static int check_time(const struct report_batch *batch, int64_t time, struct report_refusal *refusal) {
    if (place_check_time(&batch->owner->times, time, batch->now, &refusal->error) == 0) return 0;
    return refuse(refusal, 400, "bad_time", NULL);
}

static struct location location_of(int64_t user, const struct json_place *place) {
    return (struct location){.kind = LOCATION_REPORT,
                             .route = -1,
                             .opted = -1,
                             .user = user,
                             .lat = place->lat,
                             .lng = place->lng,
                             .time = place->time,
                             .accuracy = place->accuracy,
                             DETAILS_OF(&place->details)};
}

/* ---- JSON ---- */

static int parse_user(const struct call *call, const json_t *object, int64_t *user, struct report_refusal *refusal) {
    *user = call->claims.user;
    if (json_want_int(object, "user", 0, INT64_MAX, user, &refusal->error) == -EINVAL)
        return refuse(refusal, 400, "bad_user", NULL);
    return check_user(call, *user, refusal);
}

static int parse_report(const struct report_batch *batch, const struct call *call, const json_t *object,
                        struct location *location, struct report_refusal *refusal) {
    int64_t user;
    if (!json_is_object(object)) return refuse(refusal, 400, "bad_message", "a report is a JSON object");
    int code = parse_user(call, object, &user, refusal);
    if (code) return code;
    struct json_place place;
    const char *wrong;
    if (json_want_place(object, EVENT_TIME_MAX, &place, &wrong, &refusal->error))
        return refuse(refusal, 400, wrong, NULL);
    code = check_time(batch, place.time, refusal);
    if (!code) *location = location_of(user, &place);
    return code;
}

static void report_batch_free(struct report_batch *batch) {
    free(batch->locations);
    free(batch);
}

static int check_count(const struct report_batch *batch, size_t count, struct report_refusal *refusal) {
    if (count == 0) return refuse(refusal, 400, "bad_message", "there are no reports");
    if (count > (size_t)batch->owner->nearby->settings.max_batch)
        return refuse(refusal, 413, "too_many", "too many reports in one request");
    return 0;
}

static int parse_json(const struct call *call, const json_t *body, struct report_batch *batch,
                      struct report_refusal *refusal) {
    json_t *list = json_object_get(body, "locations");
    if (!list) {
        batch->locations = mem_alloc(sizeof *batch->locations);
        batch->count = 1;
        return parse_report(batch, call, body, batch->locations, refusal);
    }
    size_t count = json_array_size(list);
    if (!json_is_array(list)) return refuse(refusal, 400, "bad_message", "\"locations\" must be a list of reports");
    int code = check_count(batch, count, refusal);
    if (code) return code;
    batch->locations = mem_alloc(count * sizeof *batch->locations);
    for (size_t i = 0; i < count; i++) {
        if (parse_report(batch, call, json_array_get(list, i), &batch->locations[i], refusal)) {
            refusal->index = i;
            error_prefix(&refusal->error, 0, "locations[%zu]", i);
            return -EINVAL;
        }
    }
    batch->count = count;
    return 0;
}

/* ---- Avro ---- */

static int take_report(const struct report_batch *batch, const struct call *call,
                       const struct reported_location *report, struct location *location,
                       struct report_refusal *refusal) {
    struct geo_point at = {report->lat, report->lng};
    const struct json_place place = {report->lat, report->lng, report->time, report->accuracy, {DETAILS_OF(report)}};
    int64_t user = report->user == -1 ? call->claims.user : report->user;
    if (report->user < -1) return refuse(refusal, 400, "bad_user", "\"user\" must be a user, or -1");
    int code = check_user(call, user, refusal);
    if (code) return code;
    if (!geo_valid(at)) return refuse(refusal, 400, "bad_location", "\"lat\" and \"lng\" must be on the Earth");
    if (report->accuracy < -1 || report->accuracy > PLACE_ACCURACY_MAX)
        return refuse(refusal, 400, "bad_location", "\"accuracy\" must be metres, or -1");
    if (report->time < 0 || report->time > EVENT_TIME_MAX)
        return refuse(refusal, 400, "bad_time", "\"time\" is out of range");
    if (!details_valid(&place.details)) return refuse(refusal, 400, "bad_details", "a detail is out of range");
    code = check_time(batch, report->time, refusal);
    if (!code) *location = location_of(user, &place);
    return code;
}

static int parse_avro(const struct call *call, struct report_batch *batch, struct report_refusal *refusal) {
    struct locations *locations = batch->owner;
    struct location_reports body;
    size_t size;
    const void *bytes = http_body(call->request, &size);
    if (event_decode_location_reports(locations->codec, bytes, size, &body, &refusal->error))
        return refuse(refusal, 400, "bad_message", NULL);
    int code = check_count(batch, body.reports.count, refusal);
    if (code) return code;
    batch->locations = mem_alloc(body.reports.count * sizeof *batch->locations);
    for (size_t i = 0; i < body.reports.count; i++) {
        if (take_report(batch, call, &body.reports.items[i], &batch->locations[i], refusal)) {
            refusal->index = i;
            error_prefix(&refusal->error, 0, "locations[%zu]", i);
            return -EINVAL;
        }
    }
    batch->count = body.reports.count;
    return 0;
}

static bool is_avro(const struct call *call) {
    const char *type = http_header(call->request, "Content-Type");
    size_t size = type ? strcspn(type, " \t;") : 0;
    return size == strlen(AVRO_TYPE) && !strncasecmp(type, AVRO_TYPE, size);
}

/* ---- what both lead to ---- */

/* Leaves only the reports of users who share; `opted` says by which record, `shown` whether friends are told details. */
static void keep_opted_in(struct report_batch *batch) {
    const struct sharing_modes *modes = user_copies_modes(batch->owner->nearby->copies);
    size_t kept = 0;
    for (size_t i = 0; i < batch->count; i++) {
        struct location location = batch->locations[i];
        if (sharing_modes_find(modes, location.user, &location.opted) == SHARING_OFF) continue;
        location.shown = sharing_modes_details(modes, location.user);
        batch->locations[kept++] = location;
    }
    batch->sharing_off = batch->count - kept;
    batch->count = kept;
}

static void written(void *context, struct http_request *request, int code, int32_t partition, int64_t offset) {
    struct report_batch *batch = context;
    if (code) {
        write_problem(request, code);
    } else {
        batch->owner->reports->value += (double)batch->count;
        http_reply_format(request, 200, "{\"accepted\":%zu,\"sharing_off\":%zu}", batch->count, batch->sharing_off);
    }
    report_batch_free(batch);
}

static void cap_times(struct report_batch *batch) {
    int64_t now = batch->now;
    for (size_t i = batch->count; i-- > 0;) place_cap_time(&batch->owner->times, &batch->locations[i].time, &now);
}

static void produce(const struct call *call, const struct report_batch *batch, void *context, write_done *done) {
    struct buffer record = {0};
    struct write *write = write_new(batch->owner->nearby->core.writer, call->request, done, context);
    for (size_t i = 0; i < batch->count; i++) {
        buffer_clear(&record);
        report_encode(&record, &batch->locations[i]);
        write_user(write, &TOPIC_LOCATIONS, batch->locations[i].user, &record);
    }
    write_end(write);
    buffer_free(&record);
}

/* True: the user may send so many reports now. Else the request is answered. Gateways report for many. */
static bool may_report(struct locations *locations, const struct call *call, size_t count) {
    if (call->claims.gateway) return true;
    int wait_s = rates_take(locations->users, (uint64_t)call->claims.user, (int64_t)count, clock_coarse_ms());
    if (wait_s) http_problem(call->request, 429, "too_many_reports", "the user reports more than anybody may", wait_s);
    return !wait_s;
}

static void post_locations(void *state, const struct call *call) {
    struct locations *locations = state;
    bool avro = is_avro(call);
    json_t *body = avro ? NULL : call_body_within(call, VALUES_MAX);
    if (!body && !avro) return;
    struct report_refusal refusal = {.index = HTTP_NO_INDEX};
    struct report_batch *batch = MEM_NEW(&(struct report_batch){.owner = locations, .now = clock_wall_ms()});
    int code = avro ? parse_avro(call, batch, &refusal) : parse_json(call, body, batch, &refusal);
    json_decref(body);
    if (code == 0) {
        cap_times(batch);
        keep_opted_in(batch);
        if (batch->count == 0) code = refuse(&refusal, 403, "sharing_off", "sharing is off: PUT /v1/sharing first");
    }
    if (code) {
        locations->refused->value++;
        http_problem_at(call->request, refusal.status, refusal.code, refusal.error.text, refusal.index);
        report_batch_free(batch);
    } else if (!may_report(locations, call, batch->count)) {
        report_batch_free(batch);
    } else {
        produce(call, batch, batch, written);
    }
}

struct one_report {
    struct locations *owner;
    const struct call *call;
    void *context;
    locations_done *done;
};

static void one_written(void *context, struct http_request *request, int code, int32_t partition, int64_t offset) {
    struct one_report *report = context;
    if (code == 0) report->owner->reports->value++;
    report->done(report->context, report->call, code);
    free(report);
}

void locations_report(struct locations *locations, const struct call *call, const struct json_place *place,
                      void *context, locations_done *done) {
    struct location location = location_of(call->claims.user, place);
    struct report_batch batch = {.owner = locations, .locations = &location, .count = 1, .now = clock_wall_ms()};
    struct report_refusal refusal;
    if (check_time(&batch, location.time, &refusal)) {
        locations->refused->value++;
        done(context, call, -EINVAL);
        return;
    }
    cap_times(&batch);
    keep_opted_in(&batch);
    if (batch.count == 0)
        done(context, call, 1);
    else if (may_report(locations, call, 1))
        produce(call, &batch, MEM_NEW(&(struct one_report){locations, call, context, done}), one_written);
}

struct locations *locations_new(const struct nearby_gateway *nearby) {
    struct metrics *m = service_metrics(nearby->core.service);
    const struct service_settings *common = service_settings(nearby->core.service);
    return MEM_NEW(&(struct locations){
        .nearby = nearby,
        .times = {.any = common->clock == SERVICE_CLOCK_STREAM, .past_days = common->report_past_days},
        .codec = codec_new(),
        .users = rates_new(&(struct rates_options){m, "reports", "user", nearby->settings.reports_rate,
                                                   nearby->settings.reports_burst}),
        .reports = metrics_counter(m, "starling_ingest_reports_total", "Reports that Kafka acknowledged.", NULL),
        .refused = metrics_counter(m, "starling_ingest_refused_total",
                                   "Requests refused for their token or their reports.", NULL),
    });
}

void locations_free(struct locations *locations) {
    if (!locations) return;
    codec_free(locations->codec);
    rates_free(locations->users);
    free(locations);
}

static const struct endpoint ENDPOINTS[] = {
    {"POST", "/v1/locations", post_locations, NEEDS_TOKEN},
};
const struct endpoint_list LOCATIONS_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
