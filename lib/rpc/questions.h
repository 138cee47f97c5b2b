/* The questions between daemons, each described once: how its path is written and read, whose owner is asked, and the ranges of its
 * arguments. The answers are described in feed/replies.h, comments/replies.h, router/peer.h, places/answers.h, history-sink/query.h and moderation/answers.h.
 *
 *     /peer/list/7?relation=following&limit=20&after=12        parts of the path, and arguments of the query
 *
 * Numbers are whole and from 0 on: a negative one is not written, and stands for one that is absent. Pure; any thread. */
#pragma once

#include "base/buffer.h"

/* Parts and arguments, and how a query names them. ONE and OTHER: of two users the lower one's owner is asked, whichever comes first. */
#define RPC_ARG_LIST(X)                                                                                                \
    X(USER, "user"), X(ONE, "one"), X(OTHER, "other"), X(POST, "post"), X(PARTITION, "partition"),                     \
        X(SUBJECT, "subject"), X(COMMENT, "comment"), X(LIMIT, "limit"), X(BEFORE, "before"), X(ABOVE, "above"),       \
        X(AFTER, "after"), X(FROM, "from"), X(TO, "to"), X(SINCE, "since"), X(OFFSET, "offset"),                       \
        X(WAIT_MS, "wait_ms"), X(KEY, "key"), X(HANDLE, "handle"), X(RELATION, "relation"), X(STATE, "state"),         \
        X(IDS, "ids"), X(AUTHORS, "authors"), X(SUBJECTS, "subjects"), X(HIDDEN, "hidden"), X(SORT, "sort"),           \
        X(FIRST, "replies"), X(AROUND, "around"), X(LIKES, "likes"), X(REPORTS, "reports"), X(WORDS, "text"),          \
        X(TYPE, "type"), X(REPORTED, "reported"), X(VERSION, "version"), X(EDITS, "edits"), X(READERS, "readers"),     \
        X(EXTERNAL, "external"), X(SESSION, "session"), X(LINK, "link"), X(PLACE, "place")
#define RPC_ENUMERATOR(name, text) RPC_##name
enum rpc_arg { RPC_END /* of a list */, RPC_ARG_LIST(RPC_ENUMERATOR), RPC_ARGS };
extern const char *const RPC_NAMES[RPC_ARGS];

enum {
    RPC_PARTS_MAX = 2,
    RPC_RULES_MAX = 10,
    RPC_IDS_MAX = 1100,
    RPC_KNOWN_MAX =
        400, /* users who are looked for in a list: 8 KB of a path, and as many chunks of the list at most */
    RPC_READERS_MAX = 250,
    RPC_PAGE_MAX = 1000 /* of routers and comments */
};

struct rpc_question {
    const char *what;                  /* is answered */
    const char *start;                 /* of the path, behind "/peer/" */
    enum rpc_arg parts[RPC_PARTS_MAX]; /* behind that; the first one is the key */
    struct rpc_rule {
        enum rpc_arg arg;
        enum { RPC_NUMBERS, RPC_TEXTS, RPC_PLAIN_TEXTS } kind; /* plain: written as it is */
        int64_t min, max;                                      /* of a text: bytes; min 1: it must be there */
        int64_t absent;                                        /* the number then; below min: it must be there */
    } rules[RPC_RULES_MAX];
};
extern const struct rpc_question ASK_FEED, ASK_OLDER, ASK_POSTS, ASK_WRITTEN, ASK_USER, ASK_LIST, ASK_HANDLE,
    ASK_HANDLES, ASK_NOTICES, ASK_RELATION, ASK_FOLLOWER, ASK_VISIBILITY, ASK_NOTICED, ASK_MAY, ASK_POSTED, ASK_GONE,
    ASK_EDITED, ASK_MODERATED, ASK_POST_EDITS, ASK_WISH, ASK_UNNAMED, ASK_SIGNED_IN, ASK_EXTERNALS,
    ASK_DEVICES; /* of feeds */
extern const struct rpc_question ASK_COMMENTS, ASK_REPLIES, ASK_COMMENT, ASK_LIKES, ASK_LIKERS, ASK_SUBJECT,
    ASK_OUTCOME, ASK_COUNTS, ASK_OF_USER, ASK_EDITS; /* of comments processes */
extern const struct rpc_question ASK_FRIENDS, ASK_FRIEND_IDS, ASK_FRIENDSHIP, ASK_REQUESTS, ASK_NEARBY, ASK_AUDIENCE,
    ASK_DISCOVER, ASK_LINKS, ASK_LINK;                                    /* of routers */
extern const struct rpc_question ASK_PLACES, ASK_PLACE, ASK_PLACE_EVENTS; /* of places processes */
extern const struct rpc_question ASK_HISTORY, ASK_WIPED, ASK_SEARCH, ASK_SEARCH_POSTS,
    ASK_REPORTED; /* of sinks, and of moderation */

/* All of them, by who answers; the last one's name is NULL. */
struct rpc_answerer {
    const char *name;
    const struct rpc_question *const *questions; /* to NULL */
};
extern const struct rpc_answerer RPC_ANSWERERS[];

struct rpc_value {
    enum rpc_arg arg;
    int64_t number;
    const char *text; /* NULL: the number counts; if a text is wanted and the number is 0, it is absent */
};
#define RPC_INT(name, value)                                                                                           \
    { .arg = RPC_##name, .number = (value) }
#define RPC_TEXT(name, value)                                                                                          \
    { .arg = RPC_##name, .text = (value) }
#define RPC_VALUES(...) ((const struct rpc_value[]){__VA_ARGS__, {.arg = RPC_END}})

const struct rpc_value *rpc_value(const struct rpc_value *values, enum rpc_arg arg); /* or the end */

/* Appends the path: its parts from the values, and the other values as arguments, in their order. */
void rpc_write(struct buffer *path, const struct rpc_question *question, const struct rpc_value *values);
char *rpc_path(const struct rpc_question *question, const struct rpc_value *values); /* the same; to be freed */
/* The path of a question about a command's outcome, once the command has an offset; to be freed. */
char *rpc_path_waiting(const char *path, int64_t offset, int64_t wait_ms);
