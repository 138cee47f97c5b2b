#include "event/programs.h"

#include "event/topics.h"

#define USES(rows)                                                                                                     \
    { rows, sizeof rows / sizeof *rows }

enum { READ = TOPIC_READS, WRITE = TOPIC_WRITES, READ_OR_BURY = TOPIC_READS | TOPIC_BURIES };

static const struct topic_use INGEST[] = {
    {&TOPIC_LOCATIONS, WRITE},
    {&TOPIC_FRIEND_COMMANDS, WRITE},
    {&TOPIC_LINK_COMMANDS, WRITE},
    {&TOPIC_PLACE_COMMANDS, WRITE},
    {&TOPIC_PROFILES, READ_OR_BURY | WRITE},
    {&TOPIC_SHARING, READ_OR_BURY | WRITE},
    {&TOPIC_NEARBY_MUTES, READ_OR_BURY | WRITE},
    {&TOPIC_FOLLOW_COMMANDS, WRITE},
    {&TOPIC_FOLLOWER_COMMANDS, WRITE},
    {&TOPIC_POST_COMMANDS, WRITE},
    {&TOPIC_NAME_COMMANDS, WRITE},
    {&TOPIC_NOTICE_COMMANDS, WRITE},
    {&TOPIC_DIRECTORY_COMMANDS, WRITE},
    {&TOPIC_COMMENT_COMMANDS, WRITE},
    {&TOPIC_COMMENTS_WIDE, 0}, // its owners answer searches
    {&TOPIC_BANS, WRITE},
    {&TOPIC_MODERATION_LOG, WRITE},
    {&TOPIC_AUDIT, WRITE},
    {&TOPIC_NOTICES, WRITE}, // tombstones, when a user is forgotten
    {&TOPIC_DEVICES, WRITE}, // likewise
    {&TOPIC_DEVICE_ENDS, WRITE},
    {&TOPIC_ERASURES, WRITE},
};

static const struct topic_use ROUTER[] = {
    {&TOPIC_LOCATIONS, READ_OR_BURY | WRITE},
    {&TOPIC_FRIEND_COMMANDS, READ_OR_BURY | WRITE},
    {&TOPIC_FRIENDSHIPS, READ_OR_BURY | WRITE},
    {&TOPIC_SHARING, READ_OR_BURY},
    {&TOPIC_LINK_COMMANDS, READ_OR_BURY | WRITE},
    {&TOPIC_LINKS, READ_OR_BURY | WRITE},
    {&TOPIC_DELIVERIES, WRITE},
    {&TOPIC_COMMAND_OFFSETS, READ | WRITE},
    {&TOPIC_NEARBY_MUTES, READ}, // where approaches are told; gateways and edges bury what cannot be read
    {&TOPIC_PLACE_EVENTS, READ_OR_BURY},
    {&TOPIC_APPROACHES, WRITE},
};

static const struct topic_use FANOUT[] = {
    {&TOPIC_DELIVERIES, READ_OR_BURY}, {&TOPIC_LOCATIONS, WRITE},
    {&TOPIC_PROFILES, READ_OR_BURY},   {&TOPIC_SHARING, READ_OR_BURY},
    {&TOPIC_FEED_WATCHES, WRITE},      {&TOPIC_POST_COMMANDS, 0}, // its owners have the texts
    {&TOPIC_COMMENT_WATCHES, WRITE},   {&TOPIC_NEARBY_MUTES, READ_OR_BURY},
    {&TOPIC_DEVICES, WRITE},           {&TOPIC_DEVICE_ENDS, READ_OR_BURY},
};

static const struct topic_use FEED[] = {
    {&TOPIC_FOLLOW_COMMANDS, READ_OR_BURY},
    {&TOPIC_FOLLOWER_COMMANDS, READ_OR_BURY | WRITE},
    {&TOPIC_VISIBILITY, READ_OR_BURY | WRITE},
    {&TOPIC_FOLLOWS, READ_OR_BURY | WRITE},
    {&TOPIC_POST_COMMANDS, READ_OR_BURY | WRITE},
    {&TOPIC_POSTS, READ_OR_BURY | WRITE},
    {&TOPIC_POST_TEXTS, READ_OR_BURY | WRITE},
    {&TOPIC_FRIENDSHIPS, READ}, // routers bury what cannot be read
    {&TOPIC_FEED_OFFSETS, READ | WRITE},
    {&TOPIC_TIMELINES, READ_OR_BURY | WRITE},
    {&TOPIC_TIMELINE_REQUESTS, READ_OR_BURY | WRITE},
    {&TOPIC_HOT_POSTS, READ_OR_BURY | WRITE},
    {&TOPIC_NAME_COMMANDS, READ_OR_BURY | WRITE},
    {&TOPIC_NAMES, READ_OR_BURY | WRITE},
    {&TOPIC_NOTICES, READ_OR_BURY | WRITE},
    {&TOPIC_NOTICE_COMMANDS, READ_OR_BURY},
    {&TOPIC_DIRECTORY_COMMANDS, READ_OR_BURY | WRITE},
    {&TOPIC_DIRECTORY, READ_OR_BURY | WRITE},
    {&TOPIC_DEVICES, READ_OR_BURY | WRITE},
    {&TOPIC_NOTICE_SETTINGS, READ_OR_BURY | WRITE},
    {&TOPIC_APPROACHES, READ_OR_BURY},
    {&TOPIC_FEED_WATCHES, READ_OR_BURY | WRITE},
    {&TOPIC_DELIVERIES, WRITE},
    {&TOPIC_FOLLOW_REFUSALS, READ_OR_BURY | WRITE},
    {&TOPIC_MODERATION_LOG, WRITE}, // what moderators did to posts
    {&TOPIC_BANS, READ_OR_BURY},
};

