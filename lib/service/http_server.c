#include "service/http_server.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "service/http_connection.h"
#include "service/listen.h"

enum { MAX_BODY = 64 * 1024, MAX_CONNECTIONS = 1000, TIMEOUT_S = 60, FINAL_TURNS = 64 };

/* libmicrohttpd on the loop: its epoll descriptor is watched, and it is run when that is readable, when its timeout is over, and when
 * there is work that neither announces. */
struct http_server {
    struct http_server_options options;
    struct http_connections *connections;
    struct MHD_Daemon *daemon;
    struct loop_watch *watch;
    struct loop_timer *timer; // libmicrohttpd's timeouts
    struct loop_idle *again;  // on: it is run in the next turn, too
    int port;
    bool quiesced;
    bool running; // libmicrohttpd is at it
    bool more;    // and must be run once more
};

static void on_work(void *context) {
    struct http_server *server = context;
    server->more = true;
    if (!server->running) loop_idle_on(server->again, 1);
}

/* Lets libmicrohttpd do what it can now, and sees to it that it is called again when it must be. */
static void run(void *context) {
    struct http_server *server = context;
    server->running = true;
    server->more = false;
    MHD_run(server->daemon);
    server->running = false;
    MHD_UNSIGNED_LONG_LONG timeout_ms;
    bool timed = MHD_get_timeout(server->daemon, &timeout_ms) == MHD_YES;
    loop_idle_on(server->again, server->more || (timed && timeout_ms == 0));
    if (timed && timeout_ms) loop_timer_again(server->timer, timeout_ms, 0);
}

static int server_start(struct http_server *server, int listener, struct error *error) {
    const struct http_server_options *options = &server->options;
    server->connections = http_connections_new(options, on_work, server);
    server->again = loop_idle_new(options->loop, run, server);
    server->timer = loop_timer_new(options->loop, 1, 0, run, server);
    // From here the listening socket is libmicrohttpd's, which closes it even when it does not start.
    server->daemon = http_connections_serve(server->connections, listener);
    const union MHD_DaemonInfo *info =
        server->daemon ? MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
    if (!info) return error_set(error, -EIO, "the HTTP server on %s did not start", options->listen);
    server->watch = loop_watch_new(options->loop, info->epoll_fd, run, server);
    return server->watch ? 0 : error_set(error, -EIO, "the HTTP server on %s cannot be watched", options->listen);
}

int http_server_new(const struct http_server_options *options, struct http_server **server, struct error *error) {
    int listener, port, code = listen_open(options->listen, options->reuse_port, &listener, &port, error);
    if (code) return code;
    struct http_server *made = mem_alloc(sizeof *made);
    *made = (struct http_server){.options = *options, .port = port};
    if (!made->options.max_body) made->options.max_body = MAX_BODY;
    if (!made->options.max_connections) made->options.max_connections = MAX_CONNECTIONS;
    if (!made->options.timeout_s) made->options.timeout_s = TIMEOUT_S;
    code = server_start(made, listener, error);
    if (code) {
        http_server_free(made);
        return code;
    }
    *server = made;
    return 0;
}

int http_server_port(const struct http_server *server) { return server->port; }

size_t http_server_pending(const struct http_server *server) { return http_connections_pending(server->connections); }

size_t http_server_connections(const struct http_server *server) { return http_connections_count(server->connections); }

void http_server_quiesce(struct http_server *server) {
    if (server->quiesced) return;
    server->quiesced = true;
    http_connections_quiesce(server->connections);
    int listener = MHD_quiesce_daemon(server->daemon);
    if (listener >= 0) close(listener);
    on_work(server);
}

/* Sends what was just answered; a client that does not read is not waited for. */
static void stop(struct http_server *server) {
    MHD_UNSIGNED_LONG_LONG timeout_ms = 0;
    http_connections_abandon(server->connections);
    for (int i = 0; i < FINAL_TURNS && timeout_ms == 0; i++) {
        MHD_run(server->daemon);
        if (MHD_get_timeout(server->daemon, &timeout_ms) != MHD_YES) break;
    }
    MHD_stop_daemon(server->daemon);
}

void http_server_free(struct http_server *server) {
    if (!server) return;
    assert(!server->running);
    loop_watch_free(server->watch);
    if (server->daemon) stop(server);
    http_connections_free(server->connections);
    loop_timer_free(server->timer);
    loop_idle_free(server->again);
    free(server);
}
