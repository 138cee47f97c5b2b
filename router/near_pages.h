/* Answers GET /peer/nearby/USER?after&limit&since&wait_ms: a page of the friends who are near a user of an owned partition, as
 * {"time":,"items":[{"user":,"lat":,"lng":,"time":,"rounded":,"distance_m":}],"next":}, with what the phone says
 * beside the place (users/kept_details.h) of who shows it. `time` is of the user's own report that the page is
 * about; null: the user is not active.
 *
 * With `since`, the answer waits until presence has a report of the user of that time or a later one, up to wait_ms, and is
 * given then in any case. Two questions of a user wait at once, and NEAR_WAITING_MAX of all; others are answered at once. Loop's thread.
 */
#pragma once

#include "rpc/serve.h"

enum { NEAR_WAITING_MAX = 1000, NEAR_WAITING_USER_MAX = 2 };

struct near_pages;
struct router;

struct near_pages *near_pages_new(const struct router *router);
void near_pages_free(struct near_pages *pages); /* what waits is answered 503; NULL is fine */

void near_pages_ask(struct near_pages *pages, struct http_request *request, const struct rpc_asked *asked);
void near_pages_tenth(struct near_pages *pages); /* ten times a second: looks at what waits */
