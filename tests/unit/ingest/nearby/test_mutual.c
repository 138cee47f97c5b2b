/* The friends of both, against a search by brute force; pages; and answers that are none. */
#include "base/hash.h"
#include "ingest/nearby/mutual.h"
#include "unit/kit/kit.h"

enum { IDS = 60, LISTS = 300 };

static const int64_t HIGHEST = INT64_MAX - IDS; /* no double holds these ids */

struct known {
    bool has[IDS]; /* HIGHEST + i */
    struct buffer answer;
};

static void make_list(struct known *list, uint64_t chance) {
    *list = (struct known){.answer = {0}};
    unsigned rare = 1 + chance % 5;
    buffer_string(&list->answer, "{\"ids\":[");
    size_t empty = list->answer.size;
    for (int i = 0; i < IDS; i++) {
        list->has[i] = hash_u64(chance + (uint64_t)i) % rare == 0;
        if (!list->has[i]) continue;
        if (list->answer.size > empty) buffer_byte(&list->answer, ',');
        json_put_int(&list->answer, HIGHEST + i);
    }
    buffer_string(&list->answer, "]}");
}

static json_t *page_of(const struct known lists[2], int64_t after, size_t limit) {
    struct json_bytes answers[2];
    for (size_t i = 0; i < 2; i++)
        answers[i] = (struct json_bytes){(const char *)lists[i].answer.data, lists[i].answer.size};
    return mutual_page(answers, after, limit);
}

/* Reads all pages. */
static void assert_pages(const struct known lists[2], size_t limit) {
    int64_t after = -1;
    int wanted = 0, total = 0;
    for (int i = 0; i < IDS; i++) total += lists[0].has[i] && lists[1].has[i];
    for (bool more = true; more;) {
        FREED_JSON *page = page_of(lists, after, limit);
        const json_t *items = json_object_get(page, "items"), *next = json_object_get(page, "next");
        assert_int_equal(json_integer_value(json_object_get(page, "total")), total);
        more = json_is_integer(next);
        assert_true(json_array_size(items) == limit || (!more && json_array_size(items) < limit));
        for (size_t i = 0; i < json_array_size(items); i++) {
            while (!lists[0].has[wanted] || !lists[1].has[wanted]) wanted++;
            after = json_integer_value(json_object_get(json_array_get(items, i), "user"));
            assert_int_equal(after, HIGHEST + wanted++);
        }
        if (more) assert_int_equal(json_integer_value(next), after);
        assert_true(more || json_is_null(next));
    }
    for (; wanted < IDS; wanted++) assert_false(lists[0].has[wanted] && lists[1].has[wanted]);
}

TEST(friends_of_both_by_brute_force_page_by_page) {
    for (uint64_t i = 0; i < LISTS; i++) {
        struct known lists[2];
        for (uint64_t j = 0; j < 2; j++) make_list(&lists[j], hash_u64(2 * i + j));
        for (size_t limit = 1; limit <= IDS; limit += limit / 2 + 1) assert_pages(lists, limit);
        for (size_t j = 0; j < 2; j++) buffer_free(&lists[j].answer);
    }
}

TEST(an_owner_who_does_not_answer_leaves_no_page) {
    static const struct json_bytes GOOD = {"{\"ids\":[1,2]}", 13}, EMPTY = {"{\"ids\":[]}", 10};
    static const char *const WRONG[] = {
        "", "{}", "[1]", "{\"ids\":7}", "{\"ids\":[\"1\"]}", "{\"ids\":[1,-2]}", "{\"ids\":[1"};
    for (size_t i = 0; i < ARRAY_SIZE(WRONG); i++) {
        struct json_bytes wrong = {WRONG[i], strlen(WRONG[i])};
        assert_null(mutual_page((const struct json_bytes[]){GOOD, wrong}, -1, 5));
        assert_null(mutual_page((const struct json_bytes[]){wrong, GOOD}, -1, 5));
    }
    FREED_JSON *page = mutual_page((const struct json_bytes[]){GOOD, EMPTY}, -1, 5);
    assert_int_equal(json_integer_value(json_object_get(page, "total")), 0);
}
