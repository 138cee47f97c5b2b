/* A trace of positions, which the simulator's phones report. Files are CSV, gzip or plain: t_s,user,lat_e7,lon_e7 with a header line;
 * t_s is a time of day in seconds. Pure except for reading the file. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "geo/geo.h"

struct fix {
    int64_t time; /* ms */
    int64_t user;
    struct geo_point at;
};

struct trace {
    struct fix *fixes; /* by time; equal times as in the file */
    size_t count;
};

/* The fixes with from_s <= t_s <= until_s. -EINVAL with file:line when malformed. */
int trace_read(const char *path, int64_t from_s, int64_t until_s, struct trace *trace, struct error *error);
void trace_free(struct trace *trace);
