/* The users' sharing modes: a copy of the topic `sharing` in memory, 16 bytes for each user with a record. A mode that has an end
 * (`until`) is OFF from then on, by the clock of whoever holds the copy: no record says so. One thread. */
#pragma once

#include "base/metrics.h"
#include "copies/copies.h"
#include "event/codec.h"

struct sharing_modes;

struct sharing_modes_options {
    struct metrics *metrics;
    void *context;
    int64_t (*now)(void *context); /* ms; NULL: there is no clock here, and no mode ends */
    /* A user's mode has changed, after the copies are ready, or has ended (sharing_modes_tick; offset: of the record that had the
     * end). NULL: not wanted. */
    void (*on_change)(void *context, int64_t user, enum sharing_mode mode, int64_t offset);
};

struct sharing_modes *sharing_modes_new(const struct sharing_modes_options *options);
void sharing_modes_free(struct sharing_modes *modes); /* after the copies; NULL is fine */

/* The table entry for copies_new. */
struct copy_definition sharing_modes_copy(struct sharing_modes *modes);

/* The user's mode, and the offset of its record (-1: there is none; NULL: not wanted). */
enum sharing_mode sharing_modes_find(const struct sharing_modes *modes, int64_t user, int64_t *offset);

/* The user shares, and friends are told what the phone says beside the place. */
bool sharing_modes_details(const struct sharing_modes *modes, int64_t user);

/* When the user's mode ends, ms; 0: it has no end, or is OFF. */
int64_t sharing_modes_until(const struct sharing_modes *modes, int64_t user);

/* Ends the modes whose time has come, and tells of them, of no more than SHARING_MODES_A_TICK in one call: the others are OFF for
 * sharing_modes_find, and are told by the next calls. For when the copies are ready, some times a second. */
enum { SHARING_MODES_A_TICK = 2000 };
void sharing_modes_tick(struct sharing_modes *modes);
