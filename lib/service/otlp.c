#include "service/otlp.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/header.h"
#include "base/loop.h"
#include "base/mem.h"

enum {
    GATHER_MS = 1000,
    PAUSE_MS = 1000,
    TRIES = 6, /* within 31 s: a collector that is restarted is waited for */
    POST_TIMEOUT_MS = 5000,
    END_MS = 1000 /* for all posts after the queue was closed */
};

struct otlp {
    struct otlp_options options;
    uv_thread_t thread;
    CURL *easy;
    struct curl_slist *headers;
    struct buffer body;
    atomic_uint_fast64_t failed;
    atomic_int_fast64_t end_us; /* the process ends then, clock_monotonic_us; 0: it does not */
};

/* ---- header fields ---- */

/* Calls `each` for NAME=VALUE,NAME=VALUE. */
static int each_header(const char *headers, int (*each)(void *context, const char *name, const char *value),
                       void *context, struct error *error) {
    char *copy = mem_string(headers), *rest = copy;
    int code = 0;
    for (char *one; !code && (one = strtok_r(rest, ",", &rest));) {
        char *equals = strchr(one, '=');
        if (equals) *equals = '\0';
        one += strspn(one, " ");
        if (!equals || !header_is_token(one, strlen(one)) || !header_is_value(equals + 1, strlen(equals + 1)))
            code =
                error_set(error, -EINVAL, "otlp.headers must be NAME=VALUE,... with the values of HTTP header fields");
        else
            code = each(context, one, equals + 1);
    }
    free(copy);
    return code;
}

static int accept_header(void *context, const char *name, const char *value) { return 0; }

static int add_header(void *context, const char *name, const char *value) {
    struct otlp *otlp = context;
    char *line = mem_format("%s: %s", name, value);
    otlp->headers = curl_slist_append(otlp->headers, line);
    free(line);
    return 0;
}

int otlp_check(const char *url, const char *headers, struct error *error) {
    if (*url && strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        return error_set(error, -EINVAL, "otlp.url %s: must begin with http:// or https://", url);
    return each_header(headers, accept_header, NULL, error);
}

/* ---- the exporter's thread ---- */

static size_t ignore(char *bytes, size_t size, size_t count, void *context) { return size * count; }

/* Breaks off a post when the process ends. */
static int progress(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
    int64_t end_us = atomic_load(&((struct otlp *)context)->end_us);
    return end_us && clock_monotonic_us() > end_us;
}

enum posted { POSTED, POST_AGAIN, POST_REFUSED };

static enum posted post(struct otlp *otlp) {
    long status = 0;
    curl_easy_setopt(otlp->easy, CURLOPT_POSTFIELDS, otlp->body.data);
    curl_easy_setopt(otlp->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)otlp->body.size);
    CURLcode code = curl_easy_perform(otlp->easy);
    curl_easy_getinfo(otlp->easy, CURLINFO_RESPONSE_CODE, &status);
    if (!code && status / 100 == 2) return POSTED;
    atomic_fetch_add(&otlp->failed, 1);
    // OTLP's specification names these as worth another try.
    bool again = code || status == 429 || status == 502 || status == 503 || status == 504;
    return again ? POST_AGAIN : POST_REFUSED;
}

/* Posts the body until it is taken, or given up. */
static bool deliver(struct otlp *otlp) {
    int pause_ms = otlp->options.pause_ms ? otlp->options.pause_ms : PAUSE_MS;
    for (int tries = 1;; tries++) {
        enum posted posted = post(otlp);
        if (posted != POST_AGAIN || tries == TRIES) return posted == POSTED;
        if (span_queue_pause(otlp->options.spans, pause_ms)) return false; // the process ends
        pause_ms *= 2;
    }
}

static void run(void *context) {
    struct otlp *otlp = context;
    const struct otlp_options *options = &otlp->options;
    const struct trace_span *spans;
    for (bool last = false; !last;) {
        // Spans that were put before the queue was closed are posted, too.
        last = atomic_load(&otlp->end_us) != 0;
        size_t count = span_queue_take(options->spans, options->gather_ms ? options->gather_ms : GATHER_MS, &spans);
        if (!count) continue;
        buffer_clear(&otlp->body);
        trace_spans_json(&otlp->body, &options->resource, spans, count);
        if (!deliver(otlp)) span_queue_lose(options->spans, count);
    }
}

/* ---- beginning and end ---- */

static void set_options(struct otlp *otlp) {
    CURL *easy = otlp->easy;
    otlp->headers = curl_slist_append(otlp->headers, "Content-Type: application/json");
    otlp->headers = curl_slist_append(otlp->headers, "Expect:");
    each_header(otlp->options.headers, add_header, otlp, NULL);
    curl_easy_setopt(easy, CURLOPT_URL, otlp->options.url);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, otlp->headers);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)POST_TIMEOUT_MS);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, ignore);
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, progress);
    curl_easy_setopt(easy, CURLOPT_XFERINFODATA, otlp);
}

struct otlp *otlp_new(const struct otlp_options *options) {
    struct otlp *otlp = mem_alloc(sizeof *otlp);
    *otlp = (struct otlp){.options = *options};
    // On this thread, before there is another one.
    if (curl_global_init(CURL_GLOBAL_DEFAULT)) abort(); // out of memory, which base/mem.h cannot see here
    otlp->easy = curl_easy_init();
    if (!otlp->easy) abort(); // the same
    set_options(otlp);
    if (uv_thread_create(&otlp->thread, run, otlp)) abort(); // the same
    return otlp;
}

void otlp_free(struct otlp *otlp) {
    if (!otlp) return;
    atomic_store(&otlp->end_us, clock_monotonic_us() + END_MS * 1000LL);
    span_queue_close(otlp->options.spans);
    uv_thread_join(&otlp->thread);
    curl_easy_cleanup(otlp->easy);
    curl_slist_free_all(otlp->headers);
    curl_global_cleanup();
    buffer_free(&otlp->body);
    free(otlp);
}

uint64_t otlp_posts_failed(struct otlp *otlp) { return atomic_load(&otlp->failed); }
