/* The refusals of the last hour, of attached partitions: the content of the topic `follow-refusals`, in memory. A client that asks for
 * the outcome of its command gets the first answer, also from the next owner. Records of version 1 are about another topic of commands:
 * they are passed by. One thread.
 *
 *     partition 3   [ command 512 BLOCKED 10:02 | command 530 FULL 10:05 | ... ]    rising, as commands are decided in order
 */
#pragma once

#include "event/codec.h"
#include "state/kind.h"

enum { REFUSALS_KEPT_MS = 3600000 };

struct refusals;

struct refusals *refusals_new(int32_t partitions);
void refusals_free(struct refusals *refusals); /* NULL is fine */

/* As the functions of a kind of store (state/kind.h). A closed part is empty, and its topic is read from the beginning. */
void refusals_close(void *refusals, int32_t partition);
int64_t refusals_next(const void *refusals, int32_t partition, size_t topic); /* behind the last record; -1: none */

/* Takes a record; one before a record that was taken is skipped. */
void refusals_take(struct refusals *refusals, int32_t partition, int64_t offset, int64_t time_ms,
                   const struct follow_refusal *refusal);

bool refusals_find(const struct refusals *refusals, int32_t partition, int64_t command,
                   enum follow_refusal_reason *reason);
extern const struct state_kind REFUSALS_KIND;
void refusals_forget(struct refusals *refusals, int64_t now_ms); /* those that are older than an hour */
