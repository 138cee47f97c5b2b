#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "service/hmac.h"
#include "service/http_client.h"

enum { REPLY_MAX = 16 * 1024 * 1024, IDLE_CONNECTIONS = 64 };

struct fetch {
    struct http_client *client;
    CURL *easy;
    struct curl_slist *headers;
    struct buffer body, reply;
    void (*done)(void *context, int code, unsigned status, const char *reply, size_t size);
    void *context;
    struct fetch *previous, *next;
};

/* A descriptor that libcurl waits for. libuv needs its memory until the close callback. */
struct wait {
    uv_poll_t handle;
    struct http_client *client;
    curl_socket_t fd;
};

struct http_client {
    uv_loop_t *loop;
    CURLM *multi;
    struct loop_timer *timer;
    struct fetch *fetches;
    CURL *idle[IDLE_CONNECTIONS]; // handles to use again: making one costs as much as half a fetch
    size_t idle_count;
    bool delivering; // in the callbacks of what is done
    bool closing;
};

int http_check_url(const char *setting, const char *url, struct error *error) {
    if (*url && strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        return error_set(error, -EINVAL, "%s %s: must begin with http:// or https://", setting, url);
    return 0;
}

static size_t reply_append(char *bytes, size_t size, size_t count, void *context) {
    struct fetch *fetch = context;
    // A short count makes libcurl give up.
    if (fetch->reply.size + size * count > REPLY_MAX) return 0;
    buffer_append(&fetch->reply, bytes, size * count);
    return size * count;
}

static CURL *handle_take(struct http_client *client) {
    CURL *easy = client->idle_count ? client->idle[--client->idle_count] : curl_easy_init();
    if (!easy) abort(); // out of memory, which base/mem.h cannot see here
    return easy;
}

static void handle_put(struct http_client *client, CURL *easy) {
    if (client->idle_count == IDLE_CONNECTIONS) {
        curl_easy_cleanup(easy);
        return;
    }
    curl_easy_reset(easy);
    client->idle[client->idle_count++] = easy;
}

static void fetch_free(struct fetch *fetch) {
    struct http_client *client = fetch->client;
    curl_multi_remove_handle(client->multi, fetch->easy);
    handle_put(client, fetch->easy);
    curl_slist_free_all(fetch->headers);
    buffer_free(&fetch->body);
    buffer_free(&fetch->reply);
    if (fetch->next) fetch->next->previous = fetch->previous;
    if (fetch->previous)
        fetch->previous->next = fetch->next;
    else
        client->fetches = fetch->next;
    free(fetch);
}

static int error_code(CURLcode code) {
    switch (code) {
    case CURLE_OK: return 0;
    case CURLE_OPERATION_TIMEDOUT: return -ETIMEDOUT;
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST: return -ECONNREFUSED;
    default: return -EIO;
    }
}

static void client_destroy(struct http_client *client) {
    while (client->fetches) {
        struct fetch *fetch = client->fetches;
        fetch->done(fetch->context, -ECANCELED, 0, NULL, 0);
        fetch_free(fetch);
    }
    while (client->idle_count) curl_easy_cleanup(client->idle[--client->idle_count]);
    curl_multi_cleanup(client->multi);
    loop_timer_free(client->timer);
    free(client);
    curl_global_cleanup();
}

static void deliver(struct http_client *client) {
    CURLMsg *message;
    int left;
    // libcurl calls back from curl_multi_socket_action alone, so a done that fetches again does not come here again.
    client->delivering = true;
    while (!client->closing && (message = curl_multi_info_read(client->multi, &left))) {
        struct fetch *fetch = NULL;
        long status = 0;
        int code = error_code(message->data.result);
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&fetch);
        curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &status);
        const char *text = buffer_cstring(&fetch->reply);
        fetch->done(fetch->context, code, code ? 0 : (unsigned)status, code ? NULL : text,
                    code ? 0 : fetch->reply.size);
        fetch_free(fetch);
    }
    client->delivering = false;
    if (client->closing) client_destroy(client);
}

static void on_socket(uv_poll_t *handle, int status, int events) {
    struct wait *wait = handle->data;
    struct http_client *client = wait->client;
    int ready = status ? CURL_CSELECT_ERR
                       : (events & UV_READABLE ? CURL_CSELECT_IN : 0) | (events & UV_WRITABLE ? CURL_CSELECT_OUT : 0);
    int running;
    curl_multi_socket_action(client->multi, wait->fd, ready, &running);
    deliver(client);
}

