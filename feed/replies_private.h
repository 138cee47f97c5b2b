/* Between feed/replies*.c. */
#pragma once

#include "base/map.h"
#include "feed/newest.h"
#include "feed/replies.h"
#include "rpc/serve.h"

struct outcome_wait;

/* A question whose answer may take several turns of the loop: others are answered in between. */
struct slow_reply {
    struct slow_reply *next;
    struct http_request *request;
    int32_t partition;
    int64_t user, above, before; /* as the question has them */
    size_t limit;
    int64_t *ids; /* users or posts that are asked about */
    size_t id_count, at;
    size_t passed;         /* posts that are not listed */
    bool any;              /* an item is in the body */
    bool edits;            /* posts come with their former texts */
    bool hidden;           /* and with those that moderators have hidden */
    struct newest *newest; /* of authors */
    struct buffer body;
    /* Does about so much work (as of newest_read). 1: more is left, 0: the body is complete, or a negative code. */
    int (*go_on)(struct replies *replies, struct slow_reply *reply, size_t work, struct error *error);
};

struct replies {
    struct replies_options options;
    struct id_list ids, but;
    struct codec *codec;
    struct buffer text, body;
    struct outcome_wait *waiting;              /* questions that wait for state, in no order */
    struct slow_reply *slow_first, **slow_end; /* each gets a slice in turn */
    struct loop_timer *slow_turn;
};

int replies_serves(const void *replies, int32_t partition); /* as tasks_serves */
/* -EBADMSG: the partition is read anew, and the question may be asked again. */
void replies_store_failed(struct replies *replies, struct http_request *request, int32_t partition, int code,
                          const struct error *error);

/* Appends a post as the API has it, but for the author's name: 1; 0: there is none; or a negative code. */
int replies_put_post(struct replies *replies, int32_t partition, const struct post_found *post, struct buffer *body,
                     struct error *error);
void replies_put_id(struct buffer *body, int64_t id); /* quoted */
/* {id, user}; with the version of a text that was edited lately. And "posts": [these]. */
void replies_put_ref(const struct replies *replies, struct buffer *body, int64_t id, int64_t author, bool first);
void replies_put_refs(struct replies *replies, const struct inbox_post *posts, size_t count);

/* An answer is written into replies->body, from here on. */
void replies_start(struct replies *replies, const char *text);

/* Each answers the question of its name. A page of the home timeline waits a moment for an inbox that begins just now; outcomes wait until
 * their command is decided. */
typedef void replies_answer(void *replies, struct http_request *request, const struct rpc_asked *asked);
replies_answer replies_feed, replies_posts, replies_written, replies_older, replies_notices, replies_holder,
    replies_handles, replies_edits, replies_may, replies_outcome, replies_signed_in;

/* Has RPC_IDS_MAX of the question's ids at most put into the body, as {"items":[...]} from here on. */
void replies_many(struct replies *replies, struct http_request *request, const struct rpc_asked *asked,
                  int (*go_on)(struct replies *replies, struct slow_reply *reply, size_t work, struct error *error));

/* Answers the question, within this call if one slice is enough. It copies the reply and owns all that the reply points to. */
void replies_slow(struct replies *replies, const struct slow_reply *reply);
void replies_slow_new(struct replies *replies);
void replies_slow_free(struct replies *replies);

/* Answers the page if its inbox is complete, or if last. False: it is not. */
bool replies_feed_now(struct replies *replies, struct http_request *request, const struct timeline_wish *wish,
                      bool last);

/* Appends the member "handle" if the user has one. */
int replies_put_handle(struct replies *replies, int32_t partition, int64_t user, struct buffer *body,
                       struct error *error);
/* Appends the member "former" to a post that was appended: [{version, text, time, user}], the newest first. 0 or a negative code. */
int replies_put_former(struct replies *replies, int32_t partition, const struct post_found *post, struct buffer *body,
                       struct error *error);
/* Appends the outcome of a command that edits the version `read` of a post's text (mark: edit_mark of what it wants): 1; 0: there is no
 * such post; or a negative code. */
int replies_edited(struct replies *replies, int32_t partition, int64_t id, int64_t read, const char *mark,
                   struct buffer *body, struct error *error);
/* Appends the outcome of the user's wish for a handle: 1; -EAGAIN: it is under way; or another negative code. */
int replies_wish(struct replies *replies, int32_t partition, int64_t user, const char *handle, struct buffer *body,
                 struct error *error);

/* Appends all notices that the user is shown, as a page of them: 1, or a negative code. */
int replies_put_notices(struct replies *replies, int32_t partition, int64_t user, struct buffer *body,
                        struct error *error);

/* Has the page answered when its inbox is complete, or in vain at the deadline. */
void replies_wait_feed(struct replies *replies, struct http_request *request, const struct timeline_wish *wish);
void replies_waiting_free(struct replies *replies);
