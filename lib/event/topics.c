#include "event/topics.h"

#define HOUR_MS INT64_C(3600000)
#define DAY_MS INT64_C(86400000)
#define WEEK_MS (7 * DAY_MS)

enum { USER_BYTES = 8, DELIVERIES_MS = 600000 };

const struct topic TOPIC_LOCATIONS = {
    .name = "locations",
    .space = TOPIC_SPACE_USERS,
    .cleanup = TOPIC_DELETED,
    .retention_ms = DAY_MS,
    // Latency and the hour of history are counted from arrival, not from a phone's clock.
    .append_time = true,
    .keyed = TOPIC_KEYED_BY_USER,
};

const struct topic TOPIC_FRIEND_COMMANDS = {
    .name = "friend-commands",
    .space = TOPIC_SPACE_USERS,
    .cleanup = TOPIC_DELETED,
    .retention_ms = DAY_MS,
};

const struct topic TOPIC_FRIENDSHIPS = {
    .name = "friendships",
    .space = TOPIC_SPACE_USERS,
    .cleanup = TOPIC_COMPACTED,
    .retention_ms = WEEK_MS,
    .key_hashed = USER_BYTES,
    .keyed = TOPIC_KEYED_BY_USER,
};

const struct topic TOPIC_PROFILES = {
    .name = "profiles",
    .space = TOPIC_SPACE_USERS,
    .cleanup = TOPIC_COMPACTED,
    .retention_ms = WEEK_MS,
    .keyed = TOPIC_KEYED_BY_USER,
};

const struct topic TOPIC_SHARING = {
    .name = "sharing",
    .space = TOPIC_SPACE_USERS,
    .cleanup = TOPIC_COMPACTED,
    .retention_ms = WEEK_MS,
    .keyed = TOPIC_KEYED_BY_USER,
};

const struct topic TOPIC_NEARBY_MUTES = {
    .name = "nearby-mutes",
    .space = TOPIC_SPACE_USERS,
    .cleanup = TOPIC_COMPACTED,
    .retention_ms = WEEK_MS,
    .key_hashed = USER_BYTES,
    .keyed = TOPIC_KEYED_BY_USER,
};

const struct topic TOPIC_ERASURES = {
    .name = "erasures",
    .space = TOPIC_SPACE_USERS,
    .cleanup = TOPIC_DELETED,
    // Longer than `locations`: whoever reads old reports again has to know whose are gone.
    .retention_ms = 4 * WEEK_MS,
    // Compared with the arrival of reports.
    .append_time = true,
    .keyed = TOPIC_KEYED_BY_USER,
};

const struct topic TOPIC_DELIVERIES = {
    .name = "deliveries", .space = TOPIC_SPACE_ROUTES, .cleanup = TOPIC_DELETED, .retention_ms = DELIVERIES_MS};

const struct topic TOPIC_COMMAND_OFFSETS = {
    .name = "command-offsets", .space = TOPIC_SPACE_USERS, .cleanup = TOPIC_COMPACTED, .retention_ms = WEEK_MS};

const struct topic TOPIC_FOLLOW_COMMANDS = {
    .name = "follow-commands", .space = TOPIC_SPACE_USERS, .cleanup = TOPIC_DELETED, .retention_ms = DAY_MS};

const struct topic TOPIC_FOLLOWS = {
    .name = "follows",
    .space = TOPIC_SPACE_USERS,
    .cleanup = TOPIC_COMPACTED,
    .retention_ms = WEEK_MS,
    .key_hashed = USER_BYTES,
    .keyed = TOPIC_KEYED_BY_USER,
};

const struct topic TOPIC_FOLLOW_REFUSALS = {
    .name = "follow-refusals",
    .space = TOPIC_SPACE_USERS,
    .cleanup = TOPIC_DELETED,
    .retention_ms = HOUR_MS,
    .append_time = true, // so that all who read a refusal forget it at the same time
};

const struct topic TOPIC_POST_COMMANDS = {
    .name = "post-commands",
    .space = TOPIC_SPACE_USERS,
    .cleanup = TOPIC_DELETED,
    .retention_ms = DAY_MS,
    // A post's time, and so its id, is the time of its arrival.
    .append_time = true,
};

const struct topic TOPIC_POSTS = {
    .name = "posts",
    .space = TOPIC_SPACE_USERS,
    .cleanup = TOPIC_COMPACTED,
    .retention_ms = WEEK_MS,
    .key_hashed = USER_BYTES,
    .keyed = TOPIC_KEYED_BY_USER,
    // Where its id says so: feed/commands_posts.c.
    .scattered = true,
};

const struct topic TOPIC_POST_TEXTS = {
    .name = "post-texts",
    .space = TOPIC_SPACE_USERS,
    .cleanup = TOPIC_COMPACTED,
    .retention_ms = WEEK_MS,
    .key_hashed = USER_BYTES,
    .keyed = TOPIC_KEYED_BY_USER,
    // Where its id says so: feed/commands_posts.c.
    .scattered = true,
};

const struct topic TOPIC_FEED_OFFSETS = {
    .name = "feed-offsets", .space = TOPIC_SPACE_USERS, .cleanup = TOPIC_COMPACTED, .retention_ms = WEEK_MS};

