/* Answers questions of other processes about the users of owned partitions: lists of friends, single friendships, who is near, who can
 * see a user now (audience.h), and strangers nearby. The answer about a friendship can wait until the command at a given offset has been
 * decided. Loop's thread.
 *
 *     GET /peer/friends/USER?state&after&limit            GET /peer/friendship/USER/OTHER?offset&wait_ms
 *     GET /peer/friend-ids/USER/OTHER                     {"ids": [...]}, rising
 *     GET /peer/audience/USER?after&limit                 GET /peer/discover/USER?after&limit
 *     GET /peer/nearby/USER?after&limit&since&wait_ms     (router/near_pages.h)
 */
#pragma once

#include "service/http.h"

struct peer;
struct router;

struct peer *peer_new(struct router *router);
void peer_free(struct peer *peer); /* after the commands, which answer waiting questions; NULL is fine */
void peer_handle(struct peer *peer, struct http_request *request);
