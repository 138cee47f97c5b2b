#include "service/http_server.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "service/http_connection.h"
#include "service/listen.h"

enum {
    MAX_BODY = 64 * 1024,
    MAX_CONNECTIONS = 1000,
    TIMEOUT_S = 60,
    ACCEPTS = 64,         // of one turn
    REFUSED_WAIT_MS = 500 // the process has no descriptor left: clients wait in the kernel so long
};

/* Clients beyond the limit wait in the listening socket's queue: it is not looked at while the server is full. */
struct http_server {
    struct http_server_options options;
    struct http_connections *connections;
    struct loop_timer *later; // looks again, after accepting has failed
    struct loop_watch *watch; // NULL while it is full, or quiesced
    int listener, port;       // listener: -1 when quiesced
};

static void on_client(void *context);

static void listen_again(void *context) {
    struct http_server *server = context;
    if (server->watch || server->listener < 0) return;
    if (http_connections_count(server->connections) >= server->options.max_connections) return;
    server->watch = loop_watch_new(server->options.loop, server->listener, on_client, server);
}

static void stop_listening(struct http_server *server) {
    loop_watch_free(server->watch);
    server->watch = NULL;
}

static void on_client(void *context) {
    struct http_server *server = context;
    for (int i = 0; i < ACCEPTS; i++) {
        if (http_connections_count(server->connections) >= server->options.max_connections) {
            stop_listening(server);
            return;
        }
        int fd = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0)
            http_connections_add(server->connections, fd);
        else if (errno == EAGAIN)
            return;
        else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            stop_listening(server);
            loop_timer_again(server->later, REFUSED_WAIT_MS, 0);
            return;
        } // else the client has gone meanwhile
    }
}

int http_server_new(const struct http_server_options *options, struct http_server **server, struct error *error) {
    int listener, port, code = listen_open(options->listen, options->reuse_port, &listener, &port, error);
    if (code) return code;
    struct http_server *made = mem_alloc(sizeof *made);
    *made = (struct http_server){.options = *options, .listener = listener, .port = port};
    if (!made->options.max_body) made->options.max_body = MAX_BODY;
    if (!made->options.max_connections) made->options.max_connections = MAX_CONNECTIONS;
    if (!made->options.timeout_s) made->options.timeout_s = TIMEOUT_S;
    made->connections = http_connections_new(&made->options, listen_again, made);
    made->later = loop_timer_new(options->loop, 1, 0, listen_again, made);
    listen_again(made);
    if (!made->watch) {
        http_server_free(made);
        return error_set(error, -EIO, "the HTTP server on %s cannot be watched", options->listen);
    }
    *server = made;
    return 0;
}

int http_server_port(const struct http_server *server) { return server->port; }

size_t http_server_pending(const struct http_server *server) { return http_connections_pending(server->connections); }

size_t http_server_connections(const struct http_server *server) { return http_connections_count(server->connections); }

void http_server_quiesce(struct http_server *server) {
    if (server->listener < 0) return;
    stop_listening(server);
    close(server->listener);
    server->listener = -1;
    http_connections_quiesce(server->connections);
}

void http_server_free(struct http_server *server) {
    if (!server) return;
    http_server_quiesce(server);
    http_connections_free(server->connections);
    loop_timer_free(server->later);
    free(server);
}
