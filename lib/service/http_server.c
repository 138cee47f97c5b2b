#include "service/http_server.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "budget/network.h"
#include "service/http_connection.h"
#include "service/listen.h"

enum {
    MAX_BODY = 64 * 1024,
    MAX_CONNECTIONS = 1000,
    HEAD_S = 10,
    IDLE_S = 60,
    BODY_S = 10,
    REPLY_S = 20,
    LEAST_RATE = 4096,
    LOOK_MS = 500,          /* how often it is looked for those who exceed their time */
    ACCEPT_BATCH = 64,      /* then the others of the loop have their turn */
    ACCEPT_SHARE = 16,      /* of all places: a newcomer has time to speak before others take its place */
    UNSENT_MAX = 64 * 1024, /* bytes that the kernel takes ahead; the rest of an answer counts in a budget */
    PAUSE_MS = 1000         /* when the process has no descriptor left */
};

uint64_t http_server_key(struct http_server *server) { return ++server->serial | 3ull << 62; }

/* ---- newcomers ---- */

/* Whoever has to go for a newcomer goes; false: nobody has to. */
static bool make_room(struct http_place *place) {
    if (!place) return false;
    http_connection_close(http_connection_at(place));
    return true;
}

/* Takes a place for a connection from that network. False: all are taken. */
static bool take_place(struct http_server *server, uint64_t network) {
    int64_t each = server->options.budgets.network_connections;
    if (held_take(server->connections, network, 1)) return true;
    bool own = each && held_by(server->connections, network) >= each;
    return make_room(own ? http_places_first_of(server->places, network) : http_places_first(server->places)) &&
           held_take(server->connections, network, 1);
}

static void let_in(struct http_server *server, int fd, const struct sockaddr_in6 *address) {
    const struct sockaddr *any = (const struct sockaddr *)address;
    bool proxy = server->options.proxies && http_proxies_trust(server->options.proxies, any);
    uint64_t network = proxy ? http_server_key(server) : network_of(any);
    int on = 1, unsent = UNSENT_MAX;
    if (!take_place(server, network)) {
        close(fd);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
    http_connection_open(server, fd, address, network);
}

static bool is_full(const struct http_server *server) {
    return server->count >= server->options.max_connections && !http_places_first(server->places);
}

/* How many it may still be; 0: no more for now. */
static int accept_one(struct http_server *server, int left) {
    struct sockaddr_in6 address;
    socklen_t size = sizeof address;
    if (is_full(server)) return 0;
    int fd = accept4(server->fd, (struct sockaddr *)&address, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0)
        let_in(server, fd, &address);
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
        return 0;
    else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        /* The newcomer stays in the kernel's queue, and the socket readable. */
        if (make_room(http_places_first(server->places))) return left - 1;
        loop_timer_again(server->pause, PAUSE_MS, 0);
        server->paused = true;
        return 0;
    }
    /* any other failure is of that one connection, which is gone */
    return left - 1;
}

static void on_newcomers(void *context);

static void watch(struct http_server *server) {
    bool wanted = server->fd >= 0 && !server->paused && !is_full(server);
    if (wanted && !server->watch) {
        server->watch = loop_watch_new(server->options.loop, server->fd, on_newcomers, server);
    } else if (!wanted && server->watch) {
        loop_watch_free(server->watch);
        server->watch = NULL;
    }
}

static void on_newcomers(void *context) {
    struct http_server *server = context;
    int left = (int)(server->options.max_connections / ACCEPT_SHARE);
    if (left > ACCEPT_BATCH) left = ACCEPT_BATCH;
    if (left < 1) left = 1;
    while (left) left = accept_one(server, left);
    watch(server);
}

void http_server_has_room(struct http_server *server) {
    if (!server->watch) watch(server);
}

static void pause_over(void *context) {
    struct http_server *server = context;
    server->paused = false;
    watch(server);
}

static void resume(void *context) {
    struct http_server *server = context;
    struct http_connection *connection = server->first_resumed;
    loop_idle_on(server->resume, connection && connection->next_resumed);
    if (!connection) return;
    server->first_resumed = connection->next_resumed;
    connection->resumed = false;
    http_connection_take_in(connection);
}

