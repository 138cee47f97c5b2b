#include "fanout/nearby/rival.h"

enum rival_verdict rival_beaten(struct rival *rival, int64_t winner) {
    if (rival->number >= winner) return RIVAL_STAYS;
    int64_t ahead = 1 + (rival->number & ((1 << RIVAL_CHANCE_BITS) - 1));
    if (rival->delayed || rival->answered || rival->again || winner > INT64_MAX - ahead) return RIVAL_LEAVES;
    rival->again = true;
    rival->number = winner + ahead;
    return RIVAL_JOINS_AGAIN;
}
