/* Histories of trouble for lib/watch: both sides' real code, the compacted topic, lossy deliveries, gateways' old copies and phones,
 * all in one process and by random numbers alone, so that a history is its seed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The rules of watch/watch.h, to be left out. */
enum watch_rule {
    WATCH_RULE_NONE = 0,
    WATCH_RULE_ROLLCALL = 1,
    WATCH_RULE_ACK = 2,
    WATCH_RULE_SECOND = 4,
    WATCH_RULE_REREAD = 8
};

struct watch_history {
    unsigned old_screens;    /* phones that show an old page three minutes after the last trouble */
    unsigned wrong_contents; /* changes whose content is that of another change */
    unsigned strangers; /* watches that the owner holds beyond those of the edges, or lacks, three more minutes later */
    uint64_t changes, stales, named_again, asked_again, silent; /* how often it came to that */
};

/* Fingerprints: versions whose numbers may fall; else counters. */
struct watch_history watch_history_run(uint64_t seed, bool fingerprints, enum watch_rule without);
