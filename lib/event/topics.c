#include "event/topics.h"

#define HOUR_MS INT64_C(3600000)
#define DAY_MS INT64_C(86400000)
#define WEEK_MS (7 * DAY_MS)

enum { USER_BYTES = 8, DELIVERIES_MS = 600000 };

/* TOPIC_ID: its name, its space, what becomes of its records, how long they stay; and what else differs from nothing. */
#define TOPIC(id, text, in, records, ...)                                                                              \
    const struct topic TOPIC_##id = {                                                                                  \
        .name = text, .space = TOPIC_SPACE_##in, .cleanup = TOPIC_##records, .retention_ms = __VA_ARGS__}

/* Latency and the hour of history are counted from arrival, not from a phone's clock. */
TOPIC(LOCATIONS, "locations", USERS, DELETED, DAY_MS, .append_time = true, .keyed = TOPIC_KEYED_BY_USER);
TOPIC(FRIEND_COMMANDS, "friend-commands", USERS, DELETED, DAY_MS);
TOPIC(FRIENDSHIPS, "friendships", USERS, COMPACTED, WEEK_MS, .key_hashed = USER_BYTES, .keyed = TOPIC_KEYED_BY_USER);
TOPIC(PROFILES, "profiles", USERS, COMPACTED, WEEK_MS, .keyed = TOPIC_KEYED_BY_USER);
TOPIC(SHARING, "sharing", USERS, COMPACTED, WEEK_MS, .keyed = TOPIC_KEYED_BY_USER);
TOPIC(NEARBY_MUTES, "nearby-mutes", USERS, COMPACTED, WEEK_MS, .key_hashed = USER_BYTES, .keyed = TOPIC_KEYED_BY_USER);
/* These stay longer than `locations`, as whoever reads old reports again has to know whose are gone; their times are compared with the reports'. */
TOPIC(ERASURES, "erasures", USERS, DELETED, 4 * WEEK_MS, .append_time = true, .keyed = TOPIC_KEYED_BY_USER);
TOPIC(DELIVERIES, "deliveries", ROUTES, DELETED, DELIVERIES_MS);
TOPIC(COMMAND_OFFSETS, "command-offsets", USERS, COMPACTED, WEEK_MS);
TOPIC(FOLLOW_COMMANDS, "follow-commands", USERS, DELETED, DAY_MS);
TOPIC(FOLLOWS, "follows", USERS, COMPACTED, WEEK_MS, .key_hashed = USER_BYTES, .keyed = TOPIC_KEYED_BY_USER);
/* All who read a refusal forget it at the same time. */
TOPIC(FOLLOW_REFUSALS, "follow-refusals", USERS, DELETED, HOUR_MS, .append_time = true);
/* A post's time, and so its id, is the time of its arrival. */
TOPIC(POST_COMMANDS, "post-commands", USERS, DELETED, DAY_MS, .append_time = true);
/* Posts and their texts lie where their ids say so (feed/commands_posts.c). */
TOPIC(POSTS, "posts", USERS, COMPACTED, WEEK_MS, .key_hashed = USER_BYTES, .keyed = TOPIC_KEYED_BY_USER,
      .scattered = true);
TOPIC(POST_TEXTS, "post-texts", USERS, COMPACTED, WEEK_MS, .key_hashed = USER_BYTES, .keyed = TOPIC_KEYED_BY_USER,
      .scattered = true);
