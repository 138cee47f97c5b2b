/* A question: cancelled, asked anew, failing, freed; each while the worker thread is still asking. */
#include <semaphore.h>

#include "base/chance.h"
#include "question/question.h"
#include "unit/kit/kit.h"

struct asker {
    uv_loop_t loop;
    struct question *question;
    sem_t gate, reached; /* `ask` posts reached, then waits at the gate while it is closed */
    bool gated, free_in_answered;
    int wish, copy, answer; /* the loop's, the worker's, and what was answered to it */
    int fail;               /* so many askings fail */
    int asked, answered, failed, freed, last_code;
    char last_reason[64];
};

static void prepare(void *context) {
    struct asker *asker = context;
    asker->copy = asker->wish;
}

static int ask(void *context, struct error *error) {
    struct asker *asker = context;
    asker->asked++;
    if (asker->gated) {
        sem_post(&asker->reached);
        sem_wait(&asker->gate);
    }
    if (asker->fail) {
        asker->fail--;
        return error_set(error, -EHOSTDOWN, "nobody is there");
    }
    asker->answer = asker->copy * 10;
    return 0;
}

static void answered(void *context) {
    struct asker *asker = context;
    asker->answered++;
    assert_false(question_busy(asker->question));
    if (asker->free_in_answered) {
        question_free(asker->question);
        asker->question = NULL;
        assert_int_equal(asker->freed, 0); // what this function uses is still there
    }
}

static void failed(void *context, int code, const char *reason) {
    struct asker *asker = context;
    asker->failed++;
    asker->last_code = code;
    snprintf(asker->last_reason, sizeof asker->last_reason, "%s", reason);
}

static void freed(void *context) { ((struct asker *)context)->freed++; }

static void run_out(struct asker *asker) { assert_int_equal(uv_run(&asker->loop, UV_RUN_DEFAULT), 0); }

static void ask_and_reach(struct asker *asker) {
    asker->gated = true;
    question_ask(asker->question);
    sem_wait(&asker->reached);
    assert_true(question_busy(asker->question));
}

static void tear_down(void *it) {
    struct asker *asker = it;
    question_free(asker->question);
    run_out(asker);
    assert_int_equal(asker->freed, 1);
    assert_int_equal(uv_loop_close(&asker->loop), 0);
    sem_destroy(&asker->gate);
    sem_destroy(&asker->reached);
}

static struct asker *asker_new(uint64_t again_ms) {
    struct asker *asker = kit_zero(sizeof *asker);
    uv_loop_init(&asker->loop);
    sem_init(&asker->gate, 0, 0);
    sem_init(&asker->reached, 0, 0);
    asker->question = question_new(&(struct question_options){
        .loop = &asker->loop,
        .context = asker,
        .prepare = prepare,
        .ask = ask,
        .answered = answered,
        .failed = failed,
        .again_ms = again_ms,
        .freed = freed,
    });
    kit_after(tear_down, asker);
    return asker;
}

TEST(a_question_is_answered) {
    struct asker *asker = asker_new(0);
    asker->wish = 4;
    assert_false(question_busy(asker->question));
    question_ask(asker->question);
    asker->wish = 5; // not what was asked
    run_out(asker);
    assert_int_equal(asker->answered, 1);
    assert_int_equal(asker->answer, 40);
    question_ask(asker->question);
    run_out(asker);
    assert_int_equal(asker->answered, 2);
    assert_int_equal(asker->answer, 50);
}

TEST(a_cancelled_asking_is_not_answered) {
    struct asker *asker = asker_new(1);
    for (int fails = 0; fails < 2; fails++) {
        asker->fail = fails;
        ask_and_reach(asker);
        question_cancel(asker->question);
        assert_true(question_busy(asker->question));
        sem_post(&asker->gate);
        run_out(asker);
        assert_false(question_busy(asker->question));
        assert_int_equal(asker->answered + asker->failed, 0);
    }
    assert_int_equal(asker->asked, 2);
}

TEST(asked_anew_only_the_last_is_answered) {
    struct asker *asker = asker_new(0);
    asker->wish = 1;
    ask_and_reach(asker);
    asker->wish = 2;
    question_ask(asker->question);
    asker->wish = 3;
    question_ask(asker->question);
    assert_int_equal(asker->copy, 1); // the worker's while it asks
    sem_post(&asker->gate);
    sem_post(&asker->gate);
    run_out(asker);
    assert_int_equal(asker->asked, 2);
    assert_int_equal(asker->answered, 1);
    assert_int_equal(asker->answer, 30);
}

