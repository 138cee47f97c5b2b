/* Tests home_page.c and post_lines.c. */
#include "cli/home_page.h"
#include "ids/ids.h"
#include "unit/kit/kit.h"

static const struct post_style LINES = {.json = false, .author = true}, OF_ONE = {.json = false, .author = false},
                               JSON = {.json = true, .author = true};

static int line_of(const char *text, const struct post_style *style, struct buffer *out, struct error *error) {
    FREED_JSON *post = json_parse(text, strlen(text), NULL);
    buffer_clear(out);
    return post_line(out, post, style, error);
}

TEST(posts_are_lines) {
    static const char POST[] =
        "{\"id\":\"77\",\"user\":5,\"text\":\"a \\\"b\\\"\\n\\u001b[1m\\u009b\",\"media\":[\"http://x\",\"http://y\"],"
        "\"time\":1767225600123}";
    FREED_BUFFER out = {.size = 0};
    assert_int_equal(line_of(POST, &LINES, &out, NULL), 0);
    assert_string_equal(buffer_cstring(&out), "2026-01-01T00:00:00.123Z 77 5 \"a \\\"b\\\"\\n\\u001b[1m\\u009b\"\n");
    assert_int_equal(line_of(POST, &OF_ONE, &out, NULL), 0);
    assert_string_equal(buffer_cstring(&out), "2026-01-01T00:00:00.123Z 77 \"a \\\"b\\\"\\n\\u001b[1m\\u009b\"\n");
    assert_int_equal(line_of(POST, &JSON, &out, NULL), 0);
    assert_string_equal(
        buffer_cstring(&out),
        "{\"id\":\"77\",\"user\":5,\"text\":\"a \\\"b\\\"\\n\\u001b[1m\\u009b\",\"media\":[\"http://x\","
        "\"http://y\"],\"time\":1767225600123}\n");
}

TEST(what_is_no_post_is_no_line) {
    static const char *const WRONG[] = {
        "{}",
        "{\"id\":77,\"user\":5,\"text\":\"a\",\"time\":1}",
        "{\"id\":\"07\",\"user\":5,\"text\":\"a\",\"time\":1}",
        "{\"id\":\"77\",\"user\":-5,\"text\":\"a\",\"time\":1}",
        "{\"id\":\"77\",\"user\":5,\"time\":1}",
        "{\"id\":\"77\",\"user\":5,\"text\":\"a\"}",
    };
    FREED_BUFFER out = {.size = 0};
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        struct error error = {.text = ""};
        assert_int_equal(line_of(WRONG[i], &LINES, &out, &error), -EBADMSG);
        assert_int_equal(out.size, 0);
        assert_true(*error.text);
    }
}

static int read_page(struct home_page *page, const char *text, struct error *error) {
    *page = (struct home_page){.items = NULL};
    return home_page_read(page, text, strlen(text), error);
}

static int answer(struct home_page *page, const char *text, struct error *error) {
    return home_page_answer(page, text, strlen(text), error);
}

static int64_t id_of(int64_t tick, int32_t partition) { return ids_make(tick << IDS_FRACTION_BITS, partition); }

/* Posts a, b of partition 3 and c of partition 0 between them; the answers come by partition. */
TEST(a_page_is_put_together_from_several_owners) {
    int64_t a = id_of(3, 3), c = id_of(2, 0), b = id_of(1, 3);
    FREED_BUFFER text = {0}, ids = {0}, out = {0};
    struct home_page page;
    int32_t partition;
    size_t unavailable;
    char expected[128];
    buffer_format(&text,
                  "{\"complete\":true,\"horizon\":\"0\",\"posts\":[{\"id\":\"%" PRId64 "\",\"user\":5},"
                  "{\"id\":\"%" PRId64 "\",\"user\":6},{\"id\":\"%" PRId64 "\",\"user\":7}]}",
                  a, c, b);
    assert_int_equal(read_page(&page, buffer_cstring(&text), NULL), 0);
    assert_true(page.complete && !page.following_count);
    assert_int_equal(page.count, 3);
    assert_string_equal(page.version, "");

    assert_true(home_page_ask(&page, &partition, &ids));
    assert_int_equal(partition, 3);
    snprintf(expected, sizeof expected, "%" PRId64 ",%" PRId64, a, b);
    assert_string_equal(buffer_cstring(&ids), expected);
    buffer_clear(&text);
    buffer_format(&text, "{\"items\":[{\"id\":\"%" PRId64 "\",\"user\":5,\"text\":\"A\",\"time\":1},null]}", a);
    assert_int_equal(answer(&page, buffer_cstring(&text), NULL), 0);

    assert_true(home_page_ask(&page, &partition, &ids));
    assert_int_equal(partition, 0);
    buffer_clear(&text);
    buffer_format(&text, "{\"items\":[{\"id\":\"%" PRId64 "\",\"user\":6}]}", c); // its text has not come yet
    assert_int_equal(answer(&page, buffer_cstring(&text), NULL), 0);
    assert_false(home_page_ask(&page, &partition, &ids));

    assert_int_equal(home_page_print(&page, 20, &LINES, &out, &unavailable), 2);
    assert_int_equal(unavailable, 1);
    buffer_clear(&text);
    buffer_format(&text,
                  "1970-01-01T00:00:00.001Z %" PRId64 " 5 \"A\"\n2025-01-01T00:00:00.002Z %" PRId64 " 6 unavailable\n",
                  a, c);
    assert_string_equal(buffer_cstring(&out), buffer_cstring(&text));
    buffer_clear(&out);
    assert_int_equal(home_page_print(&page, 1, &JSON, &out, &unavailable), 1);
    assert_int_equal(unavailable, 0);
    home_page_free(&page);
}

