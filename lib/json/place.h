/* A report of a place as phones and apps write it: {"lat":,"lng":,"time":,"accuracy":} and details, with whatever else stands there. */
#pragma once

#include "json/details.h"

enum { PLACE_ACCURACY_MAX = 1000000000 /* metres */ };

struct json_place {
    int32_t lat, lng; /* 1e-7 degrees */
    int64_t time;     /* ms since the epoch, from 0 to the most that was allowed */
    int32_t accuracy; /* metres; -1: not said */
    struct report_details details;
};

/* 0, or -EINVAL with the reason in error and *code "bad_location", "bad_time" or "bad_details", as both protocols call it. */
int json_want_place(const json_t *object, int64_t time_max, struct json_place *place, const char **code,
                    struct error *error);

/* The times that a report may have: by this machine's clock, unless the stream of reports is the clock. */
struct place_times {
    bool any;
    int64_t past_days; /* the oldest; 0: of any age */
};

/* A time ahead of *now counts as *now, which then falls by a millisecond: from the last report of a batch to its first, their order stays. */
void place_cap_time(const struct place_times *times, int64_t *time, int64_t *now);

/* 0, or -EINVAL: more than a minute ahead, or too old, as times in seconds are. */
int place_check_time(const struct place_times *times, int64_t time, int64_t now, struct error *error);
