#include "event/kinds.h"

#include "event/codec.h"
#include "event/topics.h"

const struct event_kinds EVENT_KINDS[] = {
    {&TOPIC_LOCATIONS, {"location"}},
    {&TOPIC_FRIEND_COMMANDS, {"friend-command"}},
    {&TOPIC_FRIENDSHIPS, {"friendship"}},
    {&TOPIC_PROFILES, {"profile"}},
    {&TOPIC_SHARING, {"sharing"}},
    {&TOPIC_NEARBY_MUTES, {"nearby-mute"}},
    {&TOPIC_DELIVERIES, {"delivery-batch"}},
    {&TOPIC_COMMAND_OFFSETS, {"command-offset"}},
    {&TOPIC_FOLLOW_COMMANDS, {"follow-command"}},
    {&TOPIC_FOLLOWS, {"follow"}},
    {&TOPIC_FOLLOW_REFUSALS, {"follow-refusal"}},
    {&TOPIC_POST_COMMANDS, {"post-command"}},
    {&TOPIC_POSTS, {"post"}},
    {&TOPIC_POST_TEXTS, {"post-text"}},
    {&TOPIC_FEED_OFFSETS, {"command-offset"}},
    {&TOPIC_TIMELINES, {"delivery-batch"}},
    {&TOPIC_TIMELINE_REQUESTS, {"delivery-batch"}},
    {&TOPIC_HOT_POSTS, {"delivery-batch"}},
    {&TOPIC_NAME_COMMANDS, {"name-command"}},
    {&TOPIC_NAMES, {"user-name", "handle-user"}},
    {&TOPIC_NOTICES, {"notice"}},
    {&TOPIC_FEED_WATCHES, {"watch", "roll-call"}},
    {&TOPIC_COMMENT_COMMANDS, {"comment-command"}},
    {&TOPIC_COMMENTS, {"comment-subject", "comment"}},
    {&TOPIC_COMMENT_TEXTS, {"comment-text"}},
    {&TOPIC_REACTIONS, {"comment-reaction"}},
    {&TOPIC_COMMENT_REFUSALS, {"comment-refusal"}},
    {&TOPIC_COMMENT_OFFSETS, {"command-offset"}},
    {&TOPIC_BANS, {"comment-ban"}},
    {&TOPIC_MODERATION_LOG, {"moderation-entry"}},
    {&TOPIC_COMMENTS_WIDE, {"comment-wide"}},
    {&TOPIC_AUDIT, {"audit-entry"}},
    {&TOPIC_COMMENT_WATCHES, {"watch", "roll-call"}},
    {&TOPIC_ERASURES, {NULL}}, // the key says everything
    {NULL, {NULL}},
};

const struct event_schema *event_schema_at(size_t index) {
    return index < EVENT_SCHEMAS ? &event_schemas[index] : NULL;
}
