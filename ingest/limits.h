/* How fast clients may ask. A request with a good token counts for its user, and for nobody else; tokens with scope gateway have no limit.
 * Everything else (no token, a bad one) counts for the network that it came from, whatever it asks for. Loop's thread. */
#ifndef INGEST_LIMITS_H
#define INGEST_LIMITS_H

#include "base/metrics.h"
#include "ingest/call.h"
#include "ingest/settings.h"

struct limits;

/* -EINVAL with the reason in error: ingest.trusted.proxies cannot be read. */
int limits_new(const struct ingest_settings *settings, struct metrics *metrics, struct limits **limits,
               struct error *error);
void limits_free(struct limits *limits); /* NULL is fine */

/* Whether the request may go on; else it is answered 429. known: the call's claims are those of a good token. */
bool limits_pass(struct limits *limits, const struct call *call, bool known);

#endif
