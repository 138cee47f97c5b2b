/* Tests index.c, database.c and search.c. The search index against brute force: what a search finds equals a plain scan of the comments,
 * by the rules of words. */
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <uv.h>

#include "moderation/search.h"
#include "unit/kit/kit.h"

enum { PARTITIONS = 3, CACHE = 1 << 20, FAR_LIMIT = 1000 };

struct fixture {
    char *folder;
    char *path;
    struct index *index;
    struct search *search;
};

static void open_both(struct fixture *f) {
    assert_int_equal(index_open(f->path, PARTITIONS, CACHE, &f->index, NULL), 0);
    assert_int_equal(search_new(f->index, CACHE, &f->search, NULL), 0);
}

static void close_both(struct fixture *f) {
    search_free(f->search);
    index_close(f->index);
    f->search = NULL;
    f->index = NULL;
}

SET_UP() {
    struct fixture *f = kit_zero(sizeof *f);
    f->folder = kit_folder();
    f->path = mem_format("%s/comments.db", f->folder);
    open_both(f);
    return f;
}

TEAR_DOWN(struct fixture *f) {
    close_both(f);
    free(f->path);
}

/* ---- what is searched ---- */

struct found {
    int64_t ids[FAR_LIMIT];
    size_t count;
    struct comment_wide last;
    char text[2048], subject[256];
};

static bool take_found(void *context, const struct index_row *row) {
    const struct comment_wide *comment = &row->comment;
    struct found *found = context;
    assert_true(found->count < FAR_LIMIT);
    found->ids[found->count++] = comment->id;
    found->last = *comment;
    snprintf(found->text, sizeof found->text, "%.*s", (int)comment->text.size, comment->text.data);
    snprintf(found->subject, sizeof found->subject, "%.*s", (int)comment->subject.size, comment->subject.data);
    return true;
}

static struct search_query anything(void) {
    return (struct search_query){.user = -1, .state = -1, .to = INT64_MAX, .limit = FAR_LIMIT};
}

static int run(struct fixture *f, const struct search_query *query, struct found *found, bool *more) {
    found->count = 0;
    return search_run(f->search, query, INT64_MAX, take_found, found, more, &failure);
}

static struct comment_wide some_comment(int64_t id, const char *subject, int64_t user, const char *text) {
    return (struct comment_wide){
        .id = id,
        .subject = {subject, strlen(subject)},
        .owner = 9,
        .floor = 3,
        .root = 5,
        .answers = 6,
        .user = user,
        .state = COMMENT_WIDE_VISIBLE,
        .text = {text, strlen(text)},
        .likes = 7,
        .replies = 8,
        .reports = 0,
        .time = 1234,
    };
}

static void put(struct fixture *f, const struct comment_wide *comment) {
    assert_int_equal(index_begin(f->index, NULL), 0);
    assert_int_equal(index_put(f->index, comment, NULL), 0);
    assert_int_equal(index_commit(f->index, NULL), 0);
}

static void expect_count(struct fixture *f, const struct search_query *query, size_t count) {
    struct found found;
    bool more;
    assert_int_equal(run(f, query, &found, &more), 0);
    assert_int_equal(found.count, count);
    assert_false(more);
}

/* ---- examples ---- */

TEST(a_comment_is_found_whole, struct fixture *f) {
    struct comment_wide comment = some_comment(1 << 22, "post:1", 4, "今天天气很好 ok");
    struct search_query query = anything();
    struct found found;
    bool more;
    put(f, &comment);
    query.text = "天气";
    assert_int_equal(run(f, &query, &found, &more), 0);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.text, "今天天气很好 ok");
    assert_string_equal(found.subject, "post:1");
    comment.text = found.last.text;
    comment.subject = found.last.subject;
    assert_memory_equal(&found.last.owner, &comment.owner, sizeof comment.owner);
    assert_int_equal(found.last.floor, 3);
    assert_int_equal(found.last.root, 5);
    assert_int_equal(found.last.answers, 6);
    assert_int_equal(found.last.user, 4);
    assert_int_equal(found.last.likes, 7);
    assert_int_equal(found.last.replies, 8);
    assert_int_equal(found.last.time, 1234);
    assert_int_equal(index_rows(f->index), 1);
}

