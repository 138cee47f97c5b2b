/* Questions about the links of users (router/links.h): which there are, what a command led to, and what one shows. Nothing is remembered
 * between two questions, so that a link is over as soon as its end is decided, or its user does not share. Loop's thread.
 */
#pragma once

#include "rpc/serve.h"

struct router;
struct link_answers;

struct link_answers *link_answers_new(struct router *router);
void link_answers_free(struct link_answers *answers); /* NULL is fine */

/* {"items":[{"id","until","rounded","made"}],"next","has"}: links that are not over, and whether the asked link is in the row, over or not. With
 * an offset: when that command is decided. */
void link_answers_list(struct link_answers *answers, struct http_request *request, const struct rpc_asked *asked);

/* {"until","opted","lat","lng","time"}, without a place where none is known; or 404: the link is over, or never was. */
void link_answers_place(struct link_answers *answers, struct http_request *request, const struct rpc_asked *asked);

/* Once a second: has links that are over removed, of one partition a second. */
void link_answers_second(struct link_answers *answers);
