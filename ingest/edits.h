/* Edits of posts and of comments, as clients write and read them. Loop's thread. */
#pragma once

#include "ingest/call.h"
#include "ingest/client_text.h"
#include "ingest/text_checks.h"
#include "json/scan.h"
#include "users/profiles.h"

enum { EDITS_LIMIT_MAX = 100, EDITS_LIMIT_DEFAULT = 20 };

/* The body of a PUT: {text, version, reason?}. */
struct edit_wish {
    struct event_text text, reason;
    int64_t version; /* that is edited */
    struct mentions mentions;
};

struct edit_reader {
    size_t points_max; /* of the text */
    size_t reason_max;
    int64_t user;               /* who edits */
    struct text_filter *filter; /* as of struct text_check */
    struct peers *feeds;        /* and how many partitions they own */
    int32_t partitions;
    void *context;
    /* Once, perhaps at once; the wish is valid within. NULL: the request is answered. */
    void (*done)(void *context, const struct edit_wish *wish);
};

/* Reads the body, and asks whom the new text mentions. One that would have to wait for a moderator is refused. */
void edit_read(struct http_request *request, const struct edit_reader *reader);

/* Answers with the problem of an owner's refusal: old_version, edits or banned. */
void edit_refused(struct http_request *request, const char *refused);

/* Appends a page of versions: what the owner says, with the names of who wrote them. False: it is no such page, and what was appended is
 * to be thrown away. *author: of the post or comment. */
bool edits_put(struct buffer *body, struct json_bytes reply, struct profiles *profiles, int64_t *author);
