/* ETags of pages of comments. */
#include "ingest/comments/etag.h"
#include "unit/kit/kit.h"

TEST(tags_are_of_versions_and_readers) {
    char tag[ETAG_SIZE], own[ETAG_SIZE];
    etag_of(12, 345, 7, 0xab, own);
    assert_string_equal(own, "W/\"12.345.7-ab\"");
    etag_of(12, 345, -1, 0, tag);
    assert_string_equal(tag, "W/\"12.345\"");
    etag_of(INT64_MAX, INT64_MAX, INT64_MAX, UINT64_MAX, own);
    assert_int_equal(strlen(own), 3 + 3 * 19 + 2 + 1 + 16 + 1);
}
