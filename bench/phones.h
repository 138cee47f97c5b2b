/* Very many phones on one thread: raw sockets, epoll, and as little WebSocket as it takes, so that the benches measure the
 * server and not its clients: those of tools/load/handsets.h, which keep screens, cost more than the server's half. Header-only,
 * for bench programs.
 *
 * A phone connects, upgrades, says its hello, and then reads whatever comes: text frames are counted, pings answered.
 * A "mark" is a byte '~' in a text frame: bench worlds put exactly one into each entry, so that entries are counted alike
 * for every server, whatever its frames look like.
 *
 * phones_start runs a thread of its own; counters are read from any thread. phones_say may be called from any thread, by
 * one at a time for each phone; with TLS in the phones' own thread only.
 */
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

enum phone_state { PHONE_OFF, PHONE_CONNECTING, PHONE_SHAKING, PHONE_UPGRADING, PHONE_OPEN, PHONE_CLOSED };

struct phone {
    int fd;
    uint8_t state;
    uint8_t upgraded; /* how much of the empty line that ends the answer's head was seen */
    uint8_t opcode;
    uint8_t head_size;
    uint8_t head[10];
    uint32_t frames; /* text frames that were complete */
    uint64_t left;   /* payload bytes to come of the frame under way */
    char *hello;     /* borrowed */
    SSL *ssl;        /* NULL: no TLS, or not connected */
    int64_t started_us, opened_us, paged_us;
};

struct phones {
    /* Set by the owner before phones_start: */
    struct sockaddr_in address;
    const char *subprotocol;
    SSL_CTX *tls;        /* wss: the phones trust any certificate; NULL: ws. Freed by phones_free */
    uint8_t source;      /* last byte of the address they come from: 127.0.1.SOURCE, as one has only 28,000 ports */
    size_t connecting;   /* attempts under way at once */
    unsigned page_frame; /* which text frame is "the first page" (2: after the welcome) */
    /* The time between two rounds in which all phones read; no thread waits in a read. Otherwise each send that finds the reader asleep
     * would pay for waking it, which says more about the machine than about the server. 0: phones read at once. */
    int64_t round_us;
    int64_t again_us; /* a connection that fails or ends is made again after this; 0: never */
    void *context;
    /* A text frame that came in one piece (NULL: not wanted). In the thread of the phones. */
    void (*on_frame)(void *context, size_t phone, const char *text, size_t size);

    size_t count;
    struct phone *all;
    int epoll;
    pthread_t thread;
    size_t next; /* to be connected */
    int64_t *retry_at_us;
    size_t retries;
    atomic_bool stop;
    atomic_size_t under_way, open, paged;
    atomic_uint_fast64_t frames, bytes, marks, pings, closed, refused;
};

static inline void phones_init(struct phones *phones, size_t count) {
    phones->count = count;
    phones->all = mem_zero(count, sizeof *phones->all);
    phones->retry_at_us = mem_zero(count, sizeof *phones->retry_at_us);
    phones->epoll = epoll_create1(EPOLL_CLOEXEC);
    for (size_t i = 0; i < count; i++) phones->all[i].fd = -1;
}

