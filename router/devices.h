/* The entries of users' further sessions: presence keeps one of each user in the user's slot, and the others here. Most users have one
 * session or none, so the table is small.
 *
 *     users   7 -> 2, 9 -> 1                                     the first entry of each
 *     entries [ - | {session, route, heard} | {...} -> 3 | {...} | free ]      a user's in a chain
 *
 * `heard` is when a record of the session last arrived, in steps of 2^n ms, a 128th of the inactive window or less, modulo 2^14: what lies
 * more than half of that away is ahead. So it is right for 32 windows, and presence_sweep forgets a silent session long before.
 *
 * Pure but for allocation; one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DEVICES_MAX = 16, /* entries of a user, the one in the slot included: eight sessions, and as many that are dead */
    DEVICES_STEP_MASK = (1 << 14) - 1,
    DEVICES_STEPS = 128 /* an inactive window at least */
};

struct device_entry {
    int64_t session;
    int32_t route;
    uint16_t heard;
};

struct devices;

struct devices *devices_new(int64_t inactive_ms);
void devices_free(struct devices *devices); /* NULL is fine */

size_t devices_list(const struct devices *devices, int64_t user,
                    struct device_entry *list); /* room for DEVICES_MAX - 1 */

/* The session's entry has that route from now on, and was heard then, unless it was heard later. False: it has none here. */
bool devices_renew(struct devices *devices, int64_t user, const struct device_entry *device);

/* An entry for a session that has none yet; own is the one in the user's slot. If that makes too many, the one that was silent for
 * longest goes, and *own may become another one. Like the following ones it returns whether the user has entries here afterwards. */
bool devices_add(struct devices *devices, int64_t user, const struct device_entry *device, struct device_entry *own);
bool devices_pop(struct devices *devices, int64_t user, struct device_entry *device); /* takes one out; there is one */
bool devices_remove(struct devices *devices, int64_t user, int64_t session);
bool devices_fade(struct devices *devices, int64_t user, uint16_t now); /* those that have faded go */
void devices_forget(struct devices *devices, int64_t user);             /* all of them */

size_t devices_bytes(const struct devices *devices);

uint16_t devices_step(const struct devices *devices, int64_t ms);

/* A session that was heard at `heard` has been silent for the inactive window. */
bool devices_faded(const struct devices *devices, uint16_t heard, uint16_t now);

static inline uint16_t devices_later(uint16_t one, uint16_t other) {
    return ((uint32_t)(other - one) & DEVICES_STEP_MASK) <= DEVICES_STEP_MASK / 2 ? other : one;
}
