/* The WebSocket server, its connections, and what the phones on them say. Hellos and their tokens are checked here; everything else
 * is the screens'.
 * Loop's thread.
 */
#pragma once

#include "base/error.h"
#include "ws/ws.h"

struct phone_server;
struct edge;

/* Listens from now on. 0, or a negative errno code with the reason in error. At start-up, not inside a callback of the loop. */
int phones_new(struct edge *edge, struct phone_server **phones, struct error *error);
struct ws_server *phones_server(const struct phone_server *phones); /* for the door */
/* Reads the certificate and its key again, for connections from then on. 0, or the old ones stay. */
int phones_renew(struct phone_server *phones, struct error *error);
/* Closes sessions whose token's key was taken from the JWKS since the last time. */
void phones_check_keys(struct phone_server *phones);
/* Closes all connections with 1012 and calls closed then; phones_free comes after that. */
void phones_shutdown(struct phone_server *phones, loop_fn *closed, void *context);
void phones_free(struct phone_server *phones); /* NULL is fine */
