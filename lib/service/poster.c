#include "service/poster.h"

#include <curl/curl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/loop.h"
#include "base/mem.h"

enum {
    PAUSE_MS = 1000,
    TRIES = 6, /* within 31 s: a receiver that is restarted is waited for */
    POST_TIMEOUT_MS = 5000,
    END_MS = 1000 /* for all posts after the handoff was closed */
};

struct poster {
    struct poster_options options;
    uv_thread_t thread;
    bool started;
    CURL *easy;
    struct curl_slist *headers;
    struct buffer body;
    atomic_uint_fast64_t failed;
    atomic_int_fast64_t end_us; /* the process ends then, clock_monotonic_us; 0: it does not */
};

/* ---- the poster's thread ---- */

static size_t ignore(char *bytes, size_t size, size_t count, void *context) { return size * count; }

/* Breaks off a post when the process ends. */
static int progress(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
    int64_t end_us = atomic_load(&((struct poster *)context)->end_us);
    return end_us && clock_monotonic_us() > end_us;
}

enum posted { POSTED, POST_AGAIN, POST_REFUSED };

static enum posted post(struct poster *poster) {
    long status = 0;
    curl_easy_setopt(poster->easy, CURLOPT_POSTFIELDS, poster->body.data);
    curl_easy_setopt(poster->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)poster->body.size);
    CURLcode code = curl_easy_perform(poster->easy);
    curl_easy_getinfo(poster->easy, CURLINFO_RESPONSE_CODE, &status);
    if (!code && status / 100 == 2) return POSTED;
    atomic_fetch_add(&poster->failed, 1);
    // OTLP's specification names these as worth another try, and other receivers mean the same by them.
    bool again = code || status == 429 || status == 502 || status == 503 || status == 504;
    return again ? POST_AGAIN : POST_REFUSED;
}

/* Posts the body until it is taken, or given up. */
static bool deliver(struct poster *poster) {
    int pause_ms = poster->options.pause_ms ? poster->options.pause_ms : PAUSE_MS;
    for (int tries = 1;; tries++) {
        enum posted posted = post(poster);
        if (posted != POST_AGAIN || tries == TRIES) return posted == POSTED;
        if (handoff_pause(poster->options.items, pause_ms)) return false; // the process ends
        pause_ms *= 2;
    }
}

static void run(void *context) {
    struct poster *poster = context;
    const struct poster_options *options = &poster->options;
    for (bool last = false; !last;) {
        // Items that were put before the handoff was closed are posted, too.
        last = atomic_load(&poster->end_us) != 0;
        size_t count;
        const void *items = handoff_take(options->items, options->gather_ms, &count);
        if (!count) continue;
        buffer_clear(&poster->body);
        options->write(options->context, &poster->body, items, count);
        if (!deliver(poster)) handoff_lose(options->items, count);
    }
}

/* ---- beginning and end ---- */

static void set_options(struct poster *poster) {
    CURL *easy = poster->easy;
    curl_easy_setopt(easy, CURLOPT_URL, poster->options.url);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)POST_TIMEOUT_MS);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); // the process's end does not wait for a name server
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, ignore);
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, progress);
    curl_easy_setopt(easy, CURLOPT_XFERINFODATA, poster);
}

struct poster *poster_new(const struct poster_options *options) {
    struct poster *poster = MEM_NEW(&(struct poster){.options = *options});
    // On this thread, before there is another one.
    if (curl_global_init(CURL_GLOBAL_DEFAULT)) abort(); // out of memory, which base/mem.h cannot see here
    poster->easy = curl_easy_init();
    if (!poster->easy) abort(); // the same
    set_options(poster);
    poster->headers = curl_slist_append(poster->headers, "Content-Type: application/json");
    poster->headers = curl_slist_append(poster->headers, "Expect:");
    return poster;
}

void poster_add_header(struct poster *poster, const char *name, const char *value) {
    char *line = mem_format("%s: %s", name, value);
    poster->headers = curl_slist_append(poster->headers, line);
    free(line);
}

void poster_start(struct poster *poster) {
    curl_easy_setopt(poster->easy, CURLOPT_HTTPHEADER, poster->headers);
    if (uv_thread_create(&poster->thread, run, poster)) abort(); // out of memory
    poster->started = true;
}

void poster_free(struct poster *poster) {
    if (!poster) return;
    atomic_store(&poster->end_us, clock_monotonic_us() + END_MS * 1000LL);
    handoff_close(poster->options.items);
    if (poster->started) uv_thread_join(&poster->thread);
    curl_easy_cleanup(poster->easy);
    curl_slist_free_all(poster->headers);
    curl_global_cleanup();
    buffer_free(&poster->body);
    free(poster);
}

uint64_t poster_failed(struct poster *poster) { return atomic_load(&poster->failed); }
