/* Turns: each asks once about every open citizen, a few at a time. */
#include "base/clock.h"
#include "cli/social_private.h"

enum { AGAIN_US = 500000 };

bool social_turn(struct social *social, void (*ask)(struct social *social, struct citizen *citizen)) {
    if (clock_monotonic_us() < social->turn_us) return true;
    while (social->next < social->count && home_api_under_way(social->api) < SOCIAL_AT_ONCE) {
        struct citizen *citizen = &social->citizens[social->next++];
        if (citizen->open) ask(social, citizen);
    }
    return social->next < social->count || home_api_under_way(social->api) > 0;
}

size_t social_open(const struct social *social) {
    size_t open = 0;
    for (size_t i = 0; i < social->count; i++) open += social->citizens[i].open;
    return open;
}

void social_next_turn(struct social *social) {
    social->next = 0;
    social->turn_us = clock_monotonic_us() + AGAIN_US;
}

bool social_late(const struct social *social, int64_t patience_us) {
    return clock_monotonic_us() - social->phase_us > patience_us;
}
