/* How hot a comment is: heat = when it was written + a bonus of four hours for each doubling of its likes. It changes only with a like,
 * never by time alone, so an index by heat stays in order by itself:
 *
 *     heat (ms) = time (ms) + floor(32 * log2(1 + likes)) * 450,000 ms
 *
 * The steps keep writes few: of a thousand likes, the last two per cent move a comment once. Computed in integers, so that the index
 * of one machine is right on another; those of another formula are built anew (THREADS_INDEXES). Pure; any thread.
 */
#pragma once

#include <stdint.h>

int64_t heat_of(int64_t likes, int64_t time_ms);
