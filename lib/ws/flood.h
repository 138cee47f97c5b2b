/* Counts the frames that a peer sends besides the messages themselves: pings, pongs, and frames that only cut a message into
 * pieces. All of them cost the server turns of the loop. Pure. Times in ms that never go back.
 */
#ifndef WS_FLOOD_H
#define WS_FLOOD_H

#include <stdbool.h>
#include <stdint.h>

enum {
    FLOOD_WINDOW_MS = 10000,
    FLOOD_CONTROLS_MAX = 200, /* in a window */
    FLOOD_FRAGMENTS_MAX = 2000
};

struct flood { /* all zero: nothing yet */
    uint64_t counted_ms;
    uint16_t controls, fragments;
};

/* Each true: it is too much. */
bool flood_control(struct flood *flood, uint64_t now_ms); /* a ping or a pong */
bool flood_fragment(struct flood *flood, uint64_t now_ms);

#endif
