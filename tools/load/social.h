/* The people of a simulation use the feed: they post, delete, follow, stop following and read pages over the HTTP API, each at a rate.
 *
 *     reads who follows whom -> living, until social_rest -> all outcomes known -> reads everybody's timeline -> over
 *
 * With `check` every page is checked by brute force (tools/load/page_check.h). Nobody but the simulation may then post for its people. This
 * module prints on standard error. Loop's thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/loop.h"
#include "tools/load/population.h"

struct social;

struct social_options {
    uv_loop_t *loop;
    const struct population *population; /* must outlive it */
    bool follows_wanted;                 /* the population's follows were asked for: they are waited for */
    const char *const *urls;             /* of gateways */
    size_t url_count;
    const char *hs256_key_file;
    uint64_t seed;
    double posts, follows, reads, comments; /* a second, all people together */
    int64_t fire_us; /* so often a post catches fire: ten times as much happens under it; 0: never */
    bool check;
    int64_t margin_us;     /* see tools/load/page_check.h */
    int64_t patience_us;   /* with timelines that are not right at the end, and with a gateway that does not answer */
    const char *feed_path; /* everybody's newest page is written there at the end, as user,post; NULL: it is not */
};

int social_new(const struct social_options *options, struct social **social, struct error *error);
void social_free(struct social *social); /* also in the middle of everything; NULL is fine */

bool social_learning(const struct social *social); /* it still reads who follows whom, and nobody posts yet */

/* Begins nothing new. The end follows when everything under way has its outcome. A second call does nothing. */
void social_rest(struct social *social);
bool social_over(const struct social *social);

/* False: a page was wrong, or something could not be read or written. */
bool social_well(const struct social *social);

void social_say(const struct social *social); /* prints the counts of everything done so far, in a line */
