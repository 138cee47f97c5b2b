/* How much one phone says: its messages against the limit of a second, and its bad ones in a row. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct talk {                /* all zero: it has said nothing */
    int64_t allowed_us : 56; /* by then as many messages are allowed as it has said */
    uint64_t errors : 8;     /* bad messages in a row; one more than too many at most, as the session is closed then */
};

/* Counts a message at `now_us` (which never goes back). True: there were more than `per_second` for two seconds. per_second 0:
 * any number is fine. */
bool talk_floods(struct talk *talk, int64_t now_us, int64_t per_second);

void talk_was_good(struct talk *talk);
bool talk_was_bad(struct talk *talk); /* true: there were too many bad messages in a row */
