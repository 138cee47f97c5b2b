/* What the owners keep of a user, kind by kind, and the questions that list it page by page. Gateways and the command export by this
 * table. Profiles and sharing are no kinds here: they are in everybody's copies. Pure; any thread. */
#ifndef USERS_BELONGINGS_H
#define USERS_BELONGINGS_H

#include "json/scan.h"
#include "base/buffer.h"

/* Whose processes answer. */
enum belonging_owner {
    BELONGS_TO_ROUTERS,
    BELONGS_TO_FEEDS,
    BELONGS_TO_MODERATION, /* each process knows all: any partition will do */
    BELONGS_TO_COMMENTS,   /* of all subjects: no kind of the table is theirs */
    BELONGS_TO_SINKS,
    BELONGING_OWNERS
};

struct belonging {
    const char *name; /* of the kind, as the export says it: of a-z */
    enum belonging_owner owner;
    const char *before, *behind; /* the question's path, up to the user and from there on */
    const char *cursor;          /* the parameter that takes `next` of the page before */
};

extern const struct belonging BELONGINGS[];
extern const size_t BELONGINGS_COUNT;

const struct belonging *belonging_find(const char *name); /* NULL: there is no such kind */

/* The question for a page of up to `limit` items. cursor: `next` of the page before; size 0: the first page. */
void belonging_question(struct buffer *path, const struct belonging *kind, int64_t user, int64_t limit,
                        const struct json_bytes *cursor);

/* Finds items (with its brackets) and the cursor (without quotes; size 0: it is the last page) in an answer. False: it is none. */
bool belonging_page(const char *reply, size_t size, struct json_bytes *items, struct json_bytes *next);

/* A cursor that can stand in an address as it is; others are none of ours. */
bool belonging_cursor_plain(const struct json_bytes *cursor);

#endif
