/* The store of comments: when refusals are forgotten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "comments/threads.h"

enum { USER = 7 };
#define SUBJECT "site:1"

struct threads_world {
    char *folder;
    struct store *store;
    struct threads *threads;
    int64_t offset;
};

static int set_up(void **state) {
    struct threads_world *world = mem_zero(1, sizeof *world);
    const struct store_options store = {.cache_bytes = 4 << 20, .memtable_bytes = 4 << 20};
    int64_t next[THREADS_STATES];
    struct error error;
    world->folder = mem_format("/tmp/comments-threads-%d", (int)getpid());
    assert_int_equal(store_open(world->folder, &store, &world->store, &error), 0);
    world->threads = threads_new(world->store, 1);
    assert_int_equal(threads_attach(world->threads, 0, 1000, 0, next, &error), 0);
    *state = world;
    return 0;
}

static int tear_down(void **state) {
    struct threads_world *world = *state;
    struct error error;
    threads_free(world->threads);
    store_close(world->store);
    assert_int_equal(store_remove(world->folder, &error), 0);
    free(world->folder);
    free(world);
    return 0;
}

static void refuse(struct threads_world *world, const char *key, int64_t time_ms) {
    const struct comment_refusal refusal = {.user = USER, .key = {key, strlen(key)}, .reason = COMMENT_REFUSAL_CLOSED};
    struct buffer value = {0};
    struct error error;
    const char *reason;
    event_encode_comment_refusal(&value, &refusal);
    const struct kafka_record record = {.topic = THREADS_TOPICS[THREADS_REFUSALS],
                                        .offset = world->offset++,
                                        .timestamp = time_ms,
                                        .key = (const uint8_t *)SUBJECT,
                                        .key_size = strlen(SUBJECT),
                                        .value = value.data,
                                        .value_size = value.size};
    assert_int_equal(threads_take(world->threads, THREADS_REFUSALS, &record, &reason, &error), 0);
    assert_null(reason);
    assert_int_equal(threads_write(world->threads, &error), 0);
    buffer_free(&value);
}

static void forget(struct threads_world *world, int64_t now_ms) {
    struct error error;
    assert_int_equal(threads_forget(world->threads, 0, now_ms, &error), 0);
}

/* Whether the refusal is in the store, however old it is. */
static bool has(struct threads_world *world, const char *key) {
    static const struct event_text subject = {SUBJECT, sizeof SUBJECT - 1};
    const struct event_text text = {key, strlen(key)};
    enum comment_refusal_reason reason;
    struct error error;
    return threads_refusal(world->threads, 0, &subject, USER, &text, 0, &reason, &error) == 1;
}

static void refusals_are_forgotten_after_an_hour(void **state) {
    struct threads_world *world = *state;
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

static void one_with_an_earlier_time_is_forgotten_too(void **state) {
    struct threads_world *world = *state;
    refuse(world, "a", 5000);
    forget(world, 6000 + THREADS_REFUSAL_MS);
    refuse(world, "late", 3000);
    refuse(world, "new", 7000);
    forget(world, 6000 + THREADS_REFUSAL_MS);
    assert_false(has(world, "late"));
    assert_true(has(world, "new"));
}

static void many_go_in_several_turns(void **state) {
    struct threads_world *world = *state;
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(refusals_are_forgotten_after_an_hour, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_with_an_earlier_time_is_forgotten_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_go_in_several_turns, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
