#include "ws/stream.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/mem.h"

enum {
    READ_SIZE = 8192, /* at once: then the others of the loop have their turn */
    SHAKING_US = 5000 /* of handshakes in a turn */
};

struct streams {
    uv_loop_t *loop;
    SSL_CTX *tls;
    struct stream_events events;
    struct stream *shaking, **shaking_tail; /* those whose handshake can go on, in the order in which they could */
    struct loop_idle *shaker;               /* on while there are any */
    uint8_t bytes[READ_SIZE];
};

struct stream {
    uv_poll_t poll;
    struct streams *streams;
    void *context;
    SSL *ssl;
    int fd;
    int waits_for; /* of uv_poll_event */
    bool shaken;   /* TLS: the handshake is done */
    bool stalled;  /* TLS: it has to write before anything else */
    bool finishing, finished;
    bool freed;
    struct buffer kept;
    size_t kept_from;                            /* the bytes before have been sent */
    struct stream *shaking_next, **shaking_link; /* streams->shaking; link NULL: it is not there */
};

static void shake_some(void *context);

struct streams *streams_new(uv_loop_t *loop, SSL_CTX *tls, const struct stream_events *events) {
    struct streams *streams = mem_zero(1, sizeof *streams);
    streams->loop = loop;
    streams->tls = tls;
    streams->events = *events;
    streams->shaking_tail = &streams->shaking;
    if (tls) streams->shaker = loop_idle_new(loop, shake_some, streams);
    return streams;
}

void streams_free(struct streams *streams) {
    if (!streams) return;
    loop_idle_free(streams->shaker);
    SSL_CTX_free(streams->tls);
    free(streams);
}

static void stream_ready(uv_poll_t *poll, int status, int events);

static void stream_wait(struct stream *stream) {
    int wanted = UV_READABLE | (stream->stalled || stream->kept.size ? UV_WRITABLE : 0);
    if (wanted == stream->waits_for || stream->freed || stream->shaking_link) return;
    stream->waits_for = wanted;
    uv_poll_start(&stream->poll, wanted, stream_ready);
}

struct stream *stream_new(struct streams *streams, int fd, void *context) {
    struct stream *stream = mem_zero(1, sizeof *stream);
    SSL *ssl = streams->tls ? SSL_new(streams->tls) : NULL;
    if ((streams->tls && (!ssl || !SSL_set_fd(ssl, fd))) || uv_poll_init(streams->loop, &stream->poll, fd)) {
        SSL_free(ssl);
        free(stream);
        close(fd);
        return NULL;
    }
    stream->streams = streams;
    stream->context = context;
    stream->fd = fd;
    stream->ssl = ssl;
    stream->shaken = !ssl;
    stream->poll.data = stream;
    stream_wait(stream);
    return stream;
}

static void shaking_add(struct stream *stream) {
    struct streams *streams = stream->streams;
    uv_poll_stop(&stream->poll); /* it is known already, and would be told again in each turn */
    stream->waits_for = 0;
    stream->shaking_next = NULL;
    stream->shaking_link = streams->shaking_tail;
    *streams->shaking_tail = stream;
    streams->shaking_tail = &stream->shaking_next;
    loop_idle_on(streams->shaker, 1);
}

static void shaking_remove(struct stream *stream) {
    if (!stream->shaking_link) return;
    *stream->shaking_link = stream->shaking_next;
    if (stream->shaking_next)
        stream->shaking_next->shaking_link = stream->shaking_link;
    else
        stream->streams->shaking_tail = stream->shaking_link;
    stream->shaking_link = NULL;
}

static void stream_closed(uv_handle_t *handle) { free(handle->data); }

void stream_free(struct stream *stream) {
    if (!stream || stream->freed) return;
    stream->freed = true;
    shaking_remove(stream);
    uv_close((uv_handle_t *)&stream->poll, stream_closed);
    SSL_free(stream->ssl);
    close(stream->fd);
    buffer_free(&stream->kept);
}

int stream_socket(const struct stream *stream) { return stream->ssl ? -1 : stream->fd; }

int stream_peer(const struct stream *stream, struct sockaddr_storage *peer) {
    socklen_t size = sizeof *peer;
    return getpeername(stream->fd, (struct sockaddr *)peer, &size) ? -errno : 0;
}

size_t stream_kept(const struct stream *stream) { return stream->kept.size - stream->kept_from; }

/* Of a call of OpenSSL's that did not succeed; false: the stream is broken. */
static bool tls_goes_on(struct stream *stream, int result) {
    switch (SSL_get_error(stream->ssl, result)) {
    case SSL_ERROR_WANT_WRITE: stream->stalled = true; return true;
    case SSL_ERROR_WANT_READ: return true;
    default: return false;
    }
}

