/* Strangers: users who share publicly, and where they are told to be.
 *
 *     report --> cell --(delay)--> told cell --> lists of those who are in it or in the cells around
 *
 * Nobody is told a position. A stranger is told to be at the centre of a cell, which is the same for everybody who asks. A move is told
 *
 *   - only when the user is a good way outside of the told cell (grid_well_outside), so that a line cannot be felt by the changes, and
 *   - after a delay between 0 and delay_ms from when the report reached Kafka. It follows from a key, the user and that time, so that
 *     all routers, and one that reads the reports again, tell it at the same time. It then tells the cell where the user was
 *     when the delay began. The first place of a user who was not told to be anywhere is delayed in the same way.
 *
 * So a list depends on cells and delayed times alone, whoever asks, from wherever and however often; the order within a cell and the
 * choice among too many members do not depend on places either.
 *
 * Work that one call does is bounded: a list looks at no more than STRANGERS_LOOKS members of a cell, others in each turn.
 * Pure but for allocation: times come from the caller. One thread.
 */
#pragma once

#include "router/grid.h"

enum { STRANGERS_LOOKS = 1000, STRANGERS_ROUND_MS = 300000 };

struct strangers;

struct strangers_options {
    int precision; /* of the grid */
    int64_t delay_ms;
    int64_t inactive_ms; /* a report that is so old counts no more */
    uint8_t key[16];     /* of the delays: secret, and the same in all routers */
};

struct strangers *strangers_new(const struct strangers_options *options);
void strangers_free(struct strangers *strangers); /* NULL is fine */

/* The user shares publicly from now on, or no longer: then nothing is known of the user at once. */
void strangers_add(struct strangers *strangers, int64_t user);
void strangers_drop(struct strangers *strangers, int64_t user);
void strangers_clear(struct strangers *strangers); /* drops everybody */
bool strangers_has(const struct strangers *strangers, int64_t user);

/* Where a user is, by a report of `time` (ms) that reached Kafka at received_ms; does nothing for a user who does not share publicly. */
void strangers_place(struct strangers *strangers, int64_t user, struct geo_point at, int64_t time, int64_t received_ms);

/* The user is nowhere. */
void strangers_hide(struct strangers *strangers, int64_t user);

/* Tells what is due at wall_ms, by Kafka's clock, and hides some of those who are inactive at now_ms, by the clock of reports. Each call
 * looks at no more than `budget` users for each of the two. */
void strangers_advance(struct strangers *strangers, int64_t wall_ms, int64_t now_ms, size_t budget);

struct stranger {
    int64_t user;
    struct geo_point at; /* the centre of the told cell */
    int64_t distance_dm; /* to there, decimetres */
    int64_t time;        /* of the last report, rounded down to STRANGERS_ROUND_MS */
};

struct strangers_question {
    int64_t user; /* who asks */
    struct geo_point at;
    int64_t now_ms; /* by the clock of reports */
    int64_t turn;   /* with another one, other members of a crowded cell are listed */
    size_t max;
    void *context;
    /* Not to be shown to who asks. Called for no more than 2 * max users. */
    bool (*hidden)(void *context, int64_t user);
};

/* Fills `list`, which has room for max, with those around, nearest first, and by user where equally near. Returns how many. */
size_t strangers_list(const struct strangers *strangers, const struct strangers_question *question,
                      struct stranger *list);

const struct grid *strangers_grid(const struct strangers *strangers);
size_t strangers_count(const struct strangers *strangers);  /* who share publicly */
size_t strangers_placed(const struct strangers *strangers); /* of these, who are somewhere */
