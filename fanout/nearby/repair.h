/* When a list that differs from what digests say is asked for again. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct repair {           /* of one list; all zero: nothing yet */
    uint32_t strikes;     /* digests in a row that differed */
    uint32_t fruitless;   /* repairs in a row after which a complete Roster came and digests still differed */
    bool asked, repaired; /* a repair was asked for; and its complete Roster has come */
};

/* A digest. True: it has differed `strikes` times in a row, so the list is to be asked for. From the third fruitless repair in a row
 * on, twice as many are needed each time (at most 32 times as many), until one agrees. */
bool repair_is_due(struct repair *repair, bool agrees, uint32_t strikes);

void repair_roster(struct repair *repair); /* a complete Roster has come */
