#include "ws/internal.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/mem.h"

enum {
    RECEIVE_SIZE = 2048,
    HANDSHAKE_S = 20,
    FINISH_TURNS =
        4, /* libwebsockets frees its handles in close callbacks of libuv, the last ones two turns after it was asked to */
    /* Bytes, after which a peer that should be answering a close frame is not going to. */
    IGNORED_OF_SERVER_MAX = 256 * 1024
};

struct ws_clients {
    struct hub hub;
    bool tls;
};

/* ---- what libwebsockets tells ---- */

static int client_opened(struct ws_connection *connection) {
    /* Killed in the turn in which its handshake came: libwebsockets forgets the timeout that was to end it. */
    if (connection->queue == &connection->hub->closing) return -1;
    lws_set_wsi_user(connection->wsi, connection); /* or it would not tell that it closes (client_closes) */
    connection_opened(connection);
    return 0;
}

/* libwebsockets is going to end it, perhaps after a close frame of its own (1002, 1007): nothing may be sent any more. */
static void client_closes(struct ws_connection *connection) {
    if (connection->state != WS_OPEN) return;
    connection->state = WS_CLOSING;
    connection_move(connection, &connection->hub->closing);
    buffer_free(&connection->message);
}

static int client_received(struct ws_connection *connection, const char *bytes, size_t size) {
    struct lws *wsi = connection->wsi;
    struct hub *hub = connection->hub;
    struct buffer *message = &connection->message;
    if (connection->state != WS_OPEN) {
        connection->ignored += size;
        return connection->ignored > IGNORED_OF_SERVER_MAX ? -1 : 0;
    }
    connection_heard(connection);
    if (lws_frame_is_binary(wsi)) {
        ws_close(connection, CLOSE_NOT_TEXT, "text frames only");
        return 0;
    }
    /* The rest of the frame counts at once: nothing is kept of a message that is going to be too big. */
    if (message->size + size + lws_remaining_packet_payload(wsi) > hub->max_message) {
        ws_close(connection, WS_TOO_BIG, "message too big");
        return 0;
    }
    bool last = lws_is_final_fragment(wsi);
    if (last && message->size == 0) {
        hub->callbacks.on_message(hub->context, connection, bytes ? bytes : "", size);
        return 0;
    }
    if (size) buffer_append(message, bytes, size);
    if (!last) return 0;
    struct buffer whole = *message;
    *message = (struct buffer){.size = 0};
    hub->callbacks.on_message(hub->context, connection, (const char *)whole.data, whole.size);
    buffer_free(&whole);
    return 0;
}

static int client_peer_closes(struct ws_connection *connection, const uint8_t *payload, size_t size) {
    connection->close_code = size >= 2 ? (uint16_t)(payload[0] << 8 | payload[1]) : CLOSE_NO_CODE;
    /* Ours is the answer, not libwebsockets': its own would be a second close frame after one of ours. */
    if (connection->state == WS_OPEN && size <= FRAME_CONTROL_MAX) connection_close_frame(connection, payload, size);
    return -1;
}

static void client_destroyed(struct ws_connection *connection) {
    connection->wsi = NULL;
    if (!connection->connecting) connection_end(connection); /* else the caller of libwebsockets still holds it */
}

static int client_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t size) {
    struct ws_connection *connection;
    switch (reason) {
    case LWS_CALLBACK_CLIENT_ESTABLISHED:
    case LWS_CALLBACK_CLIENT_RECEIVE:
    case LWS_CALLBACK_CLIENT_RECEIVE_PONG:
    case LWS_CALLBACK_CLIENT_WRITEABLE:
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
    case LWS_CALLBACK_WS_CLIENT_DROP_PROTOCOL:
    case LWS_CALLBACK_CLIENT_CLOSED:
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
    case LWS_CALLBACK_WSI_DESTROY: break;
    default: return 0; /* the others may come without a connection */
    }
    connection = lws_get_opaque_user_data(wsi);
    if (!connection) return reason == LWS_CALLBACK_WSI_DESTROY ? 0 : -1;
    switch ((int)reason) {
    case LWS_CALLBACK_CLIENT_ESTABLISHED: return client_opened(connection);
    case LWS_CALLBACK_CLIENT_RECEIVE: return client_received(connection, in, size);
    case LWS_CALLBACK_CLIENT_RECEIVE_PONG: return 0;
    case LWS_CALLBACK_CLIENT_WRITEABLE: connection_writable(connection); return 0;
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE: return client_peer_closes(connection, in, size);
    case LWS_CALLBACK_WS_CLIENT_DROP_PROTOCOL: client_closes(connection); return 0;
    case LWS_CALLBACK_WSI_DESTROY: client_destroyed(connection); return 0;
    default:
        if (!connection->connecting) connection_closed(connection);
        return 0;
    }
}

void client_kill(struct ws_connection *connection) {
    connection_move(connection, &connection->hub->closing);
    if (connection->state == WS_GONE) return;
    /* A timeout is the one way to end a connection that does not wait for buffered output first. libwebsockets looks at
     * its timers only after its own events, so it is given one. */
    lws_set_timeout(connection->wsi, PENDING_TIMEOUT_CLOSE_SEND, LWS_TO_KILL_ASYNC);
    lws_cancel_service(connection->hub->lws);
}

/* ---- libwebsockets' context ---- */

/* libwebsockets sizes its tables by the open-file limit, and looks through one of them whenever a connection is made; but it
 * takes a limit beyond 10 million (usual in containers) for a mistake and makes room for just 2,560 sockets. So it is shown a
 * sensible one. */
