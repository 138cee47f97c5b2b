/* Tests threads.c, threads_ahead.c, threads_of_user.c and threads_refusals.c. The store of comments: when refusals are forgotten, what
 * is read ahead, and what is of a user. */
#include "comments/threads.h"
#include "unit/kit/kit.h"

enum { USER = 7 };
#define SUBJECT "site:1"

struct threads_world {
    char *folder;
    struct store *store;
    struct threads *threads;
    int64_t offset;
};

SET_UP() {
    struct threads_world *world = kit_zero(sizeof *world);
    const struct store_options store = {.cache_bytes = 4 << 20, .memtable_bytes = 4 << 20};
    world->folder = kit_folder();
    assert_int_equal(store_open(world->folder, &store, &world->store, &failure), 0);
    world->threads = threads_new(world->store, 1);
    assert_int_equal(threads_open(world->threads, 0, 1000, 0, &failure), 0);
    return world;
}

TEAR_DOWN(struct threads_world *world) {
    threads_free(world->threads);
    store_close(world->store);
}

static const struct event_text OF = {SUBJECT, sizeof SUBJECT - 1};

/* Takes a record of the subject, of a comment of it (numbers 1) or of a reaction (2). */
static void take(struct threads_world *world, enum threads_state state, int numbers, int64_t comment, int64_t second,
                 int64_t time_ms, const struct buffer *value) {
    const struct subject_key parts = {
        .subject = OF.data, .size = OF.size, .numbers = numbers, .comment = comment, .second = second};
    uint8_t key[SUBJECT_KEY_MAX];
    struct error error;
    const char *reason;
    const struct kafka_record record = {.topic = THREADS_TOPICS[state],
                                        .offset = world->offset++,
                                        .timestamp = time_ms,
                                        .key = key,
                                        .key_size = subject_key_write(key, &parts),
                                        .value = value->data,
                                        .value_size = value->size};
    assert_int_equal(threads_take(world->threads, state, &record, &reason, &error), 0);
    assert_null(reason);
}

static void write_all(struct threads_world *world) { assert_int_equal(threads_write(world->threads, &failure), 0); }

static void gather_refusal(struct threads_world *world, const char *key, int64_t time_ms) {
    const struct comment_refusal refusal = {.user = USER, .key = {key, strlen(key)}, .reason = COMMENT_REFUSAL_CLOSED};
    FREED_BUFFER value = {.size = 0};
    event_encode_comment_refusal(&value, &refusal);
    take(world, THREADS_REFUSALS, 0, 0, 0, time_ms, &value);
}

static void refuse(struct threads_world *world, const char *key, int64_t time_ms) {
    gather_refusal(world, key, time_ms);
    write_all(world);
}

static void forget(struct threads_world *world, int64_t now_ms) {
    assert_int_equal(threads_forget(world->threads, 0, now_ms, &failure), 0);
}

/* Whether the refusal is in the store, however old it is. */
static bool has(struct threads_world *world, const char *key) {
    const struct event_text text = {key, strlen(key)};
    enum comment_refusal_reason reason;
    return threads_refusal(world->threads, 0, &OF, USER, &text, 0, &reason, &failure) == 1;
}

TEST(refusals_are_forgotten_after_an_hour, struct threads_world *world) {
    refuse(world, "a", 1000);
    refuse(world, "b", 2000);
    refuse(world, "again", 1000);
    refuse(world, "again", 2000);
    forget(world, 1000 + THREADS_REFUSAL_MS - 1);
    assert_true(has(world, "a"));
    forget(world, 1000 + THREADS_REFUSAL_MS);
    assert_false(has(world, "a"));
    assert_true(has(world, "b") && has(world, "again"));
    forget(world, 9000 + THREADS_REFUSAL_MS);
    assert_false(has(world, "b") || has(world, "again"));
}

