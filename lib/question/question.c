#include "question/question.h"

#include <stdlib.h>

#include "base/mem.h"

struct question {
    struct question_options options;
    struct worker *own;
    struct loop_timer *timer; /* again_ms, question_ask_later */
    struct error reason;      /* the worker's while busy, as is code */
    int code;
    bool busy;
    bool dropped; /* of the asking under way: cancelled, or asked anew */
    bool anew;    /* to be asked when the one under way is back */
    bool telling; /* answered or failed runs */
    bool freeing;
};

static void ask_work(void *context) {
    struct question *question = context;
    question->code = question->options.ask(question->options.context, &question->reason);
}

static void destroy(struct question *question) {
    void (*freed)(void *context) = question->options.freed;
    void *context = question->options.context;
    worker_free(question->own);
    free(question);
    if (freed) freed(context);
}

static void start(struct question *question);

static void tell(struct question *question) {
    const struct question_options *options = &question->options;
    question->telling = true;
    // Before `failed`, which may ask, or ask later, itself.
    if (question->code && options->again_ms) question_ask_later(question, options->again_ms);
    if (!question->code)
        options->answered(options->context);
    else if (options->failed)
        options->failed(options->context, question->code, question->reason.text);
    question->telling = false;
}

static void ask_done(void *context) {
    struct question *question = context;
    question->busy = false;
    if (question->anew && !question->freeing)
        start(question);
    else if (!question->dropped && !question->freeing)
        tell(question);
    if (question->freeing && !question->busy) destroy(question);
}

static void start(struct question *question) {
    struct worker *worker = question->options.worker ? question->options.worker : question->own;
    question->anew = question->dropped = false;
    question->busy = true;
    question->reason.text[0] = '\0';
    if (question->options.prepare) question->options.prepare(question->options.context);
    worker_run(worker, ask_work, ask_done, question);
}

static void due(void *context) { question_ask(context); }

struct question *question_new(const struct question_options *options) {
    struct question *question = mem_alloc(sizeof *question);
    *question = (struct question){
        .options = *options,
        .own = options->worker ? NULL : worker_new(options->loop),
        .timer = loop_timer_new(options->loop, 0, 0, due, question),
    };
    loop_timer_stop(question->timer);
    return question;
}

void question_free(struct question *question) {
    if (!question) return;
    loop_timer_free(question->timer);
    question->freeing = true;
    if (!question->busy && !question->telling) destroy(question);
}

void question_ask(struct question *question) {
    loop_timer_stop(question->timer);
    if (!question->busy) {
        start(question);
        return;
    }
    question->dropped = question->anew = true;
}

void question_ask_later(struct question *question, uint64_t after_ms) {
    loop_timer_again(question->timer, after_ms, 0);
}

void question_cancel(struct question *question) {
    loop_timer_stop(question->timer);
    question->dropped = true;
    question->anew = false;
}

bool question_busy(const struct question *question) { return question->busy; }
