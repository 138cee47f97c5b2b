/* The pairs of users that a compacted topic holds: the last word about each pair wins. One thread.
 *
 *     entries: [ (a,b,is) (a,b,is) ... | newest ]     sorted, and outdated ones dropped, whenever they have doubled
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct halves;

struct halves *halves_new(void);
void halves_free(struct halves *halves); /* NULL is fine */
void halves_put(struct halves *halves, int64_t a, int64_t b, bool is);

/* Calls fn for every pair whose last word was that it is, by rising a, then b; stops when it returns not 0 and returns that. */
int halves_each(struct halves *halves, int (*fn)(void *context, int64_t a, int64_t b), void *context);

void halves_clear(struct halves *halves);