static inline bool phone_send(struct phone *phone, const void *bytes, size_t size) {
    if (phone->ssl) return SSL_write(phone->ssl, bytes, (int)size) == (int)size;
    return send(phone->fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
}

/* As recv(): 0 or -1 with another errno than EAGAIN: the connection is over. */
static inline ssize_t phone_receive(struct phone *phone, uint8_t *room, size_t size) {
    if (!phone->ssl) return recv(phone->fd, room, size, 0);
    int got = SSL_read(phone->ssl, room, (int)size);
    if (got > 0) return got;
    errno = SSL_get_error(phone->ssl, got) == SSL_ERROR_WANT_READ ? EAGAIN : EPIPE;
    return -1;
}

/* A masked frame (mask 0: unmasking costs the server the same); sockets of the benches are never full towards it. */
static inline bool phone_write(struct phone *phone, uint8_t opcode, const void *payload, size_t size) {
    uint8_t frame[8 + 8192] = {(uint8_t)(0x80 | opcode)};
    size_t at = 2;
    if (size < 126) {
        frame[1] = (uint8_t)(0x80 | size);
    } else {
        frame[1] = 0x80 | 126;
        frame[at++] = (uint8_t)(size >> 8);
        frame[at++] = (uint8_t)size;
    }
    memset(frame + at, 0, 4);
    at += 4;
    memcpy(frame + at, payload, size);
    return phone_send(phone, frame, at + size);
}

static inline bool phones_say(struct phones *phones, size_t phone, const char *text, size_t size) {
    return phones->all[phone].state == PHONE_OPEN && phone_write(&phones->all[phone], 1, text, size);
}

static inline void phone_end(struct phones *phones, struct phone *phone) {
    struct linger none = {.l_onoff = 1};
    SSL_free(phone->ssl);
    phone->ssl = NULL;
    setsockopt(phone->fd, SOL_SOCKET, SO_LINGER, &none, sizeof none); /* no TIME_WAIT: ports are few */
    close(phone->fd);
    phone->fd = -1;
    if (phone->state < PHONE_OPEN)
        phones->under_way--;
    else
        phones->open--;
    if (phone->paged_us) phones->paged--;
    size_t index = (size_t)(phone - phones->all);
    if (phones->again_us && !phones->stop) {
        *phone = (struct phone){.fd = -1, .state = PHONE_OFF, .hello = phone->hello};
        phones->retry_at_us[index] = clock_monotonic_us() + phones->again_us;
        phones->retries++;
    } else {
        phone->state = PHONE_CLOSED;
    }
    phones->closed++;
}

static inline void phone_connect(struct phones *phones, size_t index) {
    struct phone *phone = &phones->all[index];
    int one = 1;
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000100u | phones->source)};
    phone->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (phone->fd < 0) {
        perror("socket");
        exit(1);
    }
    setsockopt(phone->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(phone->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
    if (bind(phone->fd, (struct sockaddr *)&from, sizeof from)) perror("bind");
    phone->started_us = clock_monotonic_us();
    phone->state = PHONE_CONNECTING;
    phones->under_way++;
    if (connect(phone->fd, (struct sockaddr *)&phones->address, sizeof phones->address) && errno != EINPROGRESS) {
        phones->refused++;
        phone_end(phones, phone);
        return;
    }
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT, .data.u64 = index};
    epoll_ctl(phones->epoll, EPOLL_CTL_ADD, phone->fd, &event);
}

static inline void phone_ask(struct phones *phones, struct phone *phone) {
    char request[512];
    int size = snprintf(request, sizeof request,
                        "GET /connection/websocket HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\n"
                        "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                        "Sec-WebSocket-Version: 13\r\n%s%s%s\r\n",
                        ntohs(phones->address.sin_port), phones->subprotocol ? "Sec-WebSocket-Protocol: " : "",
                        phones->subprotocol ? phones->subprotocol : "", phones->subprotocol ? "\r\n" : "");
    phone->state = PHONE_UPGRADING;
    if (!phone_send(phone, request, (size_t)size)) phone_end(phones, phone);
}

/* Goes on with TLS's handshake; its small messages always fit into an empty socket. */
static inline void phone_shake(struct phones *phones, struct phone *phone) {
    int result = SSL_connect(phone->ssl);
    if (result == 1)
        phone_ask(phones, phone);
    else if (SSL_get_error(phone->ssl, result) != SSL_ERROR_WANT_READ)
        phone_end(phones, phone);
}

static inline void phone_connected(struct phones *phones, size_t index) {
    struct phone *phone = &phones->all[index];
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = index};
    epoll_ctl(phones->epoll, EPOLL_CTL_MOD, phone->fd, &event);
    if (!phones->tls) {
        phone_ask(phones, phone);
        return;
    }
    phone->state = PHONE_SHAKING;
    phone->ssl = SSL_new(phones->tls);
    if (!phone->ssl || !SSL_set_fd(phone->ssl, phone->fd)) abort();
    phone_shake(phones, phone);
}

