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
extern const struct topic TOPIC_ERASURES; /* key: user, no value: the user is forgotten, with all history until then */
extern const struct topic TOPIC_DELIVERIES; /* no key, partition: route; DeliveryBatch */
extern const struct topic
    TOPIC_COMMAND_OFFSETS; /* key: name of a topic of commands, in the same partition; CommandOffset */

extern const struct topic TOPIC_FOLLOW_COMMANDS; /* key: the user who follows or mutes; FollowCommand */
extern const struct topic TOPIC_FOLLOWS;         /* key: user, direction, other, in the user's partition; Follow */
extern const struct topic TOPIC_FOLLOW_REFUSALS; /* key: the user; FollowRefusal */
extern const struct topic TOPIC_POST_COMMANDS;   /* key: author; PostCommand */
extern const struct topic TOPIC_POSTS;           /* key: author, id, in the author's partition; Post */
extern const struct topic TOPIC_POST_TEXTS;      /* the same; PostText */
extern const struct topic TOPIC_FEED_OFFSETS;    /* key: name of a topic of commands; CommandOffset */
/* key: a user, or 0x80 and a handle (users/handle.h), in the partition of the user or of the handle: */
extern const struct topic TOPIC_NAME_COMMANDS; /* NameCommand */
extern const struct topic TOPIC_NAMES;         /* UserName of a user, HandleUser of a handle */
extern const struct topic TOPIC_NOTICES;       /* key: users/notice.h, in the user's partition; Notice */

/* No key, partitions of users; DeliveryBatch of DELIVERY_TIMELINE. */
extern const struct topic TOPIC_TIMELINES;         /* of readers: Push, Backlog, Begin, Answer, Gone */
extern const struct topic TOPIC_TIMELINE_REQUESTS; /* of authors: Request */
extern const struct topic TOPIC_HOT_POSTS; /* of authors: Hot, HotGone; every feed process reads all partitions */

extern const struct topic
    TOPIC_FEED_WATCHES; /* key: "feed:USER" and watcher, in the user's partition; Watch, RollCall */

/* Key: a subject, such as post:123; or a subject and what lies in it (subjects/subject.h), in the subject's partition. */
extern const struct topic TOPIC_COMMENT_COMMANDS; /* subject; CommentCommand */
extern const struct topic TOPIC_COMMENTS;         /* subject: CommentSubject; subject, comment: Comment */
extern const struct topic TOPIC_COMMENT_TEXTS;    /* subject, comment; CommentText */
extern const struct topic TOPIC_REACTIONS;        /* subject, comment, user; CommentReaction */
extern const struct topic TOPIC_COMMENT_REFUSALS; /* subject; CommentRefusal */
extern const struct topic TOPIC_COMMENT_OFFSETS;  /* key: name of a topic of commands; CommandOffset */
extern const struct topic
    TOPIC_MODERATION_LOG; /* subject, comment, offset of the command; or user:ID, 0, a number; ModerationEntry */
extern const struct topic TOPIC_COMMENTS_WIDE; /* subject, comment; CommentWide */
extern const struct topic TOPIC_NEARBY_MUTES;  /* key: user, friend (users/half.h); NearbyMute */
extern const struct topic TOPIC_BANS;          /* key: user; CommentBan */
extern const struct topic TOPIC_AUDIT;         /* key: user:ID of whom was read, or the name of what was; AuditEntry */

/* Key: "comments:", the subject, and watcher, in the subject's partition; Watch, RollCall */
extern const struct topic TOPIC_COMMENT_WATCHES;

/* All of them: for tools that look at everything. */
extern const struct topic_list TOPICS_ALL;

#endif
