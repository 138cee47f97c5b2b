/* Asks the history sink that owns a user for the user's stored reports. Blocking, with a loop of its own. */
#ifndef CLI_PAST_H
#define CLI_PAST_H

#include "cli/cli.h"
#include "tracks/track.h"

/* Calls take for every report with from_ms <= time < to_ms, by rising time. Negative errno with the reason for people:
 * -EHOSTDOWN no broker, -EHOSTUNREACH no sink has this user's history now, -EACCES peer.token is refused, ... */
int past_read(const struct cli *cli, int64_t user, int64_t from_ms, int64_t to_ms,
              void (*take)(void *context, const struct track_report *report), void *context, struct error *error);

#endif