static const struct topic_use COMMENTS[] = {
    {&TOPIC_COMMENT_COMMANDS, READ_OR_BURY},
    {&TOPIC_COMMENTS, READ_OR_BURY | WRITE},
    {&TOPIC_COMMENT_TEXTS, READ_OR_BURY | WRITE},
    {&TOPIC_REACTIONS, READ_OR_BURY | WRITE},
    {&TOPIC_COMMENT_REFUSALS, READ_OR_BURY | WRITE},
    {&TOPIC_COMMENT_OFFSETS, READ | WRITE},
    {&TOPIC_MODERATION_LOG, WRITE},
    {&TOPIC_COMMENTS_WIDE, WRITE},
    {&TOPIC_BANS, READ_OR_BURY},
    {&TOPIC_PROFILES, READ_OR_BURY},
    {&TOPIC_NOTICES, WRITE},
    {&TOPIC_COMMENT_WATCHES, READ_OR_BURY | WRITE},
    {&TOPIC_DELIVERIES, WRITE},
};

static const struct topic_use PLACES[] = {
    {&TOPIC_LOCATIONS, READ}, // routers bury what cannot be read
    {&TOPIC_PLACE_COMMANDS, READ_OR_BURY},
    {&TOPIC_PLACES, READ_OR_BURY | WRITE},
    {&TOPIC_PLACE_STATES, READ_OR_BURY | WRITE},
    {&TOPIC_PLACE_EVENTS, READ_OR_BURY | WRITE},
    {&TOPIC_PLACE_OFFSETS, READ | WRITE},
};

static const struct topic_use HISTORY_SINK[] = {{&TOPIC_LOCATIONS, READ_OR_BURY}, {&TOPIC_ERASURES, READ_OR_BURY}};

static const struct topic_use MODERATION[] = {
    {&TOPIC_COMMENTS_WIDE, READ_OR_BURY},
    {&TOPIC_MODERATION_LOG, READ_OR_BURY},
    {&TOPIC_POSTS, READ_OR_BURY},
    {&TOPIC_POST_TEXTS, READ_OR_BURY},
};

const struct program PROGRAM_ROUTER = {
    .name = "starling-router", .uses = USES(ROUTER), .member = true, .transactions = true, .follows = true};
const struct program PROGRAM_FEED = {
    .name = "starling-feed", .uses = USES(FEED), .member = true, .transactions = true, .follows = true};
const struct program PROGRAM_COMMENTS = {
    .name = "starling-comments", .uses = USES(COMMENTS), .member = true, .transactions = true, .follows = true};
const struct program PROGRAM_PLACES = {
    .name = "starling-places", .uses = USES(PLACES), .member = true, .transactions = true, .follows = true};
const struct program PROGRAM_HISTORY_SINK = {
    .name = "starling-history-sink", .uses = USES(HISTORY_SINK), .member = true, .follows = true};
const struct program PROGRAM_MODERATION = {
    .name = "starling-moderation", .uses = USES(MODERATION), .member = true, .follows = true};

static const struct program *const ASKED_BY_INGEST[] = {
    &PROGRAM_ROUTER,     &PROGRAM_FEED, &PROGRAM_COMMENTS, &PROGRAM_PLACES, &PROGRAM_HISTORY_SINK,
    &PROGRAM_MODERATION, NULL};
static const struct program *const ASKED_BY_FANOUT[] = {&PROGRAM_ROUTER, &PROGRAM_FEED, NULL};

const struct program PROGRAM_INGEST = {
    .name = "starling-ingest", .uses = USES(INGEST), .follows = true, .peers = ASKED_BY_INGEST};
const struct program PROGRAM_FANOUT = {
    .name = "starling-fanout", .uses = USES(FANOUT), .member = true, .follows = true, .peers = ASKED_BY_FANOUT};

const struct program *const PROGRAMS[] = {&PROGRAM_INGEST,       &PROGRAM_ROUTER,     &PROGRAM_FANOUT,
                                          &PROGRAM_FEED,         &PROGRAM_COMMENTS,   &PROGRAM_PLACES,
                                          &PROGRAM_HISTORY_SINK, &PROGRAM_MODERATION, NULL};
