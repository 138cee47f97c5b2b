#include "fanout/nearby/rival.h"

enum rival_verdict rival_beaten(struct rival *rival, int64_t winner) {
    if (rival->number >= winner) return RIVAL_STAYS;
    if (rival->delayed || rival->answered || rival->again || winner == INT64_MAX) return RIVAL_LEAVES;
    rival->again = true;
    rival->number = winner + 1;
    return RIVAL_JOINS_AGAIN;
}
