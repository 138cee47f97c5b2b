#include "fanout/nearby/repair.h"

enum {
    FRUITLESS_PATIENT = 2, /* repairs that may fail before the next ones wait longer */
    BACKOFF_MAX = 5        /* doublings */
};

/* How many digests in a row must differ before the next repair. */
static uint32_t patience(const struct repair *repair, uint32_t strikes) {
    if (repair->fruitless <= FRUITLESS_PATIENT) return strikes;
    uint32_t doublings = repair->fruitless - FRUITLESS_PATIENT;
    return strikes << (doublings < BACKOFF_MAX ? doublings : BACKOFF_MAX);
}

bool repair_is_due(struct repair *repair, bool agrees, uint32_t strikes) {
    if (agrees) {
        *repair = (struct repair){.strikes = 0};
        return false;
    }
    if (++repair->strikes < patience(repair, strikes)) return false;
    if (repair->repaired) repair->fruitless++;
    repair->strikes = 0;
    repair->asked = true;
    repair->repaired = false;
    return true;
}

void repair_roster(struct repair *repair) {
    if (repair->asked) repair->repaired = true;
}
