/* A part of the Earth between two parallels and two meridians, as people write it on a command line. Pure; any thread. */
#pragma once

#include <stdbool.h>

#include "geo/geo.h"

struct box {
    struct geo_point south_west,
        north_east; /* where west lies east of east, the box crosses the meridian of 180 degrees */
};

/* LAT,LNG,LAT,LNG in degrees, the south-western corner first; false: not that. */
bool box_read(const char *text, struct box *box);

/* The edges are within. */
bool box_holds(const struct box *box, struct geo_point at);
