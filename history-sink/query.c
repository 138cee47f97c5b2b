#include "history-sink/query.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "history-sink/wiping.h"
#include "json/details.h"

enum { RETRY_AFTER_S = 2 };
enum { SLICE = 1000 /* rows: about a millisecond */, LEAD_MAX = 10000 };

/* The place of a cursor, "TIME-OFFSET". */
static bool read_cursor(const char *after, struct rows_query *query) {
    size_t time = strcspn(after, "-");
    query->resume = true;
    return after[time] && text_number(after, time, INT64_MAX, &query->after_time) &&
           text_number(after + time + 1, strlen(after + time + 1), INT64_MAX, &query->after_offset);
}

/* An answer that is being made. */
struct history_page {
    struct history_page *next;
    const struct wiping *wiping;
    struct http_request *request;
    struct rows_query query; /* of what is left */
    struct buffer body;
    struct history_row last;
    struct map *shown; /* the places that were shown, with the time when last, and one more */
    size_t count;
};

struct queries {
    struct sink *sink;
    struct history_page *first, **end; /* those that go on, in turn */
    struct loop_timer *turn;
};

/* A client that got no answer sends its reports again, and all are records of the topic: the answer shows each place of a time once. */
static bool repeats(struct history_page *page, const struct history_row *row) {
    uint64_t place = (uint64_t)(uint32_t)row->lat << 32 | (uint32_t)row->lng, time = (uint64_t)row->time + 1;
    uint64_t *shown = map_put(page->shown, place, NULL);
    if (*shown == time) return true;
    *shown = time;
    return false;
}

static void put_row(void *context, const struct history_row *row) {
    struct history_page *page = context;
    page->last = *row;
    if (wiping_has(page->wiping, row)) return; // it leaves the store just now
    if (repeats(page, row)) return;
    buffer_string(&page->body, page->count++ ? ",{\"lat\":" : "{\"lat\":");
    json_put_degrees(&page->body, row->lat);
    buffer_string(&page->body, ",\"lng\":");
    json_put_degrees(&page->body, row->lng);
    json_member_int(&page->body, ",\"time\":", row->time);
    buffer_string(&page->body, ",\"accuracy\":");
    if (row->accuracy >= 0)
        json_put_int(&page->body, row->accuracy);
    else
        buffer_string(&page->body, "null");
    json_member_int(&page->body, ",\"received\":", row->received);
    json_member_details(&page->body, &(struct report_details){DETAILS_OF(row)});
    buffer_string(&page->body, "}");
}

struct lead {
    struct history_page *page;
    int64_t end; /* offset */
};

static void lead_row(void *context, const struct history_row *row) {
    struct lead *lead = context;
    if (row->offset <= lead->end && !wiping_has(lead->page->wiping, row)) repeats(lead->page, row);
}

/* Notes what the pages before have shown of the time at which this one begins. */
static int read_lead(struct sink *sink, const struct rows_query *query, struct history_page *page,
                     struct error *error) {
    if (!query->resume || query->after_time == INT64_MAX) return 0;
    const struct rows_query same = {
        .user = query->user, .from = query->after_time, .to = query->after_time + 1, .limit = LEAD_MAX};
    struct lead lead = {.page = page, .end = query->after_offset};
    bool more;
    return rows_find(sink->rows, &same, lead_row, &lead, &more, error);
}

static void page_free(struct history_page *page) {
    buffer_free(&page->body);
    map_free(page->shown);
    free(page);
}

static void reply(struct history_page *page, bool more) {
    if (more)
        buffer_format(&page->body, "],\"next\":\"%" PRId64 "-%" PRId64 "\"}", page->last.time, page->last.offset);
    else
        buffer_string(&page->body, "],\"next\":null}");
    http_reply_json(page->request, 200, &page->body);
}

/* True: this process may answer now; else the request is answered. */
static bool may_answer(struct sink *sink, struct http_request *request, int64_t user) {
    const struct sink_partition *partition = sink_find(sink, hash_user_partition(user, sink->partitions_total));
    bool may = partition && sink_answers(sink, partition);
    if (!partition)
        http_problem(request, 421, "not_the_owner", "another process has this user's history", 0);
    else if (!may)
        http_problem(request, 503, "rebuilding", "this user's history is still being read", RETRY_AFTER_S);
    return may;
}