TEST(a_changed_state_changes_what_finds_it, struct fixture *f) {
    struct comment_wide comment = some_comment(10, "post:1", 4, "spam 广告");
    struct search_query visible = anything(), hidden = anything(), spam = anything();
    visible.state = COMMENT_WIDE_VISIBLE;
    hidden.state = COMMENT_WIDE_HIDDEN;
    spam.text = "广告";
    put(f, &comment);
    expect_count(f, &visible, 1);
    expect_count(f, &hidden, 0);
    comment.state = COMMENT_WIDE_HIDDEN;
    put(f, &comment);
    expect_count(f, &visible, 0);
    expect_count(f, &hidden, 1);
    expect_count(f, &spam, 1);
    comment.state = COMMENT_WIDE_DELETED;
    comment.text = (struct event_text){"", 0};
    put(f, &comment);
    expect_count(f, &hidden, 0);
    expect_count(f, &spam, 0);
    assert_int_equal(index_rows(f->index), 1);
}

TEST(types_and_subjects_are_exact, struct fixture *f) {
    struct comment_wide lower = some_comment(1, "post:abc", 1, "x"), upper = some_comment(2, "post:aBc", 1, "x"),
                        other = some_comment(3, "postx:abc", 1, "x"), dotted = some_comment(4, "post:a.b_c~x-", 1, "x");
    struct search_query query = anything();
    put(f, &lower);
    put(f, &upper);
    put(f, &other);
    put(f, &dotted);
    query.subject = "post:aBc";
    expect_count(f, &query, 1);
    query.subject = "post:a.b_c~x-";
    expect_count(f, &query, 1);
    query.subject = "post:a";
    expect_count(f, &query, 0);
    query.subject = NULL;
    query.type = "post";
    expect_count(f, &query, 3);
    query.type = "postx";
    expect_count(f, &query, 1);
}

TEST(a_text_without_words_is_refused, struct fixture *f) {
    struct found found;
    bool more;
    struct search_query query = anything();
    query.text = "?!";
    assert_int_equal(run(f, &query, &found, &more), -EINVAL);
}

static bool wait_for_the_deadline(void *context, const struct index_row *row) {
    (void)row;
    while (clock_monotonic_us() <= *(int64_t *)context) usleep(1000);
    return true;
}

TEST(a_search_ends_at_its_deadline, struct fixture *f) {
    struct found found;
    struct search_query query = anything();
    bool more;
    assert_int_equal(index_begin(f->index, NULL), 0);
    for (int i = 1; i <= 900; i++) {
        struct comment_wide comment = some_comment(i, "post:1", i, "the same words");
        assert_int_equal(index_put(f->index, &comment, NULL), 0);
    }
    assert_int_equal(index_commit(f->index, NULL), 0);
    query.text = "same";
    found.count = 0;
    assert_int_equal(search_run(f->search, &query, clock_monotonic_us() - 1, take_found, &found, &more, NULL),
                     -ETIMEDOUT);
    assert_int_equal(found.count, 0);
    int64_t deadline_us = clock_monotonic_us() + 100000;
    assert_int_equal(search_run(f->search, &query, deadline_us, wait_for_the_deadline, &deadline_us, &more, NULL),
                     -ETIMEDOUT);
    expect_count(f, &query, 900);
}

