/* Tells the owners of users who have no session that a friend has come near: writes the approaches that joins found (router/approaches.h) to
 * the topic `approaches`, of which feed processes make notices. Both must share, and the user must not mute the friend, by
 * copies of `sharing` and `nearby-mutes` that only a router with notify.approaches keeps. Loop's thread.
 *
 * An approach is lost if the router ends before Kafka has it: a report that is read again makes none.
 */
#pragma once

#include "router/approaches.h"

struct notifying;
struct router;

/* *notifying is NULL where notify.approaches is not set. On a collector that is there, and is freed first. */
int notifying_new(const struct router *router, struct notifying **notifying, struct error *error);
void notifying_free(struct notifying *notifying); /* NULL is fine */

/* Of a join that has newcomers. */
void notifying_joined(struct notifying *notifying, const struct join_result *result);
