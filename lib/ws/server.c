#include "ws/internal.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

enum {
    HANDSHAKE_S = 10,
    BACKLOG = 4096,
    ACCEPT_BATCH = 64, /* then the others of the loop have their turn */
    EVICT_BATCH = 16,  /* connections that make room for others at once */
    PAUSE_MS = 1000    /* when the process has no descriptor left */
};

struct ws_server {
    struct hub hub;
    struct sockaddr_storage address; /* with the port that was given */
    socklen_t address_size;
    unsigned max_connections;
    char *certificate, *key; /* PEM files; NULL: plain */
    bool accepting;
    int fd; /* -1: not listening */
    struct loop_watch *watch;
    struct loop_timer *pause;
};

static int address_parse(const char *listen, struct sockaddr_storage *address, socklen_t *size, struct error *error) {
    const char *colon = strrchr(listen, ':');
    if (!colon || !colon[1]) return error_set(error, -EINVAL, "\"%s\" is not host:port", listen);
    bool brackets = *listen == '[' && colon > listen && colon[-1] == ']';
    char *host = brackets ? mem_stringn(listen + 1, (size_t)(colon - listen) - 2)
                          : mem_stringn(listen, (size_t)(colon - listen));
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM}, *found = NULL;
    int failure = getaddrinfo(*host ? host : NULL, colon + 1, &hints, &found);
    free(host);
    if (failure) return error_set(error, -EINVAL, "%s: %s", listen, gai_strerror(failure));
    memcpy(address, found->ai_addr, found->ai_addrlen);
    *size = found->ai_addrlen;
    freeaddrinfo(found);
    return 0;
}

static int listener_open(struct ws_server *server) {
    int one = 1, failure = 0;
    int fd = socket(server->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -errno;
    socklen_t size = sizeof(server->address);
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)) ||
        bind(fd, (const struct sockaddr *)&server->address, server->address_size) || listen(fd, BACKLOG) ||
        getsockname(fd, (struct sockaddr *)&server->address, &size)) {
        failure = -errno;
        close(fd);
        return failure;
    }
    server->fd = fd;
    return 0;
}

static void server_adopt(struct ws_server *server, int fd) {
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    struct ws_connection *connection = connection_new(&server->hub, false);
    connection->stream = stream_new(server->hub.streams, fd, connection);
    if (!connection->stream) connection_kill(connection);
}

/* One that is not taken is reset, so that the kernel keeps nothing of it. */
static void server_take(struct ws_server *server, int fd, const struct sockaddr_storage *peer) {
    const struct hub *hub = &server->hub;
    const struct linger reset = {.l_onoff = 1};
    uint64_t number;
    if (!hub->origin || hub->origin(hub->context, (const struct sockaddr *)peer, NULL, &number)) {
        server_adopt(server, fd);
        return;
    }
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close(fd);
}

static void server_accept_ready(void *context);

static void server_watch(struct ws_server *server) {
    bool room = server->hub.connections < server->max_connections || hub_idlest(&server->hub);
    bool wanted = server->fd >= 0 && server->accepting && room && !server->pause;
    if (wanted && !server->watch) {
        server->watch = loop_watch_new(server->hub.loop, server->fd, server_accept_ready, server);
    } else if (!wanted && server->watch) {
        loop_watch_free(server->watch);
        server->watch = NULL;
    }
}

static void server_pause_over(void *context) {
    struct ws_server *server = context;
    loop_timer_free(server->pause);
    server->pause = NULL;
    server_watch(server);
}

/* Those who are silent, or are over, make room for those who come: their places are free in the next turn. */
static void server_evict(struct ws_server *server) {
    struct ws_connection *idlest;
    for (int n = 0; n < EVICT_BATCH && (idlest = hub_idlest(&server->hub)); n++) {
        server->hub.counts.evicted++;
        connection_kill(idlest);
    }
}

static void server_accept_ready(void *context) {
    struct ws_server *server = context;
    if (server->hub.connections >= server->max_connections) server_evict(server);
    for (int n = 0; n < ACCEPT_BATCH && server->hub.connections < server->max_connections; n++) {
        struct sockaddr_storage peer;
        socklen_t size = sizeof(peer);
        int fd = accept4(server->fd, (struct sockaddr *)&peer, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            server_take(server, fd, &peer);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            /* The connection stays in the kernel's queue and the socket readable: without a pause, a busy loop. */
            if (!server->pause)
                server->pause = loop_timer_new(server->hub.loop, PAUSE_MS, 0, server_pause_over, server);
            break;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            break;
        }
        /* any other failure is of that one connection, which is gone */
    }
    server_watch(server);
}

static void listener_close(struct ws_server *server) {
    loop_watch_free(server->watch);
    server->watch = NULL;
    loop_timer_free(server->pause);
    server->pause = NULL;
    if (server->fd >= 0) close(server->fd);
    server->fd = -1;
}

static void server_has_room(void *context) { server_watch(context); }

static void server_release(struct ws_server *server) {
    hub_release(&server->hub);
    free(server->certificate);
    free(server->key);
    free(server);
}

