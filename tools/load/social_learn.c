/* A simulation learns who follows whom: it reads everybody's list of follows before anybody posts. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "tools/load/social_private.h"

enum { PATIENCE_US = 30000000 }; /* for follows that were asked for */

struct lesson {
    struct social *social;
    struct citizen *citizen;
};

static void learn_from(struct social *social, struct citizen *citizen, int64_t after);

static void on_following(void *context, unsigned status, const char *reply, size_t size) {
    struct lesson *lesson = context;
    struct social *social = lesson->social;
    struct citizen *citizen = lesson->citizen;
    json_t *page = status == 200 ? json_parse(reply, size, NULL) : NULL;
    const json_t *items = json_object_get(page, "items");
    int64_t other, next = 0;
    if (!page && !social->closing) {
        social_refused(social, "the list of follows", citizen->user, status, reply);
        social->counts.failed++;
    }
    for (size_t i = 0; i < json_array_size(items); i++) {
        if (json_want_int(json_array_get(items, i), "user", 0, INT64_MAX, &other, NULL)) continue;
        page_check_follow_done(social->check, citizen->user, other, true, clock_monotonic_us());
    }
    bool more = page && json_given(page, "next") && !json_want_int(page, "next", 0, INT64_MAX, &next, NULL);
    json_decref(page);
    citizen->open = false;
    free(lesson);
    if (more && !social->closing) learn_from(social, citizen, next);
}

static void learn_from(struct social *social, struct citizen *citizen, int64_t after) {
    struct lesson *lesson = MEM_NEW(&(struct lesson){.social = social, .citizen = citizen});
    char *path = after < 0
                     ? mem_format("/v1/users/%" PRId64 "/following?limit=1000", citizen->user)
                     : mem_format("/v1/users/%" PRId64 "/following?limit=1000&after=%" PRId64, citizen->user, after);
    home_api_get(social->api, citizen->user, path, true, on_following, lesson);
    free(path);
}

static void learn(struct social *social, struct citizen *citizen) { learn_from(social, citizen, -1); }

/* A follow that was decided may be on the list a moment later. */
static int want_follow(void *context, int64_t user, int64_t other) {
    struct social *social = context;
    if (page_check_follows(social->check, user, other)) return 0;
    struct citizen *citizen = bsearch(&user, social->citizens, social->count, sizeof *social->citizens, sorted_order);
    citizen->open = true;
    social->missing++;
    return 0;
}

void social_learn(struct social *social) {
    if (social_turn(social, learn)) return;
    social->missing = 0;
    if (social->options.follows_wanted) population_follows(social->options.population, want_follow, social);
    if (social->missing && !social_late(social, PATIENCE_US)) {
        social_next_turn(social);
        return;
    }
    if (social->missing) fprintf(stderr, "simulate: %zu follows were refused\n", social->missing);
    fprintf(stderr, "simulate: %zu people post and read\n", social->count);
    social->tick_us = clock_monotonic_us();
    social_enter(social, social->rest_wanted ? SOCIAL_RESTING : SOCIAL_LIVING);
}