TEST(cancelled_and_asked_anew_it_is_answered) {
    struct asker *asker = asker_new(0);
    ask_and_reach(asker);
    question_cancel(asker->question);
    asker->wish = 7;
    question_ask(asker->question);
    sem_post(&asker->gate);
    sem_post(&asker->gate);
    run_out(asker);
    assert_int_equal(asker->answered, 1);
    assert_int_equal(asker->answer, 70);
}

TEST(a_failure_is_told_and_asked_again_after_a_while) {
    struct asker *asker = asker_new(5);
    asker->fail = 2;
    asker->wish = 6;
    int64_t start = clock_monotonic_us();
    question_ask(asker->question);
    run_out(asker);
    assert_true(clock_monotonic_us() - start >= 9000);
    assert_int_equal(asker->asked, 3);
    assert_int_equal(asker->failed, 2);
    assert_int_equal(asker->last_code, -EHOSTDOWN);
    assert_string_equal(asker->last_reason, "nobody is there");
    assert_int_equal(asker->answered, 1);
    assert_int_equal(asker->answer, 60);
}

TEST(without_again_a_failure_is_the_end) {
    struct asker *asker = asker_new(0);
    asker->fail = 1;
    question_ask(asker->question);
    run_out(asker);
    assert_int_equal(asker->asked, 1);
    assert_int_equal(asker->failed, 1);
}

TEST(cancelling_ends_the_waiting_for_another_try) {
    struct asker *asker = asker_new(3600000);
    asker->fail = 1;
    question_ask(asker->question);
    while (!asker->failed) uv_run(&asker->loop, UV_RUN_ONCE);
    question_cancel(asker->question);
    run_out(asker); // at once: nothing waits any more
    assert_int_equal(asker->asked, 1);
}

TEST(asked_later_or_sooner_it_is_asked_once) {
    struct asker *asker = asker_new(0);
    question_ask_later(asker->question, 3600000);
    question_ask(asker->question);
    run_out(asker);
    assert_int_equal(asker->asked, 1);
    question_ask_later(asker->question, 2);
    run_out(asker);
    assert_int_equal(asker->answered, 2);
}

TEST(freed_while_asking_it_ends_in_the_background) {
    struct asker *asker = asker_new(1);
    asker->fail = 1;
    ask_and_reach(asker);
    question_ask(asker->question);
    question_free(asker->question);
    asker->question = NULL;
    assert_int_equal(asker->freed, 0);
    sem_post(&asker->gate);
    run_out(asker);
    assert_int_equal(asker->freed, 1);
    assert_int_equal(asker->asked, 1);
    assert_int_equal(asker->answered + asker->failed, 0);
}

TEST(freed_within_the_answer) {
    struct asker *asker = asker_new(0);
    asker->free_in_answered = true;
    question_ask(asker->question);
    run_out(asker);
    assert_int_equal(asker->freed, 1);
}

TEST(questions_share_a_worker) {
    uv_loop_t loop;
    uv_loop_init(&loop);
    struct worker *worker = worker_new(&loop);
    struct asker askers[2];
    memset(askers, 0, sizeof askers);
    for (int i = 0; i < 2; i++)
        askers[i].question = question_new(&(struct question_options){
            .loop = &loop, .worker = worker, .context = &askers[i], .ask = ask, .answered = answered});
    for (int i = 0; i < 2; i++) question_ask(askers[i].question);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(askers[i].answered, 1);
        question_free(askers[i].question);
    }
    worker_free(worker);
    kit_loop_end(&loop);
}

/* Any order of asking, cancelling and waiting: after the last asking comes its answer, and after a cancelling none. */
TEST(whatever_is_done_the_last_wish_is_answered) {
    struct chance chance = {.state = 11};
    struct asker *asker = asker_new(1);
    for (int round = 0; round < 300; round++) {
        bool wanted = false;
        int before = asker->answered;
        for (int steps = 1 + (int)(chance_next(&chance) % 6); steps; steps--) {
            switch (chance_next(&chance) % 4) {
            case 0:
            case 1:
                asker->wish = round * 10 + steps;
                question_ask(asker->question);
                wanted = true;
                before = asker->answered;
                break;
            case 2:
                question_cancel(asker->question);
                wanted = false;
                before = asker->answered;
                break;
            default: uv_run(&asker->loop, UV_RUN_NOWAIT);
            }
        }
        run_out(asker);
        assert_int_equal(asker->answered - before, wanted);
        if (wanted) assert_int_equal(asker->answer, asker->wish * 10);
    }
}
