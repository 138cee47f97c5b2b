#include "ws/internal.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"

enum { RECEIVE_SIZE = 2048, HANDSHAKE_S = 20 };

struct ws_clients {
    struct hub hub;
    bool tls;
};

int ws_clients_new(const struct ws_clients_options *options, struct ws_clients **clients, struct error *error) {
    struct ws_clients *made = mem_zero(1, sizeof(*made));
    int failure = hub_start(&made->hub,
                            &(struct hub_options){
                                .loop = options->loop,
                                .subprotocol = options->subprotocol,
                                .max_message = options->max_message,
                                .receive_size = RECEIVE_SIZE,
                                .handshake_s = HANDSHAKE_S,
                                .tls_ca = options->tls_ca,
                                .context = options->context,
                                .callbacks = options->callbacks,
                            },
                            error);
    if (failure) {
        free(made);
        return failure;
    }
    made->tls = options->tls_ca && *options->tls_ca;
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
    struct ws_connection *connection = connection_new(hub, NULL, true);
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
    if (!connection->wsi) {
        connection_move(connection, &hub->failed);
        loop_timer_again(hub->tick, 0, HUB_TICK_MS);
    }
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
