/* Times as people write them on a command line. Pure, but for what is wrong; any thread. */
#pragma once

#include "cli/cli.h"

/* Milliseconds since the Unix epoch ("1767225600000"; 0, or from March 1973 on, as smaller numbers are meant otherwise), or ISO 8601: a
 * date, with or without a time of day, a fraction of a second and an offset ("2026-01-31", "20260131", "2026-01-31T12:00:00.5+08:00", "2026-01-31 12:00Z"). Without an offset: UTC. The years
 * 1970 to 9999. False: neither. */
bool when_parse(const char *text, int64_t *ms);

/* The same, or "now", or how long before now: "-90s", "-30m", "-1h", "-2d". */
bool when_read(const char *text, int64_t now_ms, int64_t *ms);

/* The options --from, --to and --last of a command: from_ms <= time < to_ms. */
struct period {
    const char *from, *to, *last; /* as they were written; NULL: not given */
    int64_t from_ms, to_ms;       /* before period_read: the command's own, without these options */
};

#define PERIOD_OPTIONS(period)                                                                                         \
    {"from", "TIME", "from then on: 2026-01-31T12:00 (UTC unless it says otherwise), ms since the epoch, -1h, now",    \
     &(period)->from, NULL},                                                                                           \
        {"to", "TIME", "before then", &(period)->to, NULL}, {                                                          \
        "last", "1h", "short for --from -1h; s, m, h or d", &(period)->last, NULL                                      \
    }
#define PERIOD_SYNOPSIS "[--from TIME | --last 1h] [--to TIME]"

/* 0, or the exit code after the reason was printed: an option is wrong, or the period ends before it begins. */
int period_read(struct period *period, const struct cli_command *command, int64_t now_ms);
