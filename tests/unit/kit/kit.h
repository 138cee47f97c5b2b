/* What every test in C stands on: tests that register themselves, what is made anew for each of them, and things that go by themselves
 * when a test is over. A file of tests has no list of them and no main.
 *
 *     SET_UP() { ... return world; }            before each test
 *     TEAR_DOWN(struct world *world) { ... }    behind each test
 *     TEST(a_test, struct world *world) { ... }
 *     TEST(a_test_that_does_not_need_it) { ... }
 *
 * Tests run in the order of the file. SET_UP_ONCE is for what takes long: before the first test, and its TEAR_DOWN behind the last. Where
 * the set-up returns NULL, the tests that take what it makes are skipped; it has said why. */
#pragma once

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/loop.h"
#include "base/mem.h"

#define TEST(...) KIT_THIRD(__VA_ARGS__, KIT_TEST_WITH, KIT_TEST_ALONE, )(__VA_ARGS__)
#define SET_UP() KIT_SET_UP(false)
#define SET_UP_ONCE() KIT_SET_UP(true)
#define TEAR_DOWN(it)                                                                                                  \
    static void tear_down(it);                                                                                         \
    static void tear_down_it(void *made) { tear_down(made); }                                                          \
    __attribute__((constructor)) static void add_tear_down(void) { kit_add_tear_down(tear_down_it); }                  \
    static void tear_down(it)

#define KIT_THIRD(first, second, third, ...) third
#define KIT_TEST_ALONE(name)                                                                                           \
    static void name(void);                                                                                            \
    static void name##_alone(void **state) { name(); }                                                                 \
    KIT_ADD(name, name##_alone)                                                                                        \
    static void name(void)
#define KIT_TEST_WITH(name, it)                                                                                        \
    static void name(it);                                                                                              \
    static void name##_with(void **state) {                                                                            \
        if (!*state) skip();                                                                                           \
        name(*state);                                                                                                  \
    }                                                                                                                  \
    KIT_ADD(name, name##_with)                                                                                         \
    static void name(it)
#define KIT_ADD(name, function)                                                                                        \
    __attribute__((constructor)) static void add_##name(void) { kit_add_test(#name, function); }
#define KIT_SET_UP(once)                                                                                               \
    static void *set_up(void);                                                                                         \
    __attribute__((constructor)) static void add_set_up(void) { kit_add_set_up(set_up, once); }                        \
    static void *set_up(void)

void kit_add_test(const char *name, void (*run)(void **state));
void kit_add_set_up(void *(*set_up)(void), bool once);
void kit_add_tear_down(void (*tear_down)(void *made));

/* Calls free_it when the test is over and torn down, the latest first; behind the last test, if SET_UP_ONCE makes it. */
void kit_after(void (*free_it)(void *it), void *it);
void kit_forget(const void *it); /* it was freed before */

/* What tests make again and again; all of it goes when the test is over, after its loops have run out. */
void *kit_zero(size_t size);
struct metrics *kit_metrics(void);
struct epochs *kit_epochs(void);
struct codec *kit_codec(void);
struct log *kit_log(void);
void kit_loop(uv_loop_t *loop); /* begins it */

/* The path of a new folder in TMPDIR, or else in /tmp, which goes with all that is in it when the test is over. */
char *kit_folder(void);
void kit_remove(const char *path); /* with all that is in it */
void kit_write(const char *path, const char *text);

/* A variable that is freed at the end of its block: FREED char *path = mem_format(...); FREED_BUFFER text = {.size = 0}; FREED_BY takes
 * any function of a pointer to the variable. */
#define FREED_BY(function) __attribute__((cleanup(function), unused)) /* its end is a use */
#define FREED FREED_BY(kit_free)
#define FREED_BUFFER FREED_BY(buffer_free) struct buffer
#define FREED_JSON FREED_BY(kit_free_json) json_t
void kit_free(void *variable);
void kit_free_json(void *variable);
void kit_close(const int *file);

/* For calls whose reason is only shown: if (store_open(..., &failure)) fail_msg("%s", failure.text). */
extern _Thread_local struct error failure;

/* The call, which takes &failure, returns the code for a reason that holds this text, or is it. */
#define assert_fails(call, code, part) KIT_FAILS(call, code, assert_non_null(strstr(failure.text, part)))
#define assert_fails_saying(call, code, reason) KIT_FAILS(call, code, assert_string_equal(failure.text, reason))
#define KIT_FAILS(call, code, says)                                                                                    \
    do {                                                                                                               \
        failure.text[0] = '\0';                                                                                        \
        assert_int_equal(call, code);                                                                                  \
        says;                                                                                                          \
    } while (0)

/* Takes turns until the condition holds; fails after ten seconds. */
#define KIT_UNTIL(turn, condition)                                                                                     \
    do {                                                                                                               \
        int64_t started_us_ = clock_monotonic_us();                                                                    \
        while (!(condition)) {                                                                                         \
            if (clock_monotonic_us() - started_us_ > 10000000) fail_msg("never came: %s", #condition);                 \
            turn;                                                                                                      \
        }                                                                                                              \
    } while (0)
void kit_loop_end(uv_loop_t *loop); /* runs all that is left on it, and closes it: no handle stays */

/* How many random histories to run: STARLING_HISTORIES, or that many. */
uint64_t kit_histories(uint64_t usual);

/* What must hold in a history, which has a seed by which it can be run again. */
#define CHECK(history, condition)                                                                                      \
    do {                                                                                                               \
        if (!(condition)) fail_msg("seed %" PRIu64 ": %s", (history)->seed, #condition);                               \
    } while (0)
