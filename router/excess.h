/* The list of friendships beyond the cap, each until its removal is done.
 *
 *     noticed --REMOVE sent--> sent --acknowledged--> asked --parted, or a minute later--> forgotten
 *        ^_________________________|  (lost)
 *
 * The friend lists' stored offset must not pass a noticed or sent item, so that a restart notices it again. An item that was asked for
 * counts as removed already. Bookkeeping only; one thread. Each step takes logarithmic time, except those that walk through a
 * partition once (hold, expire, detach, renotice).
 */
#pragma once

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

/* The newest noticed item of the partition's next user; false: there is none. Items of a user come one behind the other. The caller
 * then calls excess_drop or excess_sent: */
bool excess_next(const struct excess *excess, int32_t partition, struct excess_item *item);
void excess_drop(struct excess *excess, uint64_t ticket); /* the list is not too long any more */
void excess_sent(struct excess *excess, uint64_t ticket);

void excess_acknowledge(struct excess *excess, uint64_t ticket, bool stored, int64_t now_ms);
void excess_parted(struct excess *excess, int64_t user, int64_t other); /* read back */
void excess_expire(struct excess *excess, int64_t now_ms);              /* REMOVEs that turned out to mean nothing */
void excess_detach(struct excess *excess, int32_t partition);
/* Another process sends the REMOVEs now: sent and asked items become noticed again. */
void excess_renotice(struct excess *excess, int32_t partition);

size_t excess_on_the_way(const struct excess *excess,
                         int64_t user); /* sent or asked items: they will soon be removed */
int64_t excess_hold(const struct excess *excess, int32_t partition); /* lowest offset noticed or sent; INT64_MAX */
size_t excess_count(const struct excess *excess);
