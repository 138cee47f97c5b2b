#include "comments/places.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const char *const NAMES[] = {
    [THREADS_FLOOR] = "floor", [THREADS_NEWEST] = "newest", [THREADS_HEAT] = "heat", [THREADS_ANSWERS] = "answers"};

bool place_sort_of(const char *name, enum threads_sort *sort) {
    for (int s = THREADS_FLOOR; s <= THREADS_HEAT; s++) {
        if (strcmp(NAMES[s], name)) continue;
        *sort = (enum threads_sort)s;
        return true;
    }
    return false;
}

bool place_read(const char *text, enum threads_sort sort, struct threads_place *place) {
    size_t name = strlen(NAMES[sort]);
    *place = (struct threads_place){.sort = sort};
    if (!text) return true;
    if (strncmp(text, NAMES[sort], name) || text[name] != '-') return false;
    place->begun = true;
    text += name + 1;
    if (sort != THREADS_HEAT) return text_number(text, strlen(text), INT32_MAX, &place->at);
    size_t heat = strcspn(text, "-");
    return text[heat] && text_number(text, heat, INT64_MAX, &place->at) &&
           text_number(text + heat + 1, strlen(text + heat + 1), INT64_MAX, &place->id);
}

void place_write(const struct threads_place *place, char text[PLACE_TEXT_SIZE]) {
    if (place->sort == THREADS_HEAT)
        snprintf(text, PLACE_TEXT_SIZE, "heat-%" PRId64 "-%" PRId64, place->at, place->id);
    else
        snprintf(text, PLACE_TEXT_SIZE, "%s-%" PRId64, NAMES[place->sort], place->at);
}
