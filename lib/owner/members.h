/* Finds the stand-bys of a partition: a function of the group's members alone, so that all of them come to the same answer.
 *
 * The `range` assignor cuts the partitions into as many runs as there are members, in the members' order:
 *
 *     four of them: 0 0 0 1 1 1 2 2 2 3 3 3        without number 1: 0 0 0 0 2 2 2 2 3 3 3 3
 *                                                                          ^ ^ ^ ^   ^     who takes over
 *
 * The first stand-by of a partition is the member that owns it when its owner is gone. When another member is gone, one of these two
 * owns it, because a run never moves by more than one neighbour (a unit test walks through all cases). The next stand-bys are
 * the members that may own it when a new member joins, and then the ones left when owner and stand-bys are gone together. Pure; any
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct member {
    const char *id;       /* the broker's id of the member; for a future member, the beginning of its id */
    const char *instance; /* group.instance.id; NULL or "": dynamic */
    bool self;            /* for the caller to find it again */
    bool serves;          /* has partitions of locations */
    bool left;            /* has handed over: it has partitions of sharing instead */
};

/* Takes out the members that have handed over, and returns how many remain. If more members have handed over than sharing has
 * partitions, some of them own nothing. So if any has, members that serve nothing do not count either. */
size_t members_counted(struct member *members, size_t count);

/* The order in which librdkafka's assignor sees them. */
void members_sort(struct member *members, size_t count);

/* Which of `members` (> 0) sorted members owns a partition. */
size_t members_owner(size_t members, int32_t partitions, int32_t partition);

/* The first `limit` stand-bys of the partition, the likeliest next owner first; returns how many there are. */
size_t members_standbys(size_t members, int32_t partitions, int32_t partition, size_t *list, size_t limit);