static void on_timeout(void *context) {
    struct http_client *client = context;
    int running;
    curl_multi_socket_action(client->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    deliver(client);
}

static void wait_closed(uv_handle_t *handle) { free(handle->data); }

/* libcurl: from now on, wait for this on that descriptor. */
static int want_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *slot) {
    struct http_client *client = context;
    struct wait *wait = slot;
    if (what == CURL_POLL_REMOVE) {
        if (wait) uv_close((uv_handle_t *)&wait->handle, wait_closed);
        return 0;
    }
    if (!wait) {
        wait = MEM_NEW(&(struct wait){.client = client, .fd = fd});
        if (uv_poll_init_socket(client->loop, &wait->handle, fd)) {
            free(wait);
            return -1;
        }
        wait->handle.data = wait;
        curl_multi_assign(client->multi, fd, wait);
    }
    int events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
    return uv_poll_start(&wait->handle, events, on_socket) ? -1 : 0;
}

static int want_timeout(CURLM *multi, long timeout_ms, void *context) {
    struct http_client *client = context;
    if (timeout_ms >= 0) loop_timer_again(client->timer, (uint64_t)timeout_ms, 0);
    return 0;
}

struct http_client *http_client_new(uv_loop_t *loop) {
    if (curl_global_init(CURL_GLOBAL_DEFAULT)) abort(); // out of memory, which base/mem.h cannot see here
    struct http_client *client = MEM_NEW(&(struct http_client){.loop = loop, .multi = curl_multi_init()});
    if (!client->multi) abort(); // the same
    client->timer = loop_timer_new(loop, 1, 0, on_timeout, client);
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, want_socket);
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, want_timeout);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
    curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, (long)IDLE_CONNECTIONS);
    return client;
}

void http_client_free(struct http_client *client) {
    if (!client) return;
    client->closing = true;
    if (!client->delivering) client_destroy(client);
}

static void add_header(struct fetch *fetch, const char *name, const char *value) {
    char *line = mem_format("%s%s", name, value);
    fetch->headers = curl_slist_append(fetch->headers, line);
    free(line);
}

static void set_headers(struct fetch *fetch, const char *token, const char *signature) {
    // An empty Expect keeps libcurl from waiting a second for a 100 before it sends a large body.
    fetch->headers = curl_slist_append(fetch->headers, "Expect:");
    if (fetch->body.size) fetch->headers = curl_slist_append(fetch->headers, "Content-Type: application/json");
    if (token) add_header(fetch, "Authorization: Bearer ", token);
    if (signature) add_header(fetch, "Starling-Signature: sha256=", signature);
    curl_easy_setopt(fetch->easy, CURLOPT_HTTPHEADER, fetch->headers);
}

static void set_options(struct fetch *fetch, const char *method, const char *url, int timeout_ms) {
    CURL *easy = fetch->easy;
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(timeout_ms > 0 ? timeout_ms : 1));
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    // Peers are asked directly, whatever the environment says about proxies.
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    // A question that is given up while a name is looked up would wait for the name server, and the loop with it.
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, reply_append);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, fetch);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, fetch);
    if (fetch->body.size) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, fetch->body.data);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)fetch->body.size);
    }
}

static void begin(struct http_client *client, const char *method, const char *url, const char *token,
                  const char *signature, const struct buffer *body, int timeout_ms,
                  void (*done)(void *context, int code, unsigned status, const char *reply, size_t size),
                  void *context) {
    if (client->closing) {
        done(context, -ECANCELED, 0, NULL, 0);
        return;
    }
    struct fetch *fetch = MEM_NEW(&(struct fetch){
        .client = client, .easy = handle_take(client), .done = done, .context = context, .next = client->fetches});
    if (fetch->next) fetch->next->previous = fetch;
    client->fetches = fetch;
    if (body) buffer_append(&fetch->body, body->data, body->size);
    set_options(fetch, method, url, timeout_ms);
    set_headers(fetch, token, signature);
    // A fault in the URL, say, is reported from the loop like every other failure.
    if (curl_multi_add_handle(client->multi, fetch->easy) != CURLM_OK) abort(); // the same
}

void http_fetch(struct http_client *client, const char *method, const char *url, const char *token,
                const struct buffer *body, int timeout_ms,
                void (*done)(void *context, int code, unsigned status, const char *reply, size_t size), void *context) {
    begin(client, method, url, token, NULL, body, timeout_ms, done, context);
}

void http_post_signed(struct http_client *client, const char *url, const char *key, const struct buffer *body,
                      int timeout_ms,
                      void (*done)(void *context, int code, unsigned status, const char *reply, size_t size),
                      void *context) {
    uint8_t digest[HMAC_SIZE];
    struct buffer signature = {0};
    if (*key && !hmac_sha256(key, strlen(key), body->data, body->size, digest))
        abort(); // out of memory, which base/mem.h cannot see here
    for (size_t i = 0; *key && i < sizeof digest; i++) buffer_format(&signature, "%02x", digest[i]);
    begin(client, "POST", url, NULL, *key ? buffer_cstring(&signature) : NULL, body, timeout_ms, done, context);
    buffer_free(&signature);
}
