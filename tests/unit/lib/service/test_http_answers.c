/* Tests http_cors.c and http_tag.c. The things that answers of the HTTP server depend on: pages of other origins, entity tags, and
 * OPTIONS. */
#include "unit/kit/kit.h"
#include "unit/lib/service/world.h"

/* ---- pages of other origins ---- */

static struct http_cors *cors_of(const char *origins) {
    struct http_cors *cors;
    if (http_cors_new(origins, &cors, &failure)) fail_msg("%s", failure.text);
    return cors;
}

TEST(origins_are_read) {
    static const char *const BAD[] = {
        "app.example", "https://",    "https://app.example/", "https://App.example", "https://a?b", "://a",
        "https://:80", "https://u@a", "https://*.example",    "https://a https:/",   "null"};
    for (size_t i = 0; i < ARRAY_SIZE(BAD); i++) {
        struct http_cors *cors;
        if (http_cors_new(BAD[i], &cors, &failure) != -EINVAL) fail_msg("%s", BAD[i]);
    }
    assert_null(cors_of(""));
    assert_null(cors_of(" , "));
    http_cors_free(cors_of("https://app.example,http://[::1]:3000 *"));
}

TEST(known_origins_may_read_answers) {
    struct http_cors *cors = cors_of("https://app.example, http://localhost:3000");
    struct world *world = world_new((struct http_server_options){.cors = cors});
    char *reply = raw_say(world, "GET", "/", "Origin: http://localhost:3000\r\n");
    assert_contains(reply, "\r\nAccess-Control-Allow-Origin: http://localhost:3000\r\n");
    assert_contains(reply, "\r\nAccess-Control-Expose-Headers: ETag, Retry-After, Location, Allow, Link\r\n");
    assert_contains(reply, "\r\nVary: Origin\r\n");
    free(reply);
    reply = raw_say(world, "GET", "/bearer", "Origin: https://app.example\r\n"); /* problems, too */
    assert_contains(reply, "HTTP/1.1 401 ");
    assert_contains(reply, "\r\nAccess-Control-Allow-Origin: https://app.example\r\n");
    free(reply);
    static const char *const OTHERS[] = {"",
                                         "Origin: https://app.example.evil\r\n",
                                         "Origin: https://app.exampl\r\n",
                                         "Origin: http://app.example\r\n",
                                         "Origin: null\r\n",
                                         "Origin: \r\n"};
    for (size_t i = 0; i < ARRAY_SIZE(OTHERS); i++) {
        reply = raw_say(world, "GET", "/", OTHERS[i]);
        if (strstr(reply, "Access-Control")) fail_msg("%s", OTHERS[i]);
        assert_contains(reply, "\r\nVary: Origin\r\n");
        free(reply);
    }
    world_free(world);
    http_cors_free(cors);
}

TEST(browsers_may_ask_before_they_send) {
    struct http_cors *cors = cors_of("*");
    struct world *world = world_new((struct http_server_options){.cors = cors});
    char *reply =
        raw_say(world, "OPTIONS", "/", "Origin: https://any.example\r\nAccess-Control-Request-Method: PUT\r\n");
    assert_contains(reply, "HTTP/1.1 204 ");
    assert_contains(reply, "\r\nAllow: GET, PUT, OPTIONS\r\n");
    assert_contains(reply, "\r\nAccess-Control-Allow-Methods: GET, PUT, OPTIONS\r\n");
    assert_contains(reply,
                    "\r\nAccess-Control-Allow-Headers: Authorization, Content-Type, If-None-Match, traceparent\r\n");
    assert_contains(reply, "\r\nAccess-Control-Allow-Origin: *\r\n");
    free(reply);
    reply = raw_say(world, "OPTIONS", "/", ""); /* no browser */
    assert_contains(reply, "\r\nAllow: GET, PUT, OPTIONS\r\n");
    assert_null(strstr(reply, "Access-Control"));
    free(reply);
    world_free(world);
    http_cors_free(cors);
}

/* ---- entity tags ---- */

TEST(tags_match_weakly) {
    static const struct {
        const char *list;
        bool matches;
    } CASES[] = {
        {NULL, false},
        {"", false},
        {"*", true},
        {"W/\"12.345\"", true},
        {"\"12.345\"", true},
        {"\"a\", W/\"12.345\" ,\"b\"", true},
        {"W/\"12.34\"", false},
        {"12.345", false},
        {"W/\"12.345", false},
        {"\"a,b\",\"c\"", false},
        {"\"a", false},
        {"\"12.345\"x", false},
        {",,\"12.345\"", true},
    };
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++)
        if (http_tag_matches(CASES[i].list, "W/\"12.345\"") != CASES[i].matches) fail_msg("%s", CASES[i].list);
}

TEST(same_body_is_not_sent_again) {
    struct world *world = world_new((struct http_server_options){.gzip_least = 5});
    char *reply = raw_say(world, "GET", "/tagged?a=1", "");
    assert_contains(reply, "HTTP/1.1 200 ");
    assert_contains(reply, "\r\nCache-Control: private, no-cache\r\n");
    char tag[32], fields[64];
    snprintf(tag, sizeof tag, "%.*s", 20, strstr(reply, "ETag: ") + 6);
    free(reply);
    snprintf(fields, sizeof fields, "If-None-Match: %s\r\n", tag);
    reply = raw_say(world, "GET", "/tagged?a=1", fields);
    assert_contains(reply, "HTTP/1.1 304 ");
    assert_contains(reply, tag);
    assert_contains(reply, "\r\nVary: Accept-Encoding"); // as of the answer that it stands for
    assert_string_equal(strstr(reply, "\r\n\r\n"), "\r\n\r\n");
    free(reply);
    reply = raw_say(world, "GET", "/tagged?a=2", fields);
    assert_contains(reply, "HTTP/1.1 200 ");
    free(reply);
}
