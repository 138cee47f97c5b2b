/* Asks other processes of starling by HTTP/1.1, over connections that stay open: GETs of plain HTTP whose answers have a Content-Length, as
 * lib/service's own server gives them. For everything else there is service/http_client.h, which costs several times as much CPU.
 *
 *     peer_client_get --> a connection to that address that is idle, or a new one
 *                              | request, answer             one request at a time on each
 *                              v
 *                            done --> the connection is idle again, or closed
 *
 * A connection that was used before may have just been closed by the peer: its request is then sent once more, on a new one. Loop's thread.
 */
#pragma once

#include <stddef.h>

#include "base/loop.h"

struct peer_client;

struct peer_client *peer_client_new(uv_loop_t *loop, const char *token); /* token NULL: no Authorization */
/* Pending questions get code -ECANCELED. May be called from within a done. NULL is fine. */
void peer_client_free(struct peer_client *client);

/* address: host:port. `done` is called once on the loop, never from within this call unless the client is being freed: code 0 with
 * status and body (valid during the call, a NUL behind it), or negative errno (-ETIMEDOUT; -ECONNREFUSED; -EIO: broken off, no such
 * answer, or more than 16 MiB). */
void peer_client_get(struct peer_client *client, const char *address, const char *path, int timeout_ms,
                     void (*done)(void *context, int code, unsigned status, const char *reply, size_t size),
                     void *context);
