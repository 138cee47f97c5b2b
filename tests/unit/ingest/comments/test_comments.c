/* The pure parts of comments in the gateway: ETags, what is remembered, and comments as clients see them. */
#include "base/text.h"
#include "ingest/client_text.h"
#include "ingest/comments/comment_json.h"
#include "ingest/comments/etag.h"
#include "ingest/comments/known.h"
#include "unit/kit/kit.h"
#include "unit/lib/users/some_profiles.h"

/* ---- ETags ---- */

TEST(tags_are_of_versions_and_readers) {
    char tag[ETAG_SIZE], own[ETAG_SIZE];
    etag_of(12, 345, 7, 0xab, own);
    assert_string_equal(own, "W/\"12.345.7-ab\"");
    etag_of(12, 345, -1, 0, tag);
    assert_string_equal(tag, "W/\"12.345\"");
    etag_of(INT64_MAX, INT64_MAX, INT64_MAX, UINT64_MAX, own);
    assert_int_equal(strlen(own), 3 + 3 * 19 + 2 + 1 + 16 + 1);
}

/* ---- what is remembered ---- */

TEST(subjects_are_known_until_another_needs_the_place) {
    struct known_subjects *known = known_subjects_new();
    struct known_subject entry = {.subject = "post:1", .owner = 5, .author = 6, .heard_ms = 9};
    assert_null(known_subjects_find(known, "post:1"));
    known_subjects_put(known, &entry);
    assert_int_equal(known_subjects_find(known, "post:1")->owner, 5);
    size_t found = 0;
    for (int i = 2; i < 20000; i++) {
        snprintf(entry.subject, sizeof entry.subject, "post:%d", i);
        entry.owner = i;
        known_subjects_put(known, &entry);
        assert_int_equal(known_subjects_find(known, entry.subject)->owner, i);
    }
    for (int i = 1; i < 20000; i++) {
        snprintf(entry.subject, sizeof entry.subject, "post:%d", i);
        const struct known_subject *one = known_subjects_find(known, entry.subject);
        if (one && i > 1) assert_int_equal(one->owner, i);
        found += one != NULL;
    }
    assert_true(found > 3000 && found <= 4096);
    known_subjects_forget(known, "post:19999");
    assert_null(known_subjects_find(known, "post:19999"));
    known_subjects_free(known);
}

TEST(authors_are_known) {
    struct known_authors *known = known_authors_new();
    struct comment_authors authors;
    int both = 0;
    assert_false(known_authors_find(known, 1, &authors));
    assert_false(known_authors_find(known, 0, &authors));
    for (int64_t id = 1; id < 200000; id += 2) {
        known_authors_put(known, id, id + 7, 0);
        assert_true(known_authors_find(known, id, &authors) && authors.comment == id + 7 && authors.root == id + 7);
        known_authors_put(known, id + 1, id + 8, id);
        if (known_authors_find(known, id + 1, &authors)) both++;
    }
    assert_int_equal(both, 100000);
    for (int64_t id = 1; id < 200000; id++)
        if (known_authors_find(known, id, &authors))
            assert_true(authors.comment == id + 7 && authors.root == (id % 2 ? id + 7 : id + 6));
    known_authors_free(known);
}

/* Far fewer than there are places: keys that meet do not push each other out, or likes would be refused while an owner is away. */
TEST(a_few_thousand_authors_are_all_known) {
    struct known_authors *known = known_authors_new();
    struct comment_authors authors;
    for (int64_t id = 1; id <= 2000; id++) known_authors_put(known, id, id + 7, 0);
    for (int64_t id = 1; id <= 2000; id++) assert_true(known_authors_find(known, id, &authors));
    known_authors_free(known);
}

/* ---- comments as clients see them ---- */

