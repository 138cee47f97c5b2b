/* Random numbers for delays and spreads. Each process draws other ones; they are not for secrets. One thread at a time. */
#pragma once

#include <stdint.h>

struct chance {
    uint64_t state;
};

struct chance chance_new(void); /* from the system's random numbers */
uint32_t chance_next(struct chance *chance);
int64_t chance_id(struct chance *chance); /* one that nobody else draws, positive */
