#include "router/audience.h"

#include "base/sorted.h"

enum { LOOKED_UP = 256 }; /* friends at once */

bool audience_visible(const struct audience_context *context, int64_t user) {
    return presence_active(presence_find(context->presence, user), context->now, context->inactive_ms);
}

static bool is_near(const struct audience_context *context, struct geo_point user, struct geo_point friend,
                    uint8_t rounding) {
    const struct grid *grid = &context->rounded;
    struct geo_circle circle = geo_circle(rounding_place(grid, user, rounding & ROUNDING_MINE), context->radius_m);
    return geo_near(&circle, rounding_place(grid, friend, rounding & ROUNDING_THEIRS));
}

size_t audience_page(const struct audience_context *context, int64_t user, const struct audience_friends *friends,
                     int64_t after, struct audience_entry *entries, size_t limit, bool *more) {
    const struct presence_slot *found[LOOKED_UP];
    const struct geo_point at = presence_find(context->presence, user)->at;
    const struct geo_circle circle = geo_circle(at, context->radius_m);
    size_t taken = 0, rounding = 0, count = friends->count;
    size_t first = after == INT64_MAX ? count : sorted_below(friends->items, count, after + 1);
    *more = false;
    for (size_t from = first; from < count; from += LOOKED_UP) {
        size_t asked = count - from < LOOKED_UP ? count - from : LOOKED_UP;
        size_t known = presence_find_many(context->presence, friends->items + from, asked, found);
        for (size_t i = 0; i < known; i++) {
            if (!presence_active(found[i], context->now, context->inactive_ms)) continue;
            if (taken == limit) {
                *more = true;
                return taken;
            }
            uint8_t bits = rounding_next(friends->roundings, &rounding, found[i]->user);
            entries[taken++] = (struct audience_entry){.friend = found[i]->user,
                                                       .near = bits ? is_near(context, at, found[i]->at, bits)
                                                                    : geo_near(&circle, found[i]->at)};
        }
    }
    return taken;
}