static struct lws_context *context_create(const struct lws_context_creation_info *info) {
    enum { MOST_FILES = 1 << 20 };
    struct rlimit limit, shown;
    bool lower = !getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur > MOST_FILES;
    shown = (struct rlimit){.rlim_cur = MOST_FILES, .rlim_max = lower ? limit.rlim_max : 0};
    if (lower) lower = !setrlimit(RLIMIT_NOFILE, &shown);
    struct lws_context *lws = lws_create_context(info);
    if (lower) setrlimit(RLIMIT_NOFILE, &limit);
    return lws;
}

static int context_start(struct hub *hub, const char *tls_ca, struct error *error) {
    void *loops[] = {hub->loop};
    hub->protocols[0] = (struct lws_protocols){
        .name = hub->subprotocol,
        .callback = client_event,
        .rx_buffer_size = RECEIVE_SIZE,
        .tx_packet_size = 65536, /* or it sends in pieces of rx_buffer_size */
    };
    struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN,
        .protocols = hub->protocols,
        .options = LWS_SERVER_OPTION_LIBUV | LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_VALIDATE_UTF8 |
                   (tls_ca ? LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT | LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS : 0),
        .foreign_loops = loops,
        .pcontext = &hub->lws,
        .user = hub,
        .retry_and_idle_policy = &hub->no_timers,
        .timeout_secs = HANDSHAKE_S + 1, /* ours come first */
        .client_ssl_ca_filepath = tls_ca,
        .alpn = "http/1.1",
        .gid = (gid_t)-1,
        .uid = (uid_t)-1,
    };
    lws_set_log_level(0, NULL);
    hub->lws = context_create(&info);
    if (!hub->lws)
        return error_set(error, -ENOTSUP,
                         "libwebsockets does not start on libuv; is its plug-in there (libwebsockets-evlib-uv)?");
    hub->vhost = lws_create_vhost(hub->lws, &info);
    if (hub->vhost) return 0;
    lws_context_destroy(hub->lws);
    for (int turn = 0; turn < FINISH_TURNS; turn++) uv_run(hub->loop, UV_RUN_NOWAIT);
    lws_context_destroy(hub->lws);
    return error_set(error, -EINVAL, "libwebsockets refuses the TLS authorities %s", tls_ca ? tls_ca : "-");
}

bool client_hub_finished(struct hub *hub) {
    hub->finish_turns++;
    if (hub->finish_turns == 1) lws_context_destroy(hub->lws);
    if (hub->finish_turns < FINISH_TURNS) return false;
    lws_context_destroy(hub->lws); /* the second time it frees everything; any sooner and it crashes */
    return true;
}

/* ---- clients ---- */

int ws_clients_new(const struct ws_clients_options *options, struct ws_clients **clients, struct error *error) {
    struct ws_clients *made = mem_zero(1, sizeof(*made));
    made->hub = (struct hub){
        .loop = options->loop,
        .subprotocol = mem_string(options->subprotocol),
        .max_message = options->max_message,
        .handshake_ms = HANDSHAKE_S * 1000,
        .context = options->context,
        .callbacks = options->callbacks,
    };
    made->tls = options->tls_ca && *options->tls_ca;
    int failure = context_start(&made->hub, made->tls ? options->tls_ca : NULL, error);
    if (failure) {
        hub_release(&made->hub);
        free(made);
        return failure;
    }
    hub_start(&made->hub);
    *clients = made;
    return 0;
}

int ws_connect(struct ws_clients *clients, const char *url, void *connection_context, struct error *error) {
    struct hub *hub = &clients->hub;
    const char *scheme, *host, *path;
    int port, failure = 0;
    char *parts = mem_string(url), *full_path = NULL, *authority = NULL;
    if (hub->finish) {
        failure = error_set(error, -ESHUTDOWN, "clients are being shut down");
        goto finish;
    }
    bool secure = !strncmp(url, "wss://", 6);
    if (secure && !clients->tls) {
        failure = error_set(error, -ENOTSUP, "%s: no authorities to trust were given", url);
        goto finish;
    }
    if ((!secure && strncmp(url, "ws://", 5)) || lws_parse_uri(parts, &scheme, &host, &port, &path) || !*host) {
        failure = error_set(error, -EINVAL, "\"%s\" is not ws://host:port/path or wss://...", url);
        goto finish;
    }
    full_path = mem_format("%s%s", *path == '/' ? "" : "/", path); /* it cuts off the slash, except off a lone one */
    authority = mem_format("%s:%d", host, port);
    struct ws_connection *connection = connection_new(hub, true);
    connection->context = connection_context;
    connection->connecting = true;
    connection->wsi = lws_client_connect_via_info(&(struct lws_client_connect_info){
        .context = hub->lws,
        .vhost = hub->vhost,
        .address = host,
        .port = port,
        .ssl_connection = secure ? LCCSCF_USE_SSL : 0,
        .path = full_path,
        .host = authority,
        .origin = authority,
        .protocol = hub->subprotocol,
        .local_protocol_name = hub->subprotocol,
        .ietf_version_or_minus_one = -1,
        .opaque_user_data = connection,
        .retry_and_idle_policy = &hub->no_timers,
        .alpn = "http/1.1",
    });
    connection->connecting = false;
    if (!connection->wsi) connection_kill(connection);
finish:
    free(authority);
    free(full_path);
    free(parts);
    return failure;
}

void ws_clients_shutdown(struct ws_clients *clients, loop_fn *closed, void *context) {
    hub_shutdown(&clients->hub, WS_NORMAL, closed, context);
}

void ws_clients_free(struct ws_clients *clients) {
    if (!clients) return;
    hub_release(&clients->hub);
    free(clients);
}
