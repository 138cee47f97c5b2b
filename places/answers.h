/* What a places process answers to questions of gateways (lib/rpc/questions.h). Loop's thread.
 *
 *     ASK_PLACES          {"items":[PLACE, ...],"next":null}      by id; next: the id behind which the next page begins
 *     ASK_PLACE           {"place":PLACE or null,"count":n}       count: of the user's places
 *     ASK_PLACE_EVENTS    {"items":[{"number":1784203200001,"place":"home","name":"Home","what":"arrived","time":1784203260000}, ...],
 *                         "next":1784203200001}                   from the oldest on; next: the last number, null at the end
 *
 *     PLACE    {"id":"home","name":"Home","lat":52.52,"lng":13.405,"radius_m":100,"tell":"me", "friends" or [7,9]}
 *
 * With an offset, the first two wait until the change of places at that offset is decided: 202 if it is not in time. A PUT of the 51st place
 * leads to no place. */
#pragma once

#include "places/deciding.h"
#include "rpc/serve.h"

struct place_answers;

struct place_answers *place_answers_new(struct place_stores *stores, struct deciding_places *deciding,
                                        struct tasks *tasks, int32_t partitions);
void place_answers_free(struct place_answers *answers); /* nobody waits any more; NULL is fine */
void place_answers_handle(struct place_answers *answers, struct http_request *request);
