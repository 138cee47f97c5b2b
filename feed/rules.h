/* The rules by which commands of the feed are decided. Pure; any thread. */
#pragma once

#include "event/codec.h"
#include "feed/relations.h"

/* NULL: the command may be decided. Else why it is a dead letter: not two different users, an id or a text out of range, invalid
 * UTF-8 or a NUL, more than ten mentions, more than four media, or a medium whose address is no http:// or https:// one. */
const char *follow_command_complaint(const struct follow_command *command);
const char *follower_command_complaint(const struct follower_command *command);
const char *post_command_complaint(const struct post_command *command);
const char *notice_command_complaint(const struct notice_command *command);

/* Whether a reader may see an author's posts: the one predicate. */
struct sight_now {
    bool own;           /* the reader is the author */
    bool for_followers; /* the author's posts are; else they are for everybody */
    bool follows, blocked;
};
static inline bool sight_decide(const struct sight_now *now) {
    return now->own || (!now->blocked && (!now->for_followers || now->follows));
}

/* A follower command makes this of an author and a reader. */
struct follower_now {
    bool follows, requested; /* the reader follows the author, or has asked to */
    bool blocked;            /* one of the two has blocked the other */
    bool for_followers;      /* the author's posts are */
    size_t requests;         /* to the author, all together */
    int64_t
        since; /* the time of the record of the follow or the request in Kafka, ms; 0: not known, it is a day old or more */
};
enum follower_verdict {
    FOLLOWER_NOTHING,  /* it is so already, whatever else would be refused */
    FOLLOWER_FOLLOWS,  /* write both halves of the follow, and end those of a request */
    FOLLOWER_REQUESTS, /* write both halves of a request */
    FOLLOWER_ENDS,     /* write tombstones of whichever there are */
    FOLLOWER_BLOCKED,  /* refused */
    FOLLOWER_FULL,     /* refused: feed.following.max */
    FOLLOWER_CROWDED   /* refused: FOLLOWER_REQUESTS_MAX */
};
enum { FOLLOWER_REQUESTS_MAX = 1000 /* of an author */ };

/* Of ASK, END and ACCEPT. The end of a follow that a block has caused may be decided long after, and more than once: the follow may have
 * been made anew since the block was lifted. Both times are the servers' clocks. A follow that is younger than the block by error is
 * harmless where the block still stands, as it ends then all the same. */
enum follower_verdict follower_decide(const struct follower_command *command, const struct follower_now *now,
                                      size_t following_max);

/* A post command makes this of a post. */
enum post_verdict { POST_NOTHING, POST_MAKE, POST_REMOVE, POST_FORGET, POST_EDIT, POST_HIDE, POST_SHOW };
struct post_now {
    bool exists;     /* POST: a post with this author and key; else: this post of this author */
    bool banned;     /* the author may write nothing now, and this is the author's own command */
    int64_t deleted; /* 0: it is live */
    bool hidden;     /* by a moderator, or held for one */
    bool held;
    bool moderator;        /* the command is one */
    int64_t version, read; /* EDIT: of its text, and the one that the command edits */
};
enum { POST_KEPT_MS = 86400000 }; /* a deleted post may be asked for that long */
enum post_verdict post_decide(enum post_command_kind kind, const struct post_now *now, int64_t now_ms);
