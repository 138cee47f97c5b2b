/* Found comments, posts and people as clients see them. */
#include "ingest/moderation/found.h"
#include "moderation/searches.h"
#include "unit/kit/kit.h"
#include "unit/lib/users/some_profiles.h"

static void expect_page(const char *page, found_put *put, const char *expected) {
    struct some_profiles some;
    FREED_BUFFER body = {.size = 0};
    FREED_JSON *reply = json_parse(page, strlen(page), NULL);
    assert_non_null(reply);
    some_profiles_open(&some);
    some_profiles_name(&some, 7, "Ada");
    bool good = found_page_put(&body, reply, some.profiles, put);
    assert_int_equal(good, expected != NULL);
    if (expected) assert_string_equal(buffer_cstring(&body), expected);
    some_profiles_close(&some);
}

#define COMMENT(user, state)                                                                                             \
    "{\"id\":\"12\",\"user\":" user                                                                                      \
    ",\"text\":\"t\",\"time\":5,\"version\":1,\"edited\":null,\"floor\":2,\"root\":null,\"reply_to\":\"9\",\"likes\":1," \
    "\"reply_count\":0,\"replies\":[],\"state\":\"" state "\",\"subject\":\"post:1\",\"reports\":3}"

TEST(moderators_see_everything_and_names) {
    expect_page(
        "{\"items\":[" COMMENT("7", "hidden") "],\"next\":\"12\"}", found_comment,
        "{\"items\":[{\"id\":\"12\",\"user\":7,\"name\":\"Ada\",\"avatar_url\":\"\",\"text\":\"t\",\"time\":5,\"version\":1,\"edited\":null,\"floor\":2,"
        "\"root\":null,\"reply_to\":\"9\",\"likes\":1,\"reply_count\":0,\"replies\":[],\"state\":\"hidden\",\"subject\":"
        "\"post:1\",\"reports\":3}],\"next\":\"12\"}");
}

TEST(users_see_no_hidden_text_and_no_reports) {
    expect_page(
        "{\"items\":[" COMMENT("8", "hidden") "," COMMENT("8", "held") "],\"next\":null}", found_own_comment,
        "{\"items\":[{\"id\":\"12\",\"user\":8,\"name\":null,\"avatar_url\":null,\"text\":null,\"time\":5,\"version\":1,\"edited\":null,\"floor\":2,"
        "\"root\":null,\"reply_to\":\"9\",\"likes\":1,\"reply_count\":0,\"replies\":[],\"state\":\"hidden\",\"subject\":"
        "\"post:1\"},{\"id\":\"12\",\"user\":8,\"name\":null,\"avatar_url\":null,\"text\":\"t\",\"time\":5,\"version\":1,\"edited\":null,\"floor\":2,"
        "\"root\":null,\"reply_to\":\"9\",\"likes\":1,\"reply_count\":0,\"replies\":[],\"state\":\"held\",\"subject\":"
        "\"post:1\"}],\"next\":null}");
}

TEST(a_comment_that_lacks_something_is_not_shown) {
    expect_page("{\"items\":[{\"id\":\"1\"}],\"next\":null}", found_comment, NULL);
    expect_page("{\"items\":[{\"id\":\"1\",\"user\":1,\"state\":\"held\"}],\"next\":null}", found_comment, NULL);
    expect_page("{\"items\":[],\"next\":7}", found_comment, NULL);
    expect_page("{\"items\":[]}", found_comment, NULL);
}

/* A moderation process writes what the gateway reads. */
TEST(both_ends_agree) {
    FREED_BUFFER page = {.size = 0};
    buffer_string(&page, "{\"items\":[");
    found_json_put(&page, &(struct comment_wide){.id = 12,
                                                 .subject = {"post:1", 6},
                                                 .user = 7,
                                                 .state = COMMENT_WIDE_DELETED,
                                                 .text = {"\"", 1},
                                                 .version = 3,
                                                 .edited = 7,
                                                 .root = 9,
                                                 .answers = 10});
    buffer_string(&page, "],\"next\":null}");
    expect_page(
        buffer_cstring(&page), found_comment,
        "{\"items\":[{\"id\":\"12\",\"user\":7,\"name\":\"Ada\",\"avatar_url\":\"\",\"text\":null,\"time\":0,\"version\":3,\"edited\":7,\"floor\":0,"
        "\"root\":\"9\",\"reply_to\":\"10\",\"likes\":0,\"reply_count\":0,\"replies\":[],\"state\":\"deleted\",\"subject\":"
        "\"post:1\",\"reports\":0}],\"next\":null}");
}

static void expect_post(enum comment_wide_state state, const char *shown) {
    FREED_BUFFER page = {.size = 0};
    FREED_BUFFER expected = {.size = 0};
    buffer_string(&page, "{\"items\":[");
    found_post_json_put(&page, &(struct index_row){.comment = {.id = 12,
                                                               .user = 7,
                                                               .state = state,
                                                               .text = {"\"", 1},
                                                               .time = 5,
                                                               .version = 3,
                                                               .edited = 7,
                                                               .reports = 2},
                                                   .media = {"[\"https://x/1\"]", 15}});
    buffer_string(&page, "],\"next\":\"12\"}");
    buffer_format(&expected,
                  "{\"items\":[{\"id\":\"12\",\"user\":7,\"name\":\"Ada\",\"avatar_url\":\"\",%s,\"reports\":2}],"
                  "\"next\":\"12\"}",
                  shown);
    expect_page(buffer_cstring(&page), found_post, buffer_cstring(&expected));
}

TEST(posts) {
    expect_post(COMMENT_WIDE_HIDDEN,
                "\"text\":\"\\\"\",\"media\":[\"https://x/1\"],\"time\":5,\"version\":3,\"edited\":7,"
                "\"state\":\"hidden\"");
    expect_post(COMMENT_WIDE_DELETED,
                "\"text\":null,\"media\":[],\"time\":5,\"version\":3,\"edited\":7,\"state\":\"deleted\"");
    expect_page("{\"items\":[{\"id\":\"1\",\"user\":1}],\"next\":null}", found_post, NULL);
}

TEST(people) {
    expect_page(
        "{\"items\":[{\"user\":7,\"reports\":2,\"time\":5,\"reason\":\"rude\"}],\"next\":\"5.7\"}", found_person,
        "{\"items\":[{\"user\":7,\"name\":\"Ada\",\"avatar_url\":\"\",\"reports\":2,\"time\":5,\"reason\":\"rude\"}],"
        "\"next\":\"5.7\"}");
    expect_page("{\"items\":[{\"user\":7}],\"next\":null}", found_person, NULL);
}