TEST(one_with_an_earlier_time_is_forgotten_too, struct threads_world *world) {
    refuse(world, "a", 5000);
    forget(world, 6000 + THREADS_REFUSAL_MS);
    refuse(world, "late", 3000);
    refuse(world, "new", 7000);
    forget(world, 6000 + THREADS_REFUSAL_MS);
    assert_false(has(world, "late"));
    assert_true(has(world, "new"));
}

TEST(many_go_in_several_turns, struct threads_world *world) {
    char key[32];
    for (int i = 0; i < 2500; i++) {
        snprintf(key, sizeof key, "%d", i);
        refuse(world, key, 1000 + i / 3);
    }
    for (int i = 0; i < 3; i++) {
        assert_true(has(world, "2499"));
        forget(world, 9000 + THREADS_REFUSAL_MS);
    }
    for (int i = 0; i < 2500; i++) {
        snprintf(key, sizeof key, "%d", i);
        assert_false(has(world, key));
    }
}

TEST(they_are_found_after_a_restart, struct threads_world *world) {
    refuse(world, "a", 1000);
    threads_free(world->threads);
    world->threads = threads_new(world->store, 1);
    assert_int_equal(threads_open(world->threads, 0, 1000, 0, &failure), 0);
    assert_true(has(world, "a"));
    assert_false(has(world, "b"));
}

/* More than are known in memory. */
TEST(very_many_are_found, struct threads_world *world) {
    enum { MANY = 33000 };
    char key[32];
    for (int i = 0; i < MANY; i++) {
        snprintf(key, sizeof key, "%d", i);
        gather_refusal(world, key, 1000);
    }
    write_all(world);
    assert_true(has(world, "0") && has(world, "32999"));
    assert_false(has(world, "33000"));
    while (has(world, "32999") || has(world, "0")) forget(world, 9000 + THREADS_REFUSAL_MS);
    for (int i = 0; i <= MANY / 1000; i++) forget(world, 9000 + THREADS_REFUSAL_MS);
    refuse(world, "new", 9000 + THREADS_REFUSAL_MS);
    assert_true(has(world, "new"));
    assert_false(has(world, "1"));
}

/* ---- reading ahead ---- */

static void like(struct threads_world *world, int64_t comment, int64_t likes) {
    const struct comment record = {.user = USER, .floor = (int32_t)comment, .likes = likes};
    const struct comment_reaction reaction = {.likes = true};
    FREED_BUFFER value = {.size = 0};
    event_encode_comment(&value, &record);
    take(world, THREADS_COMMENTS, 1, comment, 0, 1000, &value);
    buffer_clear(&value);
    event_encode_comment_reaction(&value, &reaction);
    take(world, THREADS_REACTIONS, 2, comment, USER, 1000, &value);
}

/* -1: there is no such comment. */
static int64_t likes_of(struct threads_world *world, int64_t comment) {
    struct comment found;
    int code = threads_comment(world->threads, 0, &OF, comment, &found, &failure);
    assert_true(code >= 0);
    return code ? found.likes : -1;
}

static bool likes(struct threads_world *world, int64_t comment, int64_t user) {
    struct comment_reaction reaction;
    int code = threads_reaction(world->threads, 0, &OF, comment, user, &reaction, &failure);
    assert_true(code >= 0);
    return code && reaction.likes;
}

/* Each third comment is there, and is wanted twice. */
TEST(what_is_read_ahead_is_what_the_store_has, struct threads_world *world) {
    enum { COMMENTS = 9000 };
    for (int64_t id = 3; id < COMMENTS; id += 3) like(world, id, id);
    write_all(world);
    for (int64_t wanted = 0; wanted < 2 * COMMENTS; wanted++) {
        int64_t id = 1 + wanted * 7919 % COMMENTS;
        threads_want_comment(world->threads, 0, &OF, id);
        threads_want_reaction(world->threads, 0, &OF, id, USER + wanted % 2);
    }
    assert_int_equal(threads_read_ahead(world->threads, &failure), 0);
    for (int64_t id = 1; id < COMMENTS; id++) {
        assert_int_equal(likes_of(world, id), id % 3 ? -1 : id);
        assert_int_equal(likes(world, id, USER), id % 3 == 0);
        assert_false(likes(world, id, USER + 1));
    }
}