/* The inbox has 900 alone; older posts come from two owners, one of them known already. */
TEST(older_posts_are_put_where_they_belong) {
    FREED_BUFFER authors = {.size = 0};
    struct home_page page;
    int32_t partition;
    size_t questions = 0, asked = 0;
    assert_int_equal(
        read_page(&page,
                  "{\"complete\":true,\"version\":\"0a1b\",\"horizon\":\"800\",\"posts\":[{\"id\":\"900\",\"user\":5}],"
                  "\"following\":[1,2,3,4,5,6,7,8,9]}",
                  NULL),
        0);
    assert_int_equal(page.horizon, 800);
    assert_string_equal(page.version, "0a1b");
    while (home_page_ask_older(&page, 4, &partition, &authors)) {
        int64_t user = 0;
        questions++;
        for (const char *at = buffer_cstring(&authors); *at; at += *at == ',') {
            for (user = 0; *at >= '0' && *at <= '9'; at++) user = user * 10 + *at - '0';
            assert_int_equal(hash_user_partition(user, 4), partition);
            asked++;
        }
    }
    assert_int_equal(asked, 9);
    assert_true(questions >= 2 && questions <= 4);
    static const char OLD[] = "{\"posts\":[{\"id\":\"700\",\"user\":6},{\"id\":\"500\",\"user\":6}]}",
                      NEWER[] = "{\"posts\":[{\"id\":\"900\",\"user\":5},{\"id\":\"750\",\"user\":5}]}";
    assert_int_equal(home_page_add(&page, OLD, strlen(OLD), NULL), 0);
    assert_int_equal(home_page_add(&page, "{\"posts\":5}", 11, NULL), -EBADMSG);
    assert_int_equal(home_page_add(&page, NEWER, strlen(NEWER), NULL), 0);
    home_page_sort(&page, 3);
    assert_int_equal(page.count, 3);
    assert_true(page.items[0].id == 900 && page.items[1].id == 750 && page.items[2].id == 700);
    home_page_free(&page);
}

TEST(many_ids_are_asked_for_in_several_questions) {
    enum { COUNT = 600 };
    FREED_BUFFER text = {0}, ids = {0}, out = {0};
    struct home_page page;
    int32_t partition;
    size_t questions = 0, unavailable;
    buffer_string(&text, "{\"complete\":false,\"horizon\":\"0\",\"posts\":[");
    for (int64_t i = COUNT; i > 0; i--)
        buffer_format(&text, "{\"id\":\"%" PRId64 "\",\"user\":5}%s", id_of(i, 1), i > 1 ? "," : "]}");
    assert_int_equal(read_page(&page, buffer_cstring(&text), NULL), 0);
    assert_true(!page.complete);
    while (home_page_ask(&page, &partition, &ids)) {
        questions++;
        assert_true(ids.size < 6000);
    }
    assert_int_equal(questions, 3);
    assert_int_equal(home_page_print(&page, COUNT + 1, &JSON, &out, &unavailable), COUNT);
    assert_int_equal(unavailable, COUNT);
    buffer_clear(&text);
    buffer_format(&text, "{\"id\":\"%" PRId64 "\",\"user\":5,\"time\":%" PRId64 ",\"unavailable\":true}\n",
                  id_of(COUNT, 1), IDS_EPOCH_MS + COUNT);
    assert_memory_equal(out.data, text.data, text.size);
    home_page_free(&page);
}

TEST(answers_that_make_no_sense_are_refused) {
    static const char *const PAGES[] = {
        "",
        "[]",
        "{\"horizon\":\"0\",\"posts\":[]}",
        "{\"complete\":true,\"posts\":[]}",
        "{\"complete\":true,\"horizon\":5,\"posts\":[]}",
        "{\"complete\":true,\"horizon\":\"0\"}",
        "{\"complete\":1,\"horizon\":\"0\",\"posts\":[]}",
        "{\"complete\":true,\"horizon\":\"0\",\"posts\":[{\"id\":\"0\",\"user\":5}]}",
        "{\"complete\":true,\"horizon\":\"0\",\"posts\":[{\"id\":\"5\"}]}",
    };
    static const char *const POSTS[] = {"", "[]", "{}", "{\"items\":5}"};
    struct home_page page;
    for (size_t i = 0; i < sizeof PAGES / sizeof *PAGES; i++) {
        struct error error = {.text = ""};
        assert_int_equal(read_page(&page, PAGES[i], &error), -EBADMSG);
        assert_non_null(strstr(error.text, "cannot be understood"));
        home_page_free(&page);
    }
    assert_int_equal(
        read_page(&page, "{\"complete\":true,\"horizon\":\"0\",\"posts\":[{\"id\":\"5\",\"user\":5}]}", NULL), 0);
    for (size_t i = 0; i < sizeof POSTS / sizeof *POSTS; i++) {
        struct error error = {.text = ""};
        assert_int_equal(answer(&page, POSTS[i], &error), -EBADMSG);
        assert_non_null(strstr(error.text, "cannot be understood"));
    }
    home_page_free(&page);
}
