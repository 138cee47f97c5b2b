/* Many simulated phones in one process, over real WebSockets. Each says hello, reports, pages through its list, and shows exactly what
 * the server sends. It reconnects a lost connection after the server's delay, or a growing one. Loop's thread.
 */
#ifndef CLI_PHONES_H
#define CLI_PHONES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/loop.h"
#include "geo/geo.h"

struct phones;

struct city_phones_options {
    uv_loop_t *loop;
    const char *const *urls; /* phones are dealt out over them, and go to the next when one refuses */
    size_t url_count;
    const char *hs256_key_file;
    int64_t token_ttl_ms;
};

int phones_new(const struct city_phones_options *options, struct phones **phones, struct error *error);
void phones_shutdown(struct phones *phones, loop_fn *closed, void *context); /* closes all; then phones_free */
void phones_free(struct phones *phones);

/* The user's phone is at that place at that time (ms): at the first call it connects, later it reports. */
void phones_report(struct phones *phones, int64_t user, struct geo_point at, int64_t time);

/* Every phone reports its last place once more, a millisecond later than before. */
void phones_repeat(struct phones *phones);

struct phones_counts {
    size_t known, online, connecting; /* online: has been welcomed */
    size_t unsent;                    /* reports that wait for their socket */
    uint64_t reports, frames, entries, closed, errors, superseded;
    int64_t last_frame_us; /* clock_monotonic_us of the last frame from any server */
};
struct phones_counts phones_counts(const struct phones *phones);

/* Everything on every screen; distances from the phone's last place. */
void phones_screens(const struct phones *phones,
                    void (*each)(void *context, int64_t user, int64_t friend, double distance_m), void *context);

#endif
