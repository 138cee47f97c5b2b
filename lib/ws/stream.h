/* Accepted sockets on the loop, plain or TLS: bytes in as they come, bytes out at once, and what the kernel does not take is kept and
 * sent when it does. A set of streams shares its settings and one buffer to read into. TLS's handshakes, which cost a signature each,
 * go on one after the other, for a few ms in each turn of the loop. Loop's thread; the functions call nothing back before they
 * return, and all of them may be called inside the events.
 */
#pragma once

#include <openssl/ssl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/loop.h"

struct stream;
struct streams;

struct stream_events {
    void (*on_bytes)(void *context, uint8_t *bytes, size_t size); /* may be overwritten; valid during the call */
    void (*on_sent)(void *context);                               /* nothing is kept any more */
    void (*on_end)(void *context); /* the peer has ended it, or it broke: nothing more comes. Free it */
};

/* tls: NULL for plain sockets; becomes theirs. */
struct streams *streams_new(uv_loop_t *loop, SSL_CTX *tls, const struct stream_events *events);
void streams_free(struct streams *streams); /* after its streams; the loop has a turn left. NULL is fine */

/* Takes the socket over, which does not block. NULL: it cannot be used, and is closed. */
struct stream *stream_new(struct streams *streams, int fd, void *context);
/* Closes the stream; kept bytes are lost, and no more events come. */
void stream_free(struct stream *stream);

/* The socket that bytes may be written to directly while nothing is kept; -1 with TLS. */
int stream_socket(const struct stream *stream);
int stream_peer(const struct stream *stream, struct sockaddr_storage *peer); /* its address; 0 or -errno */
/* 0 or -errno: the stream is broken. */
int stream_write(struct stream *stream, const void *bytes, size_t size);
/* Keeps bytes that the kernel has refused; they go out behind the bytes that are kept already. */
void stream_keep(struct stream *stream, const void *bytes, size_t size);
size_t stream_kept(const struct stream *stream); /* bytes */
/* Ends writing after the kept bytes. Reading goes on until the peer ends it. */
void stream_finish(struct stream *stream);
