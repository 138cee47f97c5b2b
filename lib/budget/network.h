/* Where a connection comes from, as a key of budgets. IPv4 addresses mapped into IPv6 count as IPv4. Pure; any thread. */
#pragma once

#include <stdint.h>
#include <sys/socket.h>

/* An address: all of an IPv4 address, the first 64 bits of an IPv6 address, of which one client has all that follow. */
uint64_t network_address(const struct sockaddr *socket);

/* A network: the first 24 bits of an IPv4 address (one organisation, often), the first 64 of an IPv6 address. */
uint64_t network_of(const struct sockaddr *socket);

/* The same of the 16 bytes of an IPv6 address. */
uint64_t network_address_in(const unsigned char bytes[16]);
uint64_t network_of_address(uint64_t address); /* of what network_address gave */

enum { NETWORK_TEXT = 64 };
/* A network as people write it: "10.1.2.0/24", "2001:db8::/64". */
void network_text(uint64_t network, char text[NETWORK_TEXT]);
/* An address: "10.1.2.3", "2001:db8::/64". */
void network_address_text(uint64_t address, char text[NETWORK_TEXT]);