TEST(what_is_written_is_not_found_as_it_was, struct threads_world *world) {
    like(world, 3, 1);
    write_all(world);
    threads_want_comment(world->threads, 0, &OF, 3);
    threads_want_comment(world->threads, 0, &OF, 4);
    assert_int_equal(threads_read_ahead(world->threads, &failure), 0);
    assert_int_equal(likes_of(world, 3), 1);
    assert_int_equal(likes_of(world, 4), -1);
    like(world, 3, 2);
    like(world, 4, 1);
    write_all(world);
    assert_int_equal(likes_of(world, 3), 2);
    assert_int_equal(likes_of(world, 4), 1);
}

/* ---- what is of a user ---- */

static void put_comment(struct threads_world *world, int64_t id, int64_t user, enum comment_state state) {
    struct comment comment = {.user = user, .state = state, .floor = (int32_t)id};
    FREED_BUFFER value = {.size = 0};
    event_encode_comment(&value, &comment);
    take(world, THREADS_COMMENTS, 1, id, 0, 1000, &value);
}

static void put_reaction(struct threads_world *world, int64_t id, int64_t user, bool liked) {
    struct comment_reaction reaction = {.likes = liked, .reported = !liked};
    FREED_BUFFER value = {.size = 0};
    event_encode_comment_reaction(&value, &reaction);
    take(world, THREADS_REACTIONS, 2, id, user, 1000, &value);
}

struct of_user {
    int64_t sum; /* of the comments' ids, a thousand times of those that are liked */
    size_t count;
    size_t page; /* it wants so many at once */
};

static bool add_of_user(void *context, const struct event_text *subject, int64_t comment, bool liked) {
    struct of_user *found = context;
    assert_int_equal(subject->size, OF.size);
    assert_memory_equal(subject->data, OF.data, OF.size);
    found->sum += liked ? 1000 * comment : comment;
    return ++found->count % found->page != 0;
}

static struct of_user of_user(struct threads_world *world, int64_t user, bool reports, size_t work) {
    struct of_user found = {.sum = 0, .page = 1 + work % 3};
    FREED_BUFFER place = {.size = 0};
    if (reports) threads_reactions(&place);
    int turns = 0;
    do {
        assert_int_equal(threads_of_user(world->threads, 0, user, reports, &place, work, add_of_user, &found, &failure),
                         0);
        assert_true(++turns < 200);
    } while (place.size);
    return found;
}

TEST(a_users_comments_and_likes_are_found_whatever_an_answer_looks_at, struct threads_world *world) {
    assert_int_equal(of_user(world, USER, false, 3).count, 0);
    for (int64_t id = 1; id <= 20; id++) {
        put_comment(world, id, id % 2 ? USER : USER + 1, id == 3 ? COMMENT_DELETED : COMMENT_HIDDEN);
        if (id % 4 == 0) put_reaction(world, id, USER, id != 8);
        put_reaction(world, id, USER + 2, true);
    }
    write_all(world);
    for (size_t work = 1; work <= 50; work++) {
        struct of_user found = of_user(world, USER, false, work), other = of_user(world, USER + 2, false, work);
        struct of_user reported = of_user(world, USER, true, work);
        assert_int_equal(found.count, 9 + 4);
        assert_int_equal(found.sum, 100 - 3 + 1000 * (4 + 12 + 16 + 20));
        assert_int_equal(other.sum, 210 * 1000);
        assert_true(reported.count == 1 && reported.sum == 8000);
    }
    assert_int_equal(of_user(world, USER + 3, false, 4).count, 0);
}
