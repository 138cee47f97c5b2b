/* Which program uses which topics and consumer groups, and for what. A daemon waits at its start for the topics that stand here.
 * lib/kafka has it read and write no others, so what `starling topics acls` makes of these tables is what the daemon needs.
 *
 * Pure data; any thread.
 */
#pragma once

#include "topics/topic.h"

struct program {
    const char *name; /* "starling-router" */
    struct topic_uses uses;
    bool member;       /* joins a consumer group of its own */
    bool transactions; /* writes in transactions, whose ids begin with the topics' prefix and the group's name */
    bool follows;      /* reads some topics outside of any group, at its start at least */
    const struct program *const
        *peers; /* whose groups it asks for their members; NULL-terminated. NULL: it asks none */
};

extern const struct program PROGRAM_INGEST, PROGRAM_ROUTER, PROGRAM_FANOUT, PROGRAM_FEED, PROGRAM_COMMENTS,
    PROGRAM_PLACES, PROGRAM_HISTORY_SINK, PROGRAM_MODERATION;

extern const struct program *const PROGRAMS[]; /* all daemons; NULL-terminated */
