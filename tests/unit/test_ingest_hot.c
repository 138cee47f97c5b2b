/* Hot subjects, and the copies of their pages in the gateway. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ingest/comments/copies.h"
#include "ingest/comments/hot.h"
#include "some_profiles.h"

/* ---- which subjects are hot ---- */

static const char *subject_of(int number) {
    static char text[32];
    snprintf(text, sizeof text, "post:%d", number);
    return text;
}

static void the_window_slides(void **state) {
    struct hot_subjects *hot = hot_subjects_new(10);
    for (int i = 0; i < 9; i++) assert_false(hot_subjects_read(hot, "post:1", 5000 + i * 100));
    assert_true(hot_subjects_read(hot, "post:1", 14999)); /* ten within ten seconds */
    assert_true(hot_subjects_is(hot, "post:1", 14999));
    assert_false(hot_subjects_is(hot, "post:1", 15000)); /* the first nine have gone */
    assert_false(hot_subjects_is(hot, "post:2", 15000));
    hot_subjects_free(hot);
}

/* Against exact counts: of subjects that are read at all rates, the hottest are found. */
static void the_hottest_are_hot(void **state) {
    enum { SUBJECTS = 900, READS = 400000 };
    struct hot_subjects *hot = hot_subjects_new(20);
    static int64_t recent[SUBJECTS];
    unsigned random = 7;
    for (int i = 0; i < READS; i++) { /* all within one window */
        random = random * 1103515245 + 12345;
        unsigned draw = (random >> 8) % 10000;
        int subject = (int)(draw * draw / 10000 * SUBJECTS / 10000); /* low numbers far more often */
        recent[subject]++;
        hot_subjects_read(hot, subject_of(subject), 20000 + i % 5);
    }
    int found = 0;
    for (int i = 0; i < SUBJECTS; i++) {
        int higher = 0;
        for (int k = 0; k < SUBJECTS; k++) higher += recent[k] > recent[i];
        bool is = hot_subjects_is(hot, subject_of(i), 20100);
        found += is;
        if (higher < HOT_TOP / 2) assert_true(is); /* counts near the edge of the top may be equal */
        if (higher > HOT_TOP * 2) assert_false(is);
    }
    assert_int_equal(found, HOT_TOP);
    hot_subjects_free(hot);
}

static void memory_is_bounded_and_the_hot_stay(void **state) {
    struct hot_subjects *hot = hot_subjects_new(50);
    for (int i = 0; i < 200000; i++) {
        hot_subjects_read(hot, subject_of(1000 + i), 30000 + i / 1000);
        if (i % 100 == 0) hot_subjects_read(hot, "post:1", 30000 + i / 1000);
    }
    assert_true(hot_subjects_is(hot, "post:1", 30200));
    for (int i = 0; i < HOT_TOP + 10; i++) /* a new crowd replaces the old one once that has gone */
        for (int k = 0; k < 60; k++) hot_subjects_read(hot, subject_of(i + 10), 60000);
    assert_false(hot_subjects_is(hot, "post:1", 60000));
    int found = 0;
    for (int i = 0; i < HOT_TOP + 10; i++) found += hot_subjects_is(hot, subject_of(i + 10), 60000);
    assert_int_equal(found, HOT_TOP);
    hot_subjects_free(hot);
}

/* ---- copies ---- */

enum { HOT_READS = 5 };

struct copies_world {
    struct some_profiles some;
    struct known_authors *authors;
    struct metric built, shared;
    struct page_copies *copies;
    struct {
        char path[64];
        page_answered *answered;
        void *context;
    } asked[64];
    size_t count, done, good;
    unsigned status;
    struct page_copy *held; /* the newest */
};

static int64_t now_ms;
static int64_t read_clock(void) { return now_ms; }

static void fetch(void *context, const char *subject, const char *path, page_answered *answered, void *with) {
    struct copies_world *world = context;
    snprintf(world->asked[world->count].path, sizeof world->asked->path, "%s", path);
    world->asked[world->count].answered = answered;
    world->asked[world->count++].context = with;
    assert_memory_equal(subject, "post:", 5);
}

