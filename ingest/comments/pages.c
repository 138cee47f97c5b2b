#include "ingest/comments/parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/mem.h"
#include "ingest/comments/etag.h"
#include "ingest/comments/likes.h"

enum { LIMIT_MAX = 1000, LIMIT_DEFAULT = 20, REPLIES_MAX = 20, REPLIES_DEFAULT = 3 };
enum { AROUND_MAX = 100, CURSOR_MAX = 200 /* bytes */ };

struct read_request {
    struct comments_gateway *gateway;
    struct http_request *request;
    char subject[SUBJECT_MAX + 1];
    char *path;       /* of the question to the subject's owner */
    int64_t user;     /* whose likes are wanted; -1: nobody's */
    int64_t reader;   /* -1: a service */
    int64_t *blocked; /* whom the reader has blocked */
    size_t blocked_count;
    /* Makes an answer of the owner's. */
    bool (*show)(struct shown_comments *shown, struct json_bytes reply, const struct comment_names *names);
    bool tagged;            /* the answer has an ETag */
    struct page_copy *copy; /* NULL: not there yet */
};

static void read_free(struct read_request *asked) {
    if (asked->copy) page_copy_give(asked->copy);
    free(asked->blocked);
    free(asked->path);
    free(asked);
}

/* ---- answers ---- */

static void reply_tagged(const struct read_request *asked, const struct shown_reader *reader,
                         const struct buffer *body) {
    char tag[ETAG_SIZE];
    const struct shown_comments *shown = page_copy_shown(asked->copy);
    etag_of(shown->version, shown->counters, asked->user, shown_left_out(shown, reader), tag);
    const struct http_field fields[] = {{"Cache-Control", "private, no-cache"}, {"ETag", tag}};
    if (http_tag_matches(http_header(asked->request, "If-None-Match"), tag))
        http_reply(asked->request, 304, NULL, NULL, 0, fields, ARRAY_SIZE(fields));
    else
        http_reply(asked->request, 200, "application/json", body->data, body->size, fields, ARRAY_SIZE(fields));
}

static void no_comment(struct http_request *request) {
    http_problem(request, 404, "no_comment", "there is no such comment under this subject", 0);
}

/* A page without likes that were wanted, or without a text, is not to be kept. */
static void liked_known(void *context, const int64_t *liked, size_t count) {
    struct read_request *asked = context;
    const struct shown_comments *shown = page_copy_shown(asked->copy);
    const struct shown_reader reader = {
        .liked = liked, .liked_count = count, .blocked = asked->blocked, .blocked_count = asked->blocked_count};
    struct buffer body = {0};
    shown_comments_put(&body, shown, &reader);
    if (asked->tagged && shown->complete && (liked || asked->user < 0))
        reply_tagged(asked, &reader, &body);
    else
        http_reply_json(asked->request, 200, &body);
    buffer_free(&body);
    read_free(asked);
}

static void reply_shown(struct read_request *asked) {
    const struct shown_reader reader = {.blocked = asked->blocked, .blocked_count = asked->blocked_count};
    if (shown_is_blocked(page_copy_shown(asked->copy), &reader)) {
        no_comment(asked->request);
        read_free(asked);
        return;
    }
    if (asked->user < 0) {
        liked_known(asked, NULL, 0);
        return;
    }
    likes_ask(asked->gateway, &(struct likes_wish){
                                  .subject = asked->subject,
                                  .user = asked->user,
                                  .shown = page_copy_shown(asked->copy),
                                  .context = asked,
                                  .done = liked_known,
                              });
}

static void answered(void *context, unsigned status, struct page_copy *copy) {
    struct read_request *asked = context;
    asked->copy = copy;
    if (copy) {
        reply_shown(asked);
        return;
    }
    if (status == 404)
        no_comment(asked->request);
    else if (status == 400)
        http_problem(asked->request, 400, "wrong_cursor", "\"after\" must be the `next` of a page of the same list", 0);
    else
        comments_owner_away(asked->request);
    read_free(asked);
}

/* ---- questions ---- */

static void ask_for_page(struct read_request *asked) {
    page_copies_ask(asked->gateway->pages, &(struct page_wish){
                                               .subject = asked->subject,
                                               .path = asked->path,
                                               .show = asked->show,
                                               .context = asked,
                                               .done = answered,
                                           });
}

static void blocked_heard(void *context, const struct blocked_list *list) {
    struct read_request *asked = context;
    if (!list->known) { /* nobody sees somebody whom he may have blocked */
        comments_owner_away(asked->request);
        read_free(asked);
        return;
    }
    asked->blocked_count = list->count;
    if (list->count) {
        asked->blocked = mem_alloc(list->count * sizeof *asked->blocked);
        memcpy(asked->blocked, list->users, list->count * sizeof *asked->blocked);
    }
    ask_for_page(asked);
}

