#include "ingest/comments/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "base/text.h"
#include "ids/ids.h"
#include "ingest/comments/answers.h"
#include "ingest/comments/etag.h"
#include "ingest/comments/facts.h"
#include "ingest/edits.h"
#include "ingest/user_lists.h"
#include "users/user_json.h"

enum { LIMIT_MAX = 1000, LIMIT_DEFAULT = 20, REPLIES_MAX = 20, REPLIES_DEFAULT = 3 };
enum { AROUND_MAX = 100, CURSOR_MAX = 200 /* bytes */, LIKERS_TIMEOUT_MS = 3000 };

/* ---- the reader's own likes of the comments of an answer, asked of the subject's owner ---- */

enum { IDS_A_QUESTION = 250 /* 5 KB of a URL */, LIKES_TIMEOUT_MS = 500 };

struct likes_wish {
    const char *subject; /* copied */
    int64_t user;
    const struct shown_comments *shown; /* lives until done */
    void *context;
    /* Called once. liked: ids, rising; NULL: the owner did not answer. */
    void (*done)(void *context, const int64_t *liked, size_t count);
};

/* The questions go one after the other: most answers need one. */
struct likes_question {
    struct comments_gateway *gateway;
    struct likes_wish wish;
    char subject[SUBJECT_MAX + 1];
    size_t asked; /* of the answer's places */
    int64_t *liked;
    size_t count;
};

static void finish_likes(struct likes_question *question, bool good) {
    qsort(question->liked, question->count, sizeof *question->liked, sorted_order);
    question->wish.done(question->wish.context, good ? question->liked : NULL, question->count);
    free(question->liked);
    free(question);
}

static void ask_likes(struct likes_question *question);

/* Reads {"liked":[id, ...]}. */
static bool read_liked(struct likes_question *question, const char *reply, size_t size) {
    struct json_scan scan = json_scan_of(reply, size);
    struct json_bytes key, id;
    bool good = json_scan_object(&scan) && json_scan_member(&scan, &key) && json_bytes_are(&key, "liked");
    good = good && json_scan_array(&scan);
    while (good && json_scan_element(&scan) && question->count < question->wish.shown->count)
        good = json_scan_text(&scan, &id) && ids_parse(id.data, id.size, &question->liked[question->count++]);
    return good && !scan.bad;
}

static void likes_answered(void *context, int code, unsigned status, const char *text, size_t size) {
    struct likes_question *question = context;
    bool good = code == 0 && status == 200 && read_liked(question, text, size);
    if (good && question->asked < question->wish.shown->count)
        ask_likes(question);
    else
        finish_likes(question, good);
}

static void ask_likes(struct likes_question *question) {
    const struct comments_gateway *gateway = question->gateway;
    const struct shown_comments *shown = question->wish.shown;
    struct buffer ids = {0};
    for (size_t n = 0; n < IDS_A_QUESTION && question->asked < shown->count; n++) {
        if (n) buffer_byte(&ids, ',');
        text_int(&ids, shown->places[question->asked++].comment);
    }
    rpc_ask(gateway->owners, &ASK_LIKES,
            RPC_VALUES(RPC_TEXT(SUBJECT, question->subject), RPC_INT(USER, question->wish.user),
                       RPC_TEXT(IDS, buffer_cstring(&ids))),
            LIKES_TIMEOUT_MS, likes_answered, question);
    buffer_free(&ids);
}

static void likes_ask(struct comments_gateway *gateway, const struct likes_wish *wish) {
    struct likes_question *question = MEM_NEW(&(struct likes_question){
        .gateway = gateway, .wish = *wish, .liked = mem_alloc((wish->shown->count + 1) * sizeof *question->liked)});
    snprintf(question->subject, sizeof question->subject, "%s", wish->subject);
    question->wish.subject = NULL; // the caller's
    if (wish->shown->count)
        ask_likes(question);
    else
        finish_likes(question, true);
}

/* ---- pages ---- */

