/* The catalogue of starling's topics. docs/ARCHITECTURE.md says which process writes and which ones read each topic.
 *
 * A program names the topics that it needs and checks only those at its start. So an upgrade that adds topics stops no program.
 * Pure data; any thread.
 */
#ifndef EVENT_TOPICS_H
#define EVENT_TOPICS_H

#include "topics/topic.h"

extern const struct topic TOPIC_LOCATIONS;       /* key: user; Location */
extern const struct topic TOPIC_FRIEND_COMMANDS; /* key: lower user of the pair; FriendCommand */
extern const struct topic TOPIC_FRIENDSHIPS;     /* key: user, other, in the user's partition; Friendship */
extern const struct topic TOPIC_PROFILES;        /* key: user; Profile */
extern const struct topic TOPIC_SHARING;         /* key: user; Sharing */
extern const struct topic TOPIC_DELIVERIES;      /* no key, partition: route; DeliveryBatch */
extern const struct topic
    TOPIC_COMMAND_OFFSETS; /* key: name of a topic of commands, in the same partition; CommandOffset */

/* All of them: for tools that look at everything. */
extern const struct topic_list TOPICS_ALL;

#endif
