#include "service/http_connection.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "service/http_incoming.h"
#include "service/http_reply.h"
#include "service/http_response.h"

enum {
    READ_SIZE = 16 * 1024,
    FILE_SIZE = 1024 * 1024, // of one call
    /* A body that is too large is still read up to so much more, so that its client can go on by this connection. */
    EXCESS_READ = 1024 * 1024,
    LINGER_US = 2 * 1000 * 1000,
    LOOK_MS = 500 // how often deadlines are looked at
};

struct http_connection {
    struct http_connections *all;
    uv_poll_t poll;
    int events; // what is polled for
    int fd;
    enum { HEAD, BODY, HANDED, WRITE, LINGER, CLOSED } state;
    struct buffer in, out;
    size_t seen; // of `in`, by http_head_end
    size_t sent; // of `out`
    int file;    // what follows `out`; -1: nothing
    uint64_t file_left;
    struct http_request *request; // in BODY and HANDED
    bool running;                 // run() is at it
    bool last;                    // close after this answer
    bool unread;                  // and bytes of the request are still coming
    bool waits;                   // for its turn, in `ready`
    int64_t deadline_us;
    struct http_connection *previous, *next, *next_ready;
};

struct http_connections {
    struct http_server_options options;
    void (*on_room)(void *context);
    void *room_context;
    struct http_connection *first, *ready; // ready: answered out of their turn
    struct loop_idle *again;               // on while something is ready
    struct loop_timer *look;
    size_t count, pending;
    bool quiesced, closing;
};

void http_answer(struct http_request *request, unsigned status, const struct http_field *fields, size_t field_count,
                 const void *body, uint64_t size, int fd) {
    struct http_connection *connection = http_request_connection(request);
    struct http_connections *all = connection->all;
    const struct http_head *head = http_request_head(request);
    assert(connection->request == request && connection->state != WRITE);
    connection->last |= all->quiesced || all->closing || !head->keep_alive;
    http_response_put(&connection->out, status, fields, field_count, size, !connection->last);
    bool only_head = !strcmp(head->method, "HEAD");
    if (fd >= 0 && only_head) close(fd);
    if (fd >= 0 && !only_head) {
        connection->file = fd;
        connection->file_left = size;
    } else if (!only_head)
        buffer_append(&connection->out, body, (size_t)size);
    if (all->options.answered) all->options.answered(all->options.context, request, status);
    all->pending -= connection->state == HANDED;
    http_request_free(request);
    connection->request = NULL;
    connection->state = WRITE;
    if (connection->running || connection->waits) return;
    connection->waits = true;
    connection->next_ready = all->ready;
    all->ready = connection;
    loop_idle_on(all->again, 1);
}

/* ---- the connection ---- */

static void on_event(uv_poll_t *handle, int status, int events);

static void poll_for(struct http_connection *connection, int events) {
    if (connection->events == events) return;
    connection->events = events;
    if (events)
        uv_poll_start(&connection->poll, events, on_event);
    else
        uv_poll_stop(&connection->poll);
}

static void extend(struct http_connection *connection) {
    connection->deadline_us = clock_monotonic_us() + (int64_t)connection->all->options.timeout_s * 1000000;
}

static void destroy(uv_handle_t *handle) { free(handle->data); }

static void leave_ready(struct http_connection *connection) {
    struct http_connection **at = &connection->all->ready;
    while (connection->waits && *at != connection) at = &(*at)->next_ready;
    if (connection->waits) *at = connection->next_ready;
    connection->waits = false;
}

/* The memory stays until the loop's next turn, so whoever is at work with the connection may look at its state. */
static void close_connection(struct http_connection *connection) {
    struct http_connections *all = connection->all;
    assert(connection->state != HANDED && connection->state != CLOSED);
    connection->state = CLOSED;
    leave_ready(connection);
    if (connection->next) connection->next->previous = connection->previous;
    if (connection->previous)
        connection->previous->next = connection->next;
    else
        all->first = connection->next;
    all->count--;
    http_request_free(connection->request);
    buffer_free(&connection->in);
    buffer_free(&connection->out);
    if (connection->file >= 0) close(connection->file);
    uv_close((uv_handle_t *)&connection->poll, destroy);
    close(connection->fd);
    if (!all->closing) all->on_room(all->room_context);
}

