/* Friendships, follows and opt-ins put on Kafka in bulk: for imports and for the simulator. Blocking, with a loop of its own. */
#pragma once

#include "event/records.h"
#include "kafka/settings.h"

struct setup;

/* Producer and scratch memory. */
int setup_new(const struct kafka_settings *settings, struct setup **setup, struct error *error);
void setup_free(struct setup *setup); /* NULL is fine */

/* Each waits while the producer's queue is full; -EHOSTDOWN after 30 s without a broker. */
int setup_befriend(struct setup *setup, int64_t a, int64_t b, struct error *error); /* a BEFRIEND command */
int setup_follow(struct setup *setup, int64_t a, int64_t b, struct error *error);   /* a FOLLOW command: a follows b */
int setup_share(struct setup *setup, int64_t user, enum sharing_mode mode, struct error *error);
int setup_profile(struct setup *setup, int64_t user, const char *name, struct error *error);

int setup_comment(struct setup *setup, const struct comment_command *command, struct error *error);

/* Waits until everything sent is acknowledged. */
int setup_flush(struct setup *setup, struct error *error);

/* Names the group that decides commands, and what its members make of them. */
struct setup_deciders {
    const char *who;                          /* "router" */
    const struct topic *commands, *results;   /* results NULL: the group does not say how far it has applied them */
    const char *commands_left, *results_left; /* what records are called that the group has not come to */
};
extern const struct setup_deciders SETUP_ROUTERS, SETUP_FEEDS, SETUP_COMMENTS;

/* Waits up to timeout_s until the group has decided all commands that are in Kafka now, and has applied the results (routers: to their
 * friend lists). Calls progress (may be NULL) about once a second with how many records are left, and of which sort. -ETIMEDOUT. */
int setup_wait_decided(struct setup *setup, const struct setup_deciders *deciders, const char *group, int timeout_s,
                       void (*progress)(void *context, int64_t left, const char *what), void *context,
                       struct error *error);
