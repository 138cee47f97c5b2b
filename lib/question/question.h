/* A question to Kafka (offsets, members of a group, ends of partitions) blocks the thread that asks it. This library asks on a
 * worker thread, so that the loop never waits.
 *
 *     question_ask --> prepare --> ask (worker thread) --> answered
 *                         ^                            --> failed, and after again_ms once more
 *                         +---- asked anew meanwhile: the answer is dropped ----+
 *
 * Question and answer lie in the owner's context. `prepare` copies the question to a place that the loop leaves alone until the
 * answer is there; `ask` reads that place and puts the answer beside it. A dropped answer stays there until the next asking:
 * `prepare` or `ask` frees it.
 * All calls and callbacks but `ask`: the loop's thread.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/worker.h"

struct question;

struct question_options {
    uv_loop_t *loop;
    struct worker *worker; /* several questions may share one, asked in turn; NULL: one of its own */
    void *context;
    void (*prepare)(void *context);                 /* NULL: nothing to prepare */
    int (*ask)(void *context, struct error *error); /* worker thread. 0, or a negative errno code with its reason */
    void (*answered)(void *context);                /* ask returned 0, and nobody has cancelled or asked anew since */
    void (*failed)(void *context, int code, const char *reason); /* ask did not return 0; NULL: not wanted */
    uint64_t again_ms;            /* a question that failed is asked again after so long; 0: it is not */
    void (*freed)(void *context); /* question_free is through; NULL: not wanted */
};

struct question *question_new(const struct question_options *options);

/* Cancels. `freed` is called once: from within question_free when nothing is under way, else when `ask` has returned, or, where
 * question_free is called from within answered or failed, when that has returned. The state that `ask` uses must stay until then: an
 * owner without `freed` waits until question_busy is false. The loop runs on until the question is freed. NULL is fine. */
void question_free(struct question *question);

/* Asks now. If an asking is under way, its answer is dropped, and the question is asked anew when it is back. */
void question_ask(struct question *question);
/* Asks after so long, unless asked before. */
void question_ask_later(struct question *question, uint64_t after_ms);
/* Drops the answer that is under way (neither answered nor failed is called), and asks nothing until the next question_ask. */
void question_cancel(struct question *question);

/* The worker thread is asking, also when cancelled. Within answered, failed and freed: false. */
bool question_busy(const struct question *question);
