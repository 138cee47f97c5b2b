/* Consents: which users have opted in, by the topic sharing, and whose sharing has ended and still needs a LEAVE.
 *
 * A mode that has an end is OFF from then on, also before its end is worked off. No offset says which ends are done: each one is kept for a while, and
 * compared with presence, by this owner or the next. As thousands may end in the same second, each call works on a number of them that
 * the caller sets. Bookkeeping only: no I/O. Times in ms, by the router's clock. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/records.h"

struct consents;

/* keep_ms: for how long the end of a mode is kept; who has not reported for so long needs no LEAVE. */
struct consents *consents_new(int32_t partitions, int64_t keep_ms);
void consents_free(struct consents *consents); /* NULL is fine */

void consents_attach(struct consents *consents, int32_t partition); /* it will be read from its beginning */
void consents_detach(struct consents *consents, int32_t partition);

/* Takes the next record. A mode whose end is not after `now` counts as ended. */
void consents_record(struct consents *consents, int32_t partition, int64_t user, const struct sharing *sharing,
                     int64_t offset, int64_t now);

/* No mode ends before this time. */
int64_t consents_soonest(const struct consents *consents);

struct consents_end {
    int64_t user, offset; /* of the record that had the end */
    int64_t time;
};

/* The fate of an end that was looked at: */
enum consents_fate {
    CONSENTS_DONE, /* it needs no LEAVE any more */
    CONSENTS_WAIT, /* it is looked at again, for up to keep_ms */
    CONSENTS_SENT  /* so is this one, whose LEAVE was handed to the producer just now */
};

/* sent: its LEAVE is under way, or stored. */
typedef enum consents_fate consents_look(void *context, int32_t partition, const struct consents_end *end, bool sent);

/* Works off modes whose end is due: looks at each end, and keeps it unless it is done. No more than *budget, which it lowers. */
void consents_end_due(struct consents *consents, int64_t now, size_t *budget, void *context, consents_look *look);

/* Begins to look again at all ends that are kept, if the last time is over. */
void consents_begin_round(struct consents *consents);

/* Goes on looking, at no more ends than *budget, which it lowers. An end whose user has a newer record is dropped instead. */
void consents_go_round(struct consents *consents, int64_t now, size_t *budget, void *context, consents_look *look);

/* Skips the next record, which cannot be read. */
void consents_pass(struct consents *consents, int32_t partition, int64_t offset);

/* Whether the owner refuses a report that was checked against the sharing record at `opted`: its copy says OFF, by a record that is not
 * older than `opted`. A user without a record counts as OFF at -1. *offset: of the user's record. */
bool consents_refuses(const struct consents *consents, int32_t partition, int64_t user, int64_t opted, int64_t now,
                      int64_t *offset);

/* The user's mode at `now`; OFF without a record. */
enum sharing_mode consents_mode(const struct consents *consents, int32_t partition, int64_t user, int64_t now);

/* The offset of the user's record if that is an OFF; else -1. */
int64_t consents_off(const struct consents *consents, int32_t partition, int64_t user);

/* Remembers for a user whose OFF is followed by another mode where it was, until the partition is attached anew; -1: nothing was noted. */
void consents_note_return(struct consents *consents, int32_t partition, int64_t user, int64_t off);
int64_t consents_returned(const struct consents *consents, int32_t partition, int64_t user);

/* The LEAVE of an end was handed to the producer. Returns a ticket, with which the producer later says whether it was stored. When one is
 * lost, the partition's ends that are not done count as not sent. */
uint64_t consents_sent_end(const struct consents *consents, int32_t partition);
/* False: the ticket is not of an end, but the number of an epoch. */
bool consents_acknowledge(struct consents *consents, uint64_t ticket, bool stored);

int64_t consents_next(const struct consents *consents, int32_t partition); /* behind the last record; 0: none */
size_t consents_count(const struct consents *consents);                    /* users with a record */