#define COMMENT(id, user, text, more, state)                                                                           \
    "{\"id\":\"" id "\",\"user\":" user ",\"text\":" text                                                              \
    ",\"time\":1000,\"version\":1,\"edited\":null,\"floor\":3,\"root\":null,\"reply_to\":null,"                        \
    "\"likes\":2,\"reply_count\":1,\"replies\":[" more "],\"state\":\"" state "\"}"
#define REPLY(id, user)                                                                                                \
    "{\"id\":\"" id "\",\"user\":" user                                                                                \
    ",\"text\":\"b\",\"time\":2000,\"version\":1,\"edited\":null,\"floor\":1,\"root\":\"11\",\"reply_to\":\"11\","     \
    "\"likes\":0,\"reply_count\":0,\"replies\":[],\"state\":\"visible\"}"
#define PAGE(items, pinned)                                                                                            \
    "{\"items\":[" items "],\"next\":\"x\",\"total\":5,\"version\":4,\"counters\":9,\"likes\":6,\"closed\":false,"     \
    "\"owner\":8,\"complete\":true,\"pinned\":[" pinned "]}"

struct comments_world {
    struct some_profiles some;
    struct comment_names names;
};

SET_UP() {
    struct comments_world *world = kit_zero(sizeof *world);
    some_profiles_open(&world->some);
    some_profiles_name(&world->some, 1, "Ada");
    world->names = (struct comment_names){world->some.profiles, known_authors_new()};
    return world;
}

TEAR_DOWN(struct comments_world *world) {
    known_authors_free(world->names.authors);
    some_profiles_close(&world->some);
}

static const uint64_t ALL = UINT64_MAX; /* the whole answer is left out */

typedef bool show_fn(struct shown_comments *shown, struct json_bytes reply, const struct comment_names *names);

/* The answer to that reply as parsed JSON; NULL: it was refused. *left_out: what stands for what the reader does not see. */
static json_t *shown_to(const struct comments_world *world, show_fn *show, const char *reply,
                        const struct shown_reader *reader, uint64_t *left_out) {
    struct shown_comments shown = {.count = 0};
    struct error error;
    json_t *result = NULL;
    struct buffer body = {0};
    bool good = show(&shown, (struct json_bytes){reply, strlen(reply)}, &world->names);
    if (good && shown_is_blocked(&shown, reader)) {
        *left_out = ALL;
    } else if (good) {
        shown_comments_put(&body, &shown, reader);
        *left_out = shown_left_out(&shown, reader);
        result = json_parse(body.data, body.size, &error);
        if (!result) fail_msg("%s: %s", buffer_cstring(&body), error.text);
    }
    buffer_free(&body);
    shown_comments_free(&shown);
    return result;
}

static json_t *shown_as(const struct comments_world *world, show_fn *show, const char *reply, const int64_t *liked,
                        size_t count) {
    uint64_t left_out = 0;
    json_t *result =
        shown_to(world, show, reply, &(struct shown_reader){.liked = liked, .liked_count = count}, &left_out);
    assert_int_equal(left_out, 0);
    return result;
}

static void assert_json(json_t *found, const char *wanted) {
    FREED_JSON *object = json_parse(wanted, strlen(wanted), &failure);
    if (!object) fail_msg("%s: %s", wanted, failure.text);
    if (!json_equal(found, object)) {
        char *text = json_dumps(found, JSON_COMPACT);
        fail_msg("%s is not %s", text, wanted);
    }
    json_decref(found);
}

