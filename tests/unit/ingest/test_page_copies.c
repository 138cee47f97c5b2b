/* The copies of pages of hot subjects in the gateway. The pages are those of comments. */
#include "ingest/comments/comment_json.h"
#include "ingest/page_copies.h"
#include "unit/kit/kit.h"
#include "unit/lib/users/some_profiles.h"

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

static bool make(void *context, int form, struct json_bytes reply, void *answer, struct made_page *made) {
    const struct copies_world *world = context;
    const struct comment_names names = {world->some.profiles, world->authors};
    struct shown_comments *shown = answer;
    if (!shown_make((enum shown_form)form, shown, reply, &names)) return false;
    *made = (struct made_page){.bytes = shown_comments_bytes(shown), .next = shown->next, .complete = shown->complete};
    return true;
}

static void free_shown(void *answer) { shown_comments_free(answer); }

SET_UP() {
    struct copies_world *world = kit_zero(sizeof *world);
    some_profiles_open(&world->some);
    world->authors = known_authors_new();
    world->copies = page_copies_new(&(struct page_copies_options){
        .size = sizeof(struct shown_comments),
        .make = make,
        .free = free_shown,
        .hot_reads = HOT_READS,
        .max_bytes = 4000,
        .built = &world->built,
        .from_copies = &world->shared,
        .context = world,
        .fetch = fetch,
        .now_ms = read_clock,
    });
    now_ms = 100000;
    return world;
}

TEAR_DOWN(struct copies_world *world) {
    page_copies_free(world->copies);
    known_authors_free(world->authors);
    some_profiles_close(&world->some);
}

static void done(void *context, unsigned status, struct page_copy *copy) {
    struct copies_world *world = context;
    world->done++;
    world->status = status;
    assert_int_equal(copy != NULL, status == 200);
    if (!copy) return;
    world->good++;
    const struct shown_comments *shown = page_copy_answer(copy);
    assert_non_null(shown->body.data);
    page_copy_give(copy);
}

static void ask(struct copies_world *world, const char *subject, const char *path) {
    page_copies_ask(
        world->copies,
        &(struct page_wish){.subject = subject, .path = path, .form = SHOWN_PAGE, .context = world, .done = done});
}

static void answer(struct copies_world *world, size_t question, bool complete) {
    FREED char *text =
        mem_format("{\"items\":[],\"next\":null,\"total\":0,\"version\":%d,\"counters\":0,\"likes\":0,\"closed\":false,"
                   "\"owner\":1,\"complete\":%s,\"pinned\":[]}",
                   (int)question, complete ? "true" : "false");
    world->asked[question].answered(world->asked[question].context, 0, 200, text, strlen(text));
}

TEST(one_build_however_many_ask, struct copies_world *world) {
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

TEST(only_pages_of_hot_subjects_are_kept_and_for_a_second, struct copies_world *world) {
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

TEST(who_has_written_reads_no_older_page, struct copies_world *world) {
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

TEST(failures_and_incomplete_pages_are_not_kept, struct copies_world *world) {
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
    FREED char *text = mem_format(
        "{\"items\":[],\"next\":\"%s\",\"total\":0,\"version\":1,\"counters\":0,\"likes\":0,\"closed\":false,"
        "\"owner\":1,\"complete\":true,\"pinned\":[]}",
        next);
    world->asked[question].answered(world->asked[question].context, 0, 200, text, strlen(text));
}

TEST(the_next_page_of_a_hot_subject_is_read_ahead, struct copies_world *world) {
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

TEST(copies_take_no_more_than_their_memory, struct copies_world *world) {
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

static void ask_hot_only(struct copies_world *world) {
    page_copies_ask(
        world->copies,
        &(struct page_wish){
            .subject = "post:1", .path = "/a", .form = SHOWN_PAGE, .hot_only = true, .context = world, .done = done});
}

/* Whoever has had an answer to a write must not get one that somebody else had asked for before. */
TEST(what_is_not_hot_may_be_shared_with_nobody, struct copies_world *world) {
    for (int i = 1; i < HOT_READS; i++) ask_hot_only(world);
    assert_int_equal(world->count, HOT_READS - 1);
    for (int i = 0; i < 10; i++) ask_hot_only(world);
    assert_int_equal(world->count, HOT_READS); /* one for all, since it is hot */
    for (size_t i = 0; i < HOT_READS; i++) answer(world, i, true);
    assert_int_equal(world->good, HOT_READS - 1 + 10);
    ask_hot_only(world);
    assert_int_equal(world->count, HOT_READS);
    page_copies_changed(world->copies, "post:1");
    ask_hot_only(world);
    assert_int_equal(world->count, HOT_READS);
    page_copies_forget(world->copies, "post:2");
    ask_hot_only(world);
    assert_int_equal(world->count, HOT_READS);
    page_copies_forget(world->copies, "post:1");
    ask_hot_only(world);
    assert_int_equal(world->count, HOT_READS + 1);
    answer(world, HOT_READS, true);
}
