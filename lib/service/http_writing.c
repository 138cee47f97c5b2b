/* Answers as they go. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "service/http_connection.h"
#include "service/http_reply.h"

enum {
    LARGE = 64 * 1024,       /* bytes: answers of more are refused when there is no budget for them */
    FILE_STEP = 256 * 1024,  /* bytes of a file at once, and so often in a turn of the loop */
    FILE_STEPS = 4,          //
    PACKED_STEP = 32 * 1024, /* bytes of a chunk */
    CHUNK_ROOM = 24          /* for its size and ends */
};

const char *http_reason(unsigned status) {
    static const struct {
        unsigned status;
        const char *reason;
    } REASONS[] = {
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {421, "Misdirected Request"},
        {422, "Unprocessable Content"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
    };
    for (size_t i = 0; i < sizeof REASONS / sizeof *REASONS; i++)
        if (REASONS[i].status == status) return REASONS[i].reason;
    return "Unknown";
}

/* ---- the head ---- */

static const char *date_of(struct http_server *server) {
    time_t now_s = (time_t)(clock_wall_ms() / 1000);
    struct tm tm;
    if (now_s != server->date_s) {
        server->date_s = now_s;
        gmtime_r(&now_s, &tm);
        strftime(server->date, sizeof server->date, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    }
    return server->date;
}

/* The head goes to server->head, with the fields that were put. */
static void write_head(struct http_connection *connection, unsigned status, const struct http_body *body) {
    struct http_server *server = connection->server;
    const struct http_request *request = connection->request;
    struct buffer *head = &server->head;
    buffer_clear(head);
    buffer_string(head, "HTTP/1.1 ");
    text_int(head, status);
    buffer_byte(head, ' ');
    buffer_string(head, http_reason(status));
    buffer_string(head, "\r\nDate: ");
    buffer_string(head, date_of(server));
    buffer_string(head, "\r\n");
    buffer_append(head, server->fields.data, server->fields.size);
    if (request->varies) http_put_field(head, "Vary", request->varies);
    if (connection->closing) buffer_string(head, "Connection: close\r\n");
    if (body->packing) {
        if (!request->old) buffer_string(head, "Transfer-Encoding: chunked\r\n");
    } else if (status != 204 && status != 304) {
        buffer_string(head, "Content-Length: ");
        text_int(head, (int64_t)body->left);
        buffer_string(head, "\r\n");
    }
    buffer_string(head, "\r\n");
}

/* ---- bytes ---- */

static bool is_later(void) { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

/* 1: the next bytes of what is packed wait in `out`; 0: there are none. */
static int pack_more(struct http_connection *connection) {
    struct buffer *out = &connection->out;
    char size[CHUNK_ROOM];
    buffer_clear(out);
    char *room = (char *)buffer_reserve(out, PACKED_STEP + 2 * CHUNK_ROOM);
    size_t packed = http_packing_next(connection->body.packing, room + CHUNK_ROOM, PACKED_STEP);
    if (connection->closing && connection->body.plain) {
        memmove(room, room + CHUNK_ROOM, packed);
        buffer_commit(out, packed);
        if (packed) return 1;
    } else {
        int digits = snprintf(size, sizeof size, "%zx\r\n", packed);
        memcpy(room, size, (size_t)digits);
        memmove(room + digits, room + CHUNK_ROOM, packed);
        memcpy(room + digits + packed, "\r\n", 2);
        buffer_commit(out, (size_t)digits + packed + 2);
    }
    if (!packed) http_body_free(&connection->body);
    return out->size > 0;
}

static ssize_t send_some(const struct http_connection *connection, const void *bytes, size_t size) {
    return send(connection->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static ssize_t send_file(struct http_connection *connection) {
    struct http_body *body = &connection->body;
    ssize_t sent = sendfile(connection->fd, body->fd, NULL, body->left < FILE_STEP ? (size_t)body->left : FILE_STEP);
    if (sent == 0) errno = EIO; /* it was cut meanwhile */
    return sent ? sent : -1;
}

/* Sends what the kernel takes. 1: all is out; 0: the rest has to wait; -1: the connection is broken. */
static int push(struct http_connection *connection) {
    struct http_body *body = &connection->body;
    struct buffer *out = &connection->out;
    for (int step = 0;; step++) {
        size_t waiting = out->size - connection->out_from;
        ssize_t sent;
        if (step > FILE_STEPS) return 0;
        if (waiting) {
            sent = send_some(connection, out->data + connection->out_from, waiting);
            if (sent > 0) connection->out_from += (size_t)sent;
            if (connection->out_from == out->size) connection->out_from = out->size = 0;
        } else if (body->packing) {
            if (step > 1) return 0; /* the loop has other work */
            if (!pack_more(connection)) return 1;
            continue;
        } else if (body->left) {
            sent = body->file ? send_file(connection) : send_some(connection, body->bytes, (size_t)body->left);
            if (sent > 0) body->left -= (uint64_t)sent;
            if (sent > 0 && body->bytes) body->bytes += sent;
        } else
            return 1;
        if (sent < 0) return is_later() ? 0 : -1;
        connection->moved += (uint64_t)sent;
    }
}

/* The head, and what is in memory of the body, as far as the kernel takes it at once. -1: the connection is broken. */
static int send_first(struct http_connection *connection) {
    struct http_body *body = &connection->body;
    const struct buffer *head = &connection->server->head;
    struct iovec parts[] = {{head->data, head->size},
                            {(void *)(uintptr_t)body->bytes, body->bytes ? (size_t)body->left : 0}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = parts[1].iov_len ? 2 : 1};
    int more = body->file || body->packing ? MSG_MORE : 0;
    ssize_t sent = sendmsg(connection->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT | more);
    if (sent < 0 && !is_later()) return -1;
    size_t went = sent < 0 ? 0 : (size_t)sent, of_head = went < head->size ? went : head->size;
    connection->moved += went;
    if (of_head < head->size) buffer_append(&connection->out, head->data + of_head, head->size - of_head);
    if (!body->bytes) return 0;
    body->bytes += went - of_head;
    body->left -= went - of_head;
    return 0;
}

/* ---- budgets ---- */

/* Counts what is still to be sent. False: there is no budget for it. */
static bool count_reply(struct http_connection *connection) {
    struct held *replies = connection->server->replies;
    int64_t now = (int64_t)(connection->out.size - connection->out_from + http_body_held(&connection->body));
    int64_t more = now - connection->reply_held;
    if (more > 0 && !held_take(replies, connection->reply_caller, more)) return false;
    if (more < 0) held_give(replies, connection->reply_caller, -more);
    connection->reply_held = now;
    return true;
}

/* A large answer needs a budget before any of it is sent. False: the budget is used up, and another answer was sent. */
static bool afford(struct http_request *request, struct http_body *body) {
    struct http_connection *connection = request->connection;
    struct http_server *server = connection->server;
    int64_t size = (int64_t)http_body_held(body), each = server->options.budgets.reply_bytes;
    connection->reply_caller = request->caller;
    if (size <= LARGE || request->is_head) return true;
    if (held_take(server->replies, request->caller, size)) {
        connection->reply_held = size;
        return true;
    }
    bool all = !each || held_by(server->replies, request->caller) + size <= each;
    const struct http_fault *fault = all ? &HTTP_SERVER_FULL : &HTTP_CALLER_FULL;
    http_body_free(body);
    http_problem(request, fault->status, fault->code, fault->detail, HTTP_FULL_RETRY_S);
    return false;
}

/* ---- the answer ---- */

static void finish(struct http_connection *connection) {
    http_body_free(&connection->body);
    buffer_free(&connection->out);
    connection->out_from = 0;
    count_reply(connection);
    if (!connection->closing) {
        http_connection_enter(connection, HTTP_IDLE);
        http_connection_wait(connection, UV_READABLE);
        if (connection->in.size && !connection->taking) http_connection_resume(connection);
    } else if (connection->unread || connection->in.size) {
        shutdown(connection->fd, SHUT_WR);
        if (!connection->taking) buffer_clear(&connection->in);
        http_connection_enter(connection, HTTP_LINGERING);
        http_connection_wait(connection, UV_READABLE);
    } else
        http_connection_close(connection);
}

static void go_on(struct http_connection *connection, int pushed) {
    if (pushed < 0 || (pushed == 0 && !count_reply(connection)))
        http_connection_close(connection);
    else if (pushed)
        finish(connection);
    else
        http_connection_wait(connection, UV_WRITABLE);
}

/* Copies what was lent, which is gone soon. */
static void keep_lent(struct http_body *body) {
    if (!body->lent) return;
    char *kept = body->left ? mem_alloc((size_t)body->left) : NULL;
    if (kept) memcpy(kept, body->bytes, (size_t)body->left);
    body->bytes = body->owned = kept;
    body->lent = false;
}

void http_answer(struct http_request *request, unsigned status, struct http_body body) {
    struct http_connection *connection = request->connection;
    struct http_server *server = connection->server;
    assert(connection->state != HTTP_WRITING && connection->state != HTTP_LINGERING);
    if (!afford(request, &body)) return;
    // Clients that keep connections open would otherwise stay with a process that is about to go.
    connection->closing = request->closes || server->quiesced || connection->unread;
    http_cors_put(server->options.cors, http_header(request, "Origin"), &server->fields);
    body.plain = request->old;
    write_head(connection, status, &body);
    if (server->options.answered) server->options.answered(server->options.context, request, status);
    if (request->is_head) http_body_free(&body);
    connection->body = body;
    http_connection_enter(connection, HTTP_WRITING);
    int pushed = send_first(connection);
    keep_lent(&connection->body);
    http_request_free(request); /* of which the body may be a part */
    connection->request = NULL;
    if (pushed == 0) pushed = push(connection);
    go_on(connection, pushed);
}

void http_connection_write(struct http_connection *connection) {
    if (connection->state == HTTP_WRITING) go_on(connection, push(connection));
}