TEST(a_comment_gets_the_name_of_its_author, const struct comments_world *world) {
    assert_json(
        shown_as(world, shown_comment, COMMENT("11", "1", "\"a\\u0007\"", "", "visible"), NULL, 0),
        "{\"id\":\"11\",\"user\":1,\"name\":\"Ada\",\"avatar_url\":\"\",\"text\":\"a\\u0007\",\"time\":1000,\"version\":1,\"edited\":null,\"floor\":3,"
        "\"root\":null,\"reply_to\":null,\"likes\":2,\"reply_count\":1,\"replies\":[],\"state\":\"visible\"}");
    assert_json(
        shown_as(world, shown_comment, COMMENT("11", "2", "null", "", "deleted"), NULL, 0),
        "{\"id\":\"11\",\"user\":2,\"name\":null,\"avatar_url\":null,\"text\":null,\"time\":1000,\"version\":1,\"edited\":null,\"floor\":3,"
        "\"root\":null,\"reply_to\":null,\"likes\":2,\"reply_count\":1,\"replies\":[],\"state\":\"deleted\"}");
    struct comment_authors authors;
    assert_true(known_authors_find(world->names.authors, 11, &authors) && authors.comment == 2);
}

TEST(likes_stand_in_visible_comments, const struct comments_world *world) {
    static const char TEXT[] =
        PAGE(COMMENT("11", "1", "\"a\"", REPLY("13", "2"), "visible") "," COMMENT("12", "1", "null", "", "hidden"),
             COMMENT("11", "1", "\"a\"", "", "visible"));
    const int64_t liked[] = {2, 13, 99};
    json_t *page = shown_as(world, shown_page, TEXT, liked, ARRAY_SIZE(liked));
    const json_t *items = json_object_get(page, "items"), *first = json_array_get(items, 0);
    assert_true(json_is_false(json_object_get(first, "liked")));
    assert_true(json_is_true(json_object_get(json_array_get(json_object_get(first, "replies"), 0), "liked")));
    assert_null(json_object_get(json_array_get(items, 1), "liked"));
    assert_true(json_is_false(json_object_get(json_array_get(json_object_get(page, "pinned"), 0), "liked")));
    assert_int_equal(json_integer_value(json_object_get(page, "version")), 13); // with likes
    assert_int_equal(json_integer_value(json_object_get(page, "total")), 5);
    json_decref(page);
    page = shown_as(world, shown_page, TEXT, NULL, 0);
    assert_null(json_object_get(json_array_get(json_object_get(page, "items"), 0), "liked"));
    json_decref(page);
}

/* The ids of a list, as "11(13,14),12". */
static void put_ids(struct buffer *out, const json_t *list) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *comment = json_array_get(list, i), *replies = json_object_get(comment, "replies");
        if (i) buffer_byte(out, ',');
        buffer_string(out, json_string_value(json_object_get(comment, "id")));
        if (!json_array_size(replies)) continue;
        buffer_byte(out, '(');
        put_ids(out, replies);
        buffer_byte(out, ')');
    }
}

#define FULL_PAGE                                                                                                      \
    PAGE(COMMENT("11", "1", "\"a,]\"", REPLY("13", "2") "," REPLY("14", "3") "," REPLY("15", "2"),                     \
                 "visible") "," COMMENT("12", "2", "null", REPLY("16", "1"), "hidden") "," COMMENT("17", "3", "\"b\"", \
                                                                                                   "", "visible"),     \
         COMMENT("12", "2", "null", "", "hidden") "," COMMENT("17", "3", "\"b\"", "", "visible"))

TEST(nobody_sees_whom_he_has_blocked, struct comments_world *world) {
    static const struct {
        int64_t blocked[3];
        size_t count;
        const char *items, *pinned;
    } CASES[] = {
        {{9}, 1, "11(13,14,15),12(16),17", "12,17"},
        {{1}, 1, "12,17", "12,17"}, // with all that is under it
        {{2}, 1, "11(14),17", "17"},
        {{3}, 1, "11(13,15),12(16)", "12"},
        {{2, 3}, 2, "11", ""},
        {{1, 3}, 2, "12", "12"},
        {{1, 2, 3}, 3, "", ""},
    };
    static const int64_t LIKED[] = {14, 17};
    uint64_t before[ARRAY_SIZE(CASES)];
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        FREED_BUFFER items = {0}, pinned = {0};
        const struct shown_reader reader = {
            .liked = LIKED, .liked_count = i % 2 ? 2 : 0, .blocked = CASES[i].blocked, .blocked_count = CASES[i].count};
        FREED_JSON *page = shown_to(world, shown_page, FULL_PAGE, &reader, &before[i]);
        put_ids(&items, json_object_get(page, "items"));
        put_ids(&pinned, json_object_get(page, "pinned"));
        assert_string_equal(buffer_cstring(&items), CASES[i].items);
        assert_string_equal(buffer_cstring(&pinned), CASES[i].pinned);
        assert_int_equal(json_integer_value(json_object_get(page, "total")), 5); // it counts for everybody
        for (size_t j = 0; j < i; j++) assert_int_not_equal(before[j], before[i]);
        assert_int_equal(before[i] == 0, i == 0);
    }
}

