/* Tests kept_details.c. */
#include "unit/kit/kit.h"
#include "users/kept_details.h"

enum { MOST = 100, BATTERY = 500 };

static struct user_details details_of(int64_t user, int64_t time) {
    struct user_details details = {.user = user, .time = time, .accuracy = 12, .shown = true, .said = {DETAILS_NONE}};
    details.said.battery = BATTERY;
    return details;
}

static void says(const struct kept_details *kept, int64_t user, int64_t time, const char *expected) {
    FREED_BUFFER text = {.size = 0};
    kept_details_put_json(kept, user, time, &text);
    assert_string_equal(text.size ? buffer_cstring(&text) : "", expected);
}

static void free_kept(void *kept) { kept_details_free(kept); }

SET_UP() {
    struct kept_details *kept = kept_details_new(MOST);
    kit_after(free_kept, kept);
    return kept;
}

TEST(the_newest_is_kept, struct kept_details *kept) {
    struct user_details details = details_of(7, 10);
    assert_null(kept_details_find(kept, 7));
    assert_true(kept_details_put(kept, &details));
    assert_false(kept_details_put(kept, &details));
    details.accuracy = -1;
    assert_true(kept_details_put(kept, &details));
    says(kept, 7, 10, ",\"battery\":0.5");
    details.said.charging = 1;
    assert_true(kept_details_put(kept, &details));
    details.shown = false;
    assert_true(kept_details_put(kept, &details));
    says(kept, 7, 10, "");
    details = details_of(7, 9);
    assert_false(kept_details_put(kept, &details));
    assert_int_equal(kept_details_find(kept, 7)->time, 10);
    details = details_of(7, 11);
    assert_true(kept_details_put(kept, &details));
    says(kept, 7, 11, ",\"accuracy\":12,\"battery\":0.5");
    says(kept, 7, 10, ""); // of another report
    says(kept, 8, 11, "");
}

TEST(those_who_came_first_make_room, struct kept_details *kept) {
    for (int64_t user = 0; user < 5 * MOST / 2; user++) {
        const struct user_details details = details_of(user, 1);
        assert_true(kept_details_put(kept, &details));
        for (int64_t other = 0; other <= user; other++)
            assert_int_equal(kept_details_find(kept, other) != NULL, other > user - MOST);
    }
}