TEST(offsets_come_with_the_comments, struct fixture *f) {
    struct comment_wide comment = some_comment(1, "post:1", 1, "x");
    assert_int_equal(index_next(f->index, 1), -1);
    assert_int_equal(index_begin(f->index, NULL), 0);
    assert_int_equal(index_put(f->index, &comment, NULL), 0);
    index_reached(f->index, 1, 77);
    assert_int_equal(index_next(f->index, 1), -1);
    assert_int_equal(index_commit(f->index, NULL), 0);
    // Not committed, as after a crash.
    assert_int_equal(index_begin(f->index, NULL), 0);
    assert_int_equal(index_remove(f->index, 1, NULL), 0);
    index_reached(f->index, 1, 78);
    close_both(f);
    open_both(f);
    assert_int_equal(index_next(f->index, 1), 77);
    assert_int_equal(index_next(f->index, 0), -1);
    assert_int_equal(index_rows(f->index), 1);
    struct search_query query = anything();
    expect_count(f, &query, 1);
}

TEST(another_number_of_partitions_begins_anew, struct fixture *f) {
    struct comment_wide comment = some_comment(1, "post:1", 1, "x");
    put(f, &comment);
    close_both(f);
    assert_int_equal(index_open(f->path, PARTITIONS + 1, CACHE, &f->index, NULL), 0);
    assert_int_equal(index_rows(f->index), 0);
    assert_int_equal(index_next(f->index, PARTITIONS), -1);
}

TEST(a_damaged_file_begins_anew, struct fixture *f) {
    struct comment_wide comment = some_comment(1, "post:1", 1, "x");
    put(f, &comment);
    close_both(f);
    int fd = open(f->path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "this is no database", 19, 0), 19);
    close(fd);
    open_both(f);
    assert_int_equal(index_rows(f->index), 0);
    put(f, &comment);
    struct search_query query = anything();
    expect_count(f, &query, 1);
}

TEST(one_process_has_the_file, struct fixture *f) {
    struct index *second;
    assert_int_equal(index_open(f->path, PARTITIONS, CACHE, &second, NULL), -EBUSY);
}

TEST(readers_notice_a_new_file, struct fixture *f) {
    struct comment_wide comment = some_comment(1, "post:1", 1, "x");
    struct search_query query = anything();
    put(f, &comment);
    expect_count(f, &query, 1);
    assert_int_equal(index_forget(f->index, NULL), 0);
    expect_count(f, &query, 0);
    comment.id = 2;
    put(f, &comment);
    expect_count(f, &query, 1);
}

/* ---- searches that overlap ---- */

enum { SEARCHERS = 8, LOG_MAX = 80 << 20 };

static atomic_bool searchers_stop;

static bool take_time(void *context, const struct index_row *row) {
    (void)context;
    (void)row;
    usleep(20000);
    return true;
}

/* Reads the file without a pause worth mentioning. */
static void search_on(void *context) {
    struct search_query query = {.user = -1, .state = -1, .to = INT64_MAX, .limit = 1};
    bool more;
    while (!atomic_load(&searchers_stop)) search_run(context, &query, INT64_MAX, take_time, NULL, &more, NULL);
}

static off_t log_size(const struct fixture *f) {
    FREED char *path = mem_format("%s-wal", f->path);
    struct stat stat_of;
    assert_int_equal(stat(path, &stat_of), 0);
    return stat_of.st_size;
}

/* Without a checkpoint that waits for searches the log would hold all 120 MiB that are written. */
TEST(the_log_stays_short_while_searches_overlap, struct fixture *f) {
    enum { COMMITS = 60, TEXT = 2 << 20 };
    struct search *searches[SEARCHERS];
    uv_thread_t threads[SEARCHERS];
    FREED char *text = mem_alloc(TEXT + 1);
    memset(text, 'a', TEXT);
    text[TEXT] = '\0';
    atomic_store(&searchers_stop, false);
    for (int i = 0; i < SEARCHERS; i++) {
        assert_int_equal(search_new(f->index, CACHE, &searches[i], NULL), 0);
        assert_int_equal(uv_thread_create(&threads[i], search_on, searches[i]), 0);
    }
    off_t most = 0;
    for (int i = 1; i <= COMMITS; i++) {
        struct comment_wide comment = some_comment(i, "post:1", 1, text);
        put(f, &comment);
        off_t size = log_size(f);
        if (size > most) most = size;
    }
    atomic_store(&searchers_stop, true);
    for (int i = 0; i < SEARCHERS; i++) {
        uv_thread_join(&threads[i]);
        search_free(searches[i]);
    }
    assert_true(most < LOG_MAX);
}

