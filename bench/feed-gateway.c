/* The floor of a page over HTTP with an owner elsewhere, for `./dev bench feed`: a bare libmicrohttpd that asks a second process for each
 * page, and decides nothing.
 *
 *     bench-feed-gateway PORT UPSTREAM BYTES
 *
 *     reader --HTTP--> this, one thread, epoll --HTTP on a kept connection--> bench-http answer UPSTREAM ...
 *
 * An answer is BYTES bytes, and goes out when the second process's has come whole. Runs until it is ended by a signal.
 */
#define _GNU_SOURCE // strcasestr
#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "bench/machine.h"

enum { ANSWER = 1 << 16, EVENTS = 64 };

/* A connection to the second process, with one question under way at most. */
struct upstream {
    int socket;
    struct MHD_Connection *asker; /* NULL: free */
    struct upstream *next_free;
    size_t size;
    char answer[ANSWER];
};

struct gateway {
    struct MHD_Daemon *daemon;
    struct MHD_Response *response;
    struct sockaddr_in address;
    struct upstream *free;
    int poll;
};

static struct upstream *upstream_new(struct gateway *gateway) {
    struct upstream *upstream = mem_zero(1, sizeof *upstream);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = upstream};
    int on = 1;
    upstream->socket = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(upstream->socket, (struct sockaddr *)&gateway->address, sizeof gateway->address))
        bench_fail("connecting");
    setsockopt(upstream->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    epoll_ctl(gateway->poll, EPOLL_CTL_ADD, upstream->socket, &event);
    return upstream;
}

static void ask(struct gateway *gateway, struct MHD_Connection *asker) {
    static const char QUESTION[] = "GET /timeline HTTP/1.1\r\nHost: owner\r\n\r\n";
    struct upstream *upstream = gateway->free ? gateway->free : upstream_new(gateway);
    gateway->free = upstream->next_free;
    upstream->next_free = NULL;
    upstream->asker = asker;
    upstream->size = 0;
    MHD_suspend_connection(asker);
    if (send(upstream->socket, QUESTION, sizeof QUESTION - 1, 0) != sizeof QUESTION - 1) bench_fail("sending");
}

static bool complete(const struct upstream *upstream) {
    const char *body = strstr(upstream->answer, "\r\n\r\n"), *length = strcasestr(upstream->answer, "content-length:");
    return body && length && length < body &&
           upstream->size >= (size_t)(body + 4 - upstream->answer) + (size_t)atoll(length + 15);
}

static void receive(struct gateway *gateway, struct upstream *upstream) {
    ssize_t got = recv(upstream->socket, upstream->answer + upstream->size, ANSWER - 1 - upstream->size, 0);
    if (got <= 0) bench_fail("the second process is gone");
    upstream->size += (size_t)got;
    upstream->answer[upstream->size] = '\0';
    if (!upstream->asker || !complete(upstream)) return;
    MHD_resume_connection(upstream->asker);
    upstream->asker = NULL;
    upstream->next_free = gateway->free;
    gateway->free = upstream;
}

/* Is called three times for a request: with its head, whole, and when its answer has come. */
static enum MHD_Result on_access(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                                 const char *version, const char *data, size_t *size, void **state) {
    struct gateway *gateway = context;
    (void)url, (void)method, (void)version, (void)data, (void)size;
    if (!*state) {
        *state = &gateway->daemon;
        return MHD_YES;
    }
    if (*state == (void *)&gateway->response) return MHD_queue_response(connection, MHD_HTTP_OK, gateway->response);
    *state = (void *)&gateway->response;
    ask(gateway, connection);
    return MHD_YES;
}

static void start(struct gateway *gateway, uint16_t port, size_t size) {
    char *body = mem_alloc(size);
    memset(body, 'x', size);
    gateway->response = MHD_create_response_from_buffer(size, body, MHD_RESPMEM_PERSISTENT);
    MHD_add_response_header(gateway->response, "Content-Type", "application/json");
    gateway->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, port, NULL, NULL, on_access, gateway,
                                       MHD_OPTION_END);
    if (!gateway->daemon) bench_fail("libmicrohttpd does not start");
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(gateway->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    struct epoll_event event = {.events = EPOLLIN};
    gateway->poll = epoll_create1(0);
    epoll_ctl(gateway->poll, EPOLL_CTL_ADD, info->epoll_fd, &event);
}

int main(int argc, char **argv) {
    if (argc != 4) bench_fail("its head says which arguments there are");
    struct gateway gateway = {.address = {.sin_family = AF_INET,
                                          .sin_port = htons((uint16_t)atoi(argv[2])),
                                          .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
    start(&gateway, (uint16_t)atoi(argv[1]), (size_t)atoll(argv[3]));
    for (;;) {
        MHD_UNSIGNED_LONG_LONG until;
        bool soon = MHD_get_timeout(gateway.daemon, &until) == MHD_YES && !until;
        struct epoll_event events[EVENTS];
        int ready = epoll_wait(gateway.poll, events, EVENTS, soon ? 0 : -1);
        for (int i = 0; i < ready; i++)
            if (events[i].data.ptr) receive(&gateway, events[i].data.ptr);
        MHD_run(gateway.daemon);
    }
}
