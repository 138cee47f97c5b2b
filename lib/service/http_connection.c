#include "service/http_connection.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/mem.h"
#include "service/http_head.h"
#include "service/http_incoming.h"
#include "service/http_reply.h"

enum {
    /* A body that is too large is still read up to so much more: closing on a client that is writing resets the connection, and
     * it might never read the 413. */
    EXCESS_READ = 1024 * 1024,
    LOOK_MS = 500 // how often it is looked for heads that take too long
};

struct http_connection {
    struct http_connections *all;
    struct MHD_Connection *handle;
    enum { WAITING, READING, HANDED, ANSWERED } state;
    bool suspended;
    int64_t waiting_since_us; // in WAITING
    struct http_head head;    // of the address only, in WAITING
    struct http_request *request;
    unsigned status; // in ANSWERED, as is the response
    struct MHD_Response *response;
    struct http_connection *previous, *next;
};

struct http_connections {
    struct http_server_options options;
    void (*on_work)(void *context);
    void *work_context;
    struct http_connection *first;
    struct loop_timer *look;
    struct http_gzip *gzip; // NULL: answers are not packed
    size_t count, pending;
    bool quiesced, abandoned;
};

struct http_gzip *http_connection_gzip(const struct http_connection *connection) {
    return connection->all->gzip;
}

const struct http_cors *http_connection_cors(const struct http_connection *connection) {
    return connection->all->options.cors;
}

void http_answer(struct http_request *request, unsigned status, struct MHD_Response *response) {
    struct http_connection *connection = http_request_connection(request);
    struct http_connections *all = connection->all;
    assert(connection->state == READING || connection->state == HANDED);
    // Clients that keep connections open would otherwise stay with a process that is about to go.
    if (all->quiesced) MHD_add_response_header(response, "Connection", "close");
    http_cors_put(all->options.cors, request, response);
    const char *varies = http_request_varies(request);
    if (varies) MHD_add_response_header(response, "Vary", varies);
    if (all->options.answered) all->options.answered(all->options.context, request, status);
    all->pending -= connection->state == HANDED;
    connection->state = ANSWERED;
    connection->status = status;
    connection->response = response;
    if (!connection->suspended) return;
    connection->suspended = false;
    MHD_resume_connection(connection->handle);
    all->on_work(all->work_context);
}

/* ---- requests ---- */

static enum MHD_Result send_response(struct http_connection *connection) {
    return MHD_queue_response(connection->handle, connection->status, connection->response);
}

/* Refused before its body was read, a request is its connection's last: libmicrohttpd reads nothing more of it. */
static enum MHD_Result refuse(struct http_connection *connection, const struct http_fault *fault) {
    http_problem(connection->request, fault->status, fault->code, fault->detail, 0);
    return send_response(connection);
}

static const struct http_fault TOO_LARGE = {413, "body_too_large",
                                            "the request's body is larger than this server accepts"};
static const struct http_fault ENDING = {503, "shutting_down", "this process is going away"};

/* The head has come, the body has not. */
static enum MHD_Result begin(struct http_connection *connection) {
    struct http_fault fault;
    connection->state = READING;
    connection->request =
        http_request_new(connection, connection->handle, connection->head.method, connection->head.path);
    if (http_head_check(&connection->head, connection->handle, &fault)) return refuse(connection, &fault);
    const char *length = http_header(connection->request, "Content-Length");
    uint64_t announced = length ? strtoull(length, NULL, 10) : 0;
    // Waiting for all of it is not worth it; this also answers "Expect: 100-continue" before anything is sent.
    if (announced > connection->all->options.max_body + EXCESS_READ) return refuse(connection, &TOO_LARGE);
    return MHD_YES;
}

static enum MHD_Result complete(struct http_connection *connection) {
    struct http_connections *all = connection->all;
    if (http_request_excess(connection->request)) return refuse(connection, &TOO_LARGE);
    if (connection->all->abandoned) return refuse(connection, &ENDING); // the handler may be half freed
    connection->state = HANDED;
    all->pending++;
    all->options.handle(all->options.context, connection->request);
    if (connection->state == ANSWERED) return send_response(connection);
    connection->suspended = true;
    MHD_suspend_connection(connection->handle);
    return MHD_YES;
}

/* ---- libmicrohttpd's callbacks ---- */

