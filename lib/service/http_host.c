#include "service/http_host.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

struct host {
    char name[256]; /* without brackets */
    bool bracketed;
};

/* host, host:port, [v6] or [v6]:port. */
static bool read_host(const char *field, struct host *host) {
    bool bracketed = *field == '[';
    const char *start = field + bracketed;
    size_t size = strcspn(start, bracketed ? "]" : ":");
    const char *rest = start + size;
    if (!size || size >= sizeof host->name || (bracketed && *rest++ != ']')) return false;
    if (*rest && (*rest != ':' || rest[1 + strspn(rest + 1, "0123456789")])) return false;
    memcpy(host->name, start, size);
    host->name[size] = '\0';
    host->bracketed = bracketed;
    return true;
}

static bool read_address(const struct host *host, struct in_addr *v4, struct in6_addr *v6) {
    return host->bracketed ? inet_pton(AF_INET6, host->name, v6) == 1 : inet_pton(AF_INET, host->name, v4) == 1;
}

bool http_host_is_loopback(const char *field) {
    struct host host;
    struct in_addr v4;
    struct in6_addr v6;
    if (!read_host(field, &host)) return false;
    if (!read_address(&host, &v4, &v6)) return !host.bracketed && !strcasecmp(host.name, "localhost");
    return host.bracketed ? IN6_IS_ADDR_LOOPBACK(&v6) : ntohl(v4.s_addr) >> 24 == 127;
}

bool http_host_is_ours(const char *field, const char *const *names, size_t count) {
    struct host host;
    struct in_addr v4;
    struct in6_addr v6;
    if (!read_host(field, &host)) return false;
    if (read_address(&host, &v4, &v6)) return true;
    bool ours = !host.bracketed && !strchr(host.name, '.');
    for (size_t i = 0; i < count; i++) ours |= !host.bracketed && !strcasecmp(host.name, names[i]);
    return ours;
}
