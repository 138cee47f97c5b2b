/* Links that show a user's place to whoever has one (router/links.h). What is secret of a link is who it is of and its id, sealed by a key of
 * peer.token: the gateway finds the owner by it, and nobody else learns either. The owner is asked for each answer, and what it says is not
 * kept. A secret that was not made here is answered as one that never was (404); a good one whose link is over, for whatever reason, 410.
 * Loop's thread. */
#pragma once

#include "ingest/nearby/parts.h"

struct link_gateway;

int link_gateway_new(struct nearby_gateway *nearby, struct link_gateway **links, struct error *error);
void link_gateway_free(struct link_gateway *links); /* NULL is fine */

extern const struct endpoint_list LINKS_ENDPOINTS; /* state: struct link_gateway */
