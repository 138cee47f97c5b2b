/* The users' sharing modes: a copy of the topic `sharing` in memory, 16 bytes for each user with a record. One thread. */
#ifndef USERS_SHARING_MODES_H
#define USERS_SHARING_MODES_H

#include "base/metrics.h"
#include "copies/copies.h"
#include "event/codec.h"

struct sharing_modes;

struct sharing_modes_options {
    struct metrics *metrics;
    void *context;
    /* A user's mode has changed, after the copies are ready. NULL: not wanted. */
    void (*on_change)(void *context, int64_t user, enum sharing_mode mode, int64_t offset);
};

struct sharing_modes *sharing_modes_new(const struct sharing_modes_options *options);
void sharing_modes_free(struct sharing_modes *modes); /* after the copies; NULL is fine */

/* The table entry for copies_new. */
struct copy_definition sharing_modes_copy(struct sharing_modes *modes);

/* The user's mode, and the offset of its record (-1: there is none; NULL: not wanted). */
enum sharing_mode sharing_modes_find(const struct sharing_modes *modes, int64_t user, int64_t *offset);

#endif
