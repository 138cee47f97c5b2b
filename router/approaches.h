/* Chooses users to be notified that a friend has come near: those without a session, whose phones no edge can tell. From the newcomers of a
 * join (router/join.h) it picks the pairs that are due, each at most once in a pause. Times in ms, by the router's clock. Pure but for
 * allocation; one thread.
 *
 *     the join of A's report finds F newly near:   F has no route: {F, friend A}     A has no route: {A, friend F}
 */
#pragma once

#include "router/join.h"

struct approach {
    int64_t user, friend; /* the user is notified that the friend is near */
    double distance_m;
    int64_t time; /* of the report that brought them near */
};

struct approaches;

struct approaches *approaches_new(int64_t pause_ms);
void approaches_free(struct approaches *approaches); /* NULL is fine */

/* Calls tell for each pair of the result that is due, is wanted, and was not told within the pause. A pair that is not wanted begins no
 * pause. */
void approaches_take(struct approaches *approaches, const struct join_result *result, int64_t now, void *context,
                     bool (*wanted)(void *context, int64_t user, int64_t friend),
                     void (*tell)(void *context, const struct approach *approach));

size_t approaches_count(const struct approaches *approaches); /* pairs that are remembered */
