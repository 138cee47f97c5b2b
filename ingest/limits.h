/* How fast clients may ask. A request with a good token counts for its user, and for nobody else; tokens with scope gateway have no limit.
 * Everything else (no token, a bad one) counts for the network that it came from, whatever it asks for.
 *
 * A request counts by the work that it makes: once, and once more for each LIMITS_ROWS of the page that it asks for (`limit`). If the bytes
 * of its body and its answer by LIMITS_BYTES, and the work that its handler adds, are more than that, the difference is charged when it is
 * answered. Loop's thread. */
#pragma once

#include "base/metrics.h"
#include "ingest/call.h"
#include "ingest/settings.h"

enum { LIMITS_ROWS = 100, LIMITS_BYTES = 16384 };

struct limits;

/* -EINVAL with the reason in error: ingest.trusted.proxies cannot be read. */
int limits_new(const struct ingest_settings *settings, struct metrics *metrics, struct limits **limits,
               struct error *error);
void limits_free(struct limits *limits); /* NULL is fine */

const struct http_proxies *limits_proxies(const struct limits *limits); /* NULL: none is trusted */

/* True: a token that is not remembered may be verified. That costs more than a refusal, so a network from which many bad ones came waits.
 * Else it is answered 429. */
bool limits_verify(struct limits *limits, const struct call *call);
/* The token was a bad one. */
void limits_bad_token(struct limits *limits, const struct call *call);

/* True: the request may go on. Else it is answered 429. known: the call's claims are those of a good token. Says whose the bytes of the
 * request and of its answer are. Only while the request is admitted. */
bool limits_pass(struct limits *limits, const struct call *call, bool known);

/* The same for a request that changes something for its user: a change costs more than a page, and all processes that follow its topic
 * take part in it. Else it is answered 429. */
bool limits_change(struct limits *limits, const struct call *call);

/* It is answered. change: it was one, and its bytes count as such. */
void limits_answered(struct limits *limits, const struct http_request *request, bool change);
