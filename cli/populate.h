/* Makes the people of a simulation known before they move: everyone opts in, friendships and follows are asked for, and a city's people
 * get their names. Blocking. */
#ifndef CLI_POPULATE_H
#define CLI_POPULATE_H

#include "cli/city.h"
#include "cli/cli.h"
#include "cli/population.h"
#include "cli/trace.h"

struct populate_options {
    const struct cli *cli;
    const struct trace *trace;           /* everyone in it; it may be empty */
    const struct city *city;             /* its people and their friendships; NULL: none */
    const char *graph;                   /* without a city: the file of friendships */
    const struct population *population; /* their follows; NULL: none */
};

/* Returns when the routers, and the feed processes if there are follows, have handled everything. Negative errno with the reason. */
int populate_run(const struct populate_options *options, struct error *error);

#endif
