/* Facts that the decision about a new comment or a like needs of others, asked of their owners before the command is written.
 *
 *     the subject (comments)   the post's author (feed)   the authors of the comment that it is about (comments)    at once
 *                                      v
 *     blocks and friendship with all (routers), and whether the user follows the owner (feed)                       at once
 *                                      v
 *     the facts; or some owner is away, or there is no such post or comment
 *
 * Only what matters is asked: nothing about oneself, follows only where followers alone may write, of a post that is liked its author alone.
 * The facts known of a subject count for two seconds without a question, but not for a like: a deleted post is not liked. A comments process that does not answer holds few up: its decision may come later, so what is
 * known of the subject counts, however old, and a post's author owns the post. It is FACTS_AWAY only where the
 * subject is no post and its owner is not known, or the author of the answered comment is not known. Loop's thread. */
#pragma once

#include "ingest/comments/parts.h"

struct facts {
    int64_t owner; /* of the subject; -1: nobody has registered it */
    bool follows, friends, blocked;
    enum comment_command_who who_may; /* the rule that the follows were asked by, or not; comments/rules.h */
};

enum facts_outcome {
    FACTS_KNOWN,
    FACTS_AWAY,       /* an owner did not answer */
    FACTS_NO_POST,    /* the subject is a post that there is not */
    FACTS_NO_COMMENT, /* there is no comment to be answered */
    FACTS_STOPPING    /* the gateway ends, and nothing more may be asked or written */
};

struct facts_wish {
    const char *subject; /* copied */
    int64_t user;
    int64_t about;     /* the comment that is answered or liked; 0: none, or the post itself is liked */
    bool authors_only; /* only blocks between the user and its authors matter: its own, and its root's, or the post's */
    bool there_only;   /* with authors_only: not even these, but whether the post is there */
    void *context;
    void (*done)(void *context, enum facts_outcome outcome, const struct facts *facts); /* once */
};

void facts_ask(struct comments_gateway *gateway, const struct facts_wish *wish);
