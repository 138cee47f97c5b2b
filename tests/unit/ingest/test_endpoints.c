/* The table of endpoints: which one a request finds, what is allowed, and what is counted. */
#include "ingest/endpoints.h"
#include "service/http_incoming.h"
#include "unit/kit/kit.h"

static void nothing(void *state, const struct call *call) {}

static const struct endpoint PEOPLE[] = {
    {"GET", "/v1/people/{user}", nothing, NEEDS_TOKEN},
    {"PUT", "/v1/people/{user}", nothing, NEEDS_USER},
    {"POST", "/v1/people", nothing, NEEDS_GATEWAY},
    {"DELETE", "/v1/people/all", nothing, NEEDS_GATEWAY},
};
static const struct endpoint COMMENTS[] = {
    {"DELETE", "/v1/comments/{type:word}/{id:text}", nothing, NEEDS_USER},
};
static const struct endpoint_list PEOPLE_LIST = {PEOPLE, ARRAY_SIZE(PEOPLE)},
                                  COMMENTS_LIST = {COMMENTS, ARRAY_SIZE(COMMENTS)};

struct table {
    struct metrics *metrics;
    struct endpoints *endpoints;
    bool comments_ready;
};

static bool ready(const void *of) { return *(const bool *)of; }

SET_UP() {
    struct table *table = kit_zero(sizeof *table);
    table->metrics = kit_metrics();
    table->endpoints = endpoints_new(table->metrics);
    endpoints_add(table->endpoints, &PEOPLE_LIST, &table->metrics, NULL, NULL);
    endpoints_add(table->endpoints, &COMMENTS_LIST, NULL, ready, &table->comments_ready);
    return table;
}

TEAR_DOWN(struct table *table) { endpoints_free(table->endpoints); }

/* Finds the endpoint of "METHOD PATH" and counts an answer. */
static struct endpoint_match find(struct table *table, const char *line, unsigned status) {
    struct endpoint_match match;
    static struct http_incoming incoming;
    struct http_fault fault;
    FREED char *text = mem_format("%s HTTP/1.1\r\nHost: x\r\n\r\n", line);
    size_t size = strlen(text);
    assert_int_equal(http_incoming_read(text, size, &incoming, &fault), 0);
    struct http_request *request = http_request_new(NULL, &incoming, text, size);
    endpoints_find(table->endpoints, request, &match);
    for (size_t i = 0; match.kind == MATCH_FOUND && i < PATH_VALUES_MAX; i++) match.values[i].text = NULL;
    endpoints_count(table->endpoints, request, status);
    http_request_free(request);
    return match;
}

TEST(requests_find_their_endpoint, struct table *table) {
    struct endpoint_match match = find(table, "PUT /v1/people/5", 200);
    assert_true(match.kind == MATCH_FOUND && match.endpoint == &PEOPLE[1] && match.state == &table->metrics);
    assert_true(match.values[0].user == 5 && match.ready);
    assert_true(find(table, "HEAD /v1/people/5", 200).endpoint == &PEOPLE[0]);
    match = find(table, "DELETE /v1/comments/post/1", 503);
    assert_true(match.kind == MATCH_FOUND && match.endpoint == &COMMENTS[0] && !match.ready);
    table->comments_ready = true;
    assert_true(find(table, "DELETE /v1/comments/post/1", 204).ready);
    assert_int_equal(find(table, "GET /v1/nothing", 404).kind, MATCH_UNKNOWN);
}

TEST(wrong_values_are_named, struct table *table) {
    struct endpoint_match match = find(table, "GET /v1/people/me", 400);
    assert_int_equal(match.kind, MATCH_EXTERNAL);
    assert_string_equal(match.wrong, "bad_user");
    assert_true(match.values[0].external && match.endpoint == &PEOPLE[0]);
    match = find(table, "GET /v1/people/a%20b", 400);
    assert_int_equal(match.kind, MATCH_BAD_VALUE);
    assert_string_equal(match.wrong, "bad_user");
    match = find(table, "DELETE /v1/comments/Post/1", 400);
    assert_string_equal(match.wrong, "bad_path");
    assert_non_null(strstr(match.error.text, "{type}"));
}

TEST(methods_of_a_path_are_listed, struct table *table) {
    struct endpoint_match match = find(table, "DELETE /v1/people/5", 405);
    assert_int_equal(match.kind, MATCH_BAD_METHOD);
    assert_string_equal(match.allowed, "GET, HEAD, PUT, OPTIONS");
    assert_string_equal(find(table, "HEAD /v1/people", 405).allowed, "POST, OPTIONS");
}

TEST(a_path_that_is_a_pattern_matches_no_other, struct table *table) {
    assert_true(find(table, "DELETE /v1/people/all", 204).endpoint == &PEOPLE[3]);
    struct endpoint_match match = find(table, "PUT /v1/people/all", 405);
    assert_int_equal(match.kind, MATCH_BAD_METHOD);
    assert_string_equal(match.allowed, "DELETE, OPTIONS");
    assert_int_equal(find(table, "DELETE /v1/people/5", 405).kind, MATCH_BAD_METHOD);
}

TEST(answers_are_counted, struct table *table) {
    find(table, "GET /v1/people/5", 200);
    find(table, "HEAD /v1/people/6", 200);
    find(table, "GET /v1/people/me", 400);
    find(table, "DELETE /v1/comments/post/1", 204);
    find(table, "GET /nothing", 404);
    find(table, "TRACE /v1/people", 405);
    FREED_BUFFER page = {.size = 0};
    metrics_render(table->metrics, &page);
    static const char *const LINES[] = {
        "starling_ingest_requests_total{method=\"GET\",route=\"/v1/people/{user}\",status=\"200\"} 2\n",
        "starling_ingest_requests_total{method=\"GET\",route=\"/v1/people/{user}\",status=\"400\"} 1\n",
        "starling_ingest_requests_total{method=\"DELETE\",route=\"/v1/comments/{type}/{id}\",status=\"204\"} 1\n",
        "starling_ingest_requests_total{method=\"other\",route=\"none\",status=\"404\"} 1\n",
        "starling_ingest_requests_total{method=\"other\",route=\"none\",status=\"405\"} 1\n",
        "starling_ingest_request_seconds_count{method=\"GET\",route=\"/v1/people/{user}\"} 3\n",
    };
    for (size_t i = 0; i < ARRAY_SIZE(LINES); i++)
        if (!strstr(buffer_cstring(&page), LINES[i])) fail_msg("no %s in: %s", LINES[i], buffer_cstring(&page));
}
