/* What a peer sends besides the messages themselves: pings, pongs, and frames that only cut a message into pieces. All of it
 * costs the server turns of the loop and nothing of it is told by libwebsockets, so it is counted where it shows:
 *
 *     pings      each pong of libwebsockets' that is followed by a pause shows up as a writable connection
 *     bytes      what came on the socket and was no message; shows the pings that leave no pause, and empty pongs
 *     fragments  frames that end no message, empty ones too
 *
 * Pure but for flood_look, which asks the kernel. Times in ms that never go back. The loop's thread.
 */
#ifndef WS_FLOOD_H
#define WS_FLOOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FLOOD_WINDOW_MS = 10000,
    FLOOD_PINGS_MAX = 200, /* in a window */
    FLOOD_FRAGMENTS_MAX = 2000,
    FLOOD_BYTES_MAX = FLOOD_PINGS_MAX * (125 + 6) /* as many of the longest pings */
};

struct flood { /* all zero: nothing yet */
    uint64_t counted_ms, looked_ms;
    uint64_t received;  /* by the kernel, until looked_ms */
    uint64_t explained; /* bytes since then that were messages, at least */
    uint16_t pings, fragments;
};

void flood_message(struct flood *flood, size_t size); /* so many bytes of one came */
/* Each true: it is too much. */
bool flood_ping(struct flood *flood, uint64_t now_ms);
bool flood_fragment(struct flood *flood, uint64_t now_ms);
bool flood_look(struct flood *flood, int socket, uint64_t now_ms);

#endif