/* Finds the next rows of what is left of the query. */
static int find_some(struct sink *sink, struct history_page *page, bool *more, struct error *error) {
    struct rows_query *left = &page->query, some = *left;
    if (some.limit > SLICE) some.limit = SLICE;
    int code = rows_find(sink->rows, &some, put_row, page, more, error);
    left->resume = true;
    left->after_time = page->last.time;
    left->after_offset = page->last.offset;
    left->limit -= some.limit;
    return code;
}

/* True: the request is answered. */
static bool slice(struct sink *sink, struct history_page *page) {
    struct error error;
    bool more = false;
    if (!may_answer(sink, page->request, page->query.user)) return true; // perhaps only since the last slice
    int code = find_some(sink, page, &more, &error);
    if (!code && more && page->query.limit) return false;
    if (code) {
        log_error(service_log(sink->service), "query failed", LOG_TEXT("reason", error.text));
        http_problem(page->request, 500, "store_failed", "the store cannot be read", 0);
    } else {
        reply(page, more);
    }
    return true;
}

static void line_up(struct queries *queries, struct history_page *page) {
    page->next = NULL;
    *queries->end = page;
    queries->end = &page->next;
    loop_timer_again(queries->turn, 0, 0);
}

static struct history_page *take_first(struct queries *queries) {
    struct history_page *first = queries->first;
    queries->first = first->next;
    if (!queries->first) queries->end = &queries->first;
    return first;
}

static void turn(void *context) {
    struct queries *queries = context;
    struct history_page *page = take_first(queries);
    if (slice(queries->sink, page))
        page_free(page);
    else
        line_up(queries, page);
    if (queries->first) loop_timer_again(queries->turn, 0, 0);
}

struct queries *queries_new(struct sink *sink) {
    struct queries *queries = mem_zero(1, sizeof *queries);
    queries->sink = sink;
    queries->end = &queries->first;
    queries->turn = loop_timer_new(service_loop(sink->service), 0, 0, turn, queries);
    loop_timer_stop(queries->turn);
    return queries;
}

void queries_free(struct queries *queries) {
    if (!queries) return;
    while (queries->first) {
        struct history_page *page = take_first(queries);
        http_problem(page->request, 503, "stopping", "this process ends", RETRY_AFTER_S);
        page_free(page);
    }
    loop_timer_free(queries->turn);
    free(queries);
}

static void begin(struct sink *sink, struct http_request *request, const struct rows_query *query) {
    struct history_page *page = mem_alloc(sizeof *page);
    struct error error;
    *page = (struct history_page){.wiping = sink->wiping, .request = request, .query = *query, .shown = map_new()};
    int code = read_lead(sink, query, page, &error);
    buffer_string(&page->body, "{\"items\":[");
    if (code) {
        log_error(service_log(sink->service), "query failed", LOG_TEXT("reason", error.text));
        http_problem(request, 500, "store_failed", "the store cannot be read", 0);
    }
    if (code || slice(sink, page))
        page_free(page);
    else
        line_up(sink->queries, page);
}

void query_answer(void *context, struct http_request *request) {
    struct sink *sink = context;
    struct rpc_asked asked = {.partition = -1};
    int code = rpc_read(&ASK_HISTORY, request, sink->partitions_total, &asked);
    bool wiped = code == -ENOENT;
    if (wiped) code = rpc_read(&ASK_WIPED, request, sink->partitions_total, &asked);
    struct rows_query query = {
        .user = asked.numbers[RPC_USER],
        .from = asked.numbers[RPC_FROM],
        .to = asked.numbers[RPC_TO],
        .limit = (size_t)asked.numbers[RPC_LIMIT],
    };
    if (code == -ENOENT) {
        http_problem(request, 404, "no_such_path", "there is nothing here", 0);
    } else if (strcmp(http_method(request), "GET") != 0) {
        http_problem(request, 405, "bad_method", "history is only read", 0);
    } else if (code || (asked.texts[RPC_AFTER] && !read_cursor(asked.texts[RPC_AFTER], &query))) {
        http_problem(request, 400, "bad_query", "a value is missing or out of range", 0);
    } else if (wiped) {
        wiping_answer(sink->wiping, request, &asked);
    } else {
        sink->metrics.queries->value++;
        if (may_answer(sink, request, query.user)) begin(sink, request, &query);
    }
}
