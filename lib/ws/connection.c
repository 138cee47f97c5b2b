#include "ws/internal.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "base/text.h"

_Static_assert((int)WS_HEADROOM >= (int)LWS_PRE, "libwebsockets writes its frame header into the headroom");

/* After this much from a peer that should be answering a close frame, it is not going to. */
enum { IGNORED_MAX = 256 * 1024 };

static void looks_add(struct ws_connection *connection) {
    struct hub *hub = connection->hub;
    connection->look_next = hub->looks;
    connection->look_link = &hub->looks;
    if (hub->looks) hub->looks->look_link = &connection->look_next;
    hub->looks = connection;
}

static void looks_remove(struct ws_connection *connection) {
    struct hub *hub = connection->hub;
    if (hub->look == connection) hub->look = connection->look_next;
    *connection->look_link = connection->look_next;
    if (connection->look_next) connection->look_next->look_link = connection->look_link;
    connection->look_link = NULL;
}

void connection_move(struct ws_connection *connection, struct ws_queue *queue) {
    struct ws_queue *old = connection->queue;
    bool open = queue == &connection->hub->open;
    if (open && !connection->look_link) looks_add(connection);
    if (!open && connection->look_link) looks_remove(connection);
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

struct ws_connection *connection_new(struct hub *hub, struct lws *wsi, bool client) {
    struct ws_connection *connection = mem_alloc(sizeof(*connection));
    *connection = (struct ws_connection){
        .wsi = wsi, .hub = hub, .state = WS_HANDSHAKING, .client = client, .close_code = CLOSE_VANISHED, .socket = -1};
    connection_move(connection, &hub->handshaking);
    return connection;
}

void connection_free(struct ws_connection *connection) {
    connection_move(connection, NULL);
    buffer_free(&connection->message);
    free(connection);
}

int connection_opened(struct ws_connection *connection) {
    struct hub *hub = connection->hub;
    /* Killed in the turn in which its handshake came: libwebsockets forgets the timeout that was to end it. */
    if (connection->queue == &hub->closing) return -1;
    hub->opened++;
    connection->state = WS_OPEN;
    if (hub->direct) connection->socket = lws_get_socket_fd(connection->wsi);
    lws_set_wsi_user(connection->wsi, connection); /* or it would not tell that it closes (connection_closes) */
    connection_move(connection, &hub->open);
    hub->callbacks.on_open(hub->context, connection);
    return 0;
}

void connection_closed(struct ws_connection *connection) {
    struct hub *hub = connection->hub;
    bool was_open = connection->state == WS_OPEN || connection->state == WS_CLOSING;
    bool due = connection->state != WS_GONE && (was_open || connection->client);
    connection->state = WS_GONE;
    if (was_open) hub->opened--;
    connection_move(connection, &hub->closing); /* a shutdown inside on_close must not find it open */
    if (due) hub->callbacks.on_close(hub->context, connection, connection->close_code);
}

void connection_closes(struct ws_connection *connection) {
    if (connection->state != WS_OPEN) return;
    connection->state = WS_CLOSING;
    connection_move(connection, &connection->hub->closing);
    buffer_free(&connection->message);
}

static void flooded(struct ws_connection *connection, const char *reason) {
    connection->hub->counts.floods++;
    ws_close(connection, WS_POLICY, reason);
}

void connection_look(struct ws_connection *connection) {
    int fd = lws_get_socket_fd(connection->wsi);
    if (flood_look(&connection->flood, fd, uv_now(connection->hub->loop))) flooded(connection, "too_many_pings");
}

/* It lives. */
static void heard(struct ws_connection *connection) {
    connection->pinged = false;
    connection_move(connection, &connection->hub->open);
}

/* libwebsockets ends a handshake in which an offer follows one that was agreed on: so that it is agreed on the last one. */
bool connection_packs(struct ws_connection *connection) {
    char list[EXTENSIONS_MAX + 1];
    if (!connection->offers) {
        int size = lws_hdr_copy(connection->wsi, list, sizeof(list), WSI_TOKEN_EXTENSIONS);
        if (!connection->hub->packer || size <= 0) return false;
        connection->offers = (uint8_t)packer_offers(list);
    }
    connection->packs = connection->offers && --connection->offers == 0;
    return connection->packs;
}

/* The last header that libwebsockets has written is the extension's, which ends with its name. */
void connection_answer(const struct ws_connection *connection, struct lws_process_html_args *headers) {
    static const char ANSWER[] = PACKER_ANSWER "\r\n";
    if (!connection->packs || headers->max_len < (int)sizeof(ANSWER)) return;
    memcpy(headers->p - 2, ANSWER, sizeof(ANSWER) - 1);
    headers->p += sizeof(ANSWER) - 1 - 2;
}

static bool is_utf8(const char *text, size_t size) {
    for (size_t at = 0, length; at < size; at += length)
        if (!(length = text_utf8_length(text + at, size - at))) return false;
    return true;
}

static int message_deliver(struct ws_connection *connection, const char *text, size_t size) {
    struct hub *hub = connection->hub;
    int failure = connection->packed ? packer_unpack(hub->packer, (const uint8_t *)text, size, &text, &size) : 0;
    if (failure == -EMSGSIZE)
        ws_close(connection, WS_TOO_BIG, "message too big");
    else if (failure)
        ws_close(connection, CLOSE_BAD_TEXT, "bad deflate");
    else if (hub->packer && !is_utf8(text, size)) /* else libwebsockets has looked */
        ws_close(connection, CLOSE_BAD_TEXT, "bad utf8");
    else
        hub->callbacks.on_message(hub->context, connection, text, size);
    return 0;
}

/* permessage-deflate's bit is a message's, and so on its first frame only (RFC 7692, 6). libwebsockets lets it pass everywhere,
 * as if each frame were packed by itself; and it does not tell of pings. */
static const char BAD_BITS[] = "rsv bits";

void connection_ponged(struct ws_connection *connection) {
    if (connection->state != WS_OPEN) return;
    if (lws_get_reserved_bits(connection->wsi))
        ws_close(connection, CLOSE_PROTOCOL, BAD_BITS);
    else
        heard(connection);
}

int connection_received(struct ws_connection *connection, const char *bytes, size_t size) {
    struct lws *wsi = connection->wsi;
    struct buffer *message = &connection->message;
    if (connection->state != WS_OPEN) {
        connection->ignored += size;
        return connection->ignored > IGNORED_MAX ? -1 : 0;
    }
    heard(connection);
    flood_message(&connection->flood, size);
    if (lws_is_first_fragment(wsi)) {
        connection->packed = connection->packs && lws_get_reserved_bits(wsi);
    } else if (!connection->inside && lws_get_reserved_bits(wsi)) {
        ws_close(connection, CLOSE_PROTOCOL, BAD_BITS);
        return 0;
    }
    if (lws_frame_is_binary(wsi)) {
        ws_close(connection, CLOSE_NOT_TEXT, "text frames only");
        return 0;
    }
    /* The rest of the frame counts at once: nothing is kept of a message that is going to be too big. */
    size_t rest = lws_remaining_packet_payload(wsi);
    connection->inside = rest;
    if (message->size + size + rest > connection->hub->max_message) {
        ws_close(connection, WS_TOO_BIG, "message too big");
        return 0;
    }
    bool last = lws_is_final_fragment(wsi);
    if (!last && !rest && flood_fragment(&connection->flood, uv_now(connection->hub->loop))) {
        flooded(connection, "too_many_fragments");
        return 0;
    }
    if (last && message->size == 0) return message_deliver(connection, bytes ? bytes : "", size);
    if (size) buffer_append(message, bytes, size);
    if (!last) return 0;
    message_deliver(connection, (const char *)message->data, message->size);
    buffer_free(message);
    return 0;
}

/* By hand: libwebsockets' own way to send a close frame waits until the socket is writable and needs its slow timers.
 * Behind a frame that is only half out it is queued. */
static int close_frame_write(struct ws_connection *connection, const uint8_t *payload, size_t size) {
    enum { HEADER = 2, MASK = 4 };
    uint8_t frame[LWS_PRE + HEADER + MASK + CLOSE_PAYLOAD_MAX], mask[MASK] = {0}, *end = frame + LWS_PRE;
    *end++ = 0x88;
    *end++ = (uint8_t)((connection->client ? 0x80 : 0) | size);
    if (connection->client) {
        lws_get_random(connection->hub->lws, mask, sizeof(mask));
        memcpy(end, mask, sizeof(mask));
        end += sizeof(mask);
    }
    for (size_t i = 0; i < size; i++) *end++ = payload[i] ^ mask[i % MASK];
    connection->backlog = true;
    return lws_write(connection->wsi, frame + LWS_PRE, (size_t)(end - frame) - LWS_PRE, LWS_WRITE_RAW);
}

int connection_peer_closes(struct ws_connection *connection, const uint8_t *payload, size_t size) {
    bool answer = connection->state == WS_OPEN;
    uint8_t failed[2 + sizeof(BAD_BITS) - 1] = {CLOSE_PROTOCOL >> 8, CLOSE_PROTOCOL & 0xff};
    if (lws_get_reserved_bits(connection->wsi)) { /* what it says does not count */
        memcpy(failed + 2, BAD_BITS, sizeof(BAD_BITS) - 1);
        payload = failed;
        size = sizeof(failed);
    } else {
        connection->close_code = size >= 2 ? (uint16_t)(payload[0] << 8 | payload[1]) : CLOSE_NO_CODE;
    }
    /* Ours is the answer, not libwebsockets': its own would be a second close frame after one of ours. */
    if (answer && size <= CLOSE_PAYLOAD_MAX) close_frame_write(connection, payload, size);
    return -1;
}

void connection_writable(struct ws_connection *connection) {
    if (connection->state != WS_OPEN) return;
    if (!connection->want_writable) {
        /* libwebsockets answers pings by itself and does not tell; but behind a pong, if no other ping is waiting then, it
         * says that the connection is writable. It says so behind a backlog, too. */
        if (connection->backlog)
            connection->backlog = lws_partial_buffered(connection->wsi);
        else if (flood_ping(&connection->flood, uv_now(connection->hub->loop)))
            flooded(connection, "too_many_pings");
        return;
    }
    connection->want_writable = false;
    connection->hub->callbacks.on_writable(connection->hub->context, connection);
}

void connection_ping(struct ws_connection *connection) {
    uint8_t frame[LWS_PRE + 4] = {0};
    connection_move(connection, &connection->hub->open);
    connection->pinged = connection->backlog = true;
    /* Not empty: libwebsockets does not tell of a pong without payload. */
    if (lws_write(connection->wsi, frame + LWS_PRE, 4, LWS_WRITE_PING) < 0) connection_kill(connection);
}

void connection_kill(struct ws_connection *connection) {
    if (connection->state == WS_OPEN) connection->state = WS_CLOSING;
    connection_move(connection, &connection->hub->closing);
    if (connection->state == WS_GONE || !connection->wsi) return;
    /* A timeout is the one way to end a connection that does not wait for buffered output first. libwebsockets looks at
     * its timers only after its own events, so it is given one. */
    lws_set_timeout(connection->wsi, PENDING_TIMEOUT_CLOSE_SEND, LWS_TO_KILL_ASYNC);
    lws_cancel_service(connection->hub->lws);
}

void ws_frame_start(struct buffer *frame) {
    buffer_clear(frame);
    buffer_reserve(frame, WS_HEADROOM);
    buffer_commit(frame, WS_HEADROOM);
}

bool ws_ready(struct ws_connection *connection) {
    if (connection->state != WS_OPEN) return false;
    /* A second frame behind one that is half out would get out of step. What the kernel does not take of a first one,
     * libwebsockets keeps; so asking the kernel before (lws_send_pipe_choked) would be a system call for nothing. */
    if (!connection->backlog) return true;
    if (!lws_partial_buffered(connection->wsi)) {
        connection->backlog = false;
        return true;
    }
    connection->want_writable = true;
    lws_callback_on_writable(connection->wsi);
    return false;
}

enum { TEXT_FRAME = 0x81, PACKED_FRAME = 0xC1 };

/* Writes the head of an unmasked frame so that it ends where the text begins. */
static uint8_t *head_write_before(uint8_t *text, size_t size, uint8_t first) {
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
    *--head = first;
    return head;
}

/* What libwebsockets does for a frame that nothing has to be done to, without the walk through its structures, which are
 * cold when there are many connections. What the kernel does not take is libwebsockets' to keep. */
static int send_direct(struct ws_connection *connection, uint8_t *head, const uint8_t *end) {
    ssize_t sent = send(connection->socket, head, (size_t)(end - head), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent == end - head) return 0;
    if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return -1;
    /* A pong that libwebsockets keeps already would end up inside the frame. */
    if (sent > 0 && lws_partial_buffered(connection->wsi)) return -1;
    if (sent > 0) head += sent;
    connection->backlog = true;
    return lws_write(connection->wsi, head, (size_t)(end - head), LWS_WRITE_RAW) < 0 ? -1 : 0;
}

/* Packs the text if the peer understands that and it pays. */
static int send_framed(struct ws_connection *connection, uint8_t *text, size_t size) {
    size_t packed_size = 0;
    uint8_t *packed = connection->packs ? packer_pack(connection->hub->packer, text, size, &packed_size) : NULL;
    if (packed) {
        text = packed;
        size = packed_size;
    }
    uint8_t *head = head_write_before(text, size, packed ? PACKED_FRAME : TEXT_FRAME), *end = text + size;
    if (connection->socket >= 0) return send_direct(connection, head, end);
    connection->backlog = true;
    return lws_write(connection->wsi, head, (size_t)(end - head), LWS_WRITE_RAW);
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

void ws_prefetch(const struct ws_connection *connection) { __builtin_prefetch(connection); }

void ws_close(struct ws_connection *connection, int code, const char *reason) {
    uint8_t payload[CLOSE_PAYLOAD_MAX] = {(uint8_t)(code >> 8), (uint8_t)code};
    size_t size = reason ? strnlen(reason, sizeof(payload) - 2) : 0;
    if (connection->state == WS_HANDSHAKING) connection_kill(connection);
    if (connection->state != WS_OPEN) return;
    if (size) memcpy(payload + 2, reason, size);
    connection->state = WS_CLOSING;
    connection_move(connection, &connection->hub->closing);
    buffer_free(&connection->message);
    if (close_frame_write(connection, payload, size + 2) < 0)
        connection_kill(connection);
    else
        lws_rx_flow_control(connection->wsi, 1); /* or the peer's answer is never read */
}

void ws_read(struct ws_connection *connection, bool on) {
    if (connection->state != WS_OPEN) return;
    lws_rx_flow_control(connection->wsi, on);
    /* What came together with the last message is kept by libwebsockets, and only its own events make it look there. */
    if (on) lws_cancel_service(connection->hub->lws);
}

void ws_set_context(struct ws_connection *connection, void *context) { connection->context = context; }

void *ws_context(const struct ws_connection *connection) { return connection->context; }