/* Forgets what was read of `in`. An idle connection holds no memory for it. */
static void consume(struct http_connection *connection, size_t size) {
    struct buffer *in = &connection->in;
    in->size -= size;
    connection->seen = 0;
    if (in->size)
        memmove(in->data, in->data + size, in->size);
    else
        buffer_free(in);
}

/* Answers a request that cannot be taken, and closes: where the next one begins is not known. */
static bool refuse(struct http_connection *connection, const struct http_fault *fault) {
    connection->last = connection->unread = true;
    http_problem(connection->request, fault->status, fault->code, fault->detail, 0);
    return true;
}

static const struct http_fault TOO_LARGE = {413, "body_too_large",
                                            "the request's body is larger than this server accepts"};
static const struct http_fault BAD_CHUNK = {400, "bad_request", "the chunks of the body are malformed"};

/* Each of the following does what it can in its state; false: it waits, or the connection is closed. */

static bool run_head(struct http_connection *connection) {
    struct buffer *in = &connection->in;
    struct http_fault fault;
    while (in->size >= 2 && !memcmp(in->data, "\r\n", 2)) consume(connection, 2); // RFC 9112, 2.2
    if (!in->size) return false;
    int size = http_head_end((const char *)in->data, in->size, &connection->seen, &fault);
    if (size == 0) return false;
    connection->request = http_request_new(connection);
    if (size < 0 || http_request_begin(connection->request, (const char *)in->data, (size_t)size, &fault))
        return refuse(connection, &fault);
    const struct http_head *head = http_request_head(connection->request);
    consume(connection, (size_t)size);
    if (head->length > connection->all->options.max_body + EXCESS_READ) return refuse(connection, &TOO_LARGE);
    static const char GO_ON[] = "HTTP/1.1 100 Continue\r\n\r\n";
    if (head->expects_continue && (head->length || head->chunked) && !in->size)
        send(connection->fd, GO_ON, sizeof GO_ON - 1, MSG_NOSIGNAL | MSG_DONTWAIT); // all before is sent: there is room
    connection->state = BODY;
    return true;
}

static void hand_over(struct http_connection *connection) {
    struct http_connections *all = connection->all;
    connection->state = HANDED;
    all->pending++;
    all->options.handle(all->options.context, connection->request);
}

static bool run_body(struct http_connection *connection) {
    struct http_request *request = connection->request;
    size_t used;
    int code = http_request_read(request, (const char *)connection->in.data, connection->in.size,
                                 connection->all->options.max_body, &used);
    if (used) consume(connection, used);
    if (code < 0) return refuse(connection, &BAD_CHUNK);
    uint64_t excess = http_request_excess(request);
    if (excess > EXCESS_READ) return refuse(connection, &TOO_LARGE);
    if (code == 0) return false;
    if (excess)
        http_problem(request, TOO_LARGE.status, TOO_LARGE.code, TOO_LARGE.detail, 0);
    else
        hand_over(connection);
    return true;
}

/* Sends what the kernel takes: 1 everything, 0 more is left, negative: the client is gone. */
static int send_some(struct http_connection *connection) {
    while (connection->sent < connection->out.size) {
        ssize_t sent = send(connection->fd, connection->out.data + connection->sent,
                            connection->out.size - connection->sent, MSG_NOSIGNAL);
        if (sent < 0) return errno == EAGAIN ? 0 : errno == EINTR ? 0 : -errno;
        connection->sent += (size_t)sent;
        extend(connection);
    }
    while (connection->file_left) {
        size_t part = connection->file_left < FILE_SIZE ? (size_t)connection->file_left : FILE_SIZE;
        ssize_t sent = sendfile(connection->fd, connection->file, NULL, part);
        if (sent < 0) return errno == EAGAIN ? 0 : errno == EINTR ? 0 : -errno;
        if (sent == 0) return -EIO; // the file has become shorter than was said
        connection->file_left -= (uint64_t)sent;
        extend(connection);
    }
    return 1;
}

static bool run_write(struct http_connection *connection) {
    int code = send_some(connection);
    if (code == 0) return false;
    if (connection->file >= 0) close(connection->file);
    connection->file = -1;
    buffer_free(&connection->out);
    connection->sent = 0;
    if (code < 0 || (connection->last && !connection->unread) || connection->all->closing) {
        close_connection(connection);
        return false;
    }
    if (connection->last) {
        shutdown(connection->fd, SHUT_WR);
        connection->deadline_us = clock_monotonic_us() + LINGER_US;
        connection->state = LINGER;
        return true;
    }
    extend(connection);
    connection->state = HEAD;
    return true;
}

