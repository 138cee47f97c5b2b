/* Opting in and out, on the owner's side (docs/EXACTNESS.md, rule 6; router/consents.h does the bookkeeping): reads the topic sharing of
 * its partitions, refuses reports of users who have not opted in, and produces a LEAVE event for each opt-out (an effect of its task), and
 * for each sharing that comes to its end; the user's links end with it. Loop's thread.
 */
#pragma once

#include "deliver/epochs.h"
#include "router/presence.h"
#include "router/record_collector.h"
#include "router/report_clock.h"
#include "state/kind.h"

struct opting;

enum opting_links { OPTING_NO_LINKS, OPTING_LINKS, OPTING_LINKS_UNKNOWN /* until the partition runs */ };

struct opting_options {
    int32_t partitions;
    int64_t inactive_ms;
    const struct presence *presence;
    struct report_clock *clock;
    struct record_collector *collector;
    struct epochs *epochs;
    void *context;
    bool (*owns)(void *context, int32_t partition); /* an open one; else this process stands by for it */
    /* Whether the user has links, which an opt-out ends. */
    enum opting_links (*links)(void *context, int32_t partition, int64_t user);
};

struct opting *opting_new(const struct opting_options *options);
void opting_free(struct opting *opting); /* NULL is fine */

/* A store of the topic sharing, in memory: it is read from the beginning by each process that has the partition. */
extern const struct state_kind SHARING_KIND;

/* The effect of a record: an OFF becomes a LEAVE and the end of the user's links, of the epoch that is open. -EAGAIN: it cannot be sent now. *reason: why the record is none
 * of its topic; the store passes it by, as each owner reads sharing from its beginning: what was dead to one before stays so in silence. */
int opting_tell(struct opting *opting, const struct kafka_record *record, const char **reason, struct error *error);

/* The LEAVE with that ticket was stored, or not. False: the ticket is the number of its epoch. */
bool opting_acknowledge(struct opting *opting, uint64_t ticket, bool stored);

/* Sends the LEAVEs of users whose `until` has come by the router's clock, as far as this tenth of a second's share of work goes; the
 * others' reports are refused all the same. Cheap when there is none: called before each report. */
void opting_tick(struct opting *opting);

/* Ten times a second: opens the next share of work, and looks again at whoever presence still holds after the end. A LEAVE goes out again
 * only if it was not stored. */
void opting_tenth(struct opting *opting);

/* Whether a report that was checked against the sharing record at `opted` is refused. *offset: of the user's record; -1: none. */
bool opting_refuses(const struct opting *opting, int32_t partition, int64_t user, int64_t opted, int64_t *offset);

/* Whether a link that was made by the sharing record at `opted` is over by an opt-out: also by one that another consent has followed, before
 * its end is decided. */
bool opting_ends_link(const struct opting *opting, int32_t partition, int64_t user, int64_t opted);

/* The user's mode, by the newest record that was read; OFF without one. */
enum sharing_mode opting_mode(const struct opting *opting, int32_t partition, int64_t user);