TEST(likes_stand_where_they_belong_beside_a_gap, struct comments_world *world) {
    static const int64_t LIKED[] = {14, 17}, BLOCKED[] = {2};
    const struct shown_reader reader = {.liked = LIKED, .liked_count = 2, .blocked = BLOCKED, .blocked_count = 1};
    uint64_t left_out;
    FREED_JSON *page = shown_to(world, shown_page, FULL_PAGE, &reader, &left_out);
    const json_t *items = json_object_get(page, "items"), *first = json_array_get(items, 0);
    assert_true(json_is_false(json_object_get(first, "liked")));
    assert_true(json_is_true(json_object_get(json_array_get(json_object_get(first, "replies"), 0), "liked")));
    assert_true(json_is_true(json_object_get(json_array_get(items, 1), "liked")));
}

TEST(a_link_to_whom_one_has_blocked_leads_nowhere, struct comments_world *world) {
#define ONE "{\"item\":" REPLY("13", "1") ",\"root\":" COMMENT("11", "2", "\"a\"", "", "visible") "," AROUND
#define AROUND "\"around\":[" REPLY("12", "3") "," REPLY("14", "1") "],\"complete\":true}"
#define UNDER "{\"items\":[" REPLY("13", "1") "],\"next\":null,\"user\":2,\"complete\":true}"
#define ANSWERS "{\"items\":[" REPLY("13", "1") "],\"next\":null,\"user\":2,\"root_user\":4,\"complete\":true}"
    static const struct {
        show_fn *show;
        const char *reply;
        int64_t blocked;
        bool all;
    } CASES[] = {
        {shown_around, ONE, 1, true},      {shown_around, ONE, 2, true},       {shown_around, ONE, 3, false},
        {shown_one, ONE, 1, true},         {shown_one, ONE, 2, true},          {shown_one, ONE, 3, false},
        {shown_replies, UNDER, 2, true},   {shown_replies, UNDER, 1, false},   {shown_replies, ANSWERS, 2, true},
        {shown_replies, ANSWERS, 4, true}, {shown_replies, ANSWERS, 1, false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        const struct shown_reader reader = {.blocked = &CASES[i].blocked, .blocked_count = 1};
        uint64_t left_out = 0;
        json_t *found = shown_to(world, CASES[i].show, CASES[i].reply, &reader, &left_out);
        assert_int_equal(found == NULL, CASES[i].all);
        assert_int_equal(left_out == ALL, CASES[i].all);
        json_decref(found);
    }
}

TEST(an_empty_page_is_a_page, struct comments_world *world) {
    assert_json(
        shown_as(world, shown_page,
                 "{\"items\":[],\"next\":null,\"total\":0,\"version\":0,\"counters\":0,\"likes\":0,\"closed\":false,"
                 "\"owner\":null,\"complete\":true,\"pinned\":[]}",
                 NULL, 0),
        "{\"items\":[],\"next\":null,\"total\":0,\"version\":0,\"likes\":0,\"closed\":false,\"owner\":null,\"pinned\":[]}");
}

TEST(other_answers_are_none, struct comments_world *world) {
    static const char *const BAD[] = {
        "{}",
        COMMENT("0", "1", "null", "", "visible"),
        COMMENT("11", "-1", "null", "", "visible"),
        COMMENT("11", "1", "5", "", "visible"),
        COMMENT("11", "1", "null", "5", "visible"),
        COMMENT("11", "1", "null", "", "lost"),
        COMMENT("11", "1", "\"a\"", COMMENT("12", "1", "\"a\"", REPLY("13", "1"), "visible"), "visible"),
        "{\"id\":\"11\",\"user\":1}",
        "{\"id\":\"11\",\"id\":\"11\",\"user\":1}",
        "[]",
        "",
    };
    for (size_t i = 0; i < ARRAY_SIZE(BAD); i++) {
        assert_null(shown_as(world, shown_comment, BAD[i], NULL, 0));
        assert_null(shown_as(world, shown_page, BAD[i], NULL, 0));
        assert_null(shown_as(world, shown_replies, BAD[i], NULL, 0));
        assert_null(shown_as(world, shown_around, BAD[i], NULL, 0));
    }
}

/* As an owner of another version may answer. */
TEST(members_may_be_unknown_and_in_any_order, struct comments_world *world) {
    assert_json(
        shown_as(
            world, shown_page,
            "{\"pinned\":[],\"new\":{\"a\":[1]},\"complete\":false,\"counters\":2,\"next\":\"floor-3\",\"items\":[{"
            "\"new\":[{\"b\":\"]\"}],\"state\":\"visible\",\"replies\":[],\"user\":1,\"id\":\"11\",\"reply_count\":0,"
            "\"likes\":2,\"reply_to\":null,\"root\":null,\"floor\":3,\"time\":1000,\"text\":\"\\u4e2d \\\"\"}],"
            "\"likes\":4,\"owner\":8,\"closed\":true,\"version\":1,\"total\":1}",
            NULL, 0),
        "{\"items\":[{\"id\":\"11\",\"user\":1,\"name\":\"Ada\",\"avatar_url\":\"\",\"text\":\"\xe4\xb8\xad \\\"\","
        "\"time\":1000,\"version\":1,\"edited\":null,\"floor\":3,\"root\":null,\"reply_to\":null,\"likes\":2,\"reply_count\":0,\"replies\":[],"
        "\"state\":\"visible\"}],\"next\":\"floor-3\",\"total\":1,\"version\":3,\"likes\":4,\"closed\":true,\"owner\":8,"
        "\"pinned\":[]}");
}

TEST(a_link_shows_what_is_around, struct comments_world *world) {
    FREED_JSON *found = shown_as(world, shown_around,
                                 "{\"item\":" REPLY("13", "1") ",\"root\":" COMMENT(
                                     "11", "2", "\"a\"", "", "visible") ","
                                                                        "\"around\":[" REPLY("12", "1") "," REPLY(
                                                                            "14", "1") "],\"complete\":true}",
                                 NULL, 0);
    assert_string_equal(json_string_value(json_object_get(json_object_get(found, "item"), "id")), "13");
    assert_string_equal(json_string_value(json_object_get(json_object_get(found, "root"), "id")), "11");
    assert_int_equal(json_array_size(json_object_get(found, "around")), 2);
}

/* ---- texts of clients ---- */

TEST(keys_are_chosen_and_escaped) {
    struct chance chance = chance_new();
    char key[CLIENT_KEY_MAX + 1], other[CLIENT_KEY_MAX + 1];
    client_key_choose(&chance, NULL, key);
    client_key_choose(&chance, NULL, other);
    assert_int_equal(strlen(key), 32);
    assert_true(strcmp(key, other) != 0 && client_key_valid(key));
    client_key_choose(&chance, "mine", key);
    assert_string_equal(key, "mine");
    FREED_BUFFER path = {.size = 0};
    text_escape(&path, "a b&c=%/~\xc3\xa4");
    assert_string_equal(buffer_cstring(&path), "a%20b%26c%3D%25%2F~%C3%A4");
}
