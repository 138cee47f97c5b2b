/* The origin of requests: the network of the client, also behind proxies that say for whom they ask (X-Forwarded-For). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/error.h"

/* The proxies that are believed. */
struct http_proxies;

/* text: addresses and networks, as "10.0.0.7 192.168.0.0/16, fd00::/8"; "": none, and *proxies is NULL. -EINVAL with the reason in
 * error. */
int http_proxies_new(const char *text, struct http_proxies **proxies, struct error *error);
void http_proxies_free(struct http_proxies *proxies); /* NULL is fine */

bool http_proxies_trust(const struct http_proxies *proxies, const struct sockaddr *peer);

struct http_address {
    unsigned char bytes[16]; /* of IPv6; an IPv4 address is ::ffff:a.b.c.d */
};

struct http_address http_address_of(const struct sockaddr *socket);

/* False: the text is no address. Pure. */
bool http_address_read(const char *text, size_t size, struct http_address *address);

/* The client behind proxies: of the addresses in `forwarded` (separated by commas, with or without ports; NULL: none) the last one that is
 * no trusted proxy, or `peer` if that is no trusted proxy itself. Clients write there what they like, so nothing before that counts. An address as
 * budget/network.h has it; of a word that is no address ("unknown"), a number that no address has. Pure. */
uint64_t http_origin_behind(const struct http_proxies *proxies, struct http_address peer, const char *forwarded);
