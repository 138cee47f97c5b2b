#include "ws/flood.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum { AROUND_A_MESSAGE = 64 }; /* its frame's head, and TLS's record */

void flood_message(struct flood *flood, size_t size) { flood->explained += size + AROUND_A_MESSAGE; }

static void window_begin(struct flood *flood, uint64_t now_ms) {
    if (now_ms - flood->counted_ms <= FLOOD_WINDOW_MS) return;
    flood->counted_ms = now_ms;
    flood->pings = flood->fragments = 0;
}

bool flood_ping(struct flood *flood, uint64_t now_ms) {
    window_begin(flood, now_ms);
    return ++flood->pings > FLOOD_PINGS_MAX;
}

bool flood_fragment(struct flood *flood, uint64_t now_ms) {
    window_begin(flood, now_ms);
    return ++flood->fragments > FLOOD_FRAGMENTS_MAX;
}

/* Bytes that the kernel has received on the connection; 0: it does not say. */
static uint64_t received_on(int socket) {
    struct tcp_info info = {.tcpi_bytes_received = 0};
    socklen_t size = sizeof info;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size)) return 0;
    return info.tcpi_bytes_received; /* an older kernel leaves the end as it was */
}

/* Of them, those that nobody has read yet: they may be messages. */
static uint64_t unread_on(int socket) {
    int unread = 0;
    return !ioctl(socket, FIONREAD, &unread) && unread > 0 ? (uint64_t)unread : 0;
}

static bool is_too_much(uint64_t others, uint64_t elapsed_ms) {
    return others > FLOOD_BYTES_MAX && others / FLOOD_BYTES_MAX >= elapsed_ms / FLOOD_WINDOW_MS;
}

bool flood_look(struct flood *flood, int socket, uint64_t now_ms) {
    uint64_t received = received_on(socket), elapsed = now_ms - flood->looked_ms;
    if (flood->looked_ms && received > flood->received + flood->explained) {
        uint64_t others = received - flood->received - flood->explained;
        if (is_too_much(others, elapsed)) {
            uint64_t unread = unread_on(socket);
            if (others > unread && is_too_much(others - unread, elapsed)) return true;
        }
    }
    if (flood->looked_ms && elapsed < FLOOD_WINDOW_MS) return false;
    flood->looked_ms = now_ms;
    flood->received = received;
    flood->explained = 0;
    return false;
}