static int set_up(void **state) {
    struct copies_world *world = mem_zero(1, sizeof *world);
    some_profiles_open(&world->some);
    world->authors = known_authors_new();
    world->copies = page_copies_new(&(struct page_copies_options){
        .names = {world->some.profiles, world->authors},
        .hot_reads = HOT_READS,
        .max_bytes = 4000,
        .built = &world->built,
        .from_copies = &world->shared,
        .context = world,
        .fetch = fetch,
        .now_ms = read_clock,
    });
    now_ms = 100000;
    *state = world;
    return 0;
}

static int tear_down(void **state) {
    struct copies_world *world = *state;
    page_copies_free(world->copies);
    known_authors_free(world->authors);
    some_profiles_close(&world->some);
    free(world);
    return 0;
}

static void done(void *context, unsigned status, struct page_copy *copy) {
    struct copies_world *world = context;
    world->done++;
    world->status = status;
    assert_int_equal(copy != NULL, status == 200);
    if (!copy) return;
    world->good++;
    assert_non_null(page_copy_shown(copy)->body.data);
    page_copy_give(copy);
}

static void ask(struct copies_world *world, const char *subject, const char *path) {
    page_copies_ask(
        world->copies,
        &(struct page_wish){.subject = subject, .path = path, .show = shown_page, .context = world, .done = done});
}

static void answer(struct copies_world *world, size_t question, bool complete) {
    char *text =
        mem_format("{\"items\":[],\"next\":null,\"total\":0,\"version\":%d,\"counters\":0,\"likes\":0,\"closed\":false,"
                   "\"owner\":1,\"complete\":%s,\"pinned\":[]}",
                   (int)question, complete ? "true" : "false");
    world->asked[question].answered(world->asked[question].context, 0, 200, text, strlen(text));
    free(text);
}

static void one_build_however_many_ask(void **state) {
    struct copies_world *world = *state;
    for (int i = 0; i < 10000; i++) ask(world, "post:1", "/a");
    ask(world, "post:1", "/b");
    assert_int_equal(world->count, 2);
    assert_int_equal(world->done, 0);
    answer(world, 0, true);
    assert_int_equal(world->done, 10000);
    answer(world, 1, true);
    assert_int_equal(world->good, 10001);
    assert_int_equal((int)world->built.value, 2);
    assert_int_equal((int)world->shared.value, 9999);
}

static void only_pages_of_hot_subjects_are_kept_and_for_a_second(void **state) {
    struct copies_world *world = *state;
    ask(world, "post:1", "/a");
    answer(world, 0, true);
    ask(world, "post:1", "/a"); /* not hot yet */
    assert_int_equal(world->count, 2);
    answer(world, 1, true);
    for (int i = 0; i < HOT_READS; i++) ask(world, "post:1", "/a");
    assert_int_equal(world->count, 3);
    answer(world, 2, true);
    now_ms += 999;
    ask(world, "post:1", "/a");
    assert_int_equal(world->count, 3);
    assert_int_equal(world->good, 2 + HOT_READS + 1);
    page_copies_changed(world->copies, "post:1"); /* no reason to drop a hot one */
    ask(world, "post:1", "/a");
    assert_int_equal(world->count, 3);
    now_ms += 1;
    ask(world, "post:1", "/a");
    assert_int_equal(world->count, 4);
    answer(world, 3, true);
    now_ms += 2000;
    page_copies_tick(world->copies);
}

static void who_has_written_reads_no_older_page(void **state) {
    struct copies_world *world = *state;
    ask(world, "post:1", "/a");
    ask(world, "post:2", "/c");
    page_copies_changed(world->copies, "post:1");
    ask(world, "post:1", "/a");
    ask(world, "post:2", "/c");
    assert_int_equal(world->count, 3); /* the new page of post:1 */
    answer(world, 0, true);
    assert_int_equal(world->done, 1);
    answer(world, 2, true);
    assert_int_equal(world->done, 2);
    answer(world, 1, true);
    assert_int_equal(world->good, 4);
}