/* How many bytes belong to the answer's head. */
static inline size_t phone_upgrade(struct phones *phones, struct phone *phone, const uint8_t *bytes, size_t size) {
    static const char END[] = "\r\n\r\n";
    for (size_t i = 0; i < size; i++) {
        phone->upgraded = bytes[i] == (uint8_t)END[phone->upgraded] ? phone->upgraded + 1 : bytes[i] == '\r';
        if (phone->upgraded < 4) continue;
        phone->state = PHONE_OPEN;
        phone->opened_us = clock_monotonic_us();
        phones->under_way--;
        phones->open++;
        if (phone->hello) phone_write(phone, 1, phone->hello, strlen(phone->hello));
        return i + 1;
    }
    return size;
}

static inline size_t phone_count_marks(const uint8_t *bytes, size_t size) {
    size_t marks = 0;
    for (size_t i = 0; i < size; i++) marks += bytes[i] == '~';
    return marks;
}

/* The head of a frame, byte by byte: true when it is complete. */
static inline bool phone_head(struct phone *phone, uint8_t byte) {
    phone->head[phone->head_size++] = byte;
    if (phone->head_size < 2) return false;
    unsigned length = phone->head[1] & 0x7f, extra = length == 126 ? 2 : length == 127 ? 8 : 0;
    if (phone->head_size < 2 + extra) return false;
    phone->opcode = phone->head[0] & 0x0f;
    phone->left = extra ? 0 : length;
    for (unsigned i = 0; i < extra; i++) phone->left = phone->left << 8 | phone->head[2 + i];
    phone->head_size = 0;
    return true;
}

static inline void phone_frame_over(struct phones *phones, struct phone *phone) {
    if (phone->opcode > 2) return;
    atomic_fetch_add_explicit(&phones->frames, 1, memory_order_relaxed);
    if (++phone->frames != phones->page_frame) return;
    phone->paged_us = clock_monotonic_us();
    phones->paged++;
}

static inline void phone_read(struct phones *phones, size_t index, const uint8_t *at, const uint8_t *end) {
    struct phone *phone = &phones->all[index];
    uint64_t bytes = 0, marks = 0;
    if (phone->state == PHONE_UPGRADING) at += phone_upgrade(phones, phone, at, (size_t)(end - at));
    while (at < end) {
        if (!phone->left) {
            if (!phone_head(phone, *at++)) continue;
            if (phone->opcode <= 2 && phones->on_frame && phone->left <= (size_t)(end - at))
                phones->on_frame(phones->context, index, (const char *)at, phone->left);
            if (phone->opcode == 9 && phone->left <= (size_t)(end - at)) {
                phone_write(phone, 10, at, phone->left);
                phones->pings++;
            }
            if (!phone->left) phone_frame_over(phones, phone);
            continue;
        }
        size_t part = phone->left < (size_t)(end - at) ? phone->left : (size_t)(end - at);
        if (phone->opcode <= 2) {
            bytes += part;
            marks += phone_count_marks(at, part);
        }
        at += part;
        phone->left -= part;
        if (!phone->left) phone_frame_over(phones, phone);
    }
    atomic_fetch_add_explicit(&phones->bytes, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&phones->marks, marks, memory_order_relaxed);
}

