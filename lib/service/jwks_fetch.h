/* Fetches a JSON Web Key Set from a URL, again and again, on a thread of its own. When it fetches again is the server's to say
 * (Cache-Control: max-age, within JWKS_FETCH_LEAST_S and JWKS_FETCH_MOST_S); after a failure, and when somebody wants it anew, it is once
 * in JWKS_FETCH_PAUSE_MS. Only a 200 with at most 1 MiB counts, redirects are not followed. Loop's thread, which never waits but where
 * said. */
#pragma once

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"

enum {
    JWKS_FETCH_LEAST_S = 60,
    JWKS_FETCH_USUAL_S = 300, /* where the server does not say */
    JWKS_FETCH_MOST_S = 3600,
    JWKS_FETCH_PAUSE_MS = 8000 /* so that a new key counts within ten seconds, the fetch included */
};

struct jwks_fetch;

struct jwks_fetch *jwks_fetch_new(const char *url, int pause_ms); /* pause_ms 0: JWKS_FETCH_PAUSE_MS */
void jwks_fetch_free(struct jwks_fetch *fetch);                   /* NULL is fine */

/* Takes the outcome of the last fetch, once: 1 with the set in `text`; 0: there is none that was not taken; negative with the reason. */
int jwks_fetch_take(struct jwks_fetch *fetch, struct buffer *text, struct error *error);

/* A key that is not in the set was asked for: the set is fetched as soon as the pause since the last fetch is over. */
void jwks_fetch_want(struct jwks_fetch *fetch);

/* Waits until the first fetch has ended, well or not, for so long at most: for a start, before anybody is served. */
void jwks_fetch_wait(struct jwks_fetch *fetch, int wait_ms);

/* Seconds until the next fetch, by a Cache-Control field; NULL: there was none. */
int jwks_fetch_pause_s(const char *cache_control);
