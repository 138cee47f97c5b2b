#include "ingest/feed/post_request.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/mem.h"
#include "edits/encode.h"
#include "event/topics.h"
#include "ids/ids.h"
#include "ingest/client_text.h"
#include "ingest/edits.h"
#include "ingest/feed/post_body.h"
#include "ingest/post_thread.h"
#include "ingest/text_checks.h"
#include "posts/post_json.h"

enum { PEER_TIMEOUT_MS = 3000 };

/* A post on its way to the caller, while it is asked how many comments and likes it has. */
struct shown_post {
    struct feed_gateway *gateway;
    struct http_request *request;
    int64_t reader;
    bool moderates;  /* the reader may see it as a moderator */
    unsigned status; /* of the answer */
    json_t *post;    /* as its owner says it */
};

static void shown_free(struct shown_post *shown) {
    json_decref(shown->post);
    free(shown);
}

static void reply_shown(struct shown_post *shown) {
    struct buffer body = {0};
    if (post_put(&body, shown->post, shown->moderates ? NULL : shown->gateway->sights, shown->reader,
                 user_copies_profiles(shown->gateway->copies))) {
        comment_counts_put(shown->gateway->counts, post_id(shown->post), shown->reader, &body);
        http_reply_json(shown->request, shown->status, &body);
    } else { // its text is not read yet
        shared_answers_forget(shown->gateway->shared, SHARED_POST, post_id(shown->post));
        feed_owner_away(shown->request);
    }
    buffer_free(&body);
    shown_free(shown);
}

static void seen_at_last(void *context, enum sight_answer answer) {
    struct shown_post *shown = context;
    if (answer == SIGHT_YES) {
        reply_shown(shown);
        return;
    }
    if (answer == SIGHT_AWAY)
        feed_owner_away(shown->request);
    else
        post_none(shown->request);
    shown_free(shown);
}

/* The permission that the reader had at first may be over by now. */
static void counted(void *context) {
    struct shown_post *shown = context;
    int64_t author;
    if (shown->moderates || json_want_int(shown->post, "user", 0, INT64_MAX, &author, NULL))
        reply_shown(shown);
    else
        sights_ask(
            shown->gateway->sights,
            &(struct sights_wish){.reader = shown->reader, .author = author, .context = shown, .done = seen_at_last});
}

void post_show(struct feed_gateway *gateway, struct http_request *request, const struct post_reader *reader,
               unsigned status, json_t *post) {
    struct shown_post *shown = MEM_NEW(&(struct shown_post){.gateway = gateway,
                                                            .request = request,
                                                            .reader = reader->user,
                                                            .moderates = reader->moderates,
                                                            .status = status,
                                                            .post = post});
    int64_t id = post_id(post);
    comment_counts_ask(gateway->counts, &id, 1, reader->user, shown, counted);
}

void post_none(struct http_request *request) { http_problem(request, 404, "no_post", "there is no such post", 0); }

/* ---- new ones ---- */

/* A post from the request to the answer. object: the client's JSON, until the command is written; the body points into it. */
struct new_post {
    struct feed_gateway *gateway;
    struct http_request *request;
    json_t *object;
    struct post_body body;
    int64_t user;
    char key[CLIENT_KEY_MAX + 1];
};

/* The key says by which repeated request the outcome may be asked for. */
static void reply_undecided(struct http_request *request, const char *key) {
    struct buffer body = {0};
    buffer_string(&body, "{\"key\":");
    json_put_text(&body, key, strlen(key));
    buffer_byte(&body, '}');
    http_reply_json(request, 202, &body);
    buffer_free(&body);
}

static void posted(void *context, struct http_request *request, unsigned status, const json_t *reply,
                   struct json_bytes text) {
    struct new_post *new_post = context;
    shared_answers_forget(new_post->gateway->shared, SHARED_USER, new_post->user);
    const char *refused = json_string_value(json_object_get(reply, "refused"));
    if (status == 200 && refused)
        edit_refused(request, refused);
    else if (status == 200)
        post_show(new_post->gateway, request, &(struct post_reader){.user = new_post->user}, 201,
                  json_deep_copy(reply));
    else if (status == 404)
        http_problem(request, 409, "post_deleted", "the post that this key made was deleted, or is hidden", 0);
    else
        reply_undecided(request, new_post->key);
}

static void write_post(struct new_post *new_post, const struct text_facts *facts) {
    struct post_body *body = &new_post->body;
    struct post_command command = {
        .kind = POST_COMMAND_POST,
        .user = new_post->user,
        .key = {.data = new_post->key, .size = strlen(new_post->key)},
        .text = body->text,
        .media = {.items = body->media, .count = body->media_count},
        .time = clock_wall_ms(),
        .mentions = {.items = facts->mentions.users, .count = facts->mentions.count},
        .editor = -1,
        .held = facts->held,
    };
    struct buffer record = {0};
    const struct rpc_value *values = RPC_VALUES(RPC_INT(USER, command.user), RPC_TEXT(KEY, new_post->key));
    edit_encode_post_command(&record, &command);
    json_decref(new_post->object);
    new_post->object = NULL;
    feed_write_start(new_post->gateway, &(struct command_write){
                                            .request = new_post->request,
                                            .topic = &TOPIC_POST_COMMANDS,
                                            .user = command.user,
                                            .record = &record,
                                            .question = rpc_path(&ASK_POSTED, values),
                                            .answer = posted,
                                            .context = new_post,
                                        });
    buffer_free(&record);
}

