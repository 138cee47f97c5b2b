/* Answers the questions of other processes about users that this one owns: lists of friends, and friendships, also those that a
 * command is about to make. Loop's thread.
 *
 *     GET /peer/friends/USER?state&after&limit            GET /peer/friendship/USER/OTHER?offset&wait_ms
 */
#ifndef ROUTER_PEER_H
#define ROUTER_PEER_H

#include "owner/owner.h"
#include "router/commands.h"
#include "service/http.h"

struct peer;

struct peer_options {
    int32_t partitions;
    struct owner *owner;
    struct graph *graph;
    struct commands *commands;
};

struct peer *peer_new(const struct peer_options *options);
void peer_free(struct peer *peer); /* after the commands, which tell those who wait; NULL is fine */
void peer_handle(struct peer *peer, struct http_request *request);

#endif
