#include "ingest/nearby/history.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/mem.h"
#include "ingest/owners.h"
#include "service/http_accept.h"
#include "tracks/page.h"

enum {
    PEER_TIMEOUT_MS = 5000,
    PATH_MAX_BYTES = 512,
    LIMIT_MAX = 10000,
    LIMIT_DEFAULT = 20,
    CURSOR_MAX = 128,
    RETRY_AFTER_S = 2
};

/* Types that a client may accept: the sink's own page, and files of it. */
enum { JSON_PAGE, FILES };

static const char THERE_IS[] = "there is application/json, application/x-ndjson, text/csv, application/gpx+xml and "
                               "application/geo+json";

/* A page that becomes a file. */
struct page {
    struct http_request *request;
    int64_t user, from, until, limit;
    struct track_writer writer;
    struct buffer out;
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
    struct page *page = context;
    track_put(&page->writer, &page->out, report);
}

/* A file has no place for the cursor: it is in a header. */
static void reply_file(const struct page *page, const char *next) {
    struct http_field fields[] = {{"Cache-Control", "no-store"}, {"Link", NULL}};
    char *link = mem_format("</v1/history?from=%" PRId64 "&to=%" PRId64 "&limit=%" PRId64 "&after=%s>; rel=\"next\"",
                            page->from, page->until, page->limit, next ? next : "");
    fields[1].value = link;
    http_reply(page->request, 200, track_media_type(page->writer.format),
               page->out.size ? page->out.data : (const uint8_t *)"", page->out.size, fields, next ? 2 : 1);
    free(link);
}

static void page_came(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct page *page = context;
    struct error error;
    char *next = NULL;
    if (owners_answered(page->request, code, status)) {
        track_begin(&page->writer, &page->out, page->writer.format, page->user);
        if (track_page_read(page->user, reply, size, put_report, page, &next, &error)) {
            http_problem(page->request, 503, "owner_unavailable", error.text, RETRY_AFTER_S);
        } else {
            track_end(&page->writer, &page->out);
            reply_file(page, next);
        }
    }
    free(next);
    buffer_free(&page->out);
    free(page);
}

/* Which answer the client wants, an index of JSON_PAGE and the formats behind it; -1: answered. */
static int wanted_type(const struct call *call) {
    const char *offered[FILES + TRACK_FORMATS] = {[JSON_PAGE] = "application/json"};
    for (int i = 0; i < TRACK_FORMATS; i++) offered[FILES + i] = track_media_type((enum track_format)i);
    int wanted = http_accept(http_header(call->request, "Accept"), offered, ARRAY_SIZE(offered));
    if (wanted < 0) http_problem(call->request, 406, "not_acceptable", THERE_IS, 0);
    return wanted;
}

static void get_history(void *state, const struct call *call) {
    struct peers *sinks = state;
    int64_t user = call->claims.user, from = 0, until = INT64_MAX, limit = LIMIT_DEFAULT;
    http_set_varies(call->request, "Accept");
    const char *after = http_query(call->request, "after");
    char path[PATH_MAX_BYTES];
    if (!call_query_times(call, &from, &until) || !call_query_range(call, "limit", 1, LIMIT_MAX, &limit)) return;
    int wanted = wanted_type(call);
    if (wanted < 0) return;
    if (after && !plain(after)) {
        http_problem(call->request, 400, "bad_query", "\"after\" must be the `next` of a page before", 0);
        return;
    }
    snprintf(path, sizeof path, "/peer/history/%" PRId64 "?from=%" PRId64 "&to=%" PRId64 "&limit=%" PRId64 "%s%s", user,
             from, until, limit, after ? "&after=" : "", after ? after : "");
    if (wanted == JSON_PAGE) {
        owners_pass_on(sinks, peers_of_user(sinks, user), path, PEER_TIMEOUT_MS, call->request);
        return;
    }
    struct page *page = mem_alloc(sizeof *page);
    *page = (struct page){
        .request = call->request,
        .user = user,
        .from = from,
        .until = until,
        .limit = limit,
        .writer = {.format = (enum track_format)(wanted - FILES)},
    };
    peers_fetch(sinks, peers_of_user(sinks, user), path, PEER_TIMEOUT_MS, page_came, page);
}

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/history", get_history, NEEDS_USER},
};
const struct endpoint_list HISTORY_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
