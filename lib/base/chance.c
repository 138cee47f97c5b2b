#include "base/chance.h"

#include <sys/random.h>

#include "base/hash.h"

struct chance chance_new(void) {
    struct chance chance;
    while (getrandom(&chance.state, sizeof chance.state, 0) != sizeof chance.state) continue; /* a signal came */
    return chance;
}

uint32_t chance_next(struct chance *chance) { return (uint32_t)hash_u64(chance->state++); }

int64_t chance_id(struct chance *chance) {
    uint64_t high = chance_next(chance), low = chance_next(chance);
    return (int64_t)((high << 32 | low) >> 1 | 1);
}
