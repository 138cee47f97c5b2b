/* Keeps a bulk sender from running far ahead of those who decide its commands: a short backlog is better for their memory, for Kafka's
 * page cache and for the total time. If none of them runs, everything passes. Blocking; one thread. */
#pragma once

#include "base/error.h"
#include "kafka/settings.h"

struct pace;

/* group: the deciders' group; its committed offsets of `topic` say how many records are handled. */
int pace_new(const struct kafka_settings *settings, const char *group, const struct topic *topic, int partitions,
             struct pace **pace, struct error *error);
void pace_free(struct pace *pace); /* NULL is fine */

/* Called now and then with how many records were sent since the last time. Asks the broker a few times a second at most,
 * and returns when the backlog is short enough, or has not become shorter for two seconds. */
int pace_keep(struct pace *pace, int64_t sent, struct error *error);