struct read_request {
    struct comments_gateway *gateway;
    struct http_request *request;
    char subject[SUBJECT_MAX + 1];
    char *path;       /* of the question to the subject's owner */
    int64_t user;     /* whose likes are wanted; -1: nobody's */
    int64_t reader;   /* -1: a service */
    int64_t *blocked; /* whom the reader has blocked */
    size_t blocked_count;
    enum shown_form form;   /* of the answer */
    bool tagged;            /* the answer has an ETag */
    struct page_copy *copy; /* NULL: not there yet */
    int64_t *liked;         /* of the answer's comments */
    size_t liked_count;
    bool likes_known;
};

static void read_free(struct read_request *asked) {
    if (asked->copy) page_copy_give(asked->copy);
    free(asked->blocked);
    free(asked->liked);
    free(asked->path);
    free(asked);
}

/* ---- answers ---- */

static void reply_tagged(const struct read_request *asked, const struct shown_reader *reader,
                         const struct buffer *body) {
    char tag[ETAG_SIZE];
    const struct shown_comments *shown = page_copy_answer(asked->copy);
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
static void seen_at_last(void *context, enum sight_answer answer) {
    struct read_request *asked = context;
    const struct shown_comments *shown = page_copy_answer(asked->copy);
    const struct shown_reader reader = {.liked = asked->liked,
                                        .liked_count = asked->liked_count,
                                        .blocked = asked->blocked,
                                        .blocked_count = asked->blocked_count};
    struct buffer body = {0};
    if (answer == SIGHT_YES) shown_comments_put(&body, shown, &reader);
    if (answer != SIGHT_YES)
        comments_unseen(asked->request, answer);
    else if (asked->tagged && shown->complete && (asked->likes_known || asked->user < 0))
        reply_tagged(asked, &reader, &body);
    else
        http_reply_json(asked->request, 200, &body);
    buffer_free(&body);
    read_free(asked);
}

static void reply_seen(struct read_request *asked) {
    comments_leave(asked->gateway, asked->subject, asked->reader, asked, seen_at_last);
}

static void liked_known(void *context, const int64_t *liked, size_t count) {
    struct read_request *asked = context;
    asked->likes_known = liked;
    if (liked) {
        asked->liked_count = count;
        asked->liked = mem_alloc((count + 1) * sizeof *liked);
        memcpy(asked->liked, liked, count * sizeof *liked);
    }
    reply_seen(asked);
}

static void reply_shown(struct read_request *asked) {
    const struct shown_reader reader = {.blocked = asked->blocked, .blocked_count = asked->blocked_count};
    if (shown_is_blocked(page_copy_answer(asked->copy), &reader)) {
        no_comment(asked->request);
        read_free(asked);
        return;
    }
    if (asked->user < 0) {
        reply_seen(asked);
        return;
    }
    likes_ask(asked->gateway, &(struct likes_wish){
                                  .subject = asked->subject,
                                  .user = asked->user,
                                  .shown = page_copy_answer(asked->copy),
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
                                               .form = asked->form,
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
    struct read_request *asked = MEM_NEW(wanted);
    asked->path = rpc_path(question, values);
    if (asked->reader >= 0)
        blocked_lists_ask(asked->gateway->blocked, asked->reader, asked, blocked_heard);
    else
        blocked_heard(asked, &(struct blocked_list){.known = true});
}

/* Fills what all have in common. False: the request is answered. */
static bool begin(struct comments_gateway *gateway, const struct call *call, const char *subject,
                  struct read_request *wanted) {
    const char *liked = http_query(call->request, "liked");
    *wanted =
        (struct read_request){.gateway = gateway, .request = call->request, .user = -1, .reader = call->claims.user};
    snprintf(wanted->subject, sizeof wanted->subject, "%s", subject);
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

static void page(struct comments_gateway *gateway, const struct call *call, const char *subject) {
    const char *sort = http_query(call->request, "sort"), *after;
    int64_t count = REPLIES_DEFAULT, limit;
    struct read_request wanted;
    if (!begin(gateway, call, subject, &wanted) || !call_query_range(call, "replies", 0, REPLIES_MAX, &count)) return;
    wanted.form = SHOWN_PAGE;
    wanted.tagged = true;
    if (sort && !is_sort(sort)) {
        http_problem(call->request, 400, "bad_query", "\"sort\" must be floor, newest or heat", 0);
        return;
    }
    if (!read_range(call, &limit, &after)) return;
    ask(&wanted, &ASK_COMMENTS,
        RPC_VALUES(RPC_TEXT(SUBJECT, wanted.subject), RPC_TEXT(SORT, sort ? sort : "floor"), RPC_INT(FIRST, count),
                   RPC_INT(LIMIT, limit), RPC_TEXT(AFTER, after)));
}

static void replies(struct comments_gateway *gateway, const struct call *call, const char *subject) {
    struct read_request wanted;
    int64_t limit;
    const char *after;
    if (!begin(gateway, call, subject, &wanted) || !read_range(call, &limit, &after)) return;
    wanted.form = SHOWN_REPLIES;
    ask(&wanted, &ASK_REPLIES,
        RPC_VALUES(RPC_TEXT(SUBJECT, wanted.subject), RPC_INT(COMMENT, call->values[2].id), RPC_INT(LIMIT, limit),
                   RPC_TEXT(AFTER, after)));
}

static void comment(struct comments_gateway *gateway, const struct call *call, const char *subject) {
    struct read_request wanted;
    int64_t around = -1;
    if (!begin(gateway, call, subject, &wanted) || !call_query_range(call, "around", 0, AROUND_MAX, &around)) return;
    wanted.form = around >= 0 ? SHOWN_AROUND : SHOWN_ONE;
    ask(&wanted, &ASK_COMMENT,
        RPC_VALUES(RPC_TEXT(SUBJECT, wanted.subject), RPC_INT(COMMENT, call->values[2].id),
                   RPC_INT(AROUND, around > 0 ? around : 0), RPC_INT(USER, call->claims.user)));
}

static void edits(struct comments_gateway *gateway, const struct call *call, const char *subject) {
    int64_t limit = EDITS_LIMIT_DEFAULT, after = -1;
    struct read_request wanted;
    if (!begin(gateway, call, subject, &wanted) || !call_query_range(call, "limit", 1, EDITS_LIMIT_MAX, &limit) ||
        !call_query_int(call, "after", &after))
        return;
    wanted.user = -1; // there are no likes in it
    wanted.form = SHOWN_EDITS;
    ask(&wanted, &ASK_EDITS,
        RPC_VALUES(RPC_TEXT(SUBJECT, wanted.subject), RPC_INT(COMMENT, call->values[2].id), RPC_INT(LIMIT, limit),
                   RPC_INT(USER, call->claims.user), RPC_INT(AFTER, after)));
}

/* ---- who likes a post ---- */

struct likers_request {
    struct comments_gateway *gateway;
    struct http_request *request;
    char subject[SUBJECT_MAX + 1];
    int64_t reader, limit, after;
    json_t *page; /* the owner's */
};

static void likers_free(struct likers_request *asked) {
    json_decref(asked->page);
    free(asked);
}

/* Readers do not see whom they have blocked. */
static void leave_out(json_t *items, const struct blocked_list *blocked) {
    for (size_t i = json_array_size(items); i-- > 0;) {
        int64_t user = json_integer_value(json_object_get(json_array_get(items, i), "user"));
        size_t place = sorted_below(blocked->users, blocked->count, user);
        if (place < blocked->count && blocked->users[place] == user) json_array_remove(items, i);
    }
}

static void likers_seen_at_last(void *context, enum sight_answer answer) {
    struct likers_request *asked = context;
    const struct comments_gateway *gateway = asked->gateway;
    if (answer == SIGHT_YES)
        user_list_show_page(&(struct user_list){.request = asked->request,
                                                .feeds = gateway->feeds,
                                                .profiles = user_copies_profiles(gateway->copies),
                                                .put_user = user_json_find},
                            json_incref(asked->page));
    else
        comments_unseen(asked->request, answer);
    likers_free(asked);
}

static void reply_likers(void *context, const struct blocked_list *blocked) {
    struct likers_request *asked = context;
    if (blocked->known) {
        leave_out(json_object_get(asked->page, "items"), blocked);
        comments_leave(asked->gateway, asked->subject, asked->reader, asked, likers_seen_at_last);
    } else {
        comments_owner_away(asked->request);
        likers_free(asked);
    }
}

static void likers_answered(void *context, int code, unsigned status, const char *text, size_t size) {
    struct likers_request *asked = context;
    asked->page = code == 0 && status == 200 ? json_parse(text, size, NULL) : NULL;
    if (asked->page && asked->reader >= 0) {
        blocked_lists_ask(asked->gateway->blocked, asked->reader, asked, reply_likers);
    } else if (asked->page) {
        reply_likers(asked, &(struct blocked_list){.known = true});
    } else {
        comments_owner_away(asked->request);
        likers_free(asked);
    }
}

static void likers_post_found(void *context, enum facts_outcome outcome, const struct facts *facts) {
    struct likers_request *asked = context;
    (void)facts;
    if (outcome == FACTS_KNOWN) {
        rpc_ask(
            asked->gateway->owners, &ASK_LIKERS,
            RPC_VALUES(RPC_TEXT(SUBJECT, asked->subject), RPC_INT(LIMIT, asked->limit), RPC_INT(AFTER, asked->after)),
            LIKERS_TIMEOUT_MS, likers_answered, asked);
        return;
    }
    if (outcome == FACTS_NO_POST)
        comment_refused(asked->request, "no_post", ANSWER_LIKES, 0);
    else
        comments_owner_away(asked->request);
    likers_free(asked);
}

static void likers(struct comments_gateway *gateway, const struct call *call, const char *subject) {
    int64_t after = -1, limit = LIMIT_DEFAULT;
    if (!call_query_int(call, "after", &after) || !call_query_range(call, "limit", 1, LIMIT_MAX, &limit)) return;
    struct likers_request *asked = MEM_NEW(&(struct likers_request){
        .gateway = gateway, .request = call->request, .reader = call->claims.user, .limit = limit, .after = after});
    snprintf(asked->subject, sizeof asked->subject, "%s", subject);
    facts_ask(gateway, &(struct facts_wish){.subject = asked->subject,
                                            .authors_only = true,
                                            .there_only = true,
                                            .context = asked,
                                            .done = likers_post_found});
}

static void get_page(void *state, const struct call *call) { comments_enter(state, call, page); }
static void get_replies(void *state, const struct call *call) { comments_enter(state, call, replies); }
static void get_comment(void *state, const struct call *call) { comments_enter(state, call, comment); }
static void get_edits(void *state, const struct call *call) { comments_enter(state, call, edits); }
static void get_likers(void *state, const struct call *call) { comments_enter_post(state, call, likers); }

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/posts/{id:id}/likes", get_likers, NEEDS_TOKEN},
    {"GET", "/v1/comments/{type:text}/{id:text}", get_page, NEEDS_TOKEN},
    {"GET", "/v1/comments/{type:text}/{id:text}/{comment:id}", get_comment, NEEDS_TOKEN},
    {"GET", "/v1/comments/{type:text}/{id:text}/{comment:id}/replies", get_replies, NEEDS_TOKEN},
    {"GET", "/v1/comments/{type:text}/{id:text}/{comment:id}/answers", get_replies, NEEDS_TOKEN},
    {"GET", "/v1/comments/{type:text}/{id:text}/{comment:id}/edits", get_edits, NEEDS_TOKEN},
};
const struct endpoint_list COMMENT_PAGES_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
