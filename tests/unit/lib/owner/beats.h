/* Starts and stops an owner as a daemon does, against the Kafka in memory: a test that includes this includes fakes/kafka.h too.
 * The timers beat faster than in a daemon. A test waits for what must become true, and each beat only lets it become so.
 * The test's thread, which is the loop's. */
#pragma once

#include "base/loop.h"
#include "owner/owner.h"

/* In the test's world, all zero at first. A test may free a timer and set it to NULL: its beat then does not come. */
struct owner_beats {
    struct loop_timer *tenth, *second;
};

/* Makes the owner and starts it; fails the test if one of them fails. *owner is set before the owner starts: callbacks may use it. */
void owner_beats_start(struct owner_beats *beats, const struct owner_options *options, struct owner **owner);

/* Stops the owner, waits until it and its decider (NULL: it has none) are idle, and frees it. *owner is then NULL; the decider is the
 * test's to free. */
void owner_beats_stop(struct owner_beats *beats, uv_loop_t *loop, struct owner **owner, const struct decider *decider);