const struct topic TOPIC_TIMELINES = {
    .name = "timelines",
    .space = TOPIC_SPACE_USERS,
    .cleanup = TOPIC_DELETED,
    .retention_ms = DAY_MS,
    // Records say since when a reader has been away: no producer's clock may.
    .append_time = true,
};

const struct topic TOPIC_TIMELINE_REQUESTS = {
    .name = "timeline-requests", .space = TOPIC_SPACE_USERS, .cleanup = TOPIC_DELETED, .retention_ms = DAY_MS};

const struct topic TOPIC_HOT_POSTS = {
    .name = "hot-posts", .space = TOPIC_SPACE_USERS, .cleanup = TOPIC_DELETED, .retention_ms = WEEK_MS};

const struct topic TOPIC_FEED_WATCHES = {
    .name = "feed-watches",
    .space = TOPIC_SPACE_USERS,
    .cleanup = TOPIC_COMPACTED,
    .retention_ms = DAY_MS,
};

const struct topic TOPIC_COMMENT_WATCHES = {
    .name = "comment-watches",
    .space = TOPIC_SPACE_SUBJECTS,
    .cleanup = TOPIC_COMPACTED,
    .retention_ms = DAY_MS,
};

const struct topic TOPIC_NAME_COMMANDS = {
    .name = "name-commands",
    .space = TOPIC_SPACE_USERS,
    .cleanup = TOPIC_DELETED,
    // A lost step between two owners would leave a handle that nobody can get: these commands wait longer for an owner than others.
    .retention_ms = WEEK_MS,
};

const struct topic TOPIC_NAMES = {
    .name = "names",
    .space = TOPIC_SPACE_USERS,
    .cleanup = TOPIC_COMPACTED,
    .retention_ms = WEEK_MS,
    .keyed = TOPIC_KEYED_BY_NAME,
};

const struct topic TOPIC_NOTICES = {
    .name = "notices",
    .space = TOPIC_SPACE_USERS,
    .cleanup = TOPIC_COMPACTED,
    .retention_ms = WEEK_MS,
    .key_hashed = USER_BYTES,
    .keyed = TOPIC_KEYED_BY_USER,
};

const struct topic TOPIC_COMMENT_COMMANDS = {
    .name = "comment-commands",
    .space = TOPIC_SPACE_SUBJECTS,
    .cleanup = TOPIC_DELETED,
    .retention_ms = DAY_MS,
    // A comment's time, and so its id, is the time of its arrival.
    .append_time = true,
};

const struct topic TOPIC_COMMENTS = {
    .name = "comments",
    .space = TOPIC_SPACE_SUBJECTS,
    .cleanup = TOPIC_COMPACTED,
    .retention_ms = WEEK_MS,
    .keyed = TOPIC_KEYED_BY_SUBJECT,
};

const struct topic TOPIC_COMMENT_TEXTS = {
    .name = "comment-texts",
    .space = TOPIC_SPACE_SUBJECTS,
    .cleanup = TOPIC_COMPACTED,
    .retention_ms = WEEK_MS,
    .keyed = TOPIC_KEYED_BY_SUBJECT,
};

const struct topic TOPIC_REACTIONS = {
    .name = "reactions",
    .space = TOPIC_SPACE_SUBJECTS,
    .cleanup = TOPIC_COMPACTED,
    .retention_ms = WEEK_MS,
    .keyed = TOPIC_KEYED_BY_SUBJECT,
};

const struct topic TOPIC_COMMENT_REFUSALS = {
    .name = "comment-refusals",
    .space = TOPIC_SPACE_SUBJECTS,
    .cleanup = TOPIC_DELETED,
    .retention_ms = HOUR_MS,
    .append_time = true, // so that all who read a refusal forget it at the same time
};

const struct topic TOPIC_COMMENT_OFFSETS = {
    .name = "comment-offsets", .space = TOPIC_SPACE_SUBJECTS, .cleanup = TOPIC_COMPACTED, .retention_ms = WEEK_MS};

const struct topic TOPIC_BANS = {
    .name = "bans",
    .space = TOPIC_SPACE_USERS,
    .cleanup = TOPIC_COMPACTED,
    .retention_ms = WEEK_MS,
    .keyed = TOPIC_KEYED_BY_USER,
};

// No two entries have the same key: compaction removes none of them, and no retention does.
const struct topic TOPIC_MODERATION_LOG = {
    .name = "moderation-log",
    .space = TOPIC_SPACE_SUBJECTS,
    .cleanup = TOPIC_COMPACTED,
    .retention_ms = WEEK_MS,
    .keyed = TOPIC_KEYED_BY_SUBJECT,
};

const struct topic TOPIC_COMMENTS_WIDE = {
    .name = "comments-wide",
    .space = TOPIC_SPACE_SUBJECTS,
    .cleanup = TOPIC_COMPACTED,
    .retention_ms = WEEK_MS,
    .keyed = TOPIC_KEYED_BY_SUBJECT,
};

const struct topic TOPIC_AUDIT = {
    .name = "audit",
    .space = TOPIC_SPACE_SUBJECTS,
    .cleanup = TOPIC_DELETED,
    .retention_ms = 26 * WEEK_MS,
    .append_time = true, // nobody who reads says when it was
    .keyed = TOPIC_KEYED_BY_SUBJECT,
    .scattered = true, // starling writes here while the topics have partitions that were added too early, too
};

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
