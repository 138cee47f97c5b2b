/* How fast each user may write, or ask: a burst, then so many a second. Users who have rested for the burst's time are
 * forgotten when the table has doubled. One thread. */
#ifndef INGEST_RATES_H
#define INGEST_RATES_H

#include <stddef.h>
#include <stdint.h>

struct rates;

struct rates *rates_new(int64_t per_second, int64_t burst); /* per_second 0: there is no limit */
void rates_free(struct rates *rates);                       /* NULL is fine */

/* 0: the user may do it, and this counts. Else nothing counts, and the user may do it after so many seconds. now_ms never falls. */
int rates_take(struct rates *rates, int64_t user, int64_t now_ms);
size_t rates_users(const struct rates *rates); /* who take memory */

#endif