int ws_server_new(const struct ws_server_options *options, struct ws_server **server, struct error *error) {
    struct ws_server *made = mem_zero(1, sizeof(*made));
    made->hub = (struct hub){
        .loop = options->loop,
        .subprotocol = mem_string(options->subprotocol),
        .origins = options->origins && *options->origins ? mem_string(options->origins) : NULL,
        .max_message = options->max_message,
        .handshake_ms = (options->handshake_s ? options->handshake_s : HANDSHAKE_S) * 1000ull,
        .ping_ms = options->ping_s * 1000ull,
        .context = options->context,
        .callbacks = options->callbacks,
        .origin = options->origin,
        .released = server_has_room,
        .aged = server_has_room,
        .owner = made,
    };
    made->fd = -1;
    made->accepting = true;
    made->max_connections = options->max_connections;
    if (options->tls_certificate && *options->tls_certificate) {
        made->certificate = mem_string(options->tls_certificate);
        made->key = mem_string(options->tls_key ? options->tls_key : "");
    }
    int failure = address_parse(options->listen, &made->address, &made->address_size, error);
    if (failure) goto finish;
    failure = listener_open(made);
    if (failure) {
        error_set(error, failure, "cannot listen on %s: %s", options->listen, strerror(-failure));
        goto finish;
    }
    if (made->certificate) {
        failure = tls_pair_load(made->certificate, made->key, &made->hub.pair, error);
        if (failure) goto finish;
    }
    made->hub.streams =
        streams_new(options->loop, made->hub.pair ? tls_server_context(&made->hub.pair) : NULL, &INBOUND_EVENTS);
    hub_start(&made->hub);
    server_watch(made);
    *server = made;
finish:
    if (failure) {
        listener_close(made);
        server_release(made);
    }
    return failure;
}

int ws_server_port(const struct ws_server *server) {
    if (server->address.ss_family == AF_INET6) {
        struct sockaddr_in6 address;
        memcpy(&address, &server->address, sizeof(address));
        return ntohs(address.sin6_port);
    }
    struct sockaddr_in address;
    memcpy(&address, &server->address, sizeof(address));
    return ntohs(address.sin_port);
}

const struct ws_counts *ws_server_counts(const struct ws_server *server) { return &server->hub.counts; }

/* The address as /proc/net/tcp and tcp6 write it: each 32 bits as a number of this machine's. */
static void address_format(const struct ws_server *server, char text[48]) {
    uint32_t words[4] = {0};
    size_t count = server->address.ss_family == AF_INET6 ? 4 : 1;
    if (count == 4)
        memcpy(words, &((const struct sockaddr_in6 *)&server->address)->sin6_addr, sizeof(words));
    else
        memcpy(words, &((const struct sockaddr_in *)&server->address)->sin_addr, sizeof(*words));
    for (size_t i = 0; i < count; i++) text += snprintf(text, 9, "%08X", words[i]);
    snprintf(text, 6, ":%04X", (unsigned)ws_server_port(server));
}

/* Lines are "  sl: local_address rem_address st ...", those of listeners (st 0A) first. */
bool ws_server_shared(const struct ws_server *server) {
    char line[256], ours[48], local[48];
    unsigned listeners = 0, state = 0x0A;
    FILE *file = fopen(server->address.ss_family == AF_INET6 ? "/proc/net/tcp6" : "/proc/net/tcp", "re");
    if (!file) return false;
    address_format(server, ours);
    if (!fgets(line, sizeof(line), file)) state = 0; /* the heading */
    while (state == 0x0A && fgets(line, sizeof(line), file)) {
        if (sscanf(line, " %*u: %47s %*s %x", local, &state) != 2) break;
        if (state == 0x0A && !strcmp(local, ours)) listeners++;
    }
    fclose(file);
    return listeners > (server->fd >= 0 ? 1 : 0);
}

int ws_server_renew(struct ws_server *server, struct error *error) {
    struct tls_pair *pair;
    if (!server->certificate) return 0;
    int failure = tls_pair_load(server->certificate, server->key, &pair, error);
    if (failure) return failure;
    tls_pair_free(server->hub.pair);
    server->hub.pair = pair;
    return 0;
}

int ws_certificate_check(const char *certificate, const char *key, struct error *error) {
    struct tls_pair *pair;
    int failure = tls_pair_load(certificate, key, &pair, error);
    if (failure) return failure;
    tls_pair_free(pair);
    return 0;
}

int64_t ws_server_expires(const struct ws_server *server) {
    return server->hub.pair ? tls_pair_expires(server->hub.pair) : -1;
}

unsigned ws_server_connections(const struct ws_server *server) { return server->hub.opened; }

int ws_server_accept(struct ws_server *server, bool on) {
    int failure = 0;
    if (!on && server->fd >= 0) {
        server_accept_ready(server); /* who has connected already would be reset otherwise */
        listener_close(server);
    } else if (on && server->fd < 0 && !server->hub.finish) {
        failure = listener_open(server);
    }
    server->accepting = on;
    server_watch(server);
    return failure;
}

void ws_server_shutdown(struct ws_server *server, int code, loop_fn *closed, void *context) {
    listener_close(server);
    hub_shutdown(&server->hub, code, closed, context);
}

void ws_server_free(struct ws_server *server) {
    if (!server) return;
    server_release(server);
}
