/* Pushes notices to notify.url (docs/CLIENTS.md): the last effect of their records, at least once. Where there is no
 * notify.url there is none of this.
 *
 *     notices --> feed/push_window.h --> what is wanted now --> POST, one at a time --> 2xx: the records' effects are done
 *                                                                               |
 *                                             the same again after a pause <----+ anything else, or nothing in 5 s
 *
 * The group is told of a record once it is pushed, or need not be (tasks/tasks.h: held), so whoever owns the partition goes on there. What
 * is wanted is decided anew before each try: the notice is kept, shown and unread, its kind is to be pushed, the user watches no notices, and
 * it is not too old. A receiver that is away costs a window of memory. Loop's thread.
 */
#pragma once

#include "kafka/consumer.h"
#include "users/notice.h"

struct feed;
struct pushing;
struct feed_settings;

int pushing_check(const struct feed_settings *settings, struct error *error); /* -EINVAL */

struct pushing *pushing_new(struct feed *feed); /* NULL: there is no notify.url */
void pushing_free(struct pushing *pushing);     /* breaks off a post; NULL is fine, here and below */

/* A record of `notices`, once it is stored. True: it comes for this alone, its other effects were carried out before. */
bool pushing_notice(struct pushing *pushing, const struct kafka_record *record, const struct notice_key *key);

/* Of tasks_topic: the first record of the partition that is not pushed. */
int64_t pushing_held(struct pushing *pushing, int32_t partition);
void pushing_drop(struct pushing *pushing, int32_t partition);

void pushing_second(struct pushing *pushing);
