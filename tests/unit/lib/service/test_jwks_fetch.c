/* A set of keys that is fetched from a URL: when it is fetched again, and that what goes wrong costs nothing but the fetch. */
#include "service/jwks_fetch.h"
#include "unit/kit/kit.h"
#include "unit/lib/service/world.h"

SET_UP() { return world_new((struct http_server_options){.max_body = 1024}); }

/* Turns the loop until there is an outcome. */
static int outcome(struct world *world, struct jwks_fetch *fetch, struct buffer *text, struct error *error) {
    int code = 0;
    buffer_clear(text);
    world_until(world, (code = jwks_fetch_take(fetch, text, error)) != 0);
    return code;
}

static void answer(struct world *world, size_t i, unsigned status, const char *text) {
    world_until(world, world->held_count > i);
    http_reply(world->held[i], status, "application/json", text, strlen(text), NULL, 0);
}

TEST(a_set_is_fetched_and_taken_once, struct world *world) {
    FREED_BUFFER text = {.size = 0};
    FREED char *url = world_url(world, "/hold");
    struct jwks_fetch *fetch = jwks_fetch_new(url, 1);
    assert_int_equal(jwks_fetch_take(fetch, &text, &failure), 0);
    answer(world, 0, 200, "{\"keys\":[]}");
    assert_int_equal(outcome(world, fetch, &text, &failure), 1);
    assert_string_equal(buffer_cstring(&text), "{\"keys\":[]}");
    assert_int_equal(jwks_fetch_take(fetch, &text, &failure), 0);
    jwks_fetch_free(fetch);
}

TEST(it_is_fetched_anew_when_a_key_is_wanted, struct world *world) {
    FREED_BUFFER text = {.size = 0};
    FREED char *url = world_url(world, "/hold");
    struct jwks_fetch *fetch = jwks_fetch_new(url, 300);
    answer(world, 0, 200, "one");
    assert_int_equal(outcome(world, fetch, &text, &failure), 1);
    int64_t began_us = clock_monotonic_us();
    for (int i = 0; i < 100; i++) jwks_fetch_want(fetch);
    answer(world, 1, 200, "two");
    assert_true(clock_monotonic_us() - began_us > 100 * 1000); /* not at once, and for all of them together */
    assert_int_equal(outcome(world, fetch, &text, &failure), 1);
    assert_string_equal(buffer_cstring(&text), "two");
    began_us = clock_monotonic_us();
    while (clock_monotonic_us() - began_us < 600 * 1000) world_turn(world);
    assert_int_equal(world->held_count, 2);
    jwks_fetch_free(fetch);
}

TEST(failures_are_told_and_tried_again, struct world *world) {
    FREED_BUFFER text = {.size = 0};
    FREED char *url = world_url(world, "/hold");
    struct jwks_fetch *fetch = jwks_fetch_new(url, 1);
    answer(world, 0, 500, "{\"keys\":[]}");
    assert_fails(outcome(world, fetch, &text, &failure), -EIO, "the answer is 500");
    assert_int_equal(text.size, 0);
    answer(world, 1, 302, "");
    assert_fails(outcome(world, fetch, &text, &failure), -EIO, "the answer is 302");
    answer(world, 2, 200, "good");
    assert_int_equal(outcome(world, fetch, &text, &failure), 1);
    assert_string_equal(buffer_cstring(&text), "good");
    jwks_fetch_free(fetch);
}

TEST(a_set_has_a_bound, struct world *world) {
    FREED_BUFFER text = {.size = 0};
    FREED char *url = world_url(world, "/huge");
    struct jwks_fetch *fetch = jwks_fetch_new(url, 1000);
    assert_fails(outcome(world, fetch, &text, &failure), -EFBIG, "more than 1048576 bytes");
    jwks_fetch_free(fetch);
}

TEST(nobody_there_is_a_failure_that_the_start_waits_for, struct world *world) {
    FREED_BUFFER text = {.size = 0};
    struct jwks_fetch *fetch = jwks_fetch_new("http://127.0.0.1:1/", 60000);
    jwks_fetch_wait(fetch, 10000);
    assert_int_equal(jwks_fetch_take(fetch, &text, &failure), -EIO);
    jwks_fetch_free(fetch);
}

TEST(the_end_waits_for_no_server, struct world *world) {
    FREED char *url = world_url(world, "/hold");
    int64_t began_us = clock_monotonic_us();
    struct jwks_fetch *fetch = jwks_fetch_new(url, 1);
    world_until(world, world->held_count == 1);
    jwks_fetch_wait(fetch, 10);
    jwks_fetch_free(fetch);
    assert_true(clock_monotonic_us() - began_us < 4 * 1000 * 1000);
    http_reply(world->held[0], 200, "text/plain", "", 0, NULL, 0);
}

TEST(the_server_says_how_long_a_set_is_good) {
    static const struct {
        const char *field;
        int seconds;
    } CASES[] = {
        {NULL, JWKS_FETCH_USUAL_S},
        {"no-store", JWKS_FETCH_USUAL_S},
        {"max-age=600", 600},
        {"public, max-age=600, must-revalidate", 600},
        {"Max-Age=600", 600},
        {"max-age=15", JWKS_FETCH_LEAST_S},
        {"max-age=0", JWKS_FETCH_LEAST_S},
        {"max-age=-5", JWKS_FETCH_LEAST_S},
        {"max-age=x", JWKS_FETCH_LEAST_S},
        {"max-age=86400", JWKS_FETCH_MOST_S},
        {"max-age=99999999999999999999999", JWKS_FETCH_MOST_S},
    };
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++)
        if (jwks_fetch_pause_s(CASES[i].field) != CASES[i].seconds) fail_msg("case %zu", i);
}
