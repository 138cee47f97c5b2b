/* The list of a user's notices, for processes that show it.
 *
 *     the owner's page of all notices --> without those about posts that the user may not see now --> gathered --> done
 *
 * Many follows, requests, acceptances or likes of the same thing on the same day (UTC) become one item, whose id, user and time are those of
 * the newest: with `count`, how many users there are, and `users`, the newest three at most. The loop's thread. */
#pragma once

#include "json/json.h"
#include "posts/sights.h"
#include "rpc/ask.h"

/* list: {items, unread, preferences, version}; the callee's, which is called once. unread: how many of the items, the first ones, are newer than the
 * newest notice that the user has read. NULL: the owner did not answer so; code and status as of peers_fetch. */
typedef void notice_list_done(void *context, int code, unsigned status, json_t *list);

/* Asks the user's owner. */
void notice_list_ask(struct peers *owners, struct sights *sights, int64_t user, notice_list_done *done, void *context);
/* The same of an answer that is here already. */
void notice_list_read(struct sights *sights, int64_t user, const char *page, size_t size, notice_list_done *done,
                      void *context);

/* Makes the owner's page the list. Pure. */
void notice_list_gather(json_t *page);
