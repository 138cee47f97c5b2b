#include "service/jwks_fetch.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/loop.h"
#include "base/mem.h"

enum { SET_MAX = 1024 * 1024, CONNECT_MS = 3000, FETCH_MS = 5000, OK = 200 };

struct jwks_fetch {
    char *url;
    int pause_ms;
    CURL *easy;
    uv_thread_t thread;
    atomic_bool closing;
    struct buffer body; /* the thread's, as it comes in */
    uv_mutex_t lock;    /* of what follows */
    uv_cond_t changed;
    bool wanted, ended; /* ended: the first fetch */
    int outcome;        /* as jwks_fetch_take */
    struct buffer text;
    struct error error;
};

int jwks_fetch_pause_s(const char *cache_control) {
    const char *age = cache_control ? strcasestr(cache_control, "max-age=") : NULL;
    if (!age) return JWKS_FETCH_USUAL_S;
    long long seconds = strtoll(age + strlen("max-age="), NULL, 10);
    if (seconds < JWKS_FETCH_LEAST_S) return JWKS_FETCH_LEAST_S;
    return seconds < JWKS_FETCH_MOST_S ? (int)seconds : JWKS_FETCH_MOST_S;
}

/* ---- the thread ---- */

static size_t append(char *bytes, size_t size, size_t count, void *context) {
    struct jwks_fetch *fetch = context;
    if (fetch->body.size + size * count > SET_MAX) return 0; // libcurl gives up
    buffer_append(&fetch->body, bytes, size * count);
    return size * count;
}

/* Breaks off a fetch when the process ends. */
static int progress(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
    return atomic_load(&((struct jwks_fetch *)context)->closing);
}

/* Fetches once into the body: 0, or the reason why it counts for nothing. */
static int get(struct jwks_fetch *fetch, struct error *error) {
    long status = 0;
    buffer_clear(&fetch->body);
    CURLcode code = curl_easy_perform(fetch->easy);
    curl_easy_getinfo(fetch->easy, CURLINFO_RESPONSE_CODE, &status);
    if (code == CURLE_WRITE_ERROR) return error_set(error, -EFBIG, "%s: more than %d bytes", fetch->url, SET_MAX);
    if (code) return error_set(error, -EIO, "%s: %s", fetch->url, curl_easy_strerror(code));
    return status == OK ? 0 : error_set(error, -EIO, "%s: the answer is %ld", fetch->url, status);
}

static int64_t after_ms(struct jwks_fetch *fetch, int code) {
    struct curl_header *field;
    if (code) return fetch->pause_ms;
    bool there = !curl_easy_header(fetch->easy, "Cache-Control", 0, CURLH_HEADER, -1, &field);
    return jwks_fetch_pause_s(there ? field->value : NULL) * INT64_C(1000);
}

static void leave(struct jwks_fetch *fetch, int code, const struct error *error) {
    fetch->ended = true;
    fetch->outcome = code ? code : 1;
    fetch->error = *error;
    buffer_clear(&fetch->text);
    if (!code) buffer_append(&fetch->text, fetch->body.data, fetch->body.size);
    uv_cond_broadcast(&fetch->changed);
}

/* Waits until it is time to fetch again. */
static void rest(struct jwks_fetch *fetch, int64_t began_us, int64_t ms) {
    while (!atomic_load(&fetch->closing)) {
        int64_t end_us = began_us + 1000 * (fetch->wanted && ms > fetch->pause_ms ? fetch->pause_ms : ms);
        int64_t left_us = end_us - clock_monotonic_us();
        if (left_us <= 0) break;
        uv_cond_timedwait(&fetch->changed, &fetch->lock, (uint64_t)left_us * 1000);
    }
    fetch->wanted = false;
}

static void run(void *context) {
    struct jwks_fetch *fetch = context;
    struct error error;
    while (!atomic_load(&fetch->closing)) {
        error.text[0] = '\0';
        int64_t began_us = clock_monotonic_us();
        int code = get(fetch, &error);
        uv_mutex_lock(&fetch->lock);
        leave(fetch, code, &error);
        rest(fetch, began_us, after_ms(fetch, code));
        uv_mutex_unlock(&fetch->lock);
    }
}

/* ---- the loop's side ---- */

static void set_options(struct jwks_fetch *fetch) {
    CURL *easy = fetch->easy;
    curl_easy_setopt(easy, CURLOPT_URL, fetch->url);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)FETCH_MS);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); // the process's end does not wait for a name server
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, append);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, fetch);
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, progress);
    curl_easy_setopt(easy, CURLOPT_XFERINFODATA, fetch);
}

struct jwks_fetch *jwks_fetch_new(const char *url, int pause_ms) {
    struct jwks_fetch *fetch =
        MEM_NEW(&(struct jwks_fetch){.url = mem_string(url), .pause_ms = pause_ms ? pause_ms : JWKS_FETCH_PAUSE_MS});
    // On this thread, before there is another one.
    if (curl_global_init(CURL_GLOBAL_DEFAULT)) abort(); // out of memory, which base/mem.h cannot see here
    fetch->easy = curl_easy_init();
    if (!fetch->easy) abort(); // the same
    set_options(fetch);
    uv_mutex_init(&fetch->lock);
    uv_cond_init(&fetch->changed);
    if (uv_thread_create(&fetch->thread, run, fetch)) abort(); // the same
    return fetch;
}

void jwks_fetch_free(struct jwks_fetch *fetch) {
    if (!fetch) return;
    uv_mutex_lock(&fetch->lock);
    atomic_store(&fetch->closing, true);
    uv_cond_broadcast(&fetch->changed);
    uv_mutex_unlock(&fetch->lock);
    uv_thread_join(&fetch->thread);
    uv_cond_destroy(&fetch->changed);
    uv_mutex_destroy(&fetch->lock);
    curl_easy_cleanup(fetch->easy);
    curl_global_cleanup();
    buffer_free(&fetch->body);
    buffer_free(&fetch->text);
    free(fetch->url);
    free(fetch);
}

int jwks_fetch_take(struct jwks_fetch *fetch, struct buffer *text, struct error *error) {
    uv_mutex_lock(&fetch->lock);
    int outcome = fetch->outcome;
    fetch->outcome = 0;
    if (outcome > 0) buffer_append(text, fetch->text.data, fetch->text.size);
    if (outcome < 0) error_set(error, outcome, "%s", fetch->error.text);
    uv_mutex_unlock(&fetch->lock);
    return outcome;
}

void jwks_fetch_want(struct jwks_fetch *fetch) {
    uv_mutex_lock(&fetch->lock);
    fetch->wanted = true;
    uv_cond_broadcast(&fetch->changed);
    uv_mutex_unlock(&fetch->lock);
}

void jwks_fetch_wait(struct jwks_fetch *fetch, int wait_ms) {
    int64_t end_us = clock_monotonic_us() + wait_ms * INT64_C(1000);
    uv_mutex_lock(&fetch->lock);
    for (int64_t left_us; !fetch->ended && (left_us = end_us - clock_monotonic_us()) > 0;)
        uv_cond_timedwait(&fetch->changed, &fetch->lock, (uint64_t)left_us * 1000);
    uv_mutex_unlock(&fetch->lock);
}