/* ---- brute force ---- */

enum { IDS = 60, USERS = 4, ROUNDS = 200, SEARCHES = 30 };

/* Characters as the rules of words have them; folded NULL: a separator. */
static const struct sign {
    const char *text, *folded;
    bool run;
} SIGNS[] = {
    {"a", "a", false},  {"B", "b", false},   {"b", "b", false},  {"\xc3\xa9", "e", false}, {"E", "e", false},
    {"7", "7", false},  {"中", "中", true},  {"国", "国", true}, {"人", "人", true},       {"の", "の", true},
    {"한", "한", true}, {" ", NULL, false},  {" ", NULL, false}, {"\"", NULL, false},      {"*", NULL, false},
    {"-", NULL, false}, {"，", NULL, false}, {"😀", "😀", true},
};

enum { SIGNS_MAX = 24 };

struct signs {
    size_t at[SIGNS_MAX], count;
};

static struct signs random_signs(int most) {
    // Few different ones meet each other more often.
    static const size_t FEW[] = {6, 6, 7, 11, 0};
    struct signs signs = {.count = (size_t)(rand() % (most + 1))};
    bool few = rand() % 2;
    for (size_t i = 0; i < signs.count; i++)
        signs.at[i] = few ? FEW[(size_t)rand() % ARRAY_SIZE(FEW)] : (size_t)rand() % ARRAY_SIZE(SIGNS);
    return signs;
}

static void write_signs(const struct signs *signs, char text[SIGNS_MAX * 4 + 1]) {
    *text = '\0';
    for (size_t i = 0; i < signs->count; i++) strcat(text, SIGNS[signs->at[i]].text);
}

/* The next word or run from *at on; false: there is none. */
static bool next_part(const struct signs *signs, size_t *at, size_t *begin, bool *is_run) {
    while (*at < signs->count && !SIGNS[signs->at[*at]].folded) ++*at;
    if (*at == signs->count) return false;
    *begin = *at;
    *is_run = SIGNS[signs->at[*at]].run;
    while (*at < signs->count && SIGNS[signs->at[*at]].folded && SIGNS[signs->at[*at]].run == *is_run) ++*at;
    return true;
}

static bool same_signs(const struct signs *a, size_t from_a, const struct signs *b, size_t from_b, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(SIGNS[a->at[from_a + i]].folded, SIGNS[b->at[from_b + i]].folded) != 0) return false;
    return true;
}

/* Whether the text has this word, or a run that contains this run. */
static bool text_has(const struct signs *text, const struct signs *query, size_t from, size_t size, bool run) {
    size_t at = 0, begin;
    bool is_run;
    while (next_part(text, &at, &begin, &is_run)) {
        if (is_run != run || at - begin < size || (!run && at - begin != size)) continue;
        for (size_t i = begin; i + size <= at; i++)
            if (same_signs(text, i, query, from, size)) return true;
    }
    return false;
}

static bool text_matches(const struct signs *text, const struct signs *query) {
    size_t at = 0, begin;
    bool run;
    while (next_part(query, &at, &begin, &run))
        if (!text_has(text, query, begin, at - begin, run)) return false;
    return true;
}

struct model_comment {
    bool there;
    struct signs text;
    int64_t user;
    const char *subject;
    int state, reports;
};

static const char *const SUBJECTS[] = {"post:1", "post:12", "page:1"};

