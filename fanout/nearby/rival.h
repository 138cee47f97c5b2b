/* Which of a user's sessions stays when several have joined: the newest, by its number (milliseconds of its first position << 21,
 * and 21 bits of chance). Routers compare the numbers, and tell the edge of a session that is beaten.
 *
 * The clocks of two edges differ, so a session may be newer than one with a higher number. It then joins once more, with a number
 * soon after the winner's; how soon is its own chance, as another session may outbid the same winner. That is right only for a
 * session whose JOIN went out the moment it came: sessions that had joined before it came before it. A JOIN that was delayed (the
 * user opted in later, or no broker was there) says nothing of who came first, and the numbers decide.
 *
 * Pure. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { RIVAL_CHANCE_BITS = 21 };

struct rival {
    int64_t number;
    bool delayed;  /* a JOIN went out later than the session came */
    bool answered; /* a router has answered its JOIN: sessions that joined before gave way */
    bool again;    /* it took a number after a winner's, once */
};

enum rival_verdict { RIVAL_STAYS, RIVAL_JOINS_AGAIN /* its number is another now */, RIVAL_LEAVES };

/* A router says that the session `winner` has the screen. */
enum rival_verdict rival_beaten(struct rival *rival, int64_t winner);
