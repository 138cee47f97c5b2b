/* One map in many parts, chosen by the key's hash. Growing a part takes microseconds; growing one map of millions would hold up a
 * loop for a second. Otherwise like base/map.h. */
#pragma once

#include "base/map.h"

struct maps;

struct maps *maps_new(unsigned bits); /* 2 to the power of so many parts, 1 to 16 */
void maps_free(struct maps *maps);    /* NULL is fine */

size_t maps_count(const struct maps *maps);
uint64_t *maps_find(const struct maps *maps, uint64_t key); /* NULL: not there */
uint64_t *maps_put(struct maps *maps, uint64_t key, bool *created);
