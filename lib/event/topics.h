/* The catalogue of topics: what starling's records travel on. docs/ARCHITECTURE.md says who writes and who reads each.
 *
 * A program names the topics that it needs, and only those are checked at its start: an upgrade that adds topics stops nobody.
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
