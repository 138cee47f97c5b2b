/* The state that all endpoints of comments share. Loop's thread.
 *
 *     pages.c    comments that are read: a page of a thread, the replies of a root, the answers to a reply, one comment with those around it,
 *                or its edits; and who likes a post
 *     writing.c  comments that are written: POST, and GET of the outcome
 *     acts.c     acts on comments and subjects: edited, deleted, liked, pinned, reported, moderated; registered. Posts, too, are liked,
 *                and they and users reported
 */
#pragma once

#include "base/chance.h"
#include "ingest/call.h"
#include "ingest/write.h"
#include "ingest/comments/blocked.h"
#include "ingest/comments/comment_json.h"
#include "ingest/page_copies.h"
#include "ingest/comments/known.h"
#include "ingest/endpoints.h"
#include "posts/sights.h"
#include "users/user_copies.h"

/* The section of the gateway's configuration: values of COMMENTS_GATEWAY_SECTION (ingest/products.h). */
struct comments_gateway_settings {
    const char *group;
    int64_t hot_reads, hot_memory_mb;
};

struct comments_gateway {
    struct command_sender sender;
    struct user_copies *copies;
    struct peers *owners;    /* the comments processes */
    struct peers *feeds;     /* of posts, follows and handles */
    struct peers *routers;   /* of friendships */
    int32_t user_partitions; /* of feeds and routers */
    struct text_filter *filter;
    struct chance chance;
    struct known_subjects *subjects;
    struct known_authors *authors;
    struct blocked_lists *blocked;
    struct sights *sights; /* who may see whose posts */
    struct page_copies *pages;
    struct loop_timer *tick; /* of the pages */
};

/* The door to a subject. Handlers have the subject from these functions, and from nowhere else: what is under a post is for those who may
 * see the post, others are answered 404. A call is valid until its request is answered. */
typedef void comments_handler(struct comments_gateway *gateway, const struct call *call, const char *subject);
/* The subject that the path's first two values name; or that of the post which the first one is. */
void comments_enter(struct comments_gateway *gateway, const struct call *call, comments_handler *handler);
void comments_enter_post(struct comments_gateway *gateway, const struct call *call, comments_handler *handler);
/* The same for acts, which are decided by what their owner knows of the post: also under one that is not there. */
void comments_enter_to_act(struct comments_gateway *gateway, const struct call *call, comments_handler *handler);
void comments_enter_post_to_act(struct comments_gateway *gateway, const struct call *call, comments_handler *handler);
/* For those who see nothing of the post by it: services, moderators, and users who take back what they have written or liked. */
void comments_enter_unseen(struct comments_gateway *gateway, const struct call *call, comments_handler *handler);
void comments_enter_post_unseen(struct comments_gateway *gateway, const struct call *call, comments_handler *handler);

/* Before an answer about the subject goes out: whether the reader may see it still, as it may have taken long. Calls done once, perhaps at
 * once. comments_unseen answers where it is not SIGHT_YES. */
void comments_leave(struct comments_gateway *gateway, const char *subject, int64_t reader, void *context,
                    void (*done)(void *context, enum sight_answer answer));
void comments_unseen(struct http_request *request, enum sight_answer answer);

/* A user as a subject, who is reported: the path's first value. */
void comments_enter_user(struct comments_gateway *gateway, const struct call *call, comments_handler *handler);

struct comment_names comments_names(struct comments_gateway *gateway);

/* Answers 503: the owner who has the answer is away. */
void comments_owner_away(struct http_request *request);

/* Their state is struct comments_gateway. */
extern const struct endpoint_list COMMENT_PAGES_ENDPOINTS, COMMENT_WRITING_ENDPOINTS, COMMENT_ACTS_ENDPOINTS;
