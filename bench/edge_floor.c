/* What nothing can be faster than: send() of frames of one size to so many connections, at an even rate, and nothing else.
 *
 *     bench-edge_floor PORT CONNECTIONS FRAMES_PER_SECOND PAYLOAD_BYTES
 *
 * Accepts the connections (a blind answer to the upgrade), then sends in bursts of 5 ms' worth to connections in a random
 * order, as frames for people's friends are. Ends when a phone goes away.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"

enum { BURST_US = 5000 };

static int listen_on(int port) {
    int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, 4096)) {
        perror("listen");
        exit(1);
    }
    return fd;
}

static int take_one(int listener) {
    static const char ANSWER[] =
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
    char request[2048];
    int one = 1, fd = accept(listener, NULL, NULL);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (fd < 0 || recv(fd, request, sizeof request, 0) <= 0 ||
        send(fd, ANSWER, sizeof ANSWER - 1, MSG_NOSIGNAL) != sizeof ANSWER - 1) {
        perror("accept");
        exit(1);
    }
    return fd;
}

static size_t make_frame(uint8_t *frame, size_t payload) {
    size_t at = 2;
    frame[0] = 0x81;
    if (payload < 126) {
        frame[1] = (uint8_t)payload;
    } else {
        frame[1] = payload < 65536 ? 126 : 127;
        for (int shift = payload < 65536 ? 8 : 56; shift >= 0; shift -= 8) frame[at++] = (uint8_t)(payload >> shift);
    }
    memset(frame + at, 'x', payload);
    return at + payload;
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: bench-edge_floor PORT CONNECTIONS FRAMES_PER_SECOND PAYLOAD_BYTES\n");
        return 2;
    }
    size_t count = (size_t)atoi(argv[2]), payload = (size_t)atoi(argv[4]);
    double rate = atof(argv[3]);
    int *fds = mem_alloc(count * sizeof *fds), listener = listen_on(atoi(argv[1]));
    uint8_t *frame = mem_alloc(payload + 16);
    size_t size = make_frame(frame, payload);
    for (size_t i = 0; i < count; i++) fds[i] = take_one(listener);
    int64_t start = clock_monotonic_us();
    for (uint64_t sent = 0;;) {
        usleep(BURST_US);
        uint64_t due = (uint64_t)((double)(clock_monotonic_us() - start) / 1e6 * rate);
        for (; sent < due; sent++) {
            ssize_t done = send(fds[hash_u64(sent) % count], frame, size, MSG_NOSIGNAL);
            if (done != (ssize_t)size && errno != EAGAIN) return 0;
        }
    }
}
