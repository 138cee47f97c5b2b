/* A server's connection, what comes in on it: the handshake, then frames, and of those messages. */
#include "ws/internal.h"

#include <string.h>

#include "ws/handshake.h"

enum {
    /* Bytes that a peer may send after it was told the end. A client in the middle of a long message reads the close frame only
     * after it has sent all of it; closing the socket earlier resets the connection, and the client loses the close frame. */
    IGNORED_OF_CLIENT_MAX = 16 << 20,
    PONGS_KEPT_MAX = 1 << 20, /* bytes that a peer may leave unread; beyond, its pings are not answered */
    FLOOD_WINDOW_MS = 10000,
    FLOOD_CONTROLS_MAX = 200, /* in a window */
    FLOOD_FRAGMENTS_MAX = 2000
};

/* It is over, and on_close was called or is not due: the peer has to see it, and to end it too. */
static void finish(struct ws_connection *connection) {
    stream_finish(connection->stream);
    connection_move(connection, &connection->hub->finishing);
}

/* Fails it (RFC 6455, 7.1.7): nothing that still comes counts. */
static void fail(struct ws_connection *connection, int code, const char *reason) {
    uint8_t payload[FRAME_CONTROL_MAX] = {(uint8_t)(code >> 8), (uint8_t)code};
    size_t size = strnlen(reason, sizeof payload - 2);
    memcpy(payload + 2, reason, size);
    if (connection->state == WS_OPEN) connection_close_frame(connection, payload, size + 2);
    connection_closed(connection);
    finish(connection);
}

static struct flood *flood_now(struct ws_connection *connection) {
    uint64_t now_ms = uv_now(connection->hub->loop);
    if (now_ms - connection->flood.counted_ms > FLOOD_WINDOW_MS)
        connection->flood = (struct flood){.counted_ms = now_ms};
    return &connection->flood;
}

static void flooded(struct ws_connection *connection, const char *reason) {
    connection->hub->counts.floods++;
    fail(connection, WS_POLICY, reason);
}

static bool is_utf8(const void *text, size_t size) {
    struct utf8 utf8 = {.missing = 0};
    return utf8_feed(&utf8, text, size) && utf8_ends(&utf8);
}

/* ---- messages ---- */

static const char BAD_UTF8[] = "bad utf8";

static void deliver(struct ws_connection *connection, const uint8_t *bytes, size_t size) {
    struct hub *hub = connection->hub;
    if (!utf8_ends(&connection->utf8))
        fail(connection, CLOSE_BAD_TEXT, BAD_UTF8);
    else
        hub->callbacks.on_message(hub->context, connection, (const char *)bytes, size);
}

static void message_deliver(struct ws_connection *connection) {
    struct buffer message = connection->message;
    connection->message = (struct buffer){.size = 0};
    deliver(connection, message.data, message.size);
    buffer_free(&message);
}

static void data_came(struct ws_connection *connection, const struct frame_piece *piece) {
    struct buffer *message = &connection->message;
    if (piece->opcode == FRAME_BINARY) {
        fail(connection, CLOSE_NOT_TEXT, "text frames only");
        return;
    }
    if (piece->begins && piece->opcode == FRAME_TEXT) connection->utf8 = (struct utf8){.missing = 0};
    /* The rest of the frame counts at once: nothing is kept of a message that is going to be too big. */
    if (piece->left > connection->hub->max_message ||
        message->size + piece->size + piece->left > connection->hub->max_message) {
        fail(connection, WS_TOO_BIG, "message too big");
        return;
    }
    if (!utf8_feed(&connection->utf8, piece->bytes, piece->size)) {
        fail(connection, CLOSE_BAD_TEXT, BAD_UTF8);
        return;
    }
    bool last = piece->final && !piece->left;
    if (last && !message->size) {
        deliver(connection, piece->bytes, piece->size);
        return;
    }
    if (piece->size) buffer_append(message, piece->bytes, piece->size);
    if (last)
        message_deliver(connection);
    else if (!piece->left && ++flood_now(connection)->fragments > FLOOD_FRAGMENTS_MAX)
        flooded(connection, "too_many_fragments");
}

/* ---- control frames ---- */

static void pong(struct ws_connection *connection, const uint8_t *payload, size_t size) {
    uint8_t frame[2 + FRAME_CONTROL_MAX] = {FRAME_FINAL | FRAME_PONG, (uint8_t)size};
    if (size) memcpy(frame + 2, payload, size);
    if (stream_kept(connection->stream) > PONGS_KEPT_MAX) return;
    if (connection_write(connection, frame, 2 + size)) connection_kill(connection);
}

static void peer_closes(struct ws_connection *connection, const uint8_t *payload, size_t size) {
    unsigned code = size >= 2 ? (unsigned)(payload[0] << 8 | payload[1]) : CLOSE_NO_CODE;
    if (size == 1 || (size >= 2 && !frame_close_code_fits(code))) {
        fail(connection, CLOSE_PROTOCOL, "bad close code");
        return;
    }
    if (size > 2 && !is_utf8(payload + 2, size - 2)) {
        fail(connection, CLOSE_BAD_TEXT, BAD_UTF8);
        return;
    }
    connection->close_code = (uint16_t)code;
    if (connection->state == WS_OPEN) connection_close_frame(connection, payload, size);
    connection_closed(connection);
    finish(connection);
}

