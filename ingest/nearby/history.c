#include "ingest/nearby/history.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/mem.h"
#include "base/worker.h"
#include "budget/held.h"
#include "ingest/owners.h"
#include "service/http_accept.h"
#include "tracks/page.h"

enum {
    PEER_TIMEOUT_MS = 5000,
    LIMIT_MAX = 10000,
    LIMIT_DEFAULT = 20,
    CURSOR_MAX = 128,
    FILES_OF_USER = 2, /* at once */
    FILES_IN_ALL = 32,
    RETRY_AFTER_S = 2
};

struct history {
    struct peers *sinks;
    struct worker *worker; /* writes files: those of long pages take tens of milliseconds */
    struct held *files;
};

/* Types that a client may accept: the sink's own page, and files of it. */
enum { JSON_PAGE, FILES };

static const char THERE_IS[] = "there is application/json, application/x-ndjson, text/csv, application/gpx+xml and "
                               "application/geo+json";

/* A page that becomes a file. */
struct file_page {
    struct history *history;
    struct http_request *request;
    int64_t user, from, until, limit;
    /* The worker's until it is done: */
    struct track_writer writer;
    struct buffer reply, out;
    char *next; /* the cursor of the page behind it; NULL: none */
    int code;
    struct error error;
};

/* A cursor is the sink's own word; only what can stand in a URL as it is may pass. */
static bool plain(const char *cursor) {
    size_t size = strlen(cursor);
    for (size_t i = 0; i < size; i++) {
        if (!isalnum((unsigned char)cursor[i]) && !strchr("-_.", cursor[i])) return false;
    }
    return size <= CURSOR_MAX;
}

static void put_report(void *context, const struct track_report *report) {
    struct file_page *page = context;
    track_put(&page->writer, &page->out, report);
}

/* A file has no place for the cursor: it is in a header. */
static void reply_file(const struct file_page *page) {
    struct http_field fields[] = {{"Cache-Control", "no-store"}, {"Link", NULL}};
    char *link = mem_format("</v1/history?from=%" PRId64 "&to=%" PRId64 "&limit=%" PRId64 "&after=%s>; rel=\"next\"",
                            page->from, page->until, page->limit, page->next ? page->next : "");
    fields[1].value = link;
    http_reply(page->request, 200, track_media_type(page->writer.format),
               page->out.size ? page->out.data : (const uint8_t *)"", page->out.size, fields, page->next ? 2 : 1);
    free(link);
}

static void page_free(struct file_page *page) {
    held_give(page->history->files, (uint64_t)page->user, 1);
    free(page->next);
    buffer_free(&page->reply);
    buffer_free(&page->out);
    free(page);
}

/* On the worker. */
static void write_file(void *context) {
    struct file_page *page = context;
    track_begin(&page->writer, &page->out, page->writer.format, page->user);
    page->code = track_page_read(page->user, (const char *)page->reply.data, page->reply.size, put_report, page,
                                 &page->next, &page->error);
    track_end(&page->writer, &page->out);
}

static void file_written(void *context) {
    struct file_page *page = context;
    if (page->code)
        http_problem(page->request, 503, "owner_unavailable", page->error.text, RETRY_AFTER_S);
    else
        reply_file(page);
    page_free(page);
}

static void page_came(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct file_page *page = context;
    if (!owners_answered(page->request, code, status)) {
        page_free(page);
        return;
    }
    buffer_append(&page->reply, reply, size);
    worker_run(page->history->worker, write_file, file_written, page);
}

/* Which answer the client wants, an index of JSON_PAGE and the formats behind it; -1: answered. */
static int wanted_type(const struct call *call) {
    const char *offered[FILES + TRACK_FORMATS] = {[JSON_PAGE] = "application/json"};
    for (int i = 0; i < TRACK_FORMATS; i++) offered[FILES + i] = track_media_type((enum track_format)i);
    int wanted = http_accept(http_header(call->request, "Accept"), offered, ARRAY_SIZE(offered));
    if (wanted < 0) http_problem(call->request, 406, "not_acceptable", THERE_IS, 0);
    return wanted;
}

static void ask_for_file(struct history *history, const struct file_page *wanted, const struct rpc_value *values) {
    if (!held_take(history->files, (uint64_t)wanted->user, 1)) {
        http_problem(wanted->request, 503, "busy", "too many files of histories are being written; try again",
                     RETRY_AFTER_S);
        return;
    }
    struct file_page *page = MEM_NEW(wanted);
    rpc_ask(history->sinks, &ASK_HISTORY, values, PEER_TIMEOUT_MS, page_came, page);
}

static void get_history(void *state, const struct call *call) {
    struct history *history = state;
    int64_t user = call->claims.user, from = 0, until = INT64_MAX, limit = LIMIT_DEFAULT;
    http_set_varies(call->request, "Accept");
    const char *after = http_query(call->request, "after");
    if (!call_query_times(call, &from, &until) || !call_query_range(call, "limit", 1, LIMIT_MAX, &limit)) return;
    int wanted = wanted_type(call);
    if (wanted < 0) return;
    if (after && !plain(after)) {
        http_problem(call->request, 400, "bad_query", "\"after\" must be the `next` of a page before", 0);
        return;
    }
    const struct rpc_value *values = RPC_VALUES(RPC_INT(USER, user), RPC_INT(FROM, from), RPC_INT(TO, until),
                                                RPC_INT(LIMIT, limit), RPC_TEXT(AFTER, after));
    if (wanted == JSON_PAGE) {
        owners_pass_on(history->sinks, &ASK_HISTORY, values, PEER_TIMEOUT_MS, call->request);
        return;
    }
    ask_for_file(history,
                 &(struct file_page){
                     .history = history,
                     .request = call->request,
                     .user = user,
                     .from = from,
                     .until = until,
                     .limit = limit,
                     .writer = {.format = (enum track_format)(wanted - FILES)},
                 },
                 values);
}

struct history *history_new(const struct product_options *options, struct peers *sinks) {
    struct history *history = MEM_NEW(&(struct history){
        .sinks = sinks,
        .worker = worker_new(service_loop(options->service)),
        .files = held_new(&(struct held_options){.metrics = service_metrics(options->service),
                                                 .what = "history_files",
                                                 .by = "user",
                                                 .each = FILES_OF_USER,
                                                 .in_all = FILES_IN_ALL}),
    });
    return history;
}

bool history_busy(const struct history *history) { return worker_busy(history->worker); }

void history_free(struct history *history) {
    if (!history) return;
    worker_free(history->worker);
    held_free(history->files);
    free(history);
}

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/history", get_history, NEEDS_USER},
};
const struct endpoint_list HISTORY_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