static void checked(void *context, const struct text_facts *facts, bool stopping) {
    struct new_post *new_post = context;
    if (!stopping) {
        write_post(new_post, facts);
        return;
    }
    feed_owner_away(new_post->request);
    json_decref(new_post->object);
    free(new_post);
}

static void start_post(struct feed_gateway *gateway, const struct call *call, json_t *object,
                       const struct post_body *body) {
    struct new_post *new_post = mem_alloc(sizeof *new_post);
    *new_post = (struct new_post){.gateway = gateway,
                                  .request = call->request,
                                  .object = json_incref(object),
                                  .body = *body,
                                  .user = call->claims.user};
    client_key_choose(&gateway->chance, body->key, new_post->key);
    text_check(&(struct text_check){
        .filter = call->claims.moderator ? NULL : gateway->filter,
        .feeds = gateway->owners,
        .partitions = gateway->partitions,
        .text = {"post", new_post->user, body->text, {.items = new_post->body.media, .count = body->media_count}},
        .context = new_post,
        .done = checked,
    });
}

static void post_post(void *state, const struct call *call) {
    json_t *object = call_body(call);
    if (!object) return;
    struct post_body body;
    struct error error;
    const char *wrong = post_body_read(object, &body, &error);
    if (wrong)
        http_problem(call->request, 400, wrong, error.text, 0);
    else
        start_post(state, call, object, &body);
    json_decref(object);
}

/* ---- one that is there ---- */

/* A post that is being deleted. */
struct deletion {
    struct feed_gateway *gateway;
    int64_t id, user;
};

static void deleted(void *context, struct http_request *request, unsigned status, const json_t *reply,
                    struct json_bytes text) {
    const struct deletion *deletion = context;
    struct buffer body = {0};
    (void)reply;
    if (deletion->gateway->texts) texts_forget(deletion->gateway->texts, deletion->id);
    shared_answers_forget(deletion->gateway->shared, SHARED_POST, deletion->id);
    shared_answers_forget(deletion->gateway->shared, SHARED_USER, deletion->user);
    buffer_format(&body, "{\"id\":\"%" PRId64 "\"}", deletion->id);
    if (status == 200)
        http_reply(request, 204, NULL, NULL, 0, NULL, 0);
    else
        http_reply_json(request, 202, &body);
    buffer_free(&body);
}

static void write_deletion(const struct post_request *asked) {
    struct post_command command = {.kind = POST_COMMAND_DELETE,
                                   .user = asked->claims.user,
                                   .id = asked->id,
                                   .time = clock_wall_ms(),
                                   .editor = -1};
    struct buffer record = {0};
    struct deletion *deletion = mem_alloc(sizeof *deletion);
    *deletion = (struct deletion){asked->gateway, asked->id, command.user};
    edit_encode_post_command(&record, &command);
    const struct rpc_value *values = RPC_VALUES(RPC_INT(USER, command.user), RPC_INT(POST, asked->id));
    feed_write_start(asked->gateway, &(struct command_write){
                                         .request = asked->request,
                                         .topic = &TOPIC_POST_COMMANDS,
                                         .user = command.user,
                                         .record = &record,
                                         .question = rpc_path(&ASK_GONE, values),
                                         .answer = deleted,
                                         .context = deletion,
                                     });
    post_thread_close(asked->gateway->sender.writer, asked->id);
    buffer_free(&record);
}

void post_not_yours(struct http_request *request) {
    http_problem(request, 403, "not_your_post", "somebody else has written this post", 0);
}

static void delete_found(struct post_request *asked, json_t *post) {
    int64_t author;
    if (json_is_null(post))
        http_reply(asked->request, 204, NULL, NULL, 0, NULL, 0);
    else if (json_want_int(post, "user", 0, INT64_MAX, &author, NULL))
        feed_owner_away(asked->request);
    else if (author != asked->claims.user)
        post_not_yours(asked->request);
    else
        write_deletion(asked);
    free(asked);
}

/* The caller's own post, also one that others may not see; NULL: it is not known to be there. To be given back. */
static json_t *own_post(const struct post_request *asked, int code, unsigned status, const char *text, size_t size) {
    json_t *reply = code == 0 && status == 200 ? json_parse(text, size, NULL) : NULL;
    json_t *post = json_incref(json_array_get(json_object_get(reply, "items"), 0));
    int64_t author;
    bool own = !json_want_int(post, "user", 0, INT64_MAX, &author, NULL) && author == asked->claims.user;
    json_decref(reply);
    if (own) return post;
    json_decref(post);
    return NULL;
}

