/* The opening handshake of a server (RFC 6455, 4.2): what a request says, and the answer to it. Pure; any thread. */
#pragma once

#include <stddef.h>

#include "base/buffer.h"

enum { HANDSHAKE_MAX = 8192 }; /* bytes of a request, cookies included */

struct handshake_rules {
    const char *subprotocol; /* must be among those that are offered */
    const char *origins;     /* of which a page may be, separated by commas; NULL: any. A request without one is fine */
};

enum handshake_result {
    HANDSHAKE_TAKEN,
    HANDSHAKE_REFUSED,
    HANDSHAKE_ORIGIN /* refused: the page is of another origin */
};

/* The size of the request that the text begins with, its empty line included; 0: it is not whole yet. Of text that will be no request,
 * all: the client may speak TLS to a plain server. `known`: bytes at the front that were not whole the last time, so that they are not
 * looked through again. */
size_t handshake_size(const char *text, size_t size, size_t known);

/* Appends the answer to a whole request, which is overwritten. forwarded: the values of its X-Forwarded-For are appended. */
enum handshake_result handshake_answer(char *request, size_t size, const struct handshake_rules *rules,
                                       struct buffer *answer, struct buffer *forwarded);

/* Appends the answer to a request that is longer than HANDSHAKE_MAX. */
void handshake_too_long(struct buffer *answer);
