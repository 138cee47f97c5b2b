/* Times as people write them on a command line. Pure; any thread. */
#ifndef CLI_WHEN_H
#define CLI_WHEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Milliseconds since the Unix epoch ("1767225600000"), or ISO 8601: a date, with or without a time of day, a fraction of a
 * second and an offset ("2026-01-31", "2026-01-31T12:00:00.5+08:00", "2026-01-31 12:00Z"). Without an offset: UTC. The years
 * 1970 to 9999. False: neither. */
bool when_parse(const char *text, int64_t *ms);

#endif
