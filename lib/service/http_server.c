/* How a request goes through libmicrohttpd, which calls on_access again and again:
 *
 *     READING --body complete--> HANDED --http_answer--> ANSWERED --on_completed--> freed
 *        |                          |   (suspended unless answered within handle;   ^
 *        +-- too large: answered by | answering resumes it, and on_access comes     |
 *            itself ----------------+ once more to queue the response) -------------+
 *
 * A suspended connection is outside libmicrohttpd's reach: it neither times out nor notices that the client is gone, so
 * a handed request lives until it is answered.
 */
#include "service/http.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/mem.h"
#include "service/http_internal.h"
#include "service/listen.h"

enum {
    MAX_BODY = 64 * 1024,
    MAX_CONNECTIONS = 1000,
    TIMEOUT_S = 60,
    /* A body that is too large is still read up to so much more: closing on a client that is writing resets the connection, and
     * it would never read the 413. */
    EXCESS_READ = 1024 * 1024,
    FINAL_TURNS = 64
};

struct http_server {
    struct http_server_options options;
    struct MHD_Daemon *daemon;
    struct loop_watch *watch;
    struct loop_timer *timer; // libmicrohttpd's timeouts
    struct loop_idle *again;  // on: there is work that no descriptor will announce
    struct http_request *pending_first;
    size_t pending;
    int port;
    bool quiesced, running;
    bool room; // a connection was closed in this turn
};

struct http_request {
    struct http_server *server;
    struct MHD_Connection *connection;
    const char *method, *path;
    struct buffer body;
    size_t excess; // bytes of the body beyond the limit, thrown away
    enum { READING, HANDED, ANSWERED } state;
    bool suspended;
    unsigned status;
    struct MHD_Response *response;
    void *context;
    struct http_request *previous, *next; // of the pending ones
};

static void pending_add(struct http_request *request) {
    struct http_server *server = request->server;
    request->next = server->pending_first;
    if (request->next) request->next->previous = request;
    server->pending_first = request;
    server->pending++;
}

static void pending_remove(struct http_request *request) {
    struct http_server *server = request->server;
    if (request->next) request->next->previous = request->previous;
    if (request->previous)
        request->previous->next = request->next;
    else
        server->pending_first = request->next;
    server->pending--;
}

static struct http_request *request_new(struct http_server *server, struct MHD_Connection *connection,
                                        const char *method, const char *path) {
    struct http_request *request = mem_alloc(sizeof *request);
    *request = (struct http_request){
        .server = server,
        .connection = connection,
        .method = method,
        .path = path,
        .state = READING,
    };
    return request;
}

static void request_free(struct http_request *request) {
    if (request->response) MHD_destroy_response(request->response);
    buffer_free(&request->body);
    free(request);
}

void http_answer(struct http_request *request, unsigned status, struct MHD_Response *response) {
    struct http_server *server = request->server;
    assert(request->state != ANSWERED);
    // Clients that keep connections open would otherwise stay with a process that is about to go.
    if (server->quiesced) MHD_add_response_header(response, "Connection", "close");
    if (request->state == HANDED) pending_remove(request);
    request->state = ANSWERED;
    request->status = status;
    request->response = response;
    if (request->suspended) {
        request->suspended = false;
        MHD_resume_connection(request->connection);
        loop_idle_on(server->again, 1);
    }
}

static enum MHD_Result queue_response(struct http_request *request) {
    return MHD_queue_response(request->connection, request->status, request->response);
}

static enum MHD_Result refuse_body(struct http_request *request) {
    buffer_free(&request->body);
    http_problem(request, 413, "body_too_large", "the request's body is larger than this server accepts", 0);
    return queue_response(request);
}

/* The headers have come, the body has not. */
static enum MHD_Result request_begin(struct http_request *request) {
    const char *length = http_header(request, "Content-Length");
    uint64_t announced = length ? strtoull(length, NULL, 10) : 0;
    // Waiting for all of it is not worth it; this also answers "Expect: 100-continue" before anything is sent.
    return announced > request->server->options.max_body + EXCESS_READ ? refuse_body(request) : MHD_YES;
}

static enum MHD_Result request_read(struct http_request *request, const char *data, size_t size) {
    size_t room = request->server->options.max_body - request->body.size;
    size_t taken = request->excess ? 0 : size < room ? size : room;
    if (taken) buffer_append(&request->body, data, taken);
    request->excess += size - taken;
    return request->excess <= EXCESS_READ ? MHD_YES : MHD_NO;
}

static enum MHD_Result request_complete(struct http_request *request) {
    struct http_server *server = request->server;
    if (request->excess) return refuse_body(request);
    request->state = HANDED;
    pending_add(request);
    server->options.handle(server->options.context, request);
    if (request->state == ANSWERED) return queue_response(request);
    request->suspended = true;
    MHD_suspend_connection(request->connection);
    return MHD_YES;
}

static enum MHD_Result on_access(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                                 const char *version, const char *data, size_t *size, void **slot) {
    struct http_request *request = *slot;
    if (!request) {
        request = request_new(context, connection, method, url);
        *slot = request;
        return request_begin(request);
    }
    if (*size) {
        size_t given = *size;
        *size = 0;
        return request_read(request, data, given);
    }
    return request->state == ANSWERED ? queue_response(request) : request_complete(request);
}