static void control_came(struct ws_connection *connection, uint8_t opcode, const uint8_t *payload, size_t size) {
    if (opcode == FRAME_CLOSE) {
        peer_closes(connection, payload, size);
    } else if (connection->state == WS_OPEN) {
        if (opcode == FRAME_PING) pong(connection, payload, size);
        if (++flood_now(connection)->controls > FLOOD_CONTROLS_MAX) flooded(connection, "too_many_pings");
    }
}

static void control_piece_came(struct ws_connection *connection, const struct frame_piece *piece) {
    if (!piece->left && !connection->control.size) {
        control_came(connection, piece->opcode, piece->bytes, piece->size);
        return;
    }
    buffer_append(&connection->control, piece->bytes, piece->size);
    if (piece->left) return;
    struct buffer control = connection->control;
    connection->control = (struct buffer){.size = 0};
    control_came(connection, piece->opcode, control.data, control.size);
    buffer_free(&control);
}

/* ---- bytes ---- */

static bool listens(const struct ws_connection *connection) {
    bool open = connection->state == WS_OPEN || connection->state == WS_CLOSING;
    return open && connection->queue != &connection->hub->ending;
}

static void piece_came(struct ws_connection *connection, const struct frame_piece *piece) {
    if (connection->state == WS_OPEN && piece->begins) connection_heard(connection);
    if (piece->opcode & FRAME_CLOSE)
        control_piece_came(connection, piece);
    else if (connection->state == WS_OPEN)
        data_came(connection, piece);
}

static void frames_came(struct ws_connection *connection, uint8_t *bytes, size_t size) {
    uint8_t *at = bytes, *end = bytes + size;
    struct frame_piece piece;
    const char *reason;
    while (listens(connection)) {
        enum frame_result result = frame_read(&connection->reader, &at, end, &piece, &reason);
        if (result == FRAME_WAITS) return;
        if (result == FRAME_PIECE)
            piece_came(connection, &piece);
        else
            fail(connection, CLOSE_PROTOCOL, reason);
    }
}

static void refuse(struct ws_connection *connection) {
    connection->state = WS_GONE;
    stream_write(connection->stream, connection->hub->answer.data, connection->hub->answer.size);
    finish(connection);
}

/* Finds the client's address; false: it is not taken. */
static bool find_origin(struct ws_connection *connection) {
    struct hub *hub = connection->hub;
    struct sockaddr_storage peer;
    if (!hub->origin || stream_peer(connection->stream, &peer)) return true;
    return hub->origin(hub->context, (const struct sockaddr *)&peer, buffer_cstring(&hub->forwarded),
                       &connection->origin);
}

static void handshake_came(struct ws_connection *connection, uint8_t *request, size_t size) {
    struct hub *hub = connection->hub;
    struct handshake_rules rules = {.subprotocol = hub->subprotocol, .origins = hub->origins};
    buffer_clear(&hub->answer);
    buffer_clear(&hub->forwarded);
    switch (handshake_answer((char *)request, size, &rules, &hub->answer, &hub->forwarded)) {
    case HANDSHAKE_REFUSED:
        hub->counts.refused++;
        refuse(connection);
        return;
    case HANDSHAKE_ORIGIN:
        hub->counts.origins++;
        refuse(connection);
        return;
    case HANDSHAKE_TAKEN: break;
    }
    if (!find_origin(connection) || connection_write(connection, hub->answer.data, hub->answer.size))
        connection_kill(connection);
    else
        connection_opened(connection);
}

/* The bytes behind the request are frames already. */
static void request_bytes_came(struct ws_connection *connection, uint8_t *bytes, size_t size) {
    struct hub *hub = connection->hub;
    struct buffer head = connection->message;
    size_t before = head.size;
    buffer_append(&head, bytes, size);
    connection->message = (struct buffer){.size = 0};
    size_t whole = handshake_size((const char *)head.data, head.size, before);
    if (whole && whole <= HANDSHAKE_MAX) {
        handshake_came(connection, head.data, whole);
        frames_came(connection, head.data + whole, head.size - whole);
    } else if (head.size > HANDSHAKE_MAX) {
        hub->counts.refused++;
        buffer_clear(&hub->answer);
        handshake_too_long(&hub->answer);
        refuse(connection);
    } else {
        connection->message = head;
        return;
    }
    buffer_free(&head);
}

static void on_bytes(void *context, uint8_t *bytes, size_t size) {
    struct ws_connection *connection = context;
    if (connection->state == WS_HANDSHAKING) {
        request_bytes_came(connection, bytes, size);
        return;
    }
    if (connection->state != WS_OPEN) connection->ignored += size;
    if (connection->ignored > IGNORED_OF_CLIENT_MAX)
        connection_kill(connection);
    else
        frames_came(connection, bytes, size);
}

static void on_sent(void *context) {
    struct ws_connection *connection = context;
    connection->backlog = false;
    connection_writable(connection);
}

static void on_end(void *context) { connection_end(context); }

const struct stream_events INBOUND_EVENTS = {.on_bytes = on_bytes, .on_sent = on_sent, .on_end = on_end};