static void ask_own(struct post_request *asked,
                    void (*answered)(void *context, int code, unsigned status, const char *text, size_t size)) {
    rpc_ask(asked->gateway->owners, &ASK_POSTS,
            RPC_VALUES(RPC_INT(PARTITION, ids_partition(asked->id)), RPC_INT(IDS, asked->id), RPC_TEXT(HIDDEN, "true")),
            PEER_TIMEOUT_MS, answered, asked);
}

static void show_found(const struct post_request *asked, json_t *post) {
    post_show(asked->gateway, asked->request, &(struct post_reader){.user = asked->claims.user}, 200, post);
}

/* Authors see what waits for a moderator, and not what one has hidden. */
static void read_own(void *context, int code, unsigned status, const char *text, size_t size) {
    struct post_request *asked = context;
    json_t *post = own_post(asked, code, status, text, size);
    const char *state = json_string_value(json_object_get(post, "state"));
    if (state && strcmp(state, "held") == 0) {
        show_found(asked, post);
    } else {
        post_none(asked->request);
        json_decref(post);
    }
    free(asked);
}

static void read_found(struct post_request *asked, json_t *post) {
    if (!json_is_null(post)) {
        show_found(asked, json_incref(post));
    } else if (asked->claims.user >= 0 && post_may_be_there(asked->gateway, asked->id)) {
        ask_own(asked, read_own);
        return;
    } else {
        post_none(asked->request);
    }
    free(asked);
}

static void found(void *context, int code, unsigned status, const char *text, size_t size) {
    struct post_request *asked = context;
    json_t *reply = code == 0 && status == 200 ? json_parse(text, size, NULL) : NULL;
    json_t *post = json_array_get(json_object_get(reply, "items"), 0);
    if (post) {
        asked->found(asked, post);
    } else {
        feed_owner_away(asked->request);
        free(asked);
    }
    json_decref(reply);
}

static void find_none(struct post_request *asked) {
    json_t *none = json_null();
    asked->found(asked, none);
    json_decref(none);
}

static void sight_answered(void *context, enum sight_answer answer) {
    struct post_request *asked = context;
    if (answer == SIGHT_YES) {
        asked->seen(asked);
    } else if (answer == SIGHT_AWAY) {
        feed_owner_away(asked->request);
        free(asked);
    } else { // whoever may not see a post is not told that there is one
        find_none(asked);
    }
}

struct post_request *post_request_new(struct feed_gateway *gateway, const struct call *call, post_found *done) {
    return MEM_NEW(&(struct post_request){
        .gateway = gateway, .request = call->request, .claims = call->claims, .id = call->values[0].id, .found = done});
}

static void ask_may(struct post_request *asked) {
    sights_ask(
        asked->gateway->sights,
        &(struct sights_wish){
            .reader = asked->claims.user, .author = -1, .post = asked->id, .context = asked, .done = sight_answered});
}

void post_ask_may(struct feed_gateway *gateway, const struct call *call, void (*seen)(struct post_request *asked),
                  post_found *done) {
    struct post_request *asked = post_request_new(gateway, call, done);
    asked->seen = seen;
    ask_may(asked);
}

bool post_may_be_there(const struct feed_gateway *gateway, int64_t id) {
    return ids_partition(id) < gateway->partitions;
}

void post_find(struct post_request *asked) {
    if (!post_may_be_there(asked->gateway, asked->id)) {
        find_none(asked);
        return;
    }
    rpc_ask(asked->gateway->owners, &ASK_POSTS,
            RPC_VALUES(RPC_INT(PARTITION, ids_partition(asked->id)), RPC_INT(IDS, asked->id)), PEER_TIMEOUT_MS, found,
            asked);
}

static void ask_shared(struct post_request *asked) {
    shared_answers_ask(asked->gateway->shared, SHARED_POST, asked->id, &ASK_POSTS,
                       RPC_VALUES(RPC_INT(PARTITION, ids_partition(asked->id)), RPC_INT(IDS, asked->id)), found, asked);
}

void post_ask(struct feed_gateway *gateway, const struct call *call, post_found *done) {
    post_ask_may(gateway, call, post_find, done);
}

static void get_post(void *state, const struct call *call) { post_ask_may(state, call, ask_shared, read_found); }

/* Authors delete what moderators have hidden, too. Others learn of a post by what they may see. */
static void delete_own(void *context, int code, unsigned status, const char *text, size_t size) {
    struct post_request *asked = context;
    json_t *post = own_post(asked, code, status, text, size);
    if (!post) {
        ask_may(asked);
        return;
    }
    json_decref(post);
    write_deletion(asked);
    free(asked);
}

/* A post that is not there, for the caller, is gone already. */
static void delete_post(void *state, const struct call *call) {
    struct post_request *asked = post_request_new(state, call, delete_found);
    if (!post_may_be_there(asked->gateway, asked->id)) {
        find_none(asked);
        return;
    }
    asked->seen = post_find;
    ask_own(asked, delete_own);
}

static const struct endpoint ENDPOINTS[] = {
    {"POST", "/v1/posts", post_post, NEEDS_USER},
    {"GET", "/v1/posts/{id:id}", get_post, NEEDS_TOKEN},
    {"DELETE", "/v1/posts/{id:id}", delete_post, NEEDS_USER},
};
const struct endpoint_list POSTS_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