/* ---- beginning ---- */

static void set_defaults(struct http_server_options *options) {
    struct http_times *times = &options->times;
    if (!options->max_body) options->max_body = MAX_BODY;
    if (!options->max_connections) options->max_connections = MAX_CONNECTIONS;
    if (!times->head_s) times->head_s = HEAD_S;
    if (!times->idle_s) times->idle_s = IDLE_S;
    if (!times->body_s) times->body_s = BODY_S;
    if (!times->reply_s) times->reply_s = REPLY_S;
    if (!times->least_rate) times->least_rate = LEAST_RATE;
}

static struct held *budget(struct http_server *server, const char *what, const char *by, int64_t each, int64_t all,
                           bool leaves_room) {
    const struct http_budgets *budgets = &server->options.budgets;
    return held_new(&(struct held_options){
        .metrics = budgets->metrics ? budgets->metrics : server->own_metrics,
        .what = what,
        .by = by,
        .each = each,
        .in_all = all,
        .leaves_room = leaves_room,
    });
}

static void start(struct http_server *server) {
    const struct http_server_options *options = &server->options;
    const struct http_budgets *budgets = &options->budgets;
    if (!budgets->metrics) server->own_metrics = metrics_new();
    server->connections = budget(server, "connections", "network", budgets->network_connections,
                                 options->max_connections, false); // they make room themselves; service/http_places.h
    server->requests =
        budget(server, "request_bytes", "caller", budgets->request_bytes, budgets->all_request_bytes, true);
    server->replies = budget(server, "reply_bytes", "caller", budgets->reply_bytes, budgets->all_reply_bytes, true);
    server->places = http_places_new();
    server->gzip = options->gzip_least ? http_gzip_new(options->gzip_least) : NULL;
    server->look = loop_timer_new(options->loop, LOOK_MS, LOOK_MS, http_connections_look, server);
    server->pause = loop_timer_new(options->loop, PAUSE_MS, 0, pause_over, server);
    server->resume = loop_idle_new(options->loop, resume, server);
    watch(server);
}

int http_server_new(const struct http_server_options *options, struct http_server **server, struct error *error) {
    int listener, port, code = listen_open(options->listen, options->reuse_port, &listener, &port, error);
    if (code) return code;
    struct http_server *made = mem_zero(1, sizeof *made);
    made->options = *options;
    made->fd = listener;
    made->port = port;
    set_defaults(&made->options);
    start(made);
    *server = made;
    return 0;
}

int http_server_port(const struct http_server *server) { return server->port; }

size_t http_server_pending(const struct http_server *server) { return server->pending; }

size_t http_server_connections(const struct http_server *server) { return server->count; }

/* ---- end ---- */

void http_server_quiesce(struct http_server *server) {
    if (server->quiesced) return;
    server->quiesced = true;
    for (int left = ACCEPT_BATCH; left;) left = accept_one(server, left); /* who had come already */
    loop_watch_free(server->watch);
    server->watch = NULL;
    close(server->fd);
    server->fd = -1;
}

/* Says to everybody who has asked that this is the end, as far as the kernel takes it; a client that does not read is not waited for. */
static void say_end(struct http_server *server) {
    server->abandoned = true;
    http_server_quiesce(server);
    for (struct http_connection *at = server->first, *next; at; at = next) {
        next = at->next;
        if (at->state == HTTP_HANDED)
            http_connection_refuse(at, &HTTP_ENDING, 1);
        else if (at->state == HTTP_IDLE || at->state == HTTP_HEAD || at->state == HTTP_BODY)
            http_connection_read(at);
    }
}

void http_server_free(struct http_server *server) {
    if (!server) return;
    say_end(server);
    while (server->first) http_connection_close(server->first);
    loop_timer_free(server->look);
    loop_timer_free(server->pause);
    loop_idle_free(server->resume);
    http_places_free(server->places);
    http_gzip_free(server->gzip);
    held_free(server->connections);
    held_free(server->requests);
    held_free(server->replies);
    metrics_free(server->own_metrics);
    buffer_free(&server->head);
    buffer_free(&server->fields);
    free(server);
}
