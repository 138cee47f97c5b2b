/* How often each of many may do something: a burst, then so many a second. A key that has rested for the burst's time is
 * forgotten when the table has doubled. When it is full all the same, newcomers share what one of them would have. One thread. */
#ifndef BASE_RATES_H
#define BASE_RATES_H

#include <stddef.h>
#include <stdint.h>

enum { RATES_MAX = 1 << 18 /* who are known at once; 16 bytes each, and room to grow */ };

struct rates;

struct rates *rates_new(int64_t per_second, int64_t burst); /* per_second 0: there is no limit */
void rates_free(struct rates *rates);                       /* NULL is fine */

/* 0: the key may do it, and this counts. Else nothing counts, and the key may do it after so many seconds. now_ms never falls. */
int rates_take(struct rates *rates, uint64_t key, int64_t now_ms);
size_t rates_known(const struct rates *rates); /* who take memory */

#endif
