/* Keeps friend lists within the cap. The owner notices friendships beyond it when it applies them, and sends REMOVE commands for the
 * newest ones (router/excess.h keeps the list). Loop's thread.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct cap;
struct router;

struct cap *cap_new(struct router *router);
void cap_free(struct cap *cap); /* NULL is fine */

/* cap_remove, for an owned partition: sends REMOVE for friendships that are still too many. cap_prune, for a stand-by's: forgets those
 * that no longer are. 0, or the graph's failure. */
int cap_remove(struct cap *cap, int32_t partition, struct error *error);
int cap_prune(struct cap *cap, int32_t partition, struct error *error);
