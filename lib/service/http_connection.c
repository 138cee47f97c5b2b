#include "service/http_connection.h"

#include <assert.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mem.h"

enum { LINGER_S = 3 };

static void on_ready(uv_poll_t *poll, int status, int events) {
    struct http_connection *connection = poll->data;
    if (connection->closed) return;
    if (status < 0) { /* the connection is broken, and libuv has stopped waiting for it */
        connection->waits_for = 0;
        if (connection->state != HTTP_HANDED) http_connection_close(connection);
        return;
    }
    if (events & UV_WRITABLE) http_connection_write(connection);
    if (events & UV_READABLE && !connection->closed) http_connection_read(connection);
}

void http_connection_wait(struct http_connection *connection, int events) {
    if (connection->closed || connection->waits_for == events) return;
    connection->waits_for = events;
    if (events)
        uv_poll_start(&connection->poll, events, on_ready);
    else
        uv_poll_stop(&connection->poll);
}

static enum http_queue queue_of(enum http_state state) {
    if (state == HTTP_HANDED || state == HTTP_WRITING) return HTTP_QUEUE_NONE;
    return state == HTTP_IDLE || state == HTTP_LINGERING ? HTTP_QUEUE_IDLE : HTTP_QUEUE_COMING;
}

void http_connection_queue(struct http_connection *connection) {
    enum http_queue queue = queue_of(connection->state);
    if (queue == connection->place.queue && queue != HTTP_QUEUE_IDLE) return;
    http_place_move(connection->server->places, &connection->place, queue);
    if (queue != HTTP_QUEUE_NONE) http_server_has_room(connection->server);
}

void http_connection_enter(struct http_connection *connection, enum http_state state) {
    struct http_server *server = connection->server;
    server->pending += (size_t)(state == HTTP_HANDED) - (size_t)(connection->state == HTTP_HANDED);
    connection->state = state;
    connection->since_ms = uv_now(server->options.loop);
    connection->moved = connection->moved_before = 0;
    if (!connection->taking) http_connection_queue(connection);
}

void http_connection_open(struct http_server *server, int fd, const struct sockaddr_in6 *address, uint64_t network) {
    struct http_connection *connection =
        MEM_NEW(&(struct http_connection){.server = server, .fd = fd, .address.v6 = *address, .next = server->first});
    if (uv_poll_init(server->options.loop, &connection->poll, fd)) {
        held_give(server->connections, network, 1);
        free(connection);
        close(fd);
        return;
    }
    connection->poll.data = connection;
    if (connection->next) connection->next->previous = connection;
    server->first = connection;
    server->count++;
    http_place_take(server->places, &connection->place, network);
    http_connection_enter(connection, HTTP_IDLE);
    http_connection_wait(connection, UV_READABLE);
    http_connection_read(connection);
}

static void freed(uv_handle_t *handle) { free(handle->data); }

static void give_back(struct http_connection *connection) {
    struct http_server *server = connection->server;
    held_give(server->replies, connection->reply_caller, connection->reply_held);
    held_give(server->requests, http_caller_of_network(http_place_network(&connection->place)),
              (int64_t)connection->in_held);
    held_give(server->connections, http_place_network(&connection->place), 1);
}

void http_connection_close(struct http_connection *connection) {
    struct http_server *server = connection->server;
    if (connection->closed) return;
    assert(connection->state != HTTP_HANDED);
    connection->closed = true;
    if (connection->next) connection->next->previous = connection->previous;
    *(connection->previous ? &connection->previous->next : &server->first) = connection->next;
    for (struct http_connection **at = &server->first_resumed; connection->resumed && *at; at = &(*at)->next_resumed)
        if (*at == connection) {
            *at = connection->next_resumed;
            break;
        }
    server->count--;
    give_back(connection);
    http_place_leave(server->places, &connection->place);
    http_request_free(connection->request);
    http_body_free(&connection->body);
    buffer_free(&connection->in);
    buffer_free(&connection->out);
    uv_close((uv_handle_t *)&connection->poll, freed);
    close(connection->fd);
    http_server_has_room(server);
}

void http_connection_resume(struct http_connection *connection) {
    struct http_server *server = connection->server;
    if (connection->resumed || connection->closed) return;
    connection->resumed = true;
    connection->next_resumed = server->first_resumed;
    server->first_resumed = connection;
    loop_idle_on(server->resume, 1);
}

/* ---- time ---- */

static uint64_t allowed_s(const struct http_connection *connection) {
    const struct http_times *times = &connection->server->options.times;
    switch (connection->state) {
    case HTTP_IDLE: return times->idle_s;
    case HTTP_HEAD: return times->head_s;
    case HTTP_BODY: return times->body_s;
    case HTTP_WRITING: return times->reply_s;
    case HTTP_LINGERING: return LINGER_S;
    case HTTP_HANDED: break;
    }
    return UINT32_MAX;
}

/* So many bytes of a body or an answer have moved in its time that it may go on. */
static bool moves(struct http_connection *connection, uint64_t now_ms) {
    uint64_t wanted = allowed_s(connection) * connection->server->options.times.least_rate, moved = connection->moved;
    int queued = 0; /* what the kernel has taken of us is not there yet */
    if (connection->state != HTTP_BODY && connection->state != HTTP_WRITING) return false;
    if (connection->state == HTTP_WRITING && ioctl(connection->fd, SIOCOUTQ, &queued) == 0)
        moved -= (uint64_t)queued < moved ? (uint64_t)queued : moved;
    if (moved < connection->moved_before + wanted) return false;
    connection->moved_before = moved;
    connection->since_ms = now_ms;
    return true;
}

void http_connections_look(void *context) {
    static const struct http_fault SLOW = {408, "too_slow", "the request came too slowly"};
    struct http_server *server = context;
    uint64_t now_ms = uv_now(server->options.loop);
    for (struct http_connection *at = server->first, *next; at; at = next) {
        next = at->next;
        if (now_ms - at->since_ms <= allowed_s(at) * 1000 || moves(at, now_ms)) continue;
        if (at->state == HTTP_HEAD || at->state == HTTP_BODY)
            http_connection_refuse(at, &SLOW, 0);
        else
            http_connection_close(at);
    }
}

struct http_connection *http_connection_at(struct http_place *place) {
    return (struct http_connection *)(void *)((char *)place - offsetof(struct http_connection, place));
}

struct http_gzip *http_connection_gzip(const struct http_connection *connection) {
    return connection->server->gzip;
}

const struct http_cors *http_connection_cors(const struct http_connection *connection) {
    return connection->server->options.cors;
}

struct buffer *http_connection_fields(struct http_connection *connection) {
    struct buffer *fields = &connection->server->fields;
    buffer_clear(fields);
    return fields;
}
