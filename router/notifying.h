/* Notifies users who have no session that a friend has come near: posts the approaches that joins found (router/approaches.h) to
 * notify.url. Both must share, and the user must not mute the friend, by copies of `sharing` and `nearby-mutes` that only a router with a
 * notify.url keeps. The join waits for nothing: posts go out on a thread of their own (service/poster.h). Loop's thread.
 *
 * At most once: an approach that is queued, or under way, when the process ends is lost, and a report that is read again makes none.
 */
#pragma once

#include "router/approaches.h"
#include "router/settings.h"

struct notifying;
struct router;

int notifying_check(const struct router_settings *settings, struct error *error); /* -EINVAL */

/* *notifying is NULL where notify.url is not set. */
int notifying_new(const struct router *router, struct notifying **notifying, struct error *error);
void notifying_free(struct notifying *notifying); /* posts what is left, for a second at most; NULL is fine */

/* Of a join that has newcomers. */
void notifying_joined(struct notifying *notifying, const struct join_result *result);
