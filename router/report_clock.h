/* The join's clock: the machine's clock, or the highest report time of the stream (docs/EXACTNESS.md, rule 9).
 *
 * Times in ms. Pure but for the machine's clock; one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/records.h"

struct report_clock;

/* ahead_ms: with the machine's clock, how far ahead of it a report may be. jump_ms: with the stream's, how far past its
 * partition's highest. */
struct report_clock *report_clock_new(bool stream, int32_t partitions, int64_t ahead_ms, int64_t jump_ms);
void report_clock_free(struct report_clock *timeline); /* NULL is fine */

/* Takes note of an event of that partition. False: its time is not believable, and the caller ignores the event. A LEAVE or QUIT is
 * always accepted; the time of a LEAVE is limited to now, so that presence forgets it in time. */
bool report_clock_accept(struct report_clock *timeline, int32_t partition, struct location *event);

/* Reads the machine's clock. Calling it once a batch is enough. */
void report_clock_tick(struct report_clock *timeline);

int64_t report_clock_now(
    const struct report_clock *timeline); /* as of the last tick, or the stream's; 0: no report yet */
int64_t report_clock_stream(const struct report_clock *timeline); /* highest REPORT or JOIN time seen; 0: none yet */
