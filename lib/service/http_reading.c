/* Requests as they come: heads, then bodies. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "service/http_connection.h"
#include "service/http_reply.h"

enum {
    LINGER_BYTES = 1024 * 1024, /* of what is thrown away behind a refusal, besides what a body may have */
    BODY_READ_SIZE = 64 * 1024  /* at once, into the body itself */
};

const struct http_fault HTTP_ENDING = {503, "shutting_down", "this process is going away"};
static const struct http_fault TOO_LARGE = {413, "body_too_large",
                                            "the request's body is larger than this server accepts"};
static const struct http_fault CHUNKS = {400, "bad_request", "the body's chunks are broken"};
const struct http_fault HTTP_CALLER_FULL = {429, "too_many_bytes",
                                            "too many bytes of this caller's requests or answers are under way"};
const struct http_fault HTTP_SERVER_FULL = {503, "overloaded", "too many bytes are under way"};

/* ---- refusals ---- */

void http_connection_refuse(struct http_connection *connection, const struct http_fault *fault, int retry_after_s) {
    connection->unread = true;
    if (!connection->request) connection->request = http_request_new(connection, NULL, NULL, 0);
    http_problem(connection->request, fault->status, fault->code, fault->detail, retry_after_s);
}

/* A budget has said no to bytes of that caller. */
static void refuse_bytes(struct http_connection *connection, const struct held *held, int64_t each, uint64_t caller,
                         size_t more) {
    bool all = !each || held_by(held, caller) + (int64_t)more <= each;
    http_connection_refuse(connection, all ? &HTTP_SERVER_FULL : &HTTP_CALLER_FULL, HTTP_FULL_RETRY_S);
}

/* ---- bodies ---- */

/* The request is whole. */
static void complete(struct http_connection *connection) {
    struct http_server *server = connection->server;
    connection->unread = false;
    http_connection_enter(connection, HTTP_HANDED);
    server->options.handle(server->options.context, connection->request);
}

/* So many bytes of the body have come: false, they are too many, and the request is refused. */
static bool count_body(struct http_connection *connection, size_t size) {
    struct http_server *server = connection->server;
    struct http_request *request = connection->request;
    connection->moved += size;
    if (request->body.size + size > request->max_body) {
        http_connection_refuse(connection, &TOO_LARGE, 0);
        return false;
    }
    if (held_take(server->requests, request->caller, (int64_t)size)) {
        request->held += (int64_t)size;
        return true;
    }
    refuse_bytes(connection, server->requests, server->options.budgets.request_bytes, request->caller, size);
    return false;
}

/* How many bytes were used; the connection then may be in another state. */
static size_t take_body(struct http_connection *connection, const char *bytes, size_t size) {
    struct http_request *request = connection->request;
    size_t part = size < request->left ? size : (size_t)request->left;
    ssize_t over = 0;
    if (request->chunked && (over = http_chunks_read(&request->chunks, bytes, size, &part)) < 0) {
        http_connection_refuse(connection, &CHUNKS, 0);
        return size;
    }
    if (!request->chunked) request->left -= part;
    if (part) {
        if (!count_body(connection, part)) return size;
        buffer_append(&request->body, bytes + over, part);
    }
    if (request->chunked ? request->chunks.state == CHUNK_DONE : !request->left) complete(connection);
    return (size_t)over + part;
}

/* ---- heads ---- */

static void invite_body(struct http_connection *connection) {
    static const char CONTINUE[] = "HTTP/1.1 100 Continue\r\n\r\n";
    ssize_t sent = send(connection->fd, CONTINUE, sizeof CONTINUE - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent != sizeof CONTINUE - 1) http_connection_close(connection); /* nothing was sent before: it is gone */
}

/* False: the caller has not taken enough of earlier answers, and the request is refused. */
static bool takes_answers(struct http_connection *connection) {
    struct held *replies = connection->server->replies;
    uint64_t caller = connection->request->caller;
    int64_t each = connection->server->options.budgets.reply_bytes;
    if (!each || held_by(replies, caller) < each || held_take(replies, caller, 1)) return true;
    refuse_bytes(connection, replies, each, caller, 1);
    return false;
}

/* The head has come, and bytes behind it or not. */
static void begin(struct http_connection *connection, const struct http_head *head, bool alone) {
    struct http_server *server = connection->server;
    const struct http_server_options *options = &server->options;
    struct http_request *request = connection->request;
    bool body = head->chunked || head->length;
    connection->unread = body;
    http_connection_enter(connection, HTTP_BODY);
    if (server->abandoned) { /* the handler may be half freed */
        http_connection_refuse(connection, &HTTP_ENDING, 1);
        return;
    }
    if (options->admit) options->admit(options->context, request);
    if (connection->state != HTTP_BODY || !takes_answers(connection)) return;
    if (head->length > (int64_t)request->max_body)
        http_connection_refuse(connection, &TOO_LARGE, 0);
    else if (!body)
        complete(connection);
    else if (head->expects_continue && alone)
        invite_body(connection);
}

