#include "ws/internal.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/mem.h"

/* libwebsockets frees its handles in close callbacks of libuv, the last ones two turns after it was asked to. */
enum { FINISH_TURNS = 4 };

static const char *const refusal_upgrade =
    "HTTP/1.1 426 Upgrade Required\r\nUpgrade: websocket\r\nConnection: close, upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nContent-Length: 0\r\n\r\n";
static const char *const refusal_subprotocol =
    "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n"
    "Content-Type: text/plain\r\nContent-Length: 21\r\n\r\nunknown subprotocol.\n";

static const char *const refusal_extensions =
    "HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\n"
    "Content-Type: text/plain\r\nContent-Length: 21\r\n\r\ntoo many extensions.\n";

static const char *const refusal_origin = "HTTP/1.1 403 Forbidden\r\nConnection: close\r\n"
                                          "Content-Type: text/plain\r\nContent-Length: 20\r\n\r\norigin not allowed.\n";

static int handshake_refuse(struct lws *wsi, const char *answer) {
    uint8_t text[LWS_PRE + 256];
    size_t size = strlen(answer);
    memcpy(text + LWS_PRE, answer, size);
    lws_write(wsi, text + LWS_PRE, size, LWS_WRITE_HTTP_HEADERS);
    return -1;
}

static bool header_lists(struct lws *wsi, enum lws_token_indexes header, const char *name) {
    char list[256], *rest = list;
    if (lws_hdr_copy(wsi, list, sizeof(list), header) <= 0) return false;
    for (char *item; (item = strsep(&rest, ", "));)
        if (!strcmp(item, name)) return true;
    return false;
}

/* Browsers say whose page wants the connection; an app says nothing, and could say anything. */
static bool origin_allowed(const struct hub *hub, struct lws *wsi) {
    char origin[256];
    if (!hub->origins || !lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN)) return true;
    if (lws_hdr_copy(wsi, origin, sizeof(origin), WSI_TOKEN_ORIGIN) <= 0) return false;
    size_t size = strlen(origin);
    for (const char *item = hub->origins; *item;) {
        item += strspn(item, ", ");
        size_t length = strcspn(item, ", ");
        if (length == size && !strncasecmp(item, origin, size)) return true;
        item += length;
    }
    return false;
}

static int handshake_check(struct hub *hub, struct lws *wsi, const char *upgrade) {
    const char *refusal = NULL;
    if (strcasecmp(upgrade, "websocket") || !header_lists(wsi, WSI_TOKEN_VERSION, "13"))
        refusal = refusal_upgrade;
    else if (!header_lists(wsi, WSI_TOKEN_PROTOCOL, hub->subprotocol))
        refusal = refusal_subprotocol;
    else if (lws_hdr_total_length(wsi, WSI_TOKEN_EXTENSIONS) > EXTENSIONS_MAX) /* it would end it without a word */
        refusal = refusal_extensions;
    if (refusal) {
        hub->counts.refused++;
        return handshake_refuse(wsi, refusal);
    }
    if (origin_allowed(hub, wsi)) return 0;
    hub->counts.origins++;
    return handshake_refuse(wsi, refusal_origin);
}

static void wsi_destroyed(struct ws_connection *connection) {
    struct hub *hub = connection->hub;
    connection->wsi = NULL;
    if (connection->connecting) return; /* the caller of libwebsockets still holds it */
    connection_closed(connection);
    connection_free(connection);
    if (hub->released) hub->released(hub->owner);
    if (hub->finish && !hub->connections) loop_idle_on(hub->finish, 1);
}

static struct hub *hub_of(struct lws *wsi) { return lws_context_user(lws_get_context(wsi)); }

static void serve_tls(struct hub *hub, SSL_CTX *context) {
    if (hub->pair) tls_serve(context, &hub->pair);
}

/* libwebsockets leaves messages alone; it only has to let the bit pass that says that one is packed. */
static int extension_event(struct lws_context *lws, const struct lws_extension *extension, struct lws *wsi,
                           enum lws_extension_callback_reasons reason, void *user, void *in, size_t size) {
    static const struct lws_ext_options NONE[] = {{.name = NULL}};
    if (reason != LWS_EXT_CB_CONSTRUCT) return 0;
    struct ws_connection *connection = lws_get_opaque_user_data(wsi);
    if (!connection || !connection_packs(connection)) return 1;
    *(const struct lws_ext_options **)in = NONE;
    return 0;
}

static const struct lws_extension EXTENSIONS[] = {
    {.name = PACKER_NAME, .callback = extension_event, .client_offer = PACKER_NAME}, {.name = NULL}};

