/* Edits of posts: PUT of a new text, and the list of its versions. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/mem.h"
#include "edits/edits.h"
#include "edits/encode.h"
#include "event/topics.h"
#include "ids/ids.h"
#include "ingest/edits.h"
#include "ingest/feed/post_body.h"
#include "ingest/feed/post_request.h"

enum { PEER_TIMEOUT_MS = 3000 };

/* An edit from the outcome's question to its answer. */
struct edited_post {
    struct feed_gateway *gateway;
    int64_t id, author, editor;
    bool moderates;
};

static void edited(void *context, struct http_request *request, unsigned status, const json_t *reply,
                   struct json_bytes text) {
    const struct edited_post *edit = context;
    const char *refused = json_string_value(json_object_get(reply, "refused"));
    if (edit->gateway->texts) texts_forget(edit->gateway->texts, edit->id);
    shared_answers_forget(edit->gateway->shared, SHARED_POST, edit->id);
    shared_answers_forget(edit->gateway->shared, SHARED_USER, edit->author);
    if (status == 404) {
        post_none(request);
    } else if (status != 200) {
        http_reply_format(request, 202, "{\"state\":\"pending\"}");
    } else if (refused) {
        edit_refused(request, refused);
    } else {
        post_show(edit->gateway, request, &(struct post_reader){edit->editor, edit->moderates}, 200,
                  json_deep_copy(json_object_get(reply, "post")));
    }
}

static void write_edit(const struct post_request *asked, int64_t author, const struct edit_wish *wish) {
    const struct post_command command = {
        .kind = POST_COMMAND_EDIT,
        .user = author,
        .id = asked->id,
        .text = wish->text,
        .time = clock_wall_ms(),
        .mentions = {.items = wish->mentions.users, .count = wish->mentions.count},
        .version = wish->version,
        .editor = author == asked->claims.user ? -1 : asked->claims.user,
        .reason = wish->reason,
    };
    struct buffer record = {0};
    struct edited_post *edit = mem_alloc(sizeof *edit);
    *edit = (struct edited_post){asked->gateway, asked->id, author, asked->claims.user, asked->claims.moderator};
    edit_encode_post_command(&record, &command);
    char mark[EDIT_MARK_SIZE];
    edit_mark(command.editor, &command.text, mark);
    const struct rpc_value *values = RPC_VALUES(RPC_INT(USER, author), RPC_INT(POST, asked->id),
                                                RPC_INT(VERSION, wish->version), RPC_TEXT(KEY, mark));
    feed_write_start(asked->gateway, &(struct command_write){
                                         .request = asked->request,
                                         .topic = &TOPIC_POST_COMMANDS,
                                         .user = author,
                                         .record = &record,
                                         .question = rpc_path(&ASK_EDITED, values),
                                         .answer = edited,
                                         .context = edit,
                                     });
    buffer_free(&record);
}

static void edit_is_read(void *context, const struct edit_wish *wish) {
    struct post_request *asked = context;
    int64_t author;
    if (wish && json_want_int(asked->post, "user", 0, INT64_MAX, &author, NULL))
        feed_owner_away(asked->request);
    else if (wish)
        write_edit(asked, author, wish);
    json_decref(asked->post);
    free(asked);
}

static void edit_found(struct post_request *asked, json_t *post) {
    struct feed_gateway *gateway = asked->gateway;
    int64_t author;
    if (json_is_null(post)) {
        post_none(asked->request);
    } else if (json_want_int(post, "user", 0, INT64_MAX, &author, NULL)) {
        feed_owner_away(asked->request);
    } else if (author != asked->claims.user && !asked->claims.moderator) {
        post_not_yours(asked->request);
    } else {
        asked->post = json_incref(post);
        edit_read(asked->request, &(struct edit_reader){.points_max = POST_BODY_POINTS_MAX,
                                                        .reason_max = POST_BODY_REASON_MAX,
                                                        .user = asked->claims.user,
                                                        .filter = asked->claims.moderator ? NULL : gateway->filter,
                                                        .feeds = gateway->owners,
                                                        .partitions = gateway->partitions,
                                                        .context = asked,
                                                        .done = edit_is_read});
        return;
    }
    free(asked);
}

/* A moderator edits as one, whoever may see the post. */
static void put_post(void *state, const struct call *call) {
    if (call->claims.moderator)
        post_find(post_request_new(state, call, edit_found));
    else
        post_ask(state, call, edit_found);
}

/* The list, until it is known whether the reader may still see it. */
struct shown_edits {
    struct http_request *request;
    struct buffer body;
};

static void seen_at_last(void *context, enum sight_answer answer) {
    struct shown_edits *shown = context;
    if (answer == SIGHT_YES)
        http_reply_json(shown->request, 200, &shown->body);
    else if (answer == SIGHT_AWAY)
        feed_owner_away(shown->request);
    else
        post_none(shown->request);
    buffer_free(&shown->body);
    free(shown);
}

static void edits_found(void *context, int code, unsigned status, const char *text, size_t size) {
    struct post_request *asked = context;
    const struct feed_gateway *gateway = asked->gateway;
    struct buffer body = {0};
    int64_t author;
    if (code == 0 && status == 404) {
        post_none(asked->request);
    } else if (code == 0 && status == 200 &&
               edits_put(&body, (struct json_bytes){text, size}, user_copies_profiles(gateway->copies), &author)) {
        struct shown_edits *shown = MEM_NEW(&(struct shown_edits){asked->request, body});
        body = (struct buffer){0};
        sights_ask(gateway->sights,
                   &(struct sights_wish){
                       .reader = asked->claims.user, .author = author, .context = shown, .done = seen_at_last});
    } else {
        feed_owner_away(asked->request);
    }
    buffer_free(&body);
    free(asked);
}

static void no_edits(struct post_request *asked, json_t *post) {
    (void)post;
    post_none(asked->request);
    free(asked);
}

static void ask_edits(struct post_request *asked) {
    int64_t limit = EDITS_LIMIT_DEFAULT, after = -1;
    const struct call call = {.request = asked->request};
    if (!call_query_range(&call, "limit", 1, EDITS_LIMIT_MAX, &limit) || !call_query_int(&call, "after", &after)) {
        free(asked);
        return;
    }
    rpc_ask(asked->gateway->owners, &ASK_POST_EDITS,
            RPC_VALUES(RPC_INT(PARTITION, ids_partition(asked->id)), RPC_INT(POST, asked->id), RPC_INT(LIMIT, limit),
                       RPC_INT(AFTER, after)),
            PEER_TIMEOUT_MS, edits_found, asked);
}

static void get_edits(void *state, const struct call *call) { post_ask_may(state, call, ask_edits, no_edits); }

static const struct endpoint ENDPOINTS[] = {
    {"PUT", "/v1/posts/{id:id}", put_post, NEEDS_USER},
    {"GET", "/v1/posts/{id:id}/edits", get_edits, NEEDS_TOKEN},
};
const struct endpoint_list POST_EDITS_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