/* Asks the owner of the subject; and before that, whom the reader has blocked. */
static void ask(const struct read_request *wanted, const struct rpc_question *question,
                const struct rpc_value *values) {
    struct read_request *asked = mem_alloc(sizeof *asked);
    *asked = *wanted;
    asked->path = rpc_path(question, values);
    if (asked->reader >= 0)
        blocked_lists_ask(asked->gateway->blocked, asked->reader, asked, blocked_heard);
    else
        blocked_heard(asked, &(struct blocked_list){.known = true});
}

/* Fills what all have in common. False: the request is answered. */
static bool begin(struct comments_gateway *gateway, const struct call *call, struct read_request *wanted) {
    const char *liked = http_query(call->request, "liked");
    *wanted =
        (struct read_request){.gateway = gateway, .request = call->request, .user = -1, .reader = call->claims.user};
    if (!comments_subject(call, wanted->subject)) return false;
    if (liked && strcmp(liked, "true") != 0 && strcmp(liked, "false") != 0) {
        http_problem(call->request, 400, "bad_query", "\"liked\" must be true or false", 0);
        return false;
    }
    if (liked && strcmp(liked, "true") == 0) wanted->user = call->claims.user;
    return true;
}

/* False: the request is answered. */
static bool read_range(const struct call *call, int64_t *limit, const char **after) {
    *after = http_query(call->request, "after");
    *limit = LIMIT_DEFAULT;
    if (!call_query_range(call, "limit", 1, LIMIT_MAX, limit)) return false;
    if (!*after || (**after && strlen(*after) <= CURSOR_MAX)) return true;
    http_problem(call->request, 400, "wrong_cursor", "\"after\" must be the `next` of a page of the same list", 0);
    return false;
}

static bool is_sort(const char *sort) {
    return strcmp(sort, "floor") == 0 || strcmp(sort, "newest") == 0 || strcmp(sort, "heat") == 0;
}

static void get_page(void *state, const struct call *call) {
    const char *sort = http_query(call->request, "sort"), *after;
    int64_t replies = REPLIES_DEFAULT, limit;
    struct read_request wanted;
    if (!begin(state, call, &wanted) || !call_query_range(call, "replies", 0, REPLIES_MAX, &replies)) return;
    wanted.show = shown_page;
    wanted.tagged = true;
    if (sort && !is_sort(sort)) {
        http_problem(call->request, 400, "bad_query", "\"sort\" must be floor, newest or heat", 0);
        return;
    }
    if (!read_range(call, &limit, &after)) return;
    ask(&wanted, &ASK_COMMENTS,
        RPC_VALUES(RPC_TEXT(SUBJECT, wanted.subject), RPC_TEXT(SORT, sort ? sort : "floor"), RPC_INT(FIRST, replies),
                   RPC_INT(LIMIT, limit), RPC_TEXT(AFTER, after)));
}

static void get_replies(void *state, const struct call *call) {
    struct read_request wanted;
    int64_t limit;
    const char *after;
    if (!begin(state, call, &wanted) || !read_range(call, &limit, &after)) return;
    wanted.show = shown_replies;
    ask(&wanted, &ASK_REPLIES,
        RPC_VALUES(RPC_TEXT(SUBJECT, wanted.subject), RPC_INT(COMMENT, call->values[2].id), RPC_INT(LIMIT, limit),
                   RPC_TEXT(AFTER, after)));
}

static void get_comment(void *state, const struct call *call) {
    struct read_request wanted;
    int64_t around = -1;
    if (!begin(state, call, &wanted) || !call_query_range(call, "around", 0, AROUND_MAX, &around)) return;
    wanted.show = around >= 0 ? shown_around : shown_one;
    ask(&wanted, &ASK_COMMENT,
        RPC_VALUES(RPC_TEXT(SUBJECT, wanted.subject), RPC_INT(COMMENT, call->values[2].id),
                   RPC_INT(AROUND, around > 0 ? around : 0), RPC_INT(USER, call->claims.user)));
}

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/comments/{type:text}/{id:text}", get_page, NEEDS_TOKEN},
    {"GET", "/v1/comments/{type:text}/{id:text}/{comment:id}", get_comment, NEEDS_TOKEN},
    {"GET", "/v1/comments/{type:text}/{id:text}/{comment:id}/replies", get_replies, NEEDS_TOKEN},
};
const struct endpoint_list COMMENT_PAGES_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
