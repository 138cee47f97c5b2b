/* When users' sharing ends by itself: the `until` of their records of the topic `sharing`, soonest first. One end a user. Pure; one
 * thread.
 *
 *     ends_set(7, 100), ends_set(9, 50), ends_set(7, 200)     ends_take(120): 9, no more     ends_take(200): 7
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ends;

struct ends *ends_new(void);
void ends_free(struct ends *ends); /* NULL is fine */

/* The user's end, ms; it replaces an earlier one. 0: none. */
void ends_set(struct ends *ends, int64_t user, int64_t time);
int64_t ends_of(const struct ends *ends, int64_t user); /* 0: none */
size_t ends_count(const struct ends *ends);

/* No end is before this time; INT64_MAX: there is none. */
int64_t ends_soonest(const struct ends *ends);

/* Removes one end of those that are at `now` or before it. False: there is none. */
bool ends_take(struct ends *ends, int64_t now, int64_t *user, int64_t *time);
