/* permessage-deflate (RFC 7692), without context from one message to the next in either direction. So one pair of zlib streams serves
 * the server, and connections need none. The loop's thread.
 */
#ifndef WS_PACKER_H
#define WS_PACKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define PACKER_NAME "permessage-deflate"
/* Behind the name, in the answer to an offer. */
#define PACKER_ANSWER "; server_no_context_takeover; client_no_context_takeover"

struct packer;

/* max_message: bytes of an unpacked message. */
struct packer *packer_new(size_t max_message);
void packer_free(struct packer *packer); /* NULL is fine */

/* Whether PACKER_ANSWER is an answer to one of the offers in a client's Sec-WebSocket-Extensions: to permessage-deflate, but not where
 * the offer demands more (a smaller window of ours, or unknown parameters). */
bool packer_offered(const char *list);

/* The packed form of a frame's text, valid until the next call, with WS_HEADROOM bytes to spare in front; NULL: it would not be
 * shorter. */
uint8_t *packer_pack(struct packer *packer, const uint8_t *text, size_t size, size_t *packed_size);

/* Unpacks a message; *text is valid until the next call. -EMSGSIZE: longer than max_message, which is found out without unpacking
 * the rest; -EBADMSG: it is not deflated. */
int packer_unpack(struct packer *packer, const uint8_t *packed, size_t packed_size, const char **text, size_t *size);

#endif
