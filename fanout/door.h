/* The door admits new phones, or sends them away with a time to come back.
 *
 *     closed    the edge does not want anybody (no route, copies incomplete, draining); or it is crowded, and another process
 *               listens on the same port
 *     open      those beyond what the process can take are told when to come back, and closed with 1013
 *     full      one who does not say hello makes room for one who comes
 *     crowded   edge.max.sessions are here, or the loop is behind by more than edge.max.loop.lag.ms
 *
 * Loop's thread.
 */
#pragma once

#include "fanout/sessions.h"
#include "ws/ws.h"

struct door;
struct edge;

struct door *door_new(struct edge *edge);
void door_free(struct door *door); /* NULL is fine */

void door_attach(struct door *door, struct ws_server *server); /* which is open; borrowed */
void door_update(struct door *door);                           /* opens or closes it, as things are now */
void door_look(struct door *door, int64_t period_ms);          /* every period_ms, as far as the loop keeps to it */
int64_t door_delay(struct door *door, int64_t least_ms); /* when a phone that is sent away should come back, in ms */
/* When somebody should come back who alone has too much, in ms: nobody else has to stay away for that. */
int64_t door_delay_alone(struct door *door);
/* The connection's session. NULL: it was told when to come back, and is being closed. */
struct session *door_admit(struct door *door, struct ws_connection *connection);
