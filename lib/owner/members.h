/* Who stands by for a partition: a function of the group's members alone, so that all of them come to the same answer.
 *
 * The `range` assignor cuts the partitions into as many runs as there are members, in the members' order:
 *
 *     four of them: 0 0 0 1 1 1 2 2 2 3 3 3        without number 1: 0 0 0 0 2 2 2 2 3 3 3 3
 *                                                                          ^ ^ ^ ^   ^     who takes over
 *
 * The first stand-by of a partition is who owns it when its owner is gone. Those who own it when some other member is gone are
 * among the two: a run never moves by more than a neighbour (a unit test walks all of them). Then come those who may own it when
 * somebody joins, and then those left when owner and stand-bys are gone together. Pure; any thread.
 */
#ifndef OWNER_MEMBERS_H
#define OWNER_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct member {
    const char *id;       /* the broker's id of the member; of one that is yet to join: what that will begin with */
    const char *instance; /* group.instance.id; NULL or "": dynamic */
    bool self;            /* for the caller to find it again */
    bool serves;          /* has partitions of locations */
    bool left;            /* has those of sharing instead, as who hands over subscribes to that */
};

/* Takes out who has handed over, and returns how many remain. If more have than sharing has partitions, some of them own
 * nothing: so while there is any, nobody counts who serves nothing. */
size_t members_counted(struct member *members, size_t count);

/* The order in which librdkafka's assignor sees them. */
void members_sort(struct member *members, size_t count);

/* Which of `members` (> 0) sorted members owns a partition. */
size_t members_owner(size_t members, int32_t partitions, int32_t partition);

/* The first `limit` of those who stand by for it, in the order of who comes first; returns how many there are. */
size_t members_standbys(size_t members, int32_t partitions, int32_t partition, size_t *list, size_t limit);

#endif