static int hub_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t size) {
    struct ws_connection *connection;
    switch (reason) {
    case LWS_CALLBACK_HTTP: hub_of(wsi)->counts.refused++; return handshake_refuse(wsi, refusal_upgrade);
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
    case LWS_CALLBACK_ADD_HEADERS:
    case LWS_CALLBACK_ESTABLISHED:
    case LWS_CALLBACK_CLIENT_ESTABLISHED:
    case LWS_CALLBACK_RECEIVE:
    case LWS_CALLBACK_CLIENT_RECEIVE:
    case LWS_CALLBACK_RECEIVE_PONG:
    case LWS_CALLBACK_CLIENT_RECEIVE_PONG:
    case LWS_CALLBACK_SERVER_WRITEABLE:
    case LWS_CALLBACK_CLIENT_WRITEABLE:
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
    case LWS_CALLBACK_WS_SERVER_DROP_PROTOCOL:
    case LWS_CALLBACK_WS_CLIENT_DROP_PROTOCOL:
    case LWS_CALLBACK_CLOSED:
    case LWS_CALLBACK_CLIENT_CLOSED:
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
    case LWS_CALLBACK_WSI_DESTROY: break;
    case LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS: serve_tls(hub_of(wsi), user); return 0;
    default: return 0; /* the others may come without a connection */
    }
    connection = lws_get_opaque_user_data(wsi);
    if (!connection) return reason == LWS_CALLBACK_WSI_DESTROY ? 0 : -1;
    switch ((int)reason) {
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE: return handshake_check(connection->hub, wsi, in);
    case LWS_CALLBACK_ADD_HEADERS: connection_answer(connection, in); return 0;
    case LWS_CALLBACK_ESTABLISHED:
    case LWS_CALLBACK_CLIENT_ESTABLISHED: return connection_opened(connection);
    case LWS_CALLBACK_RECEIVE:
    case LWS_CALLBACK_CLIENT_RECEIVE: return connection_received(connection, in, size);
    case LWS_CALLBACK_RECEIVE_PONG:
    case LWS_CALLBACK_CLIENT_RECEIVE_PONG: connection_ponged(connection); return 0;
    case LWS_CALLBACK_SERVER_WRITEABLE:
    case LWS_CALLBACK_CLIENT_WRITEABLE: connection_writable(connection); return 0;
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE: return connection_peer_closes(connection, in, size);
    case LWS_CALLBACK_WS_SERVER_DROP_PROTOCOL:
    case LWS_CALLBACK_WS_CLIENT_DROP_PROTOCOL: connection_closes(connection); return 0;
    case LWS_CALLBACK_WSI_DESTROY: wsi_destroyed(connection); return 0;
    default:
        if (!connection->connecting) connection_closed(connection);
        return 0;
    }
}

static bool is_older(const struct hub *hub, const struct ws_connection *connection, uint64_t ms) {
    return connection && connection->since + ms <= uv_now(hub->loop);
}

/* A part of the connections each tick: all of them at once would hold the loop up. */
static void hub_look(struct hub *hub) {
    uint64_t now = uv_now(hub->loop);
    if (!hub->look && now - hub->look_began >= HUB_LOOK_MS) {
        hub->look = hub->looks;
        hub->look_began = now;
    }
    for (unsigned left = hub->opened / HUB_LOOK_TICKS + 1; left && hub->look; left--) {
        struct ws_connection *connection = hub->look;
        hub->look = connection->look_next;
        connection_look(connection);
    }
}

static void hub_tick(void *context) {
    struct hub *hub = context;
    if (hub->guards) hub_look(hub);
    while (is_older(hub, hub->handshaking.first, hub->handshake_ms)) {
        hub->counts.late++;
        connection_kill(hub->handshaking.first);
    }
    while (hub->ping_ms && is_older(hub, hub->open.first, hub->ping_ms)) {
        struct ws_connection *connection = hub->open.first;
        if (!connection->pinged) {
            connection_ping(connection);
            continue;
        }
        hub->counts.dead++;
        connection_kill(connection);
    }
    while (is_older(hub, hub->closing.first, HUB_CLOSE_MS)) {
        struct ws_connection *connection = hub->closing.first;
        if (connection->wsi || connection->state != WS_GONE)
            connection_kill(connection);
        else
            wsi_destroyed(connection);
    }
    while (hub->failed.first) {
        struct ws_connection *connection = hub->failed.first;
        connection_move(connection, &hub->closing);
        connection_closed(connection);
    }
}

/* libwebsockets sizes its tables by the open-file limit, and looks through one of them whenever a connection is made; but it
 * takes a limit beyond 10 million (usual in containers) for a mistake and makes room for just 2,560 sockets. So it is shown a
 * sensible one: of what it may get, and the process's other files. */
static struct lws_context *context_create(const struct lws_context_creation_info *info, unsigned most) {
    enum { MOST_FILES = 1 << 20, OTHER_FILES = 4096 };
    struct rlimit limit, shown;
    rlim_t wanted = most ? (rlim_t)most + OTHER_FILES : MOST_FILES;
    bool lower = !getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur > wanted;
    shown = (struct rlimit){.rlim_cur = wanted, .rlim_max = lower ? limit.rlim_max : 0};
    if (lower) lower = !setrlimit(RLIMIT_NOFILE, &shown);
    struct lws_context *lws = lws_create_context(info);
    if (lower) setrlimit(RLIMIT_NOFILE, &limit);
    return lws;
}

