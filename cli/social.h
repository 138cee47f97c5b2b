/* What a simulation's people do in the feed: they post, delete, follow, stop following and read pages over the HTTP API, each at a rate.
 *
 *     reads who follows whom -> living, until social_rest -> all outcomes known -> reads everybody's timeline -> over
 *
 * With `check` every page is held against brute force (cli/page_check.h). Nobody but the simulation may then post for its people. What it
 * says goes to standard error. Loop's thread. */
#ifndef CLI_SOCIAL_H
#define CLI_SOCIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/loop.h"
#include "cli/crowd.h"

struct social;

struct social_options {
    uv_loop_t *loop;
    const struct crowd *crowd; /* must outlive it */
    bool follows_wanted;       /* the crowd's follows were asked for: they are waited for */
    const char *const *urls;   /* of gateways */
    size_t url_count;
    const char *hs256_key_file;
    uint64_t seed;
    double posts, follows, reads; /* a second, all people together */
    bool check;
    int64_t margin_us;     /* see cli/page_check.h */
    int64_t patience_us;   /* with timelines that are not right at the end, and with a gateway that does not answer */
    const char *feed_path; /* everybody's newest page is written there at the end, as user,post; NULL: it is not */
};

int social_new(const struct social_options *options, struct social **social, struct error *error);
void social_free(struct social *social); /* also in the middle of everything; NULL is fine */

bool social_learning(const struct social *social); /* who follows whom: nobody posts yet */

/* Nothing new is begun. The end follows, after all that is under way has its outcome. Again: nothing. */
void social_rest(struct social *social);
bool social_over(const struct social *social);

/* Whether everything was as it must be so far: no wrong page, everything read and written. */
bool social_well(const struct social *social);

void social_say(const struct social *social); /* a line with what was done so far */

#endif