static struct http_connection *connection_of(struct MHD_Connection *handle) {
    return MHD_get_connection_info(handle, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

/* The request line has come; the address is as it was sent. */
static void *on_address(void *context, const char *address, struct MHD_Connection *handle) {
    http_head_address(&connection_of(handle)->head, address);
    return NULL;
}

/* Called for the head, for each part of the body, for its end, and after a resume. */
static enum MHD_Result on_access(void *context, struct MHD_Connection *handle, const char *path, const char *method,
                                 const char *version, const char *data, size_t *size, void **slot) {
    struct http_connection *connection = connection_of(handle);
    if (connection->state == WAITING) {
        connection->head.method = method;
        connection->head.path = path;
        connection->head.version = version;
        return begin(connection);
    }
    if (!*size) return connection->state == ANSWERED ? send_response(connection) : complete(connection);
    http_request_read(connection->request, data, *size, connection->all->options.max_body);
    *size = 0;
    return http_request_excess(connection->request) <= EXCESS_READ ? MHD_YES : MHD_NO;
}

static void on_completed(void *context, struct MHD_Connection *handle, void **slot,
                         enum MHD_RequestTerminationCode code) {
    struct http_connection *connection = connection_of(handle);
    assert(connection->state != HANDED);
    if (connection->response) MHD_destroy_response(connection->response);
    http_request_free(connection->request);
    connection->response = NULL;
    connection->request = NULL;
    connection->state = WAITING;
    connection->waiting_since_us = clock_monotonic_us();
}

static void opened(struct http_connections *all, struct MHD_Connection *handle, void **slot) {
    struct http_connection *connection = mem_alloc(sizeof *connection);
    *connection = (struct http_connection){
        .all = all, .handle = handle, .waiting_since_us = clock_monotonic_us(), .next = all->first};
    if (connection->next) connection->next->previous = connection;
    all->first = connection;
    all->count++;
    *slot = connection;
}

static void closed(struct http_connection *connection) {
    struct http_connections *all = connection->all;
    if (connection->next) connection->next->previous = connection->previous;
    if (connection->previous)
        connection->previous->next = connection->next;
    else
        all->first = connection->next;
    all->count--;
    free(connection);
    // Clients that waited because the limit was reached are looked at again only when libmicrohttpd runs once more.
    all->on_work(all->work_context);
}

static void on_connection(void *context, struct MHD_Connection *handle, void **slot,
                          enum MHD_ConnectionNotificationCode code) {
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        opened(context, handle, slot);
    else
        closed(*slot);
}

/* ---- all of them ---- */

/* libmicrohttpd's own timeout counts from the last byte. A head that comes byte by byte would keep a place that others wait for. */
static void look(void *context) {
    struct http_connections *all = context;
    int64_t oldest_us = clock_monotonic_us() - (int64_t)all->options.timeout_s * 1000000;
    for (struct http_connection *connection = all->first; connection; connection = connection->next)
        if (connection->state == WAITING && connection->waiting_since_us < oldest_us)
            shutdown(MHD_get_connection_info(connection->handle, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
                     SHUT_RDWR);
}

struct http_connections *http_connections_new(const struct http_server_options *options, void (*on_work)(void *context),
                                              void *work_context) {
    struct http_connections *all = mem_alloc(sizeof *all);
    *all = (struct http_connections){
        .options = *options,
        .on_work = on_work,
        .work_context = work_context,
        .look = loop_timer_new(options->loop, LOOK_MS, LOOK_MS, look, all),
        .gzip = options->gzip_least ? http_gzip_new(options->gzip_least) : NULL,
    };
    return all;
}

struct MHD_Daemon *http_connections_serve(struct http_connections *all, int listener) {
    return MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_access, all,
                            MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_NOTIFY_CONNECTION, on_connection, all,
                            MHD_OPTION_URI_LOG_CALLBACK, on_address, all, MHD_OPTION_NOTIFY_COMPLETED, on_completed,
                            all, MHD_OPTION_CONNECTION_LIMIT, all->options.max_connections,
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_HEAD_MEMORY, MHD_OPTION_CONNECTION_TIMEOUT,
                            all->options.timeout_s, MHD_OPTION_END);
}

void http_connections_quiesce(struct http_connections *all) { all->quiesced = true; }

void http_connections_abandon(struct http_connections *all) {
    all->abandoned = true;
    for (struct http_connection *connection = all->first; connection; connection = connection->next)
        if (connection->state == HANDED)
            http_problem(connection->request, ENDING.status, ENDING.code, ENDING.detail, 1);
}

size_t http_connections_count(const struct http_connections *all) { return all->count; }

size_t http_connections_pending(const struct http_connections *all) { return all->pending; }

void http_connections_free(struct http_connections *all) {
    if (!all) return;
    assert(!all->first);
    loop_timer_free(all->look);
    http_gzip_free(all->gzip);
    free(all);
}
