#include "ws/internal.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"

_Static_assert((int)WS_HEADROOM >= (int)LWS_PRE, "libwebsockets writes its frame header into the headroom");

void connection_move(struct ws_connection *connection, struct ws_queue *queue) {
    struct ws_queue *old = connection->queue;
    if (old) {
        *(connection->previous ? &connection->previous->next : &old->first) = connection->next;
        *(connection->next ? &connection->next->previous : &old->last) = connection->previous;
        connection->hub->connections--;
    }
    connection->queue = queue;
    connection->next = NULL;
    connection->previous = queue ? queue->last : NULL;
    if (!queue) return;
    *(queue->last ? &queue->last->next : &queue->first) = connection;
    queue->last = connection;
    connection->since = uv_now(connection->hub->loop);
    connection->hub->connections++;
}

struct ws_connection *connection_new(struct hub *hub, bool client) {
    struct ws_connection *connection = mem_alloc(sizeof(*connection));
    *connection = (struct ws_connection){
        .hub = hub, .state = WS_HANDSHAKING, .client = client, .close_code = CLOSE_VANISHED, .socket = -1};
    connection_move(connection, &hub->handshaking);
    return connection;
}

void connection_opened(struct ws_connection *connection) {
    struct hub *hub = connection->hub;
    hub->opened++;
    connection->state = WS_OPEN;
    if (connection->stream) connection->socket = stream_socket(connection->stream);
    connection_move(connection, &hub->open);
    hub->callbacks.on_open(hub->context, connection);
}

void connection_closed(struct ws_connection *connection) {
    struct hub *hub = connection->hub;
    bool was_open = connection->state == WS_OPEN || connection->state == WS_CLOSING;
    bool due = connection->state != WS_GONE && (was_open || connection->client);
    connection->state = WS_GONE;
    if (was_open) hub->opened--;
    connection_move(connection, &hub->closing); /* a shutdown inside on_close must not find it open */
    buffer_free(&connection->message);
    buffer_free(&connection->control);
    if (due) hub->callbacks.on_close(hub->context, connection, connection->close_code);
}

void connection_end(struct ws_connection *connection) {
    struct hub *hub = connection->hub;
    connection_closed(connection);
    connection_move(connection, NULL);
    stream_free(connection->stream);
    free(connection);
    if (hub->released) hub->released(hub->owner);
    if (hub->finish && !hub->connections) loop_idle_on(hub->finish, 1);
}

void connection_heard(struct ws_connection *connection) {
    connection->pinged = false;
    connection_move(connection, &connection->hub->open);
}

void connection_kill(struct ws_connection *connection) {
    struct hub *hub = connection->hub;
    if (connection->state == WS_OPEN) connection->state = WS_CLOSING;
    if (connection->wsi) {
        client_kill(connection);
        return;
    }
    /* A server's that was never open is not told of. */
    if (connection->state == WS_HANDSHAKING && !connection->client) connection->state = WS_GONE;
    connection_move(connection, &hub->ending);
    loop_idle_on(hub->ender, 1);
}

/* A client's by hand, too: libwebsockets' own way to send a close frame waits until the socket is writable and needs its slow
 * timers. Behind a frame that is only half out it is queued. */
int connection_close_frame(struct ws_connection *connection, const uint8_t *payload, size_t size) {
    enum { HEADER = 2, MASK = 4 };
    uint8_t frame[LWS_PRE + HEADER + MASK + FRAME_CONTROL_MAX], mask[MASK] = {0}, *head = frame + LWS_PRE, *end = head;
    *end++ = FRAME_FINAL | FRAME_CLOSE;
    *end++ = (uint8_t)((connection->client ? 0x80 : 0) | size);
    if (connection->client) {
        lws_get_random(connection->hub->lws, mask, sizeof(mask));
        memcpy(end, mask, sizeof(mask));
        end += sizeof(mask);
    }
    for (size_t i = 0; i < size; i++) *end++ = payload[i] ^ mask[i % MASK];
    connection->backlog = true;
    if (connection->stream) return stream_write(connection->stream, head, (size_t)(end - head));
    return lws_write(connection->wsi, head, (size_t)(end - head), LWS_WRITE_RAW) < 0 ? -EPIPE : 0;
}

int connection_write(struct ws_connection *connection, const uint8_t *bytes, size_t size) {
    int failure = stream_write(connection->stream, bytes, size);
    connection->backlog = stream_kept(connection->stream);
    return failure;
}

