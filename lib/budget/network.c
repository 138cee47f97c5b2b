#include "budget/network.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/bytes.h"

enum { MAPPED = 0xffff /* bits 80 to 95 of an IPv4 address that is mapped into IPv6 */, V4_HOST_BITS = 8 };

uint64_t network_address_in(const unsigned char bytes[16]) {
    uint64_t first = bytes_get_be64(bytes), last = bytes_get_be64(bytes + 8);
    return first || last >> 32 != MAPPED ? first : last;
}

uint64_t network_address(const struct sockaddr *socket) {
    const void *any = socket;
    if (socket->sa_family == AF_INET6) return network_address_in(((const struct sockaddr_in6 *)any)->sin6_addr.s6_addr);
    return (uint64_t)MAPPED << 32 | ntohl(((const struct sockaddr_in *)any)->sin_addr.s_addr);
}

uint64_t network_of_address(uint64_t address) {
    return address >> 32 == MAPPED ? address >> V4_HOST_BITS << V4_HOST_BITS : address;
}

uint64_t network_of(const struct sockaddr *socket) { return network_of_address(network_address(socket)); }

static void text_of(uint64_t network, const char *v4_bits, char text[NETWORK_TEXT]) {
    char host[INET6_ADDRSTRLEN] = "";
    unsigned char bytes[16] = {0};
    bool v4 = network >> 32 == MAPPED;
    if (v4)
        bytes_put_be32(bytes, (uint32_t)network);
    else
        bytes_put_be64(bytes, network);
    inet_ntop(v4 ? AF_INET : AF_INET6, bytes, host, sizeof host);
    snprintf(text, NETWORK_TEXT, "%s%s", host, v4 ? v4_bits : "/64");
}

void network_text(uint64_t network, char text[NETWORK_TEXT]) { text_of(network, "/24", text); }

void network_address_text(uint64_t address, char text[NETWORK_TEXT]) { text_of(address, "", text); }
