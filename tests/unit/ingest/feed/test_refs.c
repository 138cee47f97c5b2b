/* Ids of posts, as owners answer them, are merged. */
#include "ingest/feed/refs.h"
#include "unit/kit/kit.h"

static void read_refs(struct page_refs *refs, const char *text, bool good) {
    size_t before = refs->count;
    assert_int_equal(page_refs_read(refs, (struct json_bytes){text, strlen(text)}), good);
    if (!good) assert_int_equal(refs->count, before);
}

TEST(refs_are_merged_by_falling_id) {
    struct page_refs refs = {0};
    read_refs(&refs, "[{\"id\":\"5\",\"user\":1},{\"id\":\"3\",\"user\":2}]", true);
    read_refs(&refs, "[{\"id\":\"4\",\"user\":3},{\"id\":4,\"user\":3}]", false);
    read_refs(&refs, "[{\"id\":\"4\",\"user\":-3}]", false);
    read_refs(&refs, "{}", false);
    read_refs(&refs, "[{\"id\":\"4\"}]", false);
    read_refs(&refs, "[{\"id\":\"4\",\"user\":3}", false);
    read_refs(&refs, "[]", true);
    read_refs(&refs,
              "[{\"id\":\"9223372036854775807\",\"user\":3},{\"id\":\"3\",\"user\":2},{\"id\":\"4\",\"user\":0}]",
              true);
    page_refs_merge(&refs, 10);
    static const int64_t WANTED[] = {INT64_MAX, 5, 4, 3};
    assert_int_equal(refs.count, ARRAY_SIZE(WANTED));
    for (size_t i = 0; i < refs.count; i++) assert_true(refs.items[i].id == WANTED[i]);
    page_refs_merge(&refs, 2);
    assert_int_equal(refs.count, 2);
    assert_true(refs.items[1].id == 5 && refs.items[1].user == 1);
    page_refs_free(&refs);
    page_refs_merge(&refs, 2);
    assert_int_equal(refs.count, 0);
}
