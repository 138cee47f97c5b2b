#include "service/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 1024 };

int address_parse(const char *text, struct address *address, struct error *error) {
    struct address parsed = {.host = ""};
    const char *host = text, *colon = strrchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : 0;
    bool v6 = length >= 2 && text[0] == '[' && colon[-1] == ']';
    if (v6) {
        host++;
        length -= 2;
    }
    if (!colon || length >= sizeof parsed.host || (!v6 && memchr(host, ':', length)))
        return error_set(error, -EINVAL, "\"%s\" is no address: host:port or [v6]:port is wanted", text);
    memcpy(parsed.host, host, length);

    size_t digits = strspn(colon + 1, "0123456789");
    if (!digits || digits >= sizeof parsed.port || colon[1 + digits] || strtol(colon + 1, NULL, 10) > 65535)
        return error_set(error, -EINVAL, "\"%s\" has no port from 0 to 65535", text);
    memcpy(parsed.port, colon + 1, digits);
    *address = parsed;
    return 0;
}

static int resolve(const struct address *address, int flags, struct addrinfo **list) {
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | flags};
    return getaddrinfo(address->host[0] ? address->host : NULL, address->port, &hints, list);
}

bool address_is_loopback(const struct address *address) {
    struct addrinfo *list = NULL;
    // An empty host would resolve to loopback without AI_PASSIVE, but we listen on every interface then.
    if (!address->host[0] || resolve(address, 0, &list)) return false;
    bool loopback = true;
    for (const struct addrinfo *at = list; at; at = at->ai_next) {
        if (at->ai_family == AF_INET)
            loopback &= (ntohl(((const struct sockaddr_in *)(const void *)at->ai_addr)->sin_addr.s_addr) >> 24) == 127;
        else
            loopback &= IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)at->ai_addr)->sin6_addr);
    }
    freeaddrinfo(list);
    return loopback;
}

bool address_is_wildcard(const struct address *address) {
    return !address->host[0] || !strcmp(address->host, "0.0.0.0") || !strcmp(address->host, "::");
}

static int socket_of(const struct addrinfo *at, bool reuse_port, bool dual_stack) {
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1, off = 0;
    if (fd < 0) return -errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    bool ok = !reuse_port || !setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    if (ok && at->ai_family == AF_INET6)
        ok = !setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, dual_stack ? &off : &on, sizeof on);
    if (ok && !bind(fd, at->ai_addr, at->ai_addrlen) && !listen(fd, BACKLOG)) return fd;
    int code = -errno;
    close(fd);
    return code;
}

static int bound_port(int fd) {
    struct sockaddr_storage bound = {.ss_family = AF_UNSPEC};
    socklen_t size = sizeof bound;
    if (getsockname(fd, (struct sockaddr *)&bound, &size)) return -errno;
    return ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
                                             : ((struct sockaddr_in *)&bound)->sin_port);
}

int listen_open(const char *text, bool reuse_port, int *fd, int *port, struct error *error) {
    struct address address;
    int code = address_parse(text, &address, error);
    if (code) return code;
    struct addrinfo *list = NULL;
    bool every = !address.host[0], both = every || !strcmp(address.host, "::");
    int failed = resolve(&address, AI_PASSIVE, &list);
    if (failed) return error_set(error, -EINVAL, "cannot listen on %s: %s", text, gai_strerror(failed));

    int opened = -EADDRNOTAVAIL;
    for (const struct addrinfo *at = list; at && opened < 0; at = at->ai_next) {
        // For every interface one IPv6 socket serves both; the IPv4 one is for machines without IPv6.
        if (!every || at->ai_family == AF_INET6) opened = socket_of(at, reuse_port, both);
    }
    for (const struct addrinfo *at = list; at && (opened == -EAFNOSUPPORT || opened == -EADDRNOTAVAIL);
         at = at->ai_next)
        opened = socket_of(at, reuse_port, false);
    freeaddrinfo(list);
    if (opened < 0) return error_set(error, opened, "cannot listen on %s: %s", text, strerror(-opened));
    *port = bound_port(opened);
    *fd = opened;
    return 0;
}

bool listen_is_taken(const char *text) {
    struct error error;
    int fd, port, code = listen_open(text, false, &fd, &port, &error);
    if (code == 0) close(fd);
    return code == -EADDRINUSE;
}