static const char *text_or_null(const char *text) { return text && *text ? text : NULL; }

int hub_start(struct hub *hub, const struct hub_options *options, struct error *error) {
    *hub = (struct hub){
        .loop = options->loop,
        .subprotocol = mem_string(options->subprotocol),
        .origins = mem_string(text_or_null(options->origins)),
        .max_message = options->max_message,
        .packer = options->deflate ? packer_new(options->max_message) : NULL,
        .direct = options->server && !text_or_null(options->tls_certificate),
        .handshake_ms = options->handshake_s * 1000ull,
        .ping_ms = options->ping_s * 1000ull,
        .guards = options->server,
        .context = options->context,
        .callbacks = options->callbacks,
        .released = options->released,
        .owner = options->owner,
    };
    hub->protocols[0] = (struct lws_protocols){
        .name = hub->subprotocol,
        .callback = hub_event,
        .rx_buffer_size = options->receive_size,
        .tx_packet_size = 65536, /* or it sends in pieces of rx_buffer_size */
    };
    void *loops[] = {hub->loop};
    bool serves_tls = options->server && text_or_null(options->tls_certificate);
    if (serves_tls) {
        int failure =
            tls_pair_load(options->tls_certificate, options->tls_key ? options->tls_key : "", &hub->pair, error);
        if (failure) {
            hub_release(hub);
            return failure;
        }
    }
    bool tls = serves_tls || text_or_null(options->tls_ca);
    struct lws_context_creation_info info = {
        .port = options->server ? CONTEXT_PORT_NO_LISTEN_SERVER : CONTEXT_PORT_NO_LISTEN,
        .protocols = hub->protocols,
        .extensions = hub->packer ? EXTENSIONS : NULL,
        .options = LWS_SERVER_OPTION_LIBUV | LWS_SERVER_OPTION_EXPLICIT_VHOSTS |
                   (hub->packer ? 0 : LWS_SERVER_OPTION_VALIDATE_UTF8) |
                   (tls ? LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT | LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS : 0),
        .foreign_loops = loops,
        .pcontext = &hub->lws,
        .user = hub,
        .retry_and_idle_policy = &hub->no_timers,
        .timeout_secs = options->handshake_s + 1, /* ours come first */
        .ssl_cert_filepath = serves_tls ? options->tls_certificate : NULL,
        .ssl_private_key_filepath = serves_tls ? options->tls_key : NULL,
        .client_ssl_ca_filepath = text_or_null(options->tls_ca),
        .alpn = "http/1.1",
        .gid = (gid_t)-1,
        .uid = (uid_t)-1,
    };
    lws_set_log_level(0, NULL);
    hub->lws = context_create(&info, options->most);
    if (!hub->lws) {
        hub_release(hub);
        return error_set(error, -ENOTSUP,
                         "libwebsockets does not start on libuv; is its plug-in there (libwebsockets-evlib-uv)?");
    }
    hub->vhost = lws_create_vhost(hub->lws, &info);
    if (!hub->vhost) {
        lws_context_destroy(hub->lws);
        for (int turn = 0; turn < FINISH_TURNS; turn++) uv_run(hub->loop, UV_RUN_NOWAIT);
        lws_context_destroy(hub->lws);
        hub_release(hub);
        return error_set(error, -EINVAL, "libwebsockets refuses the TLS files (certificate %s, key %s, authorities %s)",
                         options->tls_certificate ? options->tls_certificate : "-",
                         options->tls_key ? options->tls_key : "-", options->tls_ca ? options->tls_ca : "-");
    }
    hub->tick = loop_timer_new(hub->loop, HUB_TICK_MS, HUB_TICK_MS, hub_tick, hub);
    return 0;
}

static void hub_finish(void *context) {
    struct hub *hub = context;
    hub->finish_turns++;
    if (hub->finish_turns == 1) {
        loop_timer_free(hub->tick);
        hub->tick = NULL;
        lws_context_destroy(hub->lws);
    }
    if (hub->finish_turns < FINISH_TURNS) return;
    lws_context_destroy(hub->lws); /* the second time it frees everything; any sooner and it crashes */
    loop_idle_free(hub->finish);
    hub->finish = NULL;
    hub->closed(hub->closed_context);
}

void hub_shutdown(struct hub *hub, int code, loop_fn *closed, void *context) {
    hub->closed = closed;
    hub->closed_context = context;
    hub->finish = loop_idle_new(hub->loop, hub_finish, hub);
    while (hub->open.first) ws_close(hub->open.first, code, NULL);
    while (hub->handshaking.first) connection_kill(hub->handshaking.first);
    if (!hub->connections) loop_idle_on(hub->finish, 1);
}

void hub_release(struct hub *hub) {
    tls_pair_free(hub->pair);
    packer_free(hub->packer);
    free(hub->subprotocol);
    free(hub->origins);
}
