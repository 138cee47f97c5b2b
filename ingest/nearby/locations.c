#include "ingest/nearby/locations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/mem.h"
#include "event/topics.h"
#include "json/place.h"

enum { AHEAD_MAX_MS = 60000 };

struct locations {
    struct locations_options options;
    struct metric *reports, *refused;
};

struct refusal { /* why a report cannot be taken: what the problem says */
    unsigned status;
    const char *code;
    struct error error;
};

static int refuse(struct refusal *refusal, unsigned status, const char *code, const char *reason) {
    refusal->status = status;
    refusal->code = code;
    if (reason) error_set(&refusal->error, 0, "%s", reason);
    return -EINVAL;
}

/* Whose report it is: the caller's, or (for gateways) the one it names. */
static int parse_user(const struct call *call, const json_t *object, int64_t *user, struct refusal *refusal) {
    *user = call->claims.user;
    int found = json_want_int(object, "user", 0, INT64_MAX, user, &refusal->error);
    if (found == -EINVAL) return refuse(refusal, 400, "bad_user", NULL);
    if (*user < 0) return refuse(refusal, 400, "bad_user", "\"user\" is missing, and the token names none");
    if (found == 0 && *user != call->claims.user && !call->claims.gateway)
        return refuse(refusal, 403, "not_your_user", "only a gateway may report for others");
    return 0;
}

static int parse_report(const struct locations *locations, const struct call *call, const json_t *object,
                        struct location *location, struct refusal *refusal) {
    *location = (struct location){.kind = LOCATION_REPORT, .session = 0, .route = -1, .opted = -1, .accuracy = -1};
    if (!json_is_object(object)) return refuse(refusal, 400, "bad_message", "a report is a JSON object");
    int code = parse_user(call, object, &location->user, refusal);
    if (code) return code;
    struct json_place place;
    const char *wrong;
    if (json_want_place(object, EVENT_TIME_MAX, &place, &wrong, &refusal->error))
        return refuse(refusal, 400, wrong, NULL);
    if (locations->options.wall_clock && place.time > clock_wall_ms() + AHEAD_MAX_MS)
        return refuse(refusal, 400, "bad_time", "\"time\" is ahead of the server's by more than a minute");
    location->lat = place.lat;
    location->lng = place.lng;
    location->time = place.time;
    location->accuracy = place.accuracy;
    return 0;
}

struct batch {
    struct locations *owner;
    struct location *locations;
    size_t count, sharing_off;
};

static void batch_free(struct batch *batch) {
    free(batch->locations);
    free(batch);
}

static int parse_batch(const struct call *call, const json_t *body, struct batch *batch, struct refusal *refusal) {
    struct locations *locations = batch->owner;
    json_t *list = json_object_get(body, "locations");
    if (!list) {
        batch->locations = mem_alloc(sizeof *batch->locations);
        batch->count = 1;
        return parse_report(locations, call, body, batch->locations, refusal);
    }
    size_t count = json_array_size(list);
    if (!json_is_array(list) || count == 0)
        return refuse(refusal, 400, "bad_message", "\"locations\" must be a list of reports");
    if (count > locations->options.max_batch)
        return refuse(refusal, 413, "too_many", "too many reports in one request");
    batch->locations = mem_alloc(count * sizeof *batch->locations);
    for (size_t i = 0; i < count; i++) {
        if (parse_report(locations, call, json_array_get(list, i), &batch->locations[i], refusal)) {
            error_prefix(&refusal->error, 0, "locations[%zu]", i);
            return -EINVAL;
        }
    }
    batch->count = count;
    return 0;
}

/* Leaves only the reports of users who share; `opted` says by which record. */
static void keep_opted_in(struct batch *batch) {
    size_t kept = 0;
    for (size_t i = 0; i < batch->count; i++) {
        struct location location = batch->locations[i];
        if (sharing_modes_find(batch->owner->options.modes, location.user, &location.opted) != SHARING_OFF)
            batch->locations[kept++] = location;
    }
    batch->sharing_off = batch->count - kept;
    batch->count = kept;
}

static void written(void *context, struct http_request *request, int code, int32_t partition, int64_t offset) {
    struct batch *batch = context;
    (void)partition;
    (void)offset;
    if (code) {
        write_problem(request, code);
    } else {
        struct buffer body = {0};
        batch->owner->reports->value += (double)batch->count;
        buffer_format(&body, "{\"accepted\":%zu,\"sharing_off\":%zu}", batch->count, batch->sharing_off);
        http_reply_json(request, 200, &body);
        buffer_free(&body);
    }
    batch_free(batch);
}

static void produce(const struct call *call, struct batch *batch) {
    struct buffer record = {0};
    struct write *write = write_new(batch->owner->options.writer, call->request, written, batch);
    for (size_t i = 0; i < batch->count; i++) {
        buffer_clear(&record);
        event_encode_location(&record, &batch->locations[i]);
        write_user(write, &TOPIC_LOCATIONS, batch->locations[i].user, &record);
    }
    write_end(write);
    buffer_free(&record);
}

static void post_locations(void *state, const struct call *call) {
    struct locations *locations = state;
    json_t *body = call_body(call);
    if (!body) return;
    struct refusal refusal = {0};
    struct batch *batch = mem_alloc(sizeof *batch);
    *batch = (struct batch){.owner = locations};
    int code = parse_batch(call, body, batch, &refusal);
    json_decref(body);
    if (code == 0) {
        keep_opted_in(batch);
        if (batch->count == 0) code = refuse(&refusal, 403, "sharing_off", "sharing is off: PUT /v1/sharing first");
    }
    if (code) {
        locations->refused->value++;
        http_problem(call->request, refusal.status, refusal.code, refusal.error.text, 0);
        batch_free(batch);
        return;
    }
    produce(call, batch);
}

struct locations *locations_new(const struct locations_options *options) {
    struct locations *locations = mem_alloc(sizeof *locations);
    *locations = (struct locations){
        .options = *options,
        .reports = metrics_counter(options->metrics, "starling_ingest_reports_total",
                                   "Reports that Kafka acknowledged.", NULL),
        .refused = metrics_counter(options->metrics, "starling_ingest_refused_total",
                                   "Requests refused for their token or their reports.", NULL),
    };
    return locations;
}

void locations_free(struct locations *locations) { free(locations); }

static const struct endpoint ENDPOINTS[] = {
    {"POST", "/v1/locations", post_locations, NEEDS_TOKEN},
};
const struct endpoint_list LOCATIONS_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
