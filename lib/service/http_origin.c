#include "service/http_origin.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "budget/network.h"

enum { V4_BITS = 96 /* in front of an IPv4 address */, ADDRESS_BITS = 128, ADDRESS_MAX = 64 /* bytes of text */ };

static const char SEPARATORS[] = " \t,";
static const unsigned char V4_PREFIX[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

struct network {
    struct http_address address;
    unsigned bits;
};

struct http_proxies {
    size_t count;
    struct network networks[];
};

bool http_address_read(const char *text, size_t size, struct http_address *address) {
    char copy[ADDRESS_MAX];
    struct http_address read;
    if (size >= sizeof copy) return false;
    memcpy(copy, text, size);
    copy[size] = '\0';
    memcpy(read.bytes, V4_PREFIX, sizeof V4_PREFIX);
    if (inet_pton(AF_INET, copy, read.bytes + sizeof V4_PREFIX) != 1 && inet_pton(AF_INET6, copy, read.bytes) != 1)
        return false;
    *address = read;
    return true;
}

/* ADDRESS or ADDRESS/BITS. */
static bool read_network(const char *text, size_t size, struct network *network) {
    const char *slash = memchr(text, '/', size);
    size_t length = slash ? (size_t)(slash - text) : size;
    int64_t bits;
    if (!http_address_read(text, length, &network->address)) return false;
    network->bits = ADDRESS_BITS;
    if (!slash) return true;
    int64_t most = memchr(text, ':', length) ? ADDRESS_BITS : ADDRESS_BITS - V4_BITS;
    if (!text_number(slash + 1, size - length - 1, most, &bits)) return false;
    network->bits = (unsigned)(bits + ADDRESS_BITS - most);
    return true;
}

int http_proxies_new(const char *text, struct http_proxies **proxies, struct error *error) {
    struct http_proxies *made = NULL;
    size_t count = 0;
    for (const char *at = text + strspn(text, SEPARATORS); *at; at += strspn(at, SEPARATORS)) {
        struct network network;
        size_t size = strcspn(at, SEPARATORS);
        if (!read_network(at, size, &network)) {
            free(made);
            return error_set(error, -EINVAL, "\"%.*s\" is no address or network (10.0.0.7, 10.0.0.0/8, fd00::/8)",
                             (int)size, at);
        }
        made = mem_resize(made, 1, sizeof *made + (count + 1) * sizeof network);
        made->networks[count++] = network;
        made->count = count;
        at += size;
    }
    *proxies = made;
    return 0;
}

void http_proxies_free(struct http_proxies *proxies) { free(proxies); }

static bool lies_in(const struct network *network, const struct http_address *address) {
    unsigned whole = network->bits / 8, rest = network->bits % 8;
    if (memcmp(network->address.bytes, address->bytes, whole)) return false;
    return !rest || (network->address.bytes[whole] ^ address->bytes[whole]) >> (8 - rest) == 0;
}

static bool is_trusted(const struct http_proxies *proxies, const struct http_address *address) {
    for (size_t i = 0; i < proxies->count; i++)
        if (lies_in(&proxies->networks[i], address)) return true;
    return false;
}

/* An address as proxies write it: "1.2.3.4", "1.2.3.4:5678", "2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:443", in quotes or not. */
static bool read_forwarded(const char *text, size_t size, struct http_address *address) {
    if (size >= 2 && *text == '"' && text[size - 1] == '"') text++, size -= 2;
    const char *end = text + size, *port = NULL;
    if (size && *text == '[') {
        const char *bracket = memchr(text, ']', size);
        if (!bracket) return false;
        text++;
        size = (size_t)(bracket - text);
        port = bracket + 1;
    } else if (memchr(text, '.', size) && (port = memchr(text, ':', size)) &&
               !memchr(port + 1, ':', (size_t)(end - port - 1))) {
        size = (size_t)(port - text);
    } else
        port = end;
    int64_t number;
    if (port < end && (*port != ':' || !text_number(port + 1, (size_t)(end - port - 1), UINT16_MAX, &number)))
        return false;
    return http_address_read(text, size, address);
}

/* Of a text that is no address: all who are called so, and nobody else. Addresses in use do not begin with that bit. */
static uint64_t key_of_text(const char *text, size_t size) {
    static const uint8_t KEY[16] = "unknown origins";
    return hash_sip(KEY, text, size) | 1ull << 63;
}

uint64_t http_origin_behind(const struct http_proxies *proxies, struct http_address peer, const char *forwarded) {
    const char *end = forwarded ? forwarded + strlen(forwarded) : NULL;
    while (proxies && is_trusted(proxies, &peer) && end && end > forwarded) {
        const char *comma = memrchr(forwarded, ',', (size_t)(end - forwarded));
        const char *start = comma ? comma + 1 : forwarded;
        start += strspn(start, " \t");
        size_t size = start < end ? (size_t)(end - start) : 0;
        while (size && strchr(" \t", start[size - 1])) size--;
        if (!read_forwarded(start, size, &peer)) return key_of_text(start, size);
        end = comma;
    }
    return network_address_in(peer.bytes);
}

struct http_address http_address_of(const struct sockaddr *socket) {
    struct http_address address = {.bytes = {0}};
    if (socket->sa_family == AF_INET6) {
        memcpy(address.bytes, &((const struct sockaddr_in6 *)(const void *)socket)->sin6_addr, sizeof address.bytes);
    } else {
        memcpy(address.bytes, V4_PREFIX, sizeof V4_PREFIX);
        memcpy(address.bytes + sizeof V4_PREFIX, &((const struct sockaddr_in *)(const void *)socket)->sin_addr, 4);
    }
    return address;
}

bool http_proxies_trust(const struct http_proxies *proxies, const struct sockaddr *peer) {
    struct http_address address = http_address_of(peer);
    return is_trusted(proxies, &address);
}