static void on_completed(void *context, struct MHD_Connection *connection, void **slot,
                         enum MHD_RequestTerminationCode code) {
    struct http_request *request = *slot;
    if (!request) return;
    assert(request->state != HANDED);
    *slot = NULL;
    request_free(request);
}

static void on_connection(void *context, struct MHD_Connection *connection, void **slot,
                          enum MHD_ConnectionNotificationCode code) {
    struct http_server *server = context;
    server->room |= code == MHD_CONNECTION_NOTIFY_CLOSED;
}

/* Lets libmicrohttpd do what it can now, and sees to it that it is called again when it must be. */
static void server_turn(void *context) {
    struct http_server *server = context;
    server->running = true;
    server->room = false;
    MHD_run(server->daemon);
    server->running = false;
    MHD_UNSIGNED_LONG_LONG timeout_ms;
    bool timed = MHD_get_timeout(server->daemon, &timeout_ms) == MHD_YES;
    // Clients that waited because the limit was reached are looked at again only by another turn, which nothing announces.
    loop_idle_on(server->again, server->room || (timed && timeout_ms == 0));
    if (timed && timeout_ms) loop_timer_again(server->timer, timeout_ms, 0);
}

static int server_start(struct http_server *server, int listener, struct error *error) {
    const struct http_server_options *options = &server->options;
    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_access, server, MHD_OPTION_LISTEN_SOCKET, listener,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_NOTIFY_COMPLETED, on_completed, server,
        MHD_OPTION_CONNECTION_LIMIT, options->max_connections, MHD_OPTION_CONNECTION_TIMEOUT, options->timeout_s,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    const union MHD_DaemonInfo *info =
        server->daemon ? MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
    if (!info) return error_set(error, -EIO, "the HTTP server on %s did not start", options->listen);
    server->again = loop_idle_new(options->loop, server_turn, server);
    server->timer = loop_timer_new(options->loop, 1, 0, server_turn, server);
    server->watch = loop_watch_new(options->loop, info->epoll_fd, server_turn, server);
    return server->watch ? 0 : error_set(error, -EIO, "the HTTP server on %s cannot be watched", options->listen);
}

int http_server_new(const struct http_server_options *options, struct http_server **server, struct error *error) {
    int listener, port, code = listen_open(options->listen, options->reuse_port, &listener, &port, error);
    if (code) return code;
    struct http_server *made = mem_alloc(sizeof *made);
    *made = (struct http_server){.options = *options, .port = port};
    if (!made->options.max_body) made->options.max_body = MAX_BODY;
    if (!made->options.max_connections) made->options.max_connections = MAX_CONNECTIONS;
    if (!made->options.timeout_s) made->options.timeout_s = TIMEOUT_S;
    // From here the listening socket is libmicrohttpd's, which closes it even when it does not start.
    code = server_start(made, listener, error);
    if (code) {
        http_server_free(made);
        return code;
    }
    *server = made;
    return 0;
}

int http_server_port(const struct http_server *server) { return server->port; }

size_t http_server_pending(const struct http_server *server) { return server->pending; }

void http_server_quiesce(struct http_server *server) {
    if (server->quiesced) return;
    server->quiesced = true;
    int listener = MHD_quiesce_daemon(server->daemon);
    if (listener >= 0) close(listener);
    if (!server->running) loop_idle_on(server->again, 1);
}

void http_server_free(struct http_server *server) {
    if (!server) return;
    assert(!server->running);
    if (server->daemon)
        while (server->pending_first)
            http_problem(server->pending_first, 503, "shutting_down", "this process is going away", 1);
    loop_watch_free(server->watch);
    if (server->daemon) {
        // Sends what was just answered; a client that does not read is not waited for.
        MHD_UNSIGNED_LONG_LONG timeout_ms = 0;
        for (int i = 0; i < FINAL_TURNS && timeout_ms == 0; i++) {
            MHD_run(server->daemon);
            if (MHD_get_timeout(server->daemon, &timeout_ms) != MHD_YES) break;
        }
        MHD_stop_daemon(server->daemon);
    }
    loop_timer_free(server->timer);
    loop_idle_free(server->again);
    free(server);
}

const char *http_method(const struct http_request *request) { return request->method; }

const char *http_path(const struct http_request *request) { return request->path; }

const char *http_query(const struct http_request *request, const char *name) {
    const char *value = NULL;
    size_t size;
    if (MHD_lookup_connection_value_n(request->connection, MHD_GET_ARGUMENT_KIND, name, strlen(name), &value, &size) !=
        MHD_YES)
        return NULL;
    return value ? value : "";
}

const char *http_header(const struct http_request *request, const char *name) {
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

const void *http_body(const struct http_request *request, size_t *size) {
    *size = request->body.size;
    return request->body.data;
}

void http_set_context(struct http_request *request, void *context) { request->context = context; }

void *http_context(const struct http_request *request) { return request->context; }
