#include "ingest/endpoints.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/mem.h"

enum { STATUS_MIN = 100, STATUS_MAX = 599 };

/* The counters of one endpoint; made when they are first needed. */
struct endpoint_tally {
    char *labels; /* method="GET",route="/v1/friends" */
    char *name;   /* GET /v1/friends */
    struct histogram *seconds;
    struct metric *statuses[STATUS_MAX - STATUS_MIN + 1];
};

struct served {
    const struct endpoint *endpoint;
    void *state;
    bool (*ready)(const void *of);
    const void *of;
    struct endpoint_tally *tally;
};

struct endpoints {
    struct metrics *metrics;
    struct served *list;
    size_t count;
    struct endpoint_tally *others; /* requests that led to no endpoint */
};

static struct endpoint_tally *tally_new(const char *method, const char *pattern) {
    struct endpoint_tally *tally = mem_zero(1, sizeof *tally);
    struct buffer route = {0}, labels = {0};
    path_put(&route, pattern);
    metrics_label(&labels, "method", method);
    metrics_label(&labels, "route", buffer_cstring(&route));
    tally->labels = mem_string(buffer_cstring(&labels));
    tally->name = mem_format("%s %s", method, buffer_cstring(&route));
    buffer_free(&route);
    buffer_free(&labels);
    return tally;
}

static void tally_free(struct endpoint_tally *tally) {
    free(tally->labels);
    free(tally->name);
    free(tally);
}

static struct metric *counter_of(struct metrics *metrics, struct endpoint_tally *tally, unsigned status) {
    struct metric **counter = &tally->statuses[status - STATUS_MIN];
    if (*counter) return *counter;
    char *labels = mem_format("%s,status=\"%u\"", tally->labels, status);
    *counter = metrics_counter(metrics, "starling_ingest_requests_total", "Requests answered.", labels);
    free(labels);
    return *counter;
}

static void tally_count(struct metrics *metrics, struct endpoint_tally *tally, unsigned status, double seconds) {
    static const double BOUNDS[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
    if (status < STATUS_MIN || status > STATUS_MAX) return;
    if (!tally->seconds)
        tally->seconds =
            metrics_histogram(metrics, "starling_ingest_request_seconds", "From a request's head to its answer.",
                              tally->labels, BOUNDS, ARRAY_SIZE(BOUNDS));
    counter_of(metrics, tally, status)->value++;
    histogram_observe(tally->seconds, seconds);
}

struct endpoints *endpoints_new(struct metrics *metrics) {
    return MEM_NEW(&(struct endpoints){.metrics = metrics, .others = tally_new("other", "none")});
}

void endpoints_free(struct endpoints *endpoints) {
    if (!endpoints) return;
    for (size_t i = 0; i < endpoints->count; i++) tally_free(endpoints->list[i].tally);
    tally_free(endpoints->others);
    free(endpoints->list);
    free(endpoints);
}

void endpoints_add(struct endpoints *endpoints, const struct endpoint_list *list, void *state,
                   bool (*ready)(const void *of), const void *of) {
    endpoints->list = mem_resize(endpoints->list, endpoints->count + list->count, sizeof *endpoints->list);
    for (size_t i = 0; i < list->count; i++) {
        const struct endpoint *endpoint = &list->items[i];
        endpoints->list[endpoints->count++] = (struct served){
            .endpoint = endpoint,
            .state = state,
            .ready = ready,
            .of = of,
            .tally = tally_new(endpoint->method, endpoint->pattern),
        };
    }
}

static void allow(struct endpoint_match *match, const char *method) {
    size_t length = strlen(match->allowed);
    snprintf(match->allowed + length, sizeof match->allowed - length, "%s%s%s", length ? ", " : "", method,
             strcmp(method, "GET") == 0 ? ", HEAD" : "");
}

/* Whether the path stands in the table as it is. */
static bool is_literal(const struct endpoints *endpoints, const char *path) {
    for (size_t i = 0; i < endpoints->count; i++)
        if (strcmp(endpoints->list[i].endpoint->pattern, path) == 0) return true;
    return false;
}

void endpoints_find(struct endpoints *endpoints, struct http_request *request, struct endpoint_match *match) {
    const char *path = http_path(request), *method = http_method(request);
    bool literal = is_literal(endpoints, path);
    if (strcmp(method, "HEAD") == 0) method = "GET";
    *match = (struct endpoint_match){.kind = MATCH_UNKNOWN};
    for (size_t i = 0; i < endpoints->count; i++) {
        const struct served *served = &endpoints->list[i];
        if (literal && strcmp(served->endpoint->pattern, path) != 0) continue;
        int matches = path_match(served->endpoint->pattern, path, match->values, &match->wrong, &match->error);
        if (matches == 0) continue;
        if (strcmp(method, served->endpoint->method) != 0) {
            match->kind = MATCH_BAD_METHOD;
            allow(match, served->endpoint->method);
            continue;
        }
        match->kind = matches == -ENOENT ? MATCH_EXTERNAL : matches < 0 ? MATCH_BAD_VALUE : MATCH_FOUND;
        match->endpoint = served->endpoint;
        match->state = served->state;
        match->ready = !served->ready || served->ready(served->of);
        http_set_context(request, served->tally);
        return;
    }
    if (match->kind == MATCH_BAD_METHOD) allow(match, "OPTIONS");
}

const char *endpoints_name(const struct endpoints *endpoints, const struct http_request *request) {
    const struct endpoint_tally *tally = http_context(request);
    return tally ? tally->name : endpoints->others->name;
}

void endpoints_count(struct endpoints *endpoints, const struct http_request *request, unsigned status) {
    struct endpoint_tally *tally = http_context(request);
    tally_count(endpoints->metrics, tally ? tally : endpoints->others, status, (double)http_age_us(request) / 1e6);
}