static inline void phones_event(struct phones *phones, const struct epoll_event *event, uint8_t *room, size_t size) {
    struct phone *phone = &phones->all[event->data.u64];
    if (phone->fd < 0) return;
    if (phone->state == PHONE_CONNECTING && event->events & (EPOLLERR | EPOLLHUP)) {
        phones->refused++;
        phone_end(phones, phone);
        return;
    }
    if (phone->state == PHONE_CONNECTING && event->events & EPOLLOUT) phone_connected(phones, event->data.u64);
    if (phone->fd < 0 || !(event->events & (EPOLLIN | EPOLLERR | EPOLLHUP))) return;
    if (phone->state == PHONE_SHAKING) {
        phone_shake(phones, phone);
        return;
    }
    do { /* OpenSSL may have read more than it has returned */
        ssize_t got = phone_receive(phone, room, size);
        if (got > 0)
            phone_read(phones, event->data.u64, room, room + got);
        else if (got == 0 || errno != EAGAIN)
            phone_end(phones, phone);
    } while (phone->ssl && SSL_pending(phone->ssl));
}

static inline void phones_connect_more(struct phones *phones) {
    while (phones->under_way < phones->connecting && phones->next < phones->count)
        phone_connect(phones, phones->next++);
    int64_t now = phones->retries ? clock_monotonic_us() : 0;
    for (size_t i = 0; phones->retries && i < phones->count && phones->under_way < phones->connecting; i++) {
        if (!phones->retry_at_us[i] || phones->retry_at_us[i] > now) continue;
        phones->retry_at_us[i] = 0;
        phones->retries--;
        phone_connect(phones, i);
    }
}

static inline void *phones_run(void *context) {
    enum { EVENTS = 512, ROOM = 1 << 18 };
    struct phones *phones = context;
    struct epoll_event events[EVENTS];
    uint8_t *room = mem_alloc(ROOM);
    while (!phones->stop) {
        phones_connect_more(phones);
        int count = epoll_wait(phones->epoll, events, EVENTS, phones->round_us ? 0 : 10);
        if (!count && phones->round_us) usleep((useconds_t)phones->round_us);
        for (int i = 0; i < count; i++) phones_event(phones, &events[i], room, ROOM);
    }
    free(room);
    return NULL;
}

static inline void phones_start(struct phones *phones) {
    if (pthread_create(&phones->thread, NULL, phones_run, phones)) abort();
}

static inline void phones_stop(struct phones *phones) {
    phones->stop = true;
    pthread_join(phones->thread, NULL);
    for (size_t i = 0; i < phones->count; i++) {
        if (phones->all[i].fd >= 0) phone_end(phones, &phones->all[i]);
    }
}

static inline void phones_free(struct phones *phones) {
    close(phones->epoll);
    SSL_CTX_free(phones->tls);
    free(phones->all);
    free(phones->retry_at_us);
}

/* For phones that speak TLS: any certificate will do, and a connection keeps no buffers while it is idle. */
static inline SSL_CTX *phones_tls(void) {
    SSL_CTX *tls = SSL_CTX_new(TLS_client_method());
    if (!tls) abort();
    SSL_CTX_set_mode(tls, SSL_MODE_RELEASE_BUFFERS);
    return tls;
}

/* Waits until the counter reaches a number; false: not within the time. */
static inline bool phones_wait(atomic_size_t *counter, size_t wanted, int seconds) {
    int64_t until = clock_monotonic_us() + seconds * INT64_C(1000000);
    while (*counter < wanted && clock_monotonic_us() < until) usleep(2000);
    return *counter >= wanted;
}

/* "host:port", a number each. */
static inline struct sockaddr_in phones_address(const char *text) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    char host[64];
    const char *colon = strrchr(text, ':');
    snprintf(host, sizeof host, "%.*s", (int)(colon ? colon - text : 0), text);
    if (!colon || !inet_pton(AF_INET, host, &address.sin_addr)) {
        fprintf(stderr, "%s: not an address of the kind 127.0.0.1:8081\n", text);
        exit(2);
    }
    address.sin_port = htons((uint16_t)atoi(colon + 1));
    return address;
}

/* CPU of another process so far: user and system seconds of all its threads. */
static inline double phones_cpu_of(int pid) {
    char path[64], line[1024];
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    if (fgets(line, sizeof line, file)) {
        const char *after = strrchr(line, ')');
        if (!after || sscanf(after + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
            user = system = 0;
    }
    fclose(file);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}