void connection_writable(struct ws_connection *connection) {
    if (connection->state != WS_OPEN || !connection->want_writable) return;
    connection->want_writable = false;
    connection->hub->callbacks.on_writable(connection->hub->context, connection);
}

void connection_ping(struct ws_connection *connection) {
    enum { SIZE = 4 }; /* not empty: some answer only a ping that says something */
    uint8_t frame[2 + SIZE] = {FRAME_FINAL | FRAME_PING, SIZE};
    connection_move(connection, &connection->hub->open);
    connection->pinged = true;
    if (connection_write(connection, frame, sizeof frame)) connection_kill(connection);
}

void ws_frame_start(struct buffer *frame) {
    buffer_clear(frame);
    buffer_reserve(frame, WS_HEADROOM);
    buffer_commit(frame, WS_HEADROOM);
}

bool ws_ready(struct ws_connection *connection) {
    if (connection->state != WS_OPEN) return false;
    /* A second frame behind one that is half out has to wait. A first one is taken: we keep the bytes that the kernel does not
     * take, so asking it before would be a system call for nothing. */
    if (!connection->backlog) return true;
    if (connection->client && !lws_partial_buffered(connection->wsi)) {
        connection->backlog = false;
        return true;
    }
    connection->want_writable = true;
    if (connection->client) lws_callback_on_writable(connection->wsi);
    return false;
}

/* Writes the head of an unmasked frame of text so that it ends where the text begins. */
static uint8_t *head_write_before(uint8_t *text, size_t size) {
    uint8_t *head = text;
    if (size < 126) {
        *--head = (uint8_t)size;
    } else if (size <= UINT16_MAX) {
        *--head = (uint8_t)size;
        *--head = (uint8_t)(size >> 8);
        *--head = 126;
    } else {
        for (int byte = 0; byte < 8; byte++) *--head = (uint8_t)((uint64_t)size >> 8 * byte);
        *--head = 127;
    }
    *--head = FRAME_FINAL | FRAME_TEXT;
    return head;
}

/* Without a look at the stream, which is cold when there are many connections, as long as the kernel takes everything. */
static int send_direct(struct ws_connection *connection, uint8_t *head, const uint8_t *end) {
    ssize_t sent = send(connection->socket, head, (size_t)(end - head), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent == end - head) return 0;
    if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return -1;
    if (sent > 0) head += sent;
    stream_keep(connection->stream, head, (size_t)(end - head));
    connection->backlog = true;
    return 0;
}

static int send_framed(struct ws_connection *connection, uint8_t *text, size_t size) {
    uint8_t *head = head_write_before(text, size), *end = text + size;
    if (connection->socket >= 0) return send_direct(connection, head, end);
    return connection_write(connection, head, (size_t)(end - head));
}

int ws_send(struct ws_connection *connection, struct buffer *frame) {
    assert(frame->size >= WS_HEADROOM);
    if (connection->state != WS_OPEN) return -EPIPE;
    if (!ws_ready(connection)) return -EAGAIN;
    uint8_t *text = frame->data + WS_HEADROOM;
    size_t size = frame->size - WS_HEADROOM;
    int failure;
    if (connection->client) {
        connection->backlog = true;
        failure = lws_write(connection->wsi, text, size, LWS_WRITE_TEXT);
    } else {
        failure = send_framed(connection, text, size);
    }
    if (failure >= 0) return 0;
    connection_kill(connection);
    return -EPIPE;
}

size_t ws_unsent(const struct ws_connection *connection) {
    return connection->backlog && connection->stream ? stream_kept(connection->stream) : 0;
}

void ws_prefetch(const struct ws_connection *connection) { __builtin_prefetch(connection); }

void ws_close(struct ws_connection *connection, int code, const char *reason) {
    uint8_t payload[FRAME_CONTROL_MAX] = {(uint8_t)(code >> 8), (uint8_t)code};
    size_t size = reason ? strnlen(reason, sizeof(payload) - 2) : 0;
    if (connection->state == WS_HANDSHAKING) connection_kill(connection);
    if (connection->state != WS_OPEN) return;
    if (size) memcpy(payload + 2, reason, size);
    connection->state = WS_CLOSING;
    connection_move(connection, &connection->hub->closing);
    if (connection_close_frame(connection, payload, size + 2) < 0) connection_kill(connection);
}

void ws_set_context(struct ws_connection *connection, void *context) { connection->context = context; }

uint64_t ws_origin(const struct ws_connection *connection) { return connection->origin; }

void *ws_context(const struct ws_connection *connection) { return connection->context; }
