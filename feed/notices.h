/* The notices of users of attached partitions: the records of the topic `notices` on disk (state/table_store.h). A user has 200 at most; the owner
 * writes tombstones for others. One thread.
 *
 * Functions return 0 or a negative errno code. -EBADMSG: a value is damaged; table_store_reset and reading the topic from its beginning mend
 * it.
 */
#pragma once

#include "decider/decider.h"
#include "event/codec.h"
#include "feed/blocks.h"
#include "feed/relations.h"
#include "state/table_store.h"
#include "users/notice.h"

enum { NOTICES_OF_ONE = 20 };

struct notices;

struct notices *notices_new(struct store *store, int32_t partitions); /* the store is longer-lived */
void notices_free(struct notices *notices);                           /* what is gathered is lost; NULL is fine */

struct table_store *notices_table(struct notices *notices); /* open partitions and take records there; lives as long */

table_store_take notices_complaint; /* of a record of the topic; context: the notices */

/* Calls `each` for a user's notices, newest first, at most 200 of them, until it returns false. The notice is valid within. */
typedef bool notices_each_one(void *context, const struct notice_key *key, const struct notice *notice);
int notices_each(struct notices *notices, int32_t partition, int64_t user, notices_each_one *each, void *context,
                 struct error *error);

/* One that is kept. 1: *notice is valid until the next call; 0: there is none. */
int notices_find(struct notices *notices, int32_t partition, const struct notice_key *key, struct notice *notice,
                 struct error *error);

/* Whether a notice about `other` is shown to the user now: not if the user has muted the other, or one of the two has blocked the other. */
int notice_shown(struct table_store *blocks, struct relation_lists *relations, int32_t partition, int64_t user,
                 int64_t other, bool *shown, struct error *error);

/* Forgets a user's notices beyond 200, and calls `each` with their keys: each is named once, though its tombstone is read back only later.
 * One whose tombstone gets lost is one too many again on the next disk. An earlier notice that the same user does the same, such as
 * following or liking the same post, goes first, then
 * `hidden` (a new notice that the user is not shown now; NULL: none), then the oldest of a sender who has more than NOTICES_OF_ONE, then
 * the oldest of the kind that has most. */
int notices_trim(struct notices *notices, int32_t partition, int64_t user, const struct notice_key *hidden,
                 void (*each)(void *context, const uint8_t key[NOTICE_KEY_SIZE]), void *context, struct error *error);

/* ---- within the decider's transaction ---- */

/* Write the notice to `user` that `other` does so since then: FOLLOW, REQUEST or ACCEPTED; or the notices to the users whom a post mentions
 * since then, but not to its author. */
int notices_write_relation(struct decider *decider, int32_t partitions, enum notice_kind kind, int64_t user,
                           int64_t other, int64_t since);
int notices_write_mentions(struct decider *decider, int32_t partitions, int64_t author, int64_t post, int64_t time,
                           const struct event_longs *mentioned);