TOPIC(FEED_OFFSETS, "feed-offsets", USERS, COMPACTED, WEEK_MS);
/* Records say since when a reader has been away: no producer's clock may. */
TOPIC(TIMELINES, "timelines", USERS, DELETED, DAY_MS, .append_time = true);
TOPIC(TIMELINE_REQUESTS, "timeline-requests", USERS, DELETED, DAY_MS);
TOPIC(HOT_POSTS, "hot-posts", USERS, DELETED, WEEK_MS);
TOPIC(FEED_WATCHES, "feed-watches", USERS, COMPACTED, DAY_MS);
TOPIC(COMMENT_WATCHES, "comment-watches", SUBJECTS, COMPACTED, DAY_MS);
/* A lost step between two owners would leave a handle that nobody can get: these commands wait longer for an owner than others. */
TOPIC(NAME_COMMANDS, "name-commands", USERS, DELETED, WEEK_MS);
TOPIC(NAMES, "names", USERS, COMPACTED, WEEK_MS, .keyed = TOPIC_KEYED_BY_NAME);
TOPIC(NOTICES, "notices", USERS, COMPACTED, WEEK_MS, .key_hashed = USER_BYTES, .keyed = TOPIC_KEYED_BY_USER);
/* A comment's time, and so its id, is the time of its arrival. */
TOPIC(COMMENT_COMMANDS, "comment-commands", SUBJECTS, DELETED, DAY_MS, .append_time = true);
TOPIC(COMMENTS, "comments", SUBJECTS, COMPACTED, WEEK_MS, .keyed = TOPIC_KEYED_BY_SUBJECT);
TOPIC(COMMENT_TEXTS, "comment-texts", SUBJECTS, COMPACTED, WEEK_MS, .keyed = TOPIC_KEYED_BY_SUBJECT);
TOPIC(REACTIONS, "reactions", SUBJECTS, COMPACTED, WEEK_MS, .keyed = TOPIC_KEYED_BY_SUBJECT);
/* All who read a refusal forget it at the same time. */
TOPIC(COMMENT_REFUSALS, "comment-refusals", SUBJECTS, DELETED, HOUR_MS, .append_time = true);
TOPIC(COMMENT_OFFSETS, "comment-offsets", SUBJECTS, COMPACTED, WEEK_MS);
TOPIC(BANS, "bans", USERS, COMPACTED, WEEK_MS, .keyed = TOPIC_KEYED_BY_USER);
/* No two entries have the same key: compaction removes none of them, and no retention does. */
TOPIC(MODERATION_LOG, "moderation-log", SUBJECTS, COMPACTED, WEEK_MS, .keyed = TOPIC_KEYED_BY_SUBJECT);
TOPIC(COMMENTS_WIDE, "comments-wide", SUBJECTS, COMPACTED, WEEK_MS, .keyed = TOPIC_KEYED_BY_SUBJECT);
/* Nobody who reads says when it was. starling writes here while the topics have partitions that were added too early, too. */
TOPIC(AUDIT, "audit", SUBJECTS, DELETED, 26 * WEEK_MS, .append_time = true, .keyed = TOPIC_KEYED_BY_SUBJECT,
      .scattered = true);

static const struct topic *const ALL[] = {
    &TOPIC_LOCATIONS,       &TOPIC_FRIEND_COMMANDS,
    &TOPIC_FRIENDSHIPS,     &TOPIC_PROFILES,
    &TOPIC_SHARING,         &TOPIC_DELIVERIES,
    &TOPIC_COMMAND_OFFSETS, &TOPIC_FOLLOW_COMMANDS,
    &TOPIC_FOLLOWS,         &TOPIC_FOLLOW_REFUSALS,
    &TOPIC_POST_COMMANDS,   &TOPIC_POSTS,
    &TOPIC_POST_TEXTS,      &TOPIC_FEED_OFFSETS,
    &TOPIC_TIMELINES,       &TOPIC_TIMELINE_REQUESTS,
    &TOPIC_HOT_POSTS,       &TOPIC_NAME_COMMANDS,
    &TOPIC_NAMES,           &TOPIC_NOTICES,
    &TOPIC_FEED_WATCHES,    &TOPIC_COMMENT_COMMANDS,
    &TOPIC_COMMENTS,        &TOPIC_COMMENT_TEXTS,
    &TOPIC_REACTIONS,       &TOPIC_COMMENT_REFUSALS,
    &TOPIC_COMMENT_OFFSETS, &TOPIC_BANS,
    &TOPIC_MODERATION_LOG,  &TOPIC_COMMENTS_WIDE,
    &TOPIC_COMMENT_WATCHES, &TOPIC_ERASURES,
    &TOPIC_NEARBY_MUTES,    &TOPIC_AUDIT,
};

const struct topic_list TOPICS_ALL = {ALL, sizeof ALL / sizeof *ALL};