static bool run_linger(struct http_connection *connection) {
    if (connection->in.size) consume(connection, connection->in.size);
    return false;
}

static void run(struct http_connection *connection) {
    static bool (*const STATES[])(struct http_connection * connection) = {
        [HEAD] = run_head, [BODY] = run_body, [WRITE] = run_write, [LINGER] = run_linger};
    connection->running = true;
    while (connection->state != HANDED && STATES[connection->state](connection)) {}
    connection->running = false;
    if (connection->state == CLOSED || connection->state == HANDED) return;
    poll_for(connection, connection->state == WRITE ? UV_WRITABLE : UV_READABLE);
}

/* false: the connection is closed. */
static bool receive(struct http_connection *connection) {
    ssize_t got = recv(connection->fd, buffer_reserve(&connection->in, READ_SIZE), READ_SIZE, 0);
    if (got > 0) {
        buffer_commit(&connection->in, (size_t)got);
        if (connection->state == BODY) extend(connection);
        return true;
    }
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    close_connection(connection);
    return false;
}

static void on_event(uv_poll_t *handle, int status, int events) {
    struct http_connection *connection = handle->data;
    bool reads = connection->state == HEAD || connection->state == BODY || connection->state == LINGER;
    // While a request is handled, what follows it waits in the kernel; so does the client's going.
    if (!reads && (connection->state != WRITE || connection->waits))
        poll_for(connection, 0);
    else if (!reads || receive(connection))
        run(connection);
}

/* ---- all of them ---- */

static void run_ready(void *context) {
    struct http_connections *all = context;
    loop_idle_on(all->again, 0);
    struct http_connection *ready = all->ready;
    all->ready = NULL;
    while (ready) {
        struct http_connection *connection = ready;
        ready = connection->next_ready;
        connection->waits = false;
        run(connection);
    }
}

/* Closes the connections that have been silent for too long. Only those that wait for their client have a deadline. */
static void look(void *context) {
    struct http_connections *all = context;
    int64_t now_us = clock_monotonic_us();
    struct http_connection *next;
    for (struct http_connection *connection = all->first; connection; connection = next) {
        next = connection->next;
        if (connection->state != HANDED && !connection->waits && connection->deadline_us < now_us)
            close_connection(connection);
    }
}

struct http_connections *http_connections_new(const struct http_server_options *options, void (*on_room)(void *context),
                                              void *room_context) {
    struct http_connections *all = mem_alloc(sizeof *all);
    *all = (struct http_connections){
        .options = *options,
        .on_room = on_room,
        .room_context = room_context,
        .again = loop_idle_new(options->loop, run_ready, all),
        .look = loop_timer_new(options->loop, LOOK_MS, LOOK_MS, look, all),
    };
    return all;
}

void http_connections_add(struct http_connections *all, int fd) {
    static const int ON = 1;
    struct http_connection *connection = mem_alloc(sizeof *connection);
    *connection = (struct http_connection){.all = all, .fd = fd, .file = -1, .next = all->first};
    if (uv_poll_init(all->options.loop, &connection->poll, fd)) {
        close(fd);
        free(connection);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &ON, sizeof ON);
    connection->poll.data = connection;
    if (connection->next) connection->next->previous = connection;
    all->first = connection;
    all->count++;
    extend(connection);
    poll_for(connection, UV_READABLE);
}

void http_connections_quiesce(struct http_connections *all) { all->quiesced = true; }

size_t http_connections_count(const struct http_connections *all) { return all->count; }

size_t http_connections_pending(const struct http_connections *all) { return all->pending; }

void http_connections_free(struct http_connections *all) {
    if (!all) return;
    all->closing = true;
    struct http_connection *next;
    for (struct http_connection *connection = all->first; connection; connection = next) {
        next = connection->next;
        if (connection->state == HANDED)
            http_problem(connection->request, 503, "shutting_down", "this process is going away", 1);
        if (connection->state == WRITE) send_some(connection);
        close_connection(connection);
    }
    loop_idle_free(all->again);
    loop_timer_free(all->look);
    free(all);
}