static void change_one(struct fixture *f, struct model_comment model[IDS]) {
    int64_t id = rand() % IDS;
    struct model_comment *comment = &model[id];
    char text[SIGNS_MAX * 4 + 1];
    if (rand() % 8 == 0) {
        comment->there = false;
        assert_int_equal(index_remove(f->index, id, NULL), 0);
        return;
    }
    if (!comment->there || rand() % 4 == 0) {
        comment->text = random_signs(SIGNS_MAX);
        comment->user = rand() % USERS;
        comment->subject = SUBJECTS[(size_t)rand() % ARRAY_SIZE(SUBJECTS)];
    }
    comment->there = true;
    comment->state = rand() % 4;
    comment->reports = rand() % 3;
    write_signs(&comment->text, text);
    struct comment_wide wide = some_comment(id, comment->subject, comment->user, text);
    wide.state = (enum comment_wide_state)comment->state;
    wide.reports = comment->reports;
    assert_int_equal(index_put(f->index, &wide, NULL), 0);
}

static bool has_words(const struct signs *signs) {
    size_t at = 0, begin;
    bool run;
    return next_part(signs, &at, &begin, &run);
}

static bool matches(const struct model_comment *comment, int64_t id, const struct search_query *query,
                    const struct signs *words) {
    return comment->there && id >= query->from && id < query->to && (query->user < 0 || comment->user == query->user) &&
           (query->state < 0 || comment->state == query->state) && (!query->reported || comment->reports) &&
           (!query->subject || strcmp(comment->subject, query->subject) == 0) &&
           (!query->type || strncmp(comment->subject, query->type, strlen(query->type)) == 0) &&
           (!query->text || text_matches(&comment->text, words));
}

static void search_once(struct fixture *f, const struct model_comment model[IDS]) {
    struct search_query query = anything();
    struct signs words = random_signs(4);
    char text[SIGNS_MAX * 4 + 1];
    struct found found;
    bool more;
    write_signs(&words, text);
    if (rand() % 4) query.text = text;
    if (rand() % 4 == 0) query.user = rand() % USERS;
    if (rand() % 4 == 0) query.state = rand() % 4;
    if (rand() % 4 == 0) query.reported = true;
    if (rand() % 4 == 0) query.subject = SUBJECTS[(size_t)rand() % ARRAY_SIZE(SUBJECTS)];
    if (rand() % 4 == 0) query.type = rand() % 2 ? "post" : "page";
    if (rand() % 4 == 0) query.from = rand() % IDS;
    if (rand() % 4 == 0) query.to = rand() % IDS;
    if (rand() % 2) query.limit = (size_t)(1 + rand() % 10);
    int code = run(f, &query, &found, &more);
    if (query.text && !has_words(&words)) {
        assert_int_equal(code, -EINVAL);
        return;
    }
    assert_int_equal(code, 0);
    size_t expected = 0;
    bool others = false;
    for (int64_t id = IDS - 1; id >= 0; id--) {
        if (!matches(&model[id], id, &query, &words)) continue;
        if (expected == query.limit) {
            others = true;
            break;
        }
        assert_true(expected < found.count);
        assert_int_equal(found.ids[expected++], id);
    }
    assert_int_equal(found.count, expected);
    assert_int_equal(more, others);
}

TEST(searches_equal_a_plain_scan, struct fixture *f) {
    struct model_comment model[IDS] = {{.there = false}};
    srand(14);
    for (int round = 0; round < ROUNDS; round++) {
        assert_int_equal(index_begin(f->index, NULL), 0);
        for (int i = rand() % 20; i >= 0; i--) change_one(f, model);
        assert_int_equal(index_commit(f->index, NULL), 0);
        if (round % 100 == 99) {
            close_both(f);
            open_both(f);
        }
        for (int i = 0; i < SEARCHES; i++) search_once(f, model);
    }
    int64_t there = 0;
    for (int i = 0; i < IDS; i++) there += model[i].there;
    assert_int_equal(index_rows(f->index), there);
}
