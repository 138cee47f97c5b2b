#include "router/audience.h"

#include "base/sorted.h"

enum { LOOKED_UP = 256 }; /* friends at once */

bool audience_visible(const struct audience_context *context, int64_t user) {
    return presence_active(presence_find(context->presence, user), context->now, context->inactive_ms);
}

size_t audience_page(const struct audience_context *context, int64_t user, const int64_t *friends, size_t count,
                     int64_t after, struct audience_entry *entries, size_t limit, bool *more) {
    const struct presence_slot *found[LOOKED_UP];
    const struct geo_circle circle = geo_circle(presence_find(context->presence, user)->at, context->radius_m);
    size_t taken = 0, first = after == INT64_MAX ? count : sorted_below(friends, count, after + 1);
    *more = false;
    for (size_t from = first; from < count; from += LOOKED_UP) {
        size_t asked = count - from < LOOKED_UP ? count - from : LOOKED_UP;
        size_t known = presence_find_many(context->presence, friends + from, asked, found);
        for (size_t i = 0; i < known; i++) {
            if (!presence_active(found[i], context->now, context->inactive_ms)) continue;
            if (taken == limit) {
                *more = true;
                return taken;
            }
            entries[taken++] =
                (struct audience_entry){.friend = found[i]->user, .near = geo_near(&circle, found[i]->at)};
        }
    }
    return taken;
}
