/* Asks the history sink that owns a user for the user's stored reports. Blocking, with a loop of its own. */
#ifndef CLI_PAST_H
#define CLI_PAST_H

#include "cli/cli.h"

struct past_report {
    int64_t user;
    int32_t lat, lng; /* 1e-7 degrees */
    int64_t time;     /* of the report, ms */
    int64_t accuracy; /* metres; -1: unknown */
    int64_t received; /* when Kafka took it, ms */
};

/* Calls take for every report with from_ms <= time < to_ms, by rising time. Negative errno with the reason for people:
 * -EHOSTDOWN no broker, -EHOSTUNREACH no sink has this user's history now, -EACCES peer.token is refused, ... */
int past_read(const struct cli *cli, int64_t user, int64_t from_ms, int64_t to_ms,
              void (*take)(void *context, const struct past_report *report), void *context, struct error *error);

/* One page of a sink's answer; *next is the cursor of the page behind it (the caller frees) or NULL. -EBADMSG. */
int past_parse(int64_t user, const char *reply, size_t size,
               void (*take)(void *context, const struct past_report *report), void *context, char **next,
               struct error *error);

#endif
