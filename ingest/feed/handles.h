/* The endpoints of handles: PUT and DELETE of the caller's own, and GET of the user who has one.
 *
 *     PUT --> name-commands: WISH --> the user's owner <--> the handle's owner (feed/names_rules.h)
 *                                            v
 *                                     granted: 200; taken: 409; not in time: 202
 *
 *     GET --> the handle's owner: who has it --> the user's owner: is it the handle that counts? --> the user, or 404
 */
#ifndef INGEST_FEED_HANDLES_H
#define INGEST_FEED_HANDLES_H

#include "ingest/endpoints.h"

extern const struct endpoint_list HANDLES_ENDPOINTS; /* state: struct feed_gateway */

#endif
