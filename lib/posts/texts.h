/* The texts of posts, for a process that shows the same posts to many: asks the authors' owners, and keeps the answers for a while,
 * as the JSON that clients see.
 *
 *     texts_get(id) ----> known? ----> settled at once
 *                           | no
 *                           v
 *                  gathered for a moment  ---->  fetch "/peer/posts/PARTITION?ids=1,2,3", at most 250 ids of a process a question
 *                                                    |
 *     settled(wait), answered()  <-------------------+  {"items": [post, null or false]}; or no answer in time
 *
 * There is at most one question for an id under way at a time. Posts, and the word that there is no such post, are kept for a
 * time that the caller sets; an id without an answer is asked for again by the next texts_get. An id that the process does not own
 * (false) is asked for once more by a question to its own partition's owner. An answer that is full has only the first items, and the
 * others are asked for again. A text is kept for whomever: text_put gives it to those who may see it (posts/sights.h). The loop's thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/loop.h"
#include "posts/sights.h"
#include "users/profiles.h"

enum { TEXTS_QUESTION = 250 }; /* ids in one */

enum text_state {
    TEXT_ASKED,
    TEXT_THERE,
    TEXT_NONE, /* the owner says that there is no such post */
    TEXT_AWAY  /* no answer in time, or none that makes sense */
};

/* A post by its id. Callers share it, and each holds a reference. */
struct shared_text;

/* Waits for one text to be settled. The caller's memory, zero-initialised. */
struct text_wait {
    struct text_wait *next, **link; /* link NULL: it does not wait */
};

struct texts;

struct texts_options {
    uv_loop_t *loop;
    int32_t partitions;        /* of authors; ids of others are away at once */
    size_t kept_max;           /* settled texts that are kept */
    size_t kept_bytes;         /* of their memory */
    int64_t kept_ms;           /* for how long; 0: none is kept */
    uint64_t gather_ms;        /* how long ids wait for others to be asked for with them; 0 counts as 1 */
    int timeout_ms;            /* of a question */
    struct profiles *profiles; /* for authors' names; outlives the texts, as do the next */
    const struct sights *sights;
    void *context;
    /* Which partitions one process owns, as peers_lowest says it. NULL: each partition is asked by itself. */
    const int32_t *(*lowest)(void *context);
    /* As peers_fetch: calls done once, now or later, with that context. */
    void (*fetch)(void *context, int32_t partition, const char *path, int timeout_ms,
                  void (*done)(void *context, int code, unsigned status, const char *reply, size_t size),
                  void *done_context);
    /* The text that it waited for is settled; it waits no more. May call any function here but texts_free. */
    void (*settled)(void *context, struct text_wait *wait);
    /* After a number of the former; may call any function here but texts_free. NULL: not wanted. */
    void (*answered)(void *context);
};

struct texts *texts_new(const struct texts_options *options);
/* Settles the ids that are gathered and not asked for yet: AWAY. For an end in which nothing more may be asked. */
void texts_stop(struct texts *texts);
/* No question may be under way, no reference held. NULL is fine. */
void texts_free(struct texts *texts);

/* A reference, which the caller gives back by text_give. version: a kept text of a lower one is over, and asked for again; from 1. */
struct shared_text *texts_get(struct texts *texts, int64_t id, int64_t version);
void text_give(struct shared_text *text);

/* The post is probably deleted: later calls of texts_get ask for its text again. */
void texts_forget(struct texts *texts, int64_t id);
void texts_profile_changed(struct texts *texts, int64_t user); /* the name is looked up again */

enum text_state text_state_of(const struct shared_text *text);
void text_await(struct shared_text *text, struct text_wait *wait); /* the text is ASKED; the wait waits for nothing */
void text_await_end(struct text_wait *wait);                       /* one that waits for nothing is fine */

/* The bytes of a text, and the caller's share of them if all who hold it share them. 0 before it is THERE. */
size_t text_size(const struct shared_text *text);
size_t text_share(const struct shared_text *text);

/* Appends the post as apps see it (posts/post_json.h). The text is THERE. vouched: the reader's owner has said that the reader may see the author's
 * posts, and its word counts (sights_word_counts). False: nothing is appended, as the reader may not see it now. */
bool text_put(struct texts *texts, struct shared_text *text, int64_t reader, bool vouched, struct buffer *out);

struct texts_stats {
    size_t kept, kept_bytes; /* now */
    uint64_t found, questions, asked,
        away; /* so far: ids that were known, questions, ids in them, ids without an answer */
};
struct texts_stats texts_stats_of(const struct texts *texts);
