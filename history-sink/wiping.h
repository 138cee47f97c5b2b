/* Users who were forgotten leave history: the store some rows a tick, and then the files (history-sink/wipe.h), on the thread that merges. From the
 * moment when this sink has learnt of an erasure (history-sink/wiped.h), it takes and shows no row that must not be: none from Kafka, none
 * from files that are being loaded.
 *
 *     erasures --> wiped --+--> open files, at once
 *                          +--> store
 *                          +--> files: a pass over them --> clean, and begun long enough after the partition was taken over: noted as done
 *                                            ^                                            |
 *                                            +----------- else, after a while ------------+
 *
 * All passes of a partition are its owner's. The owner before may not know yet that it has lost it, and may even publish a file that it began long ago:
 * therefore an erasure is done only when a pass that began some time after the take-over has gone through. If the note is lost with the store, or a
 * partition moves, the next owner begins again with all erasures that the topic still has.
 *
 * Nothing is read before all of `erasures` is known. Loop's thread.
 */
#pragma once

#include "history-sink/sink.h"
#include "history-sink/wiped.h"
#include "rpc/serve.h"

/* A promise, as long as sinks and storage work: files are rewritten that long after the erasure at the latest. */
enum { WIPING_FILES_S = 3600 };

struct wiping;

/* storage: its own; worker: the one that merges. Both are borrowed. */
int wiping_new(struct sink *sink, struct worker *worker, struct storage *storage, struct wiping **wiping,
               struct error *error);
bool wiping_ready(const struct wiping *wiping); /* all that there was at the start is known */
bool wiping_busy(const struct wiping *wiping);
/* Partitions are given away: files are not replaced any more. */
void wiping_revoked(struct wiping *wiping);
/* Requests that wait are answered. Before the end, and before the next. */
void wiping_stop(struct wiping *wiping);
void wiping_free(struct wiping *wiping); /* not while it is busy; NULL is fine */
void wiping_tick(struct wiping *wiping);

/* A row that must not be taken, nor shown. */
bool wiping_has(const struct wiping *wiping, const struct history_row *row);

/* GET /peer/wiped/{user}?offset&wait_ms: waits, up to wait_ms (0 to 30,000, default 1000), until the record at `offset` of the user's partition of
 * erasures is done in the store.
 *
 *     200 {rows, files_by}   rows that left it; when the files will have followed, ms
 *     404                    it is not, yet
 */
void wiping_answer(struct wiping *wiping, struct http_request *request, const struct rpc_asked *asked);

/* For gauges: erasures that are not done in the owned partitions, and when the oldest of them was written (ms; 0: all are done). */
size_t wiping_left(const struct wiping *wiping, int64_t *oldest);
