#include "ingest/feed/shared_answers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "ids/ids.h"

enum { TICK_MS = 1000, USER_TIMEOUT_MS = 500 /* a user is shown without counts then */, POSTS_TIMEOUT_MS = 3000 };

static const char *const KINDS[] = {[SHARED_USER] = "user:", [SHARED_POST] = "post:"};

struct shared_answers {
    struct peers *owners;
    struct page_copies *copies;
    struct loop_timer *tick;
};

struct shared_question {
    page_answered *done;
    void *context;
};

static void name_subject(char subject[SUBJECT_MAX + 1], enum shared_kind kind, int64_t id) {
    snprintf(subject, SUBJECT_MAX + 1, "%s%" PRId64, KINDS[kind], id);
}

static void fetch(void *context, const char *subject, const char *path, page_answered *answered,
                  void *answered_context) {
    const struct shared_answers *answers = context;
    bool user = strncmp(subject, KINDS[SHARED_USER], strlen(KINDS[SHARED_USER])) == 0;
    bool counts = strncmp(path, "/peer/user/", strlen("/peer/user/")) == 0;
    const char *number = strchr(subject, ':') + 1;
    int64_t id = 0;
    text_number(number, strlen(number), INT64_MAX, &id);
    peers_fetch(answers->owners, user ? peers_of_user(answers->owners, id) : ids_partition(id), path,
                counts ? USER_TIMEOUT_MS : POSTS_TIMEOUT_MS, answered, answered_context);
}

/* The bytes as they are: each request makes its own answer of them, with names and counts of the moment. */
static bool keep_bytes(void *context, int form, struct json_bytes reply, void *answer, struct made_page *made) {
    struct buffer *bytes = answer;
    buffer_append(bytes, reply.data, reply.size);
    *made = (struct made_page){.bytes = bytes->capacity, .complete = true};
    return true;
}

static void free_bytes(void *answer) { buffer_free(answer); }

static void copied(void *context, unsigned status, struct page_copy *copy) {
    struct shared_question *question = context;
    static const struct buffer NONE = {.data = NULL};
    const struct buffer *reply = copy ? page_copy_answer(copy) : &NONE;
    question->done(question->context, 0, status, (const char *)reply->data, reply->size);
    if (copy) page_copy_give(copy);
    free(question);
}

void shared_answers_ask(struct shared_answers *answers, enum shared_kind kind, int64_t id,
                        const struct rpc_question *question, const struct rpc_value *values, page_answered *done,
                        void *context) {
    char subject[SUBJECT_MAX + 1], *path = rpc_path(question, values);
    name_subject(subject, kind, id);
    page_copies_ask(answers->copies, &(struct page_wish){
                                         .subject = subject,
                                         .path = path,
                                         .hot_only = true,
                                         .context = MEM_NEW(&(struct shared_question){done, context}),
                                         .done = copied,
                                     });
    free(path);
}

void shared_answers_forget(struct shared_answers *answers, enum shared_kind kind, int64_t id) {
    char subject[SUBJECT_MAX + 1];
    if (!answers) return;
    name_subject(subject, kind, id);
    page_copies_forget(answers->copies, subject);
}

static void tick(void *context) { page_copies_tick(((const struct shared_answers *)context)->copies); }

struct shared_answers *shared_answers_new(const struct shared_answers_options *options) {
    struct shared_answers *answers = MEM_NEW(&(struct shared_answers){.owners = options->owners});
    answers->copies = page_copies_new(&(struct page_copies_options){
        .size = sizeof(struct buffer),
        .make = keep_bytes,
        .free = free_bytes,
        .hot_reads = options->hot_reads,
        .max_bytes = options->max_bytes,
        .built = metrics_counter(options->metrics, "starling_ingest_feed_answers_built_total",
                                 "Answers about users and posts that were asked of their owners.", NULL),
        .from_copies = metrics_counter(options->metrics, "starling_ingest_feed_answers_shared_total",
                                       "Answers about hot users and posts that were copies.", NULL),
        .context = answers,
        .fetch = fetch,
        .now_ms = clock_coarse_ms,
    });
    answers->tick = loop_timer_new(options->loop, TICK_MS, TICK_MS, tick, answers);
    return answers;
}

void shared_answers_free(struct shared_answers *answers) {
    if (!answers) return;
    loop_timer_free(answers->tick);
    page_copies_free(answers->copies);
    free(answers);
}
