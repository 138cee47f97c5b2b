/* The kinds of things that owners keep of a user, and the questions that list them page by page. Gateways and the command export by
 * this table. Profiles and sharing are no kinds here: they are in everybody's copies. Pure; any thread. */
#pragma once

#include "json/scan.h"
#include "base/buffer.h"
#include "rpc/questions.h"

/* Whose processes answer. */
enum belonging_owner {
    BELONGS_TO_ROUTERS,
    BELONGS_TO_FEEDS,
    BELONGS_TO_MODERATION, /* each process knows all: any partition will do */
    BELONGS_TO_COMMENTS,   /* of all subjects: a kind of theirs lies in each of their partitions */
    BELONGS_TO_SINKS,
    BELONGS_TO_PLACES,
    BELONGING_OWNERS
};

struct belonging {
    const char *name; /* of the kind, as the export says it: of a-z and - */
    enum belonging_owner owner;
    const struct rpc_question *question;
    struct rpc_value narrowed; /* of the question, beside the user and the place of the page */
    enum rpc_arg cursor;       /* takes `next` of the page before */
};

extern const struct belonging BELONGINGS[];
extern const size_t BELONGINGS_COUNT;

const struct belonging *belonging_find(const char *name); /* NULL: there is no such kind */

/* Where a page begins. Zero-initialised: the kind's first one. */
struct belonging_place {
    int32_t partition;        /* of BELONGS_TO_COMMENTS; else 0 */
    struct json_bytes cursor; /* `next` of the owner's page before; size 0: the first page, there */
};

/* A place as a text ("3.72ab" of partition 3), which lends its bytes. partitions: of the owners. False: it is none. */
bool belonging_place_read(const struct belonging *kind, const struct json_bytes *text, int32_t partitions,
                          struct belonging_place *place);
/* Appends the place behind a page with that `next`; nothing: that was the last page of the kind. */
void belonging_place_put(struct buffer *out, const struct belonging *kind, int32_t partition, int32_t partitions,
                         const struct json_bytes *next);

/* The question for a page of up to `limit` items. */
void belonging_question(struct buffer *path, const struct belonging *kind, int64_t user, int64_t limit,
                        const struct belonging_place *place);

/* Finds items (with its brackets) and the cursor (without quotes; size 0: it is the last page) in an answer. False: it is none. */
bool belonging_page(const char *reply, size_t size, struct json_bytes *items, struct json_bytes *next);

/* A cursor that can stand in an address as it is; others are none of ours. */
bool belonging_cursor_plain(const struct json_bytes *cursor);
