/* What nothing can be faster than: send() of frames of one size to so many connections, at an even rate, and nothing else.
 *
 *     bench-edge_floor PORT CONNECTIONS FRAMES_PER_SECOND PAYLOAD_BYTES [CERTIFICATE KEY]
 *
 * With a certificate it sends by OpenSSL's SSL_write, and nothing else.
 * Accepts the connections (a blind answer to the upgrade), then sends in bursts of 5 ms' worth to connections in a random
 * order, as frames for people's friends are. Ends when a phone goes away.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdbool.h>
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

struct link {
    int fd;
    SSL *ssl; /* NULL: no TLS */
};

static struct link take_one(int listener, SSL_CTX *tls) {
    static const char ANSWER[] =
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
    char request[2048];
    int one = 1, size = sizeof ANSWER - 1;
    struct link link = {.fd = accept(listener, NULL, NULL), .ssl = tls ? SSL_new(tls) : NULL};
    setsockopt(link.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    bool good = link.fd >= 0;
    if (good && tls)
        good = SSL_set_fd(link.ssl, link.fd) && SSL_accept(link.ssl) == 1 &&
               SSL_read(link.ssl, request, sizeof request) > 0 && SSL_write(link.ssl, ANSWER, size) == size;
    else if (good)
        good =
            recv(link.fd, request, sizeof request, 0) > 0 && send(link.fd, ANSWER, (size_t)size, MSG_NOSIGNAL) == size;
    if (!good) {
        perror("accept");
        exit(1);
    }
    fcntl(link.fd, F_SETFL, O_NONBLOCK);
    return link;
}

/* False: the phone went away. What does not fit into a full socket is left out. */
static bool send_frame(const struct link *link, const uint8_t *frame, size_t size) {
    if (!link->ssl) return send(link->fd, frame, size, MSG_NOSIGNAL) == (ssize_t)size || errno == EAGAIN;
    int sent = SSL_write(link->ssl, frame, (int)size);
    return sent > 0 || SSL_get_error(link->ssl, sent) == SSL_ERROR_WANT_WRITE;
}

static SSL_CTX *tls_of(const char *certificate, const char *key) {
    SSL_CTX *tls = SSL_CTX_new(TLS_server_method());
    if (!tls || SSL_CTX_use_certificate_chain_file(tls, certificate) != 1 ||
        SSL_CTX_use_PrivateKey_file(tls, key, SSL_FILETYPE_PEM) != 1) {
        fprintf(stderr, "%s, %s: cannot be used\n", certificate, key);
        exit(1);
    }
    SSL_CTX_set_mode(tls,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    return tls;
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
    if (argc != 5 && argc != 7) {
        fprintf(stderr, "usage: bench-edge_floor PORT CONNECTIONS FRAMES_PER_SECOND PAYLOAD_BYTES [CERTIFICATE KEY]\n");
        return 2;
    }
    size_t count = (size_t)atoi(argv[2]), payload = (size_t)atoi(argv[4]);
    double rate = atof(argv[3]);
    signal(SIGPIPE, SIG_IGN); /* OpenSSL writes without MSG_NOSIGNAL */
    SSL_CTX *tls = argc == 7 ? tls_of(argv[5], argv[6]) : NULL;
    struct link *links = mem_alloc(count * sizeof *links);
    int listener = listen_on(atoi(argv[1]));
    uint8_t *frame = mem_alloc(payload + 16);
    size_t size = make_frame(frame, payload);
    for (size_t i = 0; i < count; i++) links[i] = take_one(listener, tls);
    int64_t start = clock_monotonic_us();
    for (uint64_t sent = 0;;) {
        usleep(BURST_US);
        uint64_t due = (uint64_t)((double)(clock_monotonic_us() - start) / 1e6 * rate);
        for (; sent < due; sent++) {
            if (!send_frame(&links[hash_u64(sent) % count], frame, size)) return 0;
        }
    }
}