static void failures_and_incomplete_pages_are_not_kept(void **state) {
    struct copies_world *world = *state;
    static const struct {
        int code;
        unsigned status, wanted;
        const char *text;
    } CASES[] = {{0, 400, 400, "{}"},        {0, 404, 404, "{}"}, {0, 503, 503, "{}"},
                 {-ETIMEDOUT, 0, 503, NULL}, {0, 200, 503, "{}"}, {0, 200, 503, "no"}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        ask(world, "post:1", "/a");
        assert_int_equal(world->count, i + 1);
        world->asked[i].answered(world->asked[i].context, CASES[i].code, CASES[i].status, CASES[i].text,
                                 CASES[i].text ? strlen(CASES[i].text) : 0);
        assert_int_equal(world->status, CASES[i].wanted);
    }
    ask(world, "post:1", "/a"); /* hot by now */
    answer(world, world->count - 1, false);
    assert_int_equal(world->status, 200);
    size_t before = world->count;
    ask(world, "post:1", "/a");
    assert_int_equal(world->count, before + 1);
    answer(world, before, true);
}

/* A page that is followed by another one. */
static void answer_with_next(struct copies_world *world, size_t question, const char *next) {
    char *text = mem_format(
        "{\"items\":[],\"next\":\"%s\",\"total\":0,\"version\":1,\"counters\":0,\"likes\":0,\"closed\":false,"
        "\"owner\":1,\"complete\":true,\"pinned\":[]}",
        next);
    world->asked[question].answered(world->asked[question].context, 0, 200, text, strlen(text));
    free(text);
}

static void the_next_page_of_a_hot_subject_is_read_ahead(void **state) {
    struct copies_world *world = *state;
    ask(world, "post:1", "/a?limit=3");
    answer_with_next(world, 0, "f.3");
    assert_int_equal(world->count, 1); /* not hot */
    for (int i = 0; i < HOT_READS; i++) ask(world, "post:1", "/a?limit=3");
    answer_with_next(world, 1, "f.3 &");
    assert_int_equal(world->count, 3);
    assert_string_equal(world->asked[2].path, "/a?limit=3&after=f.3%20%26");
    size_t before = world->done;
    ask(world, "post:1", "/a?limit=3&after=f.3%20%26"); /* it is under way */
    assert_int_equal(world->count, 3);
    answer_with_next(world, 2, "f.6");
    assert_int_equal(world->done, before + 1);
    assert_int_equal(world->count, 3); /* one page ahead, not all */
    now_ms += 1000;
    ask(world, "post:1", "/a?limit=3&after=f.3%20%26");
    answer_with_next(world, 3, "f.6");
    assert_string_equal(world->asked[4].path, "/a?limit=3&after=f.6");
    answer(world, 4, true);
}

static void copies_take_no_more_than_their_memory(void **state) {
    struct copies_world *world = *state;
    char path[32];
    size_t questions = 0;
    for (int i = 0; i < HOT_READS; i++) ask(world, "post:1", "/hot");
    answer(world, questions++, true);
    for (int i = 0; i < 60; i++) {
        snprintf(path, sizeof path, "/%d", i);
        ask(world, "post:1", path);
        answer(world, questions++, true);
    }
    size_t before = world->count;
    ask(world, "post:1", "/hot");
    assert_int_equal(world->count, before); /* the first ones are kept */
    ask(world, "post:1", "/59");
    assert_int_equal(world->count, before + 1); /* there was no room for the last */
    answer(world, before, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_window_slides),
        cmocka_unit_test(the_hottest_are_hot),
        cmocka_unit_test(memory_is_bounded_and_the_hot_stay),
        cmocka_unit_test_setup_teardown(one_build_however_many_ask, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_pages_of_hot_subjects_are_kept_and_for_a_second, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_has_written_reads_no_older_page, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failures_and_incomplete_pages_are_not_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_next_page_of_a_hot_subject_is_read_ahead, set_up, tear_down),
        cmocka_unit_test_setup_teardown(copies_take_no_more_than_their_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
