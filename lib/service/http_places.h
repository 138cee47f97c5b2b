/* The places at a server, and the connection that goes when no place is left. Connections stand in queues by network, in the order of their
 * coming there: those without a request, and those whose request is still coming. Loop's thread. */
#pragma once

#include <stdint.h>

struct http_network;
struct http_places;

enum http_queue { HTTP_QUEUE_IDLE, HTTP_QUEUE_COMING, HTTP_QUEUES, HTTP_QUEUE_NONE = HTTP_QUEUES /* it stays */ };

/* A connection has one. */
struct http_place {
    struct http_network *network;
    enum http_queue queue;
    struct http_place *previous, *next;
};

struct http_places *http_places_new(void);
void http_places_free(struct http_places *places); /* after the last one was left. NULL is fine */

void http_place_take(struct http_places *places, struct http_place *place, uint64_t network); /* in no queue */
void http_place_leave(struct http_places *places, struct http_place *place);
void http_place_move(struct http_places *places, struct http_place *place, enum http_queue queue); /* to its end */
uint64_t http_place_network(const struct http_place *place);

/* The connection that goes first: the first one of the first queue that has any, of one of the networks with the most connections (their number is
 * taken to the next power of two). NULL: all must stay. */
struct http_place *http_places_first(const struct http_places *places);
/* The same among those of a network. */
struct http_place *http_places_first_of(const struct http_places *places, uint64_t network);
