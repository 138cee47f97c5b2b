/* The rules by which commands of the feed are decided. Pure; any thread. */
#pragma once

#include "event/codec.h"
#include "feed/relations.h"

/* NULL: the command may be decided. Else why it is a dead letter: not two different users, an id or a text out of range, invalid
 * UTF-8 or a NUL, more than ten mentions, more than four media, or a medium whose address is no http:// or https:// one. */
const char *follow_command_complaint(const struct follow_command *command);
const char *post_command_complaint(const struct post_command *command);

/* A follow command makes this of the user's relation to the other. */
struct relation_now {
    bool set;         /* follows, or mutes: whichever the command is about */
    bool blocked;     /* one of the two has blocked the other */
    size_t following; /* whom the user follows, all together */
    int64_t since;    /* the time of its record in Kafka, ms; 0: not known, it is a day old or more */
};
enum follow_verdict {
    FOLLOW_NOTHING, /* it is so already, whatever else would be refused */
    FOLLOW_SET,     /* write the half, and for a follow its mirror */
    FOLLOW_CLEAR,   /* write tombstones */
    FOLLOW_BLOCKED, /* refused */
    FOLLOW_FULL     /* refused: feed.following.max */
};
/* The end of a follow that a block has caused may be decided long after, and more than once: the follow may have been made anew since
 * the block was lifted. Both times are the servers' clocks. A follow that is younger than the block by error is harmless where the
 * block still stands, as it ends then all the same. */
enum follow_verdict follow_decide(const struct follow_command *command, const struct relation_now *now,
                                  size_t following_max);

static inline enum relation follow_relation(enum follow_command_kind kind) {
    return kind == FOLLOW_COMMAND_MUTE || kind == FOLLOW_COMMAND_UNMUTE ? RELATION_MUTED : RELATION_FOLLOWING;
}

/* A post command makes this of a post. */
enum post_verdict { POST_NOTHING, POST_MAKE, POST_REMOVE, POST_FORGET, POST_EDIT };
struct post_now {
    bool exists;           /* POST: a post with this author and key; else: this post of this author */
    int64_t deleted;       /* 0: it is live */
    int64_t version, read; /* EDIT: of its text, and the one that the command edits */
};
enum { POST_KEPT_MS = 86400000 }; /* a deleted post may be asked for that long */
enum post_verdict post_decide(enum post_command_kind kind, const struct post_now *now, int64_t now_ms);
