/* Sorted lists of ids as bytes: steps of every length, bytes that are damaged, lists in pieces. */
#include "adjacency/id_list.h"
#include "unit/kit/kit.h"

/* Steps of every length in bytes, each beside each, and at the list's end too. */
TEST(test_steps_of_all_lengths) {
    FREED_BUFFER bytes = {.size = 0};
    FREED_BY(id_list_free) struct id_list list = {.items = NULL};
    int64_t ids[2 * 8 * 8];
    size_t count = 0;
    int64_t id = 0;
    for (int a = 0; a < 8; a++) {
        for (int b = 0; b < 8; b++) {
            ids[count++] = id += (int64_t)1 << (7 * a); // the shortest of its length
            ids[count++] = id += ((int64_t)1 << (7 * (b + 1))) - 1;
        }
    }
    for (size_t n = 0; n <= count; n++) {
        buffer_clear(&bytes);
        id_list_encode(&bytes, ids, n);
        FREED uint8_t *exact = mem_alloc(bytes.size + 1); // nothing may be read beyond
        memcpy(exact + 1, bytes.data, bytes.size);
        assert_int_equal(id_list_decode(&list, exact + 1, bytes.size), 0);
        assert_int_equal(list.count, n);
        for (size_t i = 0; i < n; i++) assert_int_equal(list.items[i], ids[i]);
    }
}

TEST(test_a_damaged_list_is_refused) {
    FREED_BY(id_list_free) struct id_list list = {.items = NULL};
    const uint8_t cut[] = {5, 0x80}, twice[] = {5, 0}, fine[] = {5, 1};
    assert_int_not_equal(id_list_decode(&list, cut, sizeof cut), 0);
    assert_int_not_equal(id_list_decode(&list, twice, sizeof twice), 0);
    assert_int_equal(list.count, 0);
    assert_int_equal(id_list_decode(&list, fine, sizeof fine), 0);
    assert_int_equal(list.count, 2);
    assert_true(id_list_holds(fine, sizeof fine, 6));
    assert_false(id_list_holds(fine, sizeof fine, 7));
    const uint8_t nobody_first[] = {0, 3}; // 0 is an id
    assert_true(id_list_holds(nobody_first, sizeof nobody_first, 0));
    assert_false(id_list_holds(fine, sizeof fine, 0));
    assert_false(id_list_holds(fine, 0, 0));
}

/* Chunks of a list, one behind the other. */
TEST(test_lists_in_pieces) {
    FREED_BY(id_list_free) struct id_list list = {.items = NULL};
    const uint8_t first[] = {0, 3}, second[] = {4, 1}, overlaps[] = {5}, above[] = {6};
    assert_int_equal(id_list_decode_more(&list, first, sizeof first), 0);
    assert_int_equal(id_list_decode_more(&list, first, 0), 0);
    assert_int_equal(id_list_decode_more(&list, second, sizeof second), 0);
    assert_int_equal(list.count, 4);
    assert_int_equal(list.items[3], 5);
    assert_int_equal(id_list_decode_more(&list, above, sizeof above), 0);
    assert_int_equal(list.count, 5);
    assert_int_equal(id_list_decode_more(&list, overlaps, sizeof overlaps), -EBADMSG);
    assert_int_equal(list.count, 0);
}
