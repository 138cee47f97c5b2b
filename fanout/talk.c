#include "fanout/talk.h"

enum { SECOND_US = 1000000, BURST_S = 2 /* messages of so long may come at once */, ERRORS_MAX = 20 };

bool talk_floods(struct talk *talk, int64_t now_us, int64_t per_second) {
    if (talk->allowed_us < now_us) talk->allowed_us = now_us;
    talk->allowed_us += per_second ? SECOND_US / per_second : 0;
    return talk->allowed_us - now_us > (int64_t)BURST_S * SECOND_US;
}

void talk_was_good(struct talk *talk) { talk->errors = 0; }

bool talk_was_bad(struct talk *talk) { return ++talk->errors > ERRORS_MAX; }
