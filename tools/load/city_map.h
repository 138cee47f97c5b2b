/* The invented city as a map: its streets (tools/load/streets.h), river, parks, woods and railways. Pure. */
#pragma once

#include "base/buffer.h"

/* Appends a GeoJSON FeatureCollection (RFC 7946), always the same. Properties are OpenStreetMap's: highway, waterway, natural, leisure,
 * landuse, railway, place and name. */
void city_map_put(struct buffer *out);
