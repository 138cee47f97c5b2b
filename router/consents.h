/* Consents: which users of the owned partitions have opted in, by the topic sharing, and which opt-outs still need a LEAVE.
 *
 * Each OFF becomes a LEAVE event. The group's committed offset of sharing says up to which record this is done. Bookkeeping only: no I/O.
 * One thread.
 */
#ifndef ROUTER_CONSENTS_H
#define ROUTER_CONSENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/records.h"

struct consents;

struct consents *consents_new(int32_t partitions);
void consents_free(struct consents *consents); /* NULL is fine */

/* The partition will be read from its beginning; opt-outs before `told` need no LEAVE. */
void consents_attach(struct consents *consents, int32_t partition, int64_t told);
void consents_detach(struct consents *consents, int32_t partition);

/* This process stands by for the partition: it keeps records, and sends and acknowledges no LEAVE any more. A partition that is not
 * attached begins at its beginning. */
void consents_watch(struct consents *consents, int32_t partition);

/* This process owns the watched partition now. True: it must be read again from *from, because records after that may need a LEAVE. */
bool consents_resume(struct consents *consents, int32_t partition, int64_t told, int64_t *from);

/* Takes the next record; true: a LEAVE {opted = offset} is to be sent for it. */
bool consents_record(struct consents *consents, int32_t partition, int64_t user, enum sharing_mode mode,
                     int64_t offset);

/* Skips the next record, which cannot be read. */
void consents_pass(struct consents *consents, int32_t partition, int64_t offset);

/* Whether the owner refuses a report that was checked against the sharing record at `opted`: its copy says OFF, by a record that is not
 * older than `opted`. A user without a record counts as OFF at -1. *offset: of the user's record. */
bool consents_refuses(const struct consents *consents, int32_t partition, int64_t user, int64_t opted, int64_t *offset);

/* A LEAVE was handed to the producer. Returns a ticket, with which the producer later says whether the LEAVE was stored. */
uint64_t consents_sent(struct consents *consents, int32_t partition);
void consents_acknowledge(struct consents *consents, uint64_t ticket, bool stored);
/* A LEAVE could not even be handed over. */
void consents_failed(struct consents *consents, int32_t partition);

/* True when *told has advanced: the LEAVEs for everything before that offset of sharing are stored. */
bool consents_committable(struct consents *consents, int32_t partition, int64_t *told);
void consents_committed(struct consents *consents, int32_t partition, int64_t told);

/* True when a LEAVE was lost: sharing must be read again from *told. Clears it. */
bool consents_restart(struct consents *consents, int32_t partition, int64_t *told);

int64_t consents_told(const struct consents *consents, int32_t partition); /* opt-outs before it need no LEAVE */
size_t consents_count(const struct consents *consents);                    /* users with a record */

#endif
