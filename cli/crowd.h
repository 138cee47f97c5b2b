/* The people of a simulation and who of them follow each other: each friendship is two follows, and everybody follows a few authors, who
 * are the people with the lowest ids. Pure but for reading files; one thread. */
#ifndef CLI_CROWD_H
#define CLI_CROWD_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cli/city.h"
#include "cli/trace.h"

struct crowd;

struct crowd_options {
    const struct city *city;   /* its people and their friendships; NULL: none */
    const struct trace *trace; /* everyone in it; it may be empty */
    const char *graph;         /* file of friendships; NULL: none */
    size_t authors;            /* at most; fewer where there are not so many people */
};

int crowd_new(const struct crowd_options *options, struct crowd **crowd, struct error *error);
void crowd_free(struct crowd *crowd); /* NULL is fine */

size_t crowd_count(const struct crowd *crowd);
int64_t crowd_person(const struct crowd *crowd, size_t index); /* by rising id: authors first */
size_t crowd_authors(const struct crowd *crowd);

/* Calls follows for each follow, a few of them twice; stops at the first that returns not 0, and returns it. */
int crowd_follows(const struct crowd *crowd, int (*follows)(void *context, int64_t user, int64_t other), void *context);

#endif
