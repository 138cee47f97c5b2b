/* Knows who may see whose posts, for a process that shows posts: asks the authors' owners, and knows what it was told for a moment.
 *
 *     sights_ask(reader, author or post) ----> known? ----> done at once
 *                                                | no
 *                                                v
 *                        gathered for a moment by author or post --> fetch "/peer/may/PARTITION?user=7&readers=1,2" --> done
 *
 *     sights_may <---- whatever puts a post's text into an answer (posts/post_json.h, posts/texts.h)
 *
 * A permission counts SIGHT_MS from the moment as of which an owner gave it: that is when the question was sent, less the age of what the
 * owner has read. So an unfollow, a block or a change of who sees an author's posts holds everywhere within SIGHT_MS and the time that an
 * answer takes to its reader: 2 s (tests/models/visibility.py). A denial is not kept. The loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"

enum { SIGHT_MS = 1400, SIGHT_AGAIN_MS = 450, SIGHT_ASKS = 2 };

struct sights;

struct sights_options {
    uv_loop_t *loop;
    int32_t partitions; /* of authors */
    int timeout_ms;     /* of a question */
    int again_ms;       /* after which an owner is asked again that knew too little: SIGHT_AGAIN_MS */
    int asks;           /* how often it is asked: SIGHT_ASKS, if somebody waits for an answer */
    void *context;
    /* As peers_fetch: calls done once, now or later, with that context. */
    void (*fetch)(void *context, int32_t partition, const char *path, int timeout_ms,
                  void (*done)(void *context, int code, unsigned status, const char *reply, size_t size),
                  void *done_context);
    int64_t (*now_ms)(void); /* that never falls */
};

struct sights *sights_new(const struct sights_options *options);
/* Tells all who wait for a question that is not sent yet, or ask later: SIGHT_AWAY. For an end in which nothing more may be asked. */
void sights_stop(struct sights *sights);
void sights_free(struct sights *sights); /* after sights_stop, with no question under way; NULL is fine */

/* Whether the reader may see the author's posts, as far as is known now. reader -1: nobody in particular. */
bool sights_may(const struct sights *sights, int64_t author, int64_t reader);

/* The same of a post, if its author is known. */
bool sights_may_see(const struct sights *sights, int64_t post, int64_t reader);

/* Whether the word still counts of a reader's owner, who says whose posts are on the reader's page: it has answered a question that was sent
 * then, from what it has read at most age_ms before; INT64_MAX: it does not know. */
bool sights_word_counts(const struct sights *sights, int64_t sent_ms, int64_t age_ms);

enum sight_answer {
    SIGHT_YES,
    SIGHT_NO,
    SIGHT_NO_POST, /* there is no such post */
    SIGHT_AWAY     /* no answer in time, or each of the answers was of something too old */
};

struct sights_wish {
    int64_t reader;
    int64_t author; /* -1: of the post */
    int64_t post;
    void *context;
    void (*done)(void *context, enum sight_answer answer); /* once, perhaps at once */
};
void sights_ask(struct sights *sights, const struct sights_wish *wish);

int64_t sights_post_of(const char *subject); /* the post whose comments these are; 0: it is another subject */

size_t sights_known(const struct sights *sights); /* what takes memory */
