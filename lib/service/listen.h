/* Addresses as people write them (host:port, [v6]:port) and listening sockets of them. Any thread. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct address {
    char host[256]; /* without brackets; empty: every interface */
    char port[6];
};

/* -EINVAL with the reason in error. */
int address_parse(const char *text, struct address *address, struct error *error);

/* Every host that the address names is this machine's loopback. False for names that are not known. */
bool address_is_loopback(const struct address *address);

/* Every interface: empty, 0.0.0.0 or ::. */
bool address_is_wildcard(const struct address *address);

/* A listening, non-blocking TCP socket, the caller's to close; *port is the one that was bound. reuse_port lets several
 * processes share it. An empty host, and [::], are every interface, IPv6 and IPv4. */
int listen_open(const char *text, bool reuse_port, int *fd, int *port, struct error *error);

/* Another socket listens there already, of this process or another. */
bool listen_is_taken(const char *text);
