/* Many simulated phones in one process, over real WebSockets. Each says hello, reports, pages through its list, and shows exactly what
 * the server sends. It reconnects a lost connection after the server's delay, or a growing one. Loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/loop.h"
#include "geo/geo.h"

struct handsets;

struct handsets_options {
    uv_loop_t *loop;
    const char *const *urls; /* phones are dealt out over them, and go to the next when one refuses */
    size_t url_count;
    const char *hs256_key_file;
    int64_t token_ttl_ms;
};

int handsets_new(const struct handsets_options *options, struct handsets **phones, struct error *error);
void handsets_shutdown(struct handsets *phones, loop_fn *closed, void *context); /* closes all; then handsets_free */
void handsets_free(struct handsets *phones);

/* The user's phone is at that place at that time (ms): at the first call it connects, later it reports. */
void handsets_report(struct handsets *phones, int64_t user, struct geo_point at, int64_t time);

/* That many of the connected phones, drawn at random, hang up; each comes back by itself after half to one and a half times away_ms. */
void handsets_hang_up(struct handsets *phones, size_t count, int away_ms);

/* Every phone reports its last place once more, a millisecond later than before. */
void handsets_repeat(struct handsets *phones);

struct handsets_counts {
    size_t known, online, connecting; /* online: has been welcomed */
    size_t unsent;                    /* reports that wait for their socket */
    uint64_t reports, frames, entries, closed, errors, superseded;
    int64_t last_frame_us; /* clock_monotonic_us of the last frame from any server */
};
struct handsets_counts handsets_counts(const struct handsets *phones);

/* Everything on every screen; distances from the phone's last place. */
void handsets_screens(const struct handsets *phones,
                      void (*each)(void *context, int64_t user, int64_t friend, double distance_m), void *context);
