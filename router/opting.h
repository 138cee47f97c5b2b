/* The owner's view of who shares (router/consents.h has the ledger): reads the topic sharing of its partitions, refuses reports of
 * those who have not opted in, and produces a LEAVE event for each opt-out that nobody has told yet. Loop's thread.
 */
#ifndef ROUTER_OPTING_H
#define ROUTER_OPTING_H

#include "base/log.h"
#include "owner/owner.h"
#include "router/sending.h"
#include "router/report_clock.h"

struct opting;

struct opting_options {
    struct log *log;
    int32_t partitions;
    size_t state; /* the owner's number of the topic sharing */
    const struct report_clock *clock;
    struct sending *sending;
};

struct opting *opting_new(const struct opting_options *options);
void opting_free(struct opting *opting); /* NULL is fine */

/* The owner's callbacks. opting_own: where sharing is to be read again, KAFKA_OFFSET_NONE: nowhere. */
int64_t opting_own(struct opting *opting, int32_t partition, bool fresh, int64_t told);
void opting_silence(struct opting *opting, int32_t partition);
void opting_detach(struct opting *opting, int32_t partition);
void opting_take(struct opting *opting, const struct kafka_record *record);

/* A LEAVE's fate. */
void opting_acknowledge(struct opting *opting, uint64_t ticket, bool stored);

/* Tells the group up to where opt-outs are told, and reads again those whose LEAVE was lost. */
void opting_second(struct opting *opting, struct owner *owner);

/* Whether a report that was checked against the sharing record at `opted` is refused. *offset: of the user's record; -1: none. */
bool opting_refuses(const struct opting *opting, int32_t partition, int64_t user, int64_t opted, int64_t *offset);

#endif
