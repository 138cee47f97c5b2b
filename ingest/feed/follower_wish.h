/* Wishes about an author's followers, of the author and of readers: written to the author's owner, who is then asked what became of them.
 * Loop's thread. */
#pragma once

#include "event/codec.h"
#include "ingest/feed/parts.h"

/* The author's owner says this of a reader. */
struct follower_state {
    const char *refused; /* why; NULL: it is as is said next. It is the reply's */
    bool following, requested;
};
bool follower_state_read(const json_t *reply, struct follower_state *state); /* false: it is no such reply */
const char *follower_word(const struct follower_state *state); /* as JSON: "following", "requested" or null */

/* Answers the request. state NULL: the command is safe, and its outcome is not known. */
typedef void follower_decided(struct http_request *request, const struct follower_command *command,
                              const struct follower_state *state);

/* Writes the command, with the time of now. */
void follower_wish_send(struct feed_gateway *gateway, struct http_request *request,
                        const struct follower_command *command, follower_decided *decided);

/* False: the path names the caller, and the request is answered: 400. */
bool follower_wish_of_two(const struct call *call);

/* Answers with a page of the caller's list. */
void follower_list(struct feed_gateway *gateway, const struct call *call, const char *relation);
