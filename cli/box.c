#include "cli/box.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cli.h"

bool box_read(const char *text, struct box *box) {
    char *copy = mem_string(text), *comma = strchr(copy, ',');
    comma = comma ? strchr(comma + 1, ',') : NULL;
    if (comma) *comma = '\0';
    struct box read;
    bool good = comma && cli_place(copy, &read.south_west) && cli_place(comma + 1, &read.north_east) &&
                read.south_west.lat <= read.north_east.lat;
    if (good) *box = read;
    free(copy);
    return good;
}

bool box_holds(const struct box *box, struct geo_point at) {
    int32_t west = box->south_west.lng, east = box->north_east.lng;
    if (at.lat < box->south_west.lat || at.lat > box->north_east.lat) return false;
    return west <= east ? at.lng >= west && at.lng <= east : at.lng >= west || at.lng <= east;
}
