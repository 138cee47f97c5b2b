/* Items of one size, on their way from the event loop to a thread that works on them.
 *
 *     loop --- handoff_put ---> [ item item item ... ]  a buffer of fixed size  --- handoff_take ---> the worker's thread
 *
 * The loop never waits for the worker: a lock is held for as long as it takes to copy an item or to swap the buffer for an empty one, and
 * an item that finds the buffer full is dropped and counted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct handoff;

struct handoff_counts {
    uint64_t put, dropped; /* since the beginning; an item that was dropped counts in both */
};

/* Any thread may call these. */
struct handoff *handoff_new(size_t capacity, size_t item_size);
void handoff_free(struct handoff *handoff);                  /* NULL is fine; after its threads are done with it */
void handoff_put(struct handoff *handoff, const void *item); /* copied */
void handoff_lose(struct handoff *handoff, size_t count);    /* counts taken items as dropped: nothing came of them */
struct handoff_counts handoff_read_counts(struct handoff *handoff);

/* Waits until items have gathered for wait_ms, the buffer is half full, or the handoff is closed. *count says how many there are; they
 * stay valid until the next call. One thread calls it. */
const void *handoff_take(struct handoff *handoff, int wait_ms, size_t *count);
/* Waits for so long, or until the handoff is closed. True: it is. */
bool handoff_pause(struct handoff *handoff, int wait_ms);
void handoff_close(struct handoff *handoff); /* nobody waits any more */
