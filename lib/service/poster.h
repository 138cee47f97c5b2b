/* Posts JSON to a URL of somebody else: a thread of its own takes items out of a handoff, makes a body of them and posts it. A receiver
 * that is slow or away costs the event loop nothing: items are dropped and counted then (base/handoff.h).
 *
 * A post that fails, or is answered with 429, 502, 503 or 504, is tried again: six times in all, after 1, 2, 4, 8 and 16 seconds. So
 * the same body may come twice, when an answer was lost. Any other answer but 2xx is final. Loop's thread but where said. */
#pragma once

#include "base/buffer.h"
#include "base/error.h"
#include "base/handoff.h"

struct poster;

struct poster_options { /* all of it is longer-lived */
    const char *url;
    struct handoff *items;
    int gather_ms; /* items are gathered for so long */
    int pause_ms;  /* before the second try, and twice as long before each further one; 0: 1,000 */
    const void *context;
    /* Appends the body of the items. The poster's thread calls it. */
    void (*write)(const void *context, struct buffer *body, const void *items, size_t count);
};

struct poster *poster_new(const struct poster_options *options); /* of a URL that was checked */
void poster_add_header(struct poster *poster, const char *name, const char *value);
void poster_start(struct poster *poster); /* no header is added any more */
/* Posts what is left, for a second at most. NULL and one that was not started are fine. The handoff is closed then, and stays its owner's. */
void poster_free(struct poster *poster);

uint64_t poster_failed(struct poster *poster); /* posts that were not taken, each try counted; any thread */
