/* Questions to the owner of one user or post. Those about users and posts that very many ask for just now are asked once, however many ask,
 * and their answers are kept for a second (ingest/page_copies.h); all others are asked each by itself, so that whoever has had an
 * answer to a write finds what it has made. Loop's thread. */
#pragma once

#include "base/loop.h"
#include "base/metrics.h"
#include "ingest/page_copies.h"
#include "rpc/ask.h"

struct shared_answers;

struct shared_answers_options {
    uv_loop_t *loop;
    struct metrics *metrics;
    struct peers *owners; /* the feed processes; outlive the answers but for questions under way */
    int64_t hot_reads;    /* of hot_subjects_new */
    size_t max_bytes;     /* of answers that are kept */
};

struct shared_answers *shared_answers_new(const struct shared_answers_options *options);
void shared_answers_free(struct shared_answers *answers); /* when no question is under way; NULL is fine */

/* Whom or what a question is about, whose owner is asked. */
enum shared_kind { SHARED_USER, SHARED_POST };

/* Calls done once, perhaps at once: as rpc_ask does, but that only 200, 400 and 404 are told apart. */
void shared_answers_ask(struct shared_answers *answers, enum shared_kind kind, int64_t id,
                        const struct rpc_question *question, const struct rpc_value *values, page_answered *done,
                        void *context);

/* It was changed here, or its answer cannot be used: the next question goes to the owner. NULL is fine. */
void shared_answers_forget(struct shared_answers *answers, enum shared_kind kind, int64_t id);
