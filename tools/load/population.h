/* The people of a simulation and who of them follow each other: each friendship is two follows, and everybody follows a few authors, who
 * are the people with the lowest ids. One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cli/cli.h"
#include "tools/load/city.h"
#include "tools/load/trace.h"

struct population;

struct population_options {
    const struct city *city;   /* its people and their friendships; NULL: none. It must outlive the population */
    const struct trace *trace; /* everyone in it; it may be empty */
    const char *graph;         /* file of friendships; NULL: none */
    size_t authors;            /* at most; fewer where there are not so many people */
};

int population_new(const struct population_options *options, struct population **population, struct error *error);
void population_free(struct population *population); /* NULL is fine */

size_t population_count(const struct population *population);
int64_t population_person(const struct population *population, size_t index); /* by rising id: authors first */
size_t population_authors(const struct population *population);

/* Calls follows for each follow, a few of them twice; stops at the first that returns not 0, and returns it. */
int population_follows(const struct population *population, int (*follows)(void *context, int64_t user, int64_t other),
                       void *context);

/* Makes them known before they move: everyone opts in, friendships (and follows) are asked for, and a city's people get their names.
 * Blocking: returns when the routers, and the feed processes if there are follows, have handled everything. Negative errno with the
 * reason. */
int population_import(const struct population *population, const struct cli *cli, bool follows, struct error *error);
