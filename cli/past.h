/* Asks the history sinks for users' stored reports. Blocking, with a loop of its own. */
#pragma once

#include "cli/cli.h"
#include "tracks/track.h"

struct past;

struct past_question {
    int64_t user, from_ms, to_ms; /* from_ms <= time < to_ms */
    void *context;
    void (*take)(void *context, const struct track_report *report); /* by rising time */
    const bool *enough; /* take sets it when it wants no more, and may be called for some more; NULL: it wants all */
};

/* Negative errno with the reason for people: -EHOSTDOWN no broker, -EACCES peer.token is refused, ... */
int past_new(const struct cli *cli, struct past **made, struct error *error);
void past_free(struct past *past);

/* The same, or -EHOSTUNREACH: no sink has this user's history now. */
int past_read(struct past *past, const struct past_question *question, struct error *error);