/* How many bytes were used; 0: the head is not whole. */
static size_t take_head(struct http_connection *connection, char *bytes, size_t size) {
    struct http_server *server = connection->server;
    struct http_incoming *incoming = &server->incoming;
    struct http_fault fault = {400, "bad_request", "no request"};
    if (size >= 2 && !memcmp(bytes, "\r\n", 2) && !connection->known)
        return 2; /* behind a body, some clients add that */
    if (size == 1 && *bytes == '\r') return 0;
    if (connection->state == HTTP_IDLE) http_connection_enter(connection, HTTP_HEAD);
    ssize_t whole = http_head_size(bytes, size, connection->known);
    connection->known = size;
    if (whole == 0 && !http_head_exceeds(bytes, size, &fault)) return 0;
    connection->known = 0;
    if (whole <= 0) {
        http_connection_refuse(connection, &fault, 0);
        return size;
    }
    int code = http_incoming_read(bytes, (size_t)whole, incoming, &fault);
    connection->request = http_request_new(connection, incoming, bytes, (size_t)whole);
    if (code)
        http_connection_refuse(connection, &fault, 0);
    else
        begin(connection, &incoming->head, size == (size_t)whole);
    return (size_t)whole;
}

/* How many bytes were used. The others wait for the request's answer, or for more of it. */
static size_t take(struct http_connection *connection, char *bytes, size_t size) {
    size_t at = 0, used = 1;
    connection->taking = true;
    while (!connection->closed && at < size && used) {
        switch (connection->state) {
        case HTTP_IDLE:
        case HTTP_HEAD: used = take_head(connection, bytes + at, size - at); break;
        case HTTP_BODY: used = take_body(connection, bytes + at, size - at); break;
        case HTTP_LINGERING: used = size - at; break;
        case HTTP_HANDED:
        case HTTP_WRITING: used = 0; break;
        }
        at += used;
    }
    connection->taking = false;
    if (!connection->closed) http_connection_queue(connection);
    return at;
}

/* ---- bytes ---- */

/* Counts what waits; refuses what is too much. */
static void count_in(struct http_connection *connection) {
    struct http_server *server = connection->server;
    uint64_t caller = http_caller_of_network(http_place_network(&connection->place));
    size_t size = connection->in.size, before = connection->in_held;
    if (connection->closed || size == before) return;
    if (size < before || held_take(server->requests, caller, (int64_t)(size - before))) {
        if (size < before) held_give(server->requests, caller, (int64_t)(before - size));
        connection->in_held = size;
    } else if (connection->state == HTTP_HEAD) {
        refuse_bytes(connection, server->requests, server->options.budgets.request_bytes, caller, size - before);
    }
}

void http_connection_take_in(struct http_connection *connection) {
    struct buffer *in = &connection->in;
    size_t used = take(connection, (char *)in->data, in->size);
    if (connection->closed) return;
    in->size -= used;
    if (in->size)
        memmove(in->data, in->data + used, in->size);
    else
        buffer_free(in);
    count_in(connection);
}

static void take_new(struct http_connection *connection, size_t size) {
    struct http_server *server = connection->server;
    size_t used = take(connection, server->bytes, size);
    if (connection->closed || used == size) return;
    buffer_append(&connection->in, server->bytes + used, size - used);
    count_in(connection);
}

/* The rest of a body whose length is known goes where it belongs at once. */
static ssize_t receive_body(struct http_connection *connection) {
    struct http_request *request = connection->request;
    size_t room = request->left < BODY_READ_SIZE ? (size_t)request->left : BODY_READ_SIZE;
    ssize_t got = recv(connection->fd, buffer_reserve(&request->body, room), room, MSG_DONTWAIT);
    if (got <= 0 || !count_body(connection, (size_t)got)) return got;
    buffer_commit(&request->body, (size_t)got);
    request->left -= (uint64_t)got;
    if (!request->left) complete(connection);
    return got;
}

static ssize_t receive(struct http_connection *connection) {
    struct http_server *server = connection->server;
    struct buffer *in = &connection->in;
    if (connection->state == HTTP_BODY && !connection->request->chunked && !in->size) return receive_body(connection);
    if (in->size) {
        ssize_t got = recv(connection->fd, buffer_reserve(in, HTTP_READ_SIZE), HTTP_READ_SIZE, MSG_DONTWAIT);
        if (got <= 0) return got;
        buffer_commit(in, (size_t)got);
        http_connection_take_in(connection);
        return got;
    }
    ssize_t got = recv(connection->fd, server->bytes, HTTP_READ_SIZE, MSG_DONTWAIT);
    if (got > 0) take_new(connection, (size_t)got);
    return got;
}

static ssize_t throw_away(struct http_connection *connection) {
    struct http_server *server = connection->server;
    ssize_t got = recv(connection->fd, server->bytes, HTTP_READ_SIZE, MSG_DONTWAIT);
    if (got > 0) connection->moved += (uint64_t)got;
    return connection->moved > LINGER_BYTES + server->options.max_body ? 0 : got;
}

void http_connection_read(struct http_connection *connection) {
    if (connection->state == HTTP_HANDED || connection->state == HTTP_WRITING) {
        http_connection_wait(connection, connection->waits_for & UV_WRITABLE); /* it waits in the kernel */
        return;
    }
    ssize_t got = connection->state == HTTP_LINGERING ? throw_away(connection) : receive(connection);
    if (got > 0 || connection->closed) return;
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) http_connection_close(connection);
}
