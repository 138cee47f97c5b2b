/* Friendships beyond the cap, until their removal is on its way and done.
 *
 *     noticed --REMOVE sent--> sent --acknowledged--> asked --parted, or a minute later--> forgotten
 *        ^_________________________|  (lost)
 *
 * The friend lists' stored offset must stay at or before what is noticed or sent, so that a restart notices it again. What is
 * asked still counts: the list is as good as shorter by it. Bookkeeping only; one thread. However many there are, each step
 * takes logarithmic time, but for those that walk through a partition once (hold, expire, detach, renotice).
 */
#ifndef ROUTER_EXCESS_H
#define ROUTER_EXCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct excess;

struct excess_item {
    int64_t user, other, since;
    uint64_t ticket;
};

struct excess *excess_new(void);
void excess_free(struct excess *excess); /* NULL is fine */

void excess_notice(struct excess *excess, int32_t partition, int64_t user, int64_t other, int64_t since,
                   int64_t offset);

/* Of the partition's users the next one's newest that is noticed and not sent; false: none. The caller says what becomes of it;
 * all of a user come one behind the other: */
bool excess_next(const struct excess *excess, int32_t partition, struct excess_item *item);
void excess_drop(struct excess *excess, uint64_t ticket); /* the list is not too long any more */
void excess_sent(struct excess *excess, uint64_t ticket);

void excess_acknowledge(struct excess *excess, uint64_t ticket, bool stored, int64_t now_ms);
void excess_parted(struct excess *excess, int64_t user, int64_t other); /* read back */
void excess_expire(struct excess *excess, int64_t now_ms);              /* REMOVEs that turned out to mean nothing */
void excess_detach(struct excess *excess, int32_t partition);
/* Somebody else asks now: whatever was sent or asked for is only noticed. */
void excess_renotice(struct excess *excess, int32_t partition);

size_t excess_on_the_way(const struct excess *excess, int64_t user); /* sent or asked: friends as good as gone */
int64_t excess_hold(const struct excess *excess, int32_t partition); /* lowest offset noticed or sent; INT64_MAX */
size_t excess_count(const struct excess *excess);

#endif