/* How many bytes went out; -1: the stream is broken. */
static ssize_t send_some(struct stream *stream, const uint8_t *bytes, size_t size) {
    size_t sent = 0;
    if (!stream->ssl) {
        ssize_t result = send(stream->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        return result >= 0 ? result : errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : -1;
    }
    while (sent < size) {
        size_t written;
        ERR_clear_error();
        int result = SSL_write_ex(stream->ssl, bytes + sent, size - sent, &written);
        if (result <= 0) return tls_goes_on(stream, result) ? (ssize_t)sent : -1;
        sent += written;
    }
    return (ssize_t)sent;
}

void stream_keep(struct stream *stream, const void *bytes, size_t size) {
    buffer_append(&stream->kept, bytes, size);
    stream_wait(stream);
}

int stream_write(struct stream *stream, const void *bytes, size_t size) {
    ssize_t sent = 0;
    if (!stream->kept.size && stream->shaken) sent = send_some(stream, bytes, size);
    if (sent < 0) return -EPIPE;
    if ((size_t)sent < size) stream_keep(stream, (const uint8_t *)bytes + sent, size - (size_t)sent);
    return 0;
}

static void finish_now(struct stream *stream) {
    if (!stream->finishing || stream->finished || stream->kept.size) return;
    stream->finished = true;
    ERR_clear_error();
    if (stream->ssl && stream->shaken) SSL_shutdown(stream->ssl);
    shutdown(stream->fd, SHUT_WR);
}

void stream_finish(struct stream *stream) {
    stream->finishing = true;
    finish_now(stream);
}

/* False: the stream is broken. */
static bool flush(struct stream *stream) {
    if (!stream->kept.size) return true;
    ssize_t sent = send_some(stream, stream->kept.data + stream->kept_from, stream_kept(stream));
    if (sent < 0) return false;
    stream->kept_from += (size_t)sent;
    if (stream_kept(stream)) return true;
    buffer_free(&stream->kept);
    stream->kept_from = 0;
    finish_now(stream);
    stream->streams->events.on_sent(stream->context);
    return true;
}

/* Goes on with TLS's handshake; false: it has failed. */
static bool shake(struct stream *stream) {
    ERR_clear_error();
    int result = SSL_accept(stream->ssl);
    stream->shaken = result == 1;
    return stream->shaken || tls_goes_on(stream, result);
}

static void bytes_came(struct stream *stream, size_t size) {
    stream->streams->events.on_bytes(stream->context, stream->streams->bytes, size);
}

static bool read_plain(struct stream *stream) {
    ssize_t size = recv(stream->fd, stream->streams->bytes, READ_SIZE, MSG_DONTWAIT);
    if (size > 0) bytes_came(stream, (size_t)size);
    return size > 0 || (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR));
}

/* OpenSSL reads whole records: what is left of one does not make the socket readable. */
static bool read_tls(struct stream *stream) {
    do {
        size_t size;
        ERR_clear_error();
        int result = SSL_read_ex(stream->ssl, stream->streams->bytes, READ_SIZE, &size);
        if (result <= 0) return tls_goes_on(stream, result);
        bytes_came(stream, size);
    } while (!stream->freed && SSL_pending(stream->ssl));
    return true;
}

/* Does what a turn's events allow: TLS's handshake, writing, reading. False: the stream is at its end. */
static bool serve(struct stream *stream, int events) {
    stream->stalled = false;
    if (!stream->shaken && !shake(stream)) return false;
    if (!stream->shaken) return true;
    /* TLS may wait for either before it goes on with the other. */
    if ((stream->ssl || events & UV_WRITABLE) && !flush(stream)) return false;
    if (stream->freed || !(stream->ssl || events & UV_READABLE)) return true;
    return stream->ssl ? read_tls(stream) : read_plain(stream);
}

static void go_on(struct stream *stream, int events) {
    bool lives = serve(stream, events);
    if (stream->freed) return;
    if (lives)
        stream_wait(stream);
    else
        stream->streams->events.on_end(stream->context);
}

static void stream_ready(uv_poll_t *poll, int status, int events) {
    struct stream *stream = poll->data;
    if (status < 0)
        stream->streams->events.on_end(stream->context);
    else if (!stream->shaken)
        shaking_add(stream);
    else
        go_on(stream, events);
}

static void shake_some(void *context) {
    struct streams *streams = context;
    int64_t until_us = clock_monotonic_us() + SHAKING_US;
    while (streams->shaking && clock_monotonic_us() < until_us) {
        struct stream *stream = streams->shaking;
        shaking_remove(stream);
        go_on(stream, 0);
    }
    loop_idle_on(streams->shaker, streams->shaking != NULL);
}
