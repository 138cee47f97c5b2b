/* Which subjects are hot: those that are read most of all, in little memory. */
#include "ingest/hot.h"
#include "unit/kit/kit.h"

static const char *subject_of(int number) {
    static char text[32];
    snprintf(text, sizeof text, "post:%d", number);
    return text;
}

TEST(the_window_slides) {
    struct hot_subjects *hot = hot_subjects_new(10);
    for (int i = 0; i < 9; i++) assert_false(hot_subjects_read(hot, "post:1", 5000 + i * 100));
    assert_true(hot_subjects_read(hot, "post:1", 14999)); /* ten within ten seconds */
    assert_true(hot_subjects_is(hot, "post:1", 14999));
    assert_false(hot_subjects_is(hot, "post:1", 15000)); /* the first nine have gone */
    assert_false(hot_subjects_is(hot, "post:2", 15000));
    hot_subjects_free(hot);
}

/* Against exact counts: of subjects that are read at all rates, the hottest are found. */
TEST(the_hottest_are_hot) {
    enum { SUBJECTS = 900, READS = 400000 };
    struct hot_subjects *hot = hot_subjects_new(20);
    static int64_t recent[SUBJECTS];
    unsigned random = 7;
    for (int i = 0; i < READS; i++) { /* all within one window */
        random = random * 1103515245 + 12345;
        unsigned draw = (random >> 8) % 10000;
        int subject = (int)(draw * draw / 10000 * SUBJECTS / 10000); /* low numbers far more often */
        recent[subject]++;
        hot_subjects_read(hot, subject_of(subject), 20000 + i % 5);
    }
    int found = 0;
    for (int i = 0; i < SUBJECTS; i++) {
        int higher = 0;
        for (int k = 0; k < SUBJECTS; k++) higher += recent[k] > recent[i];
        bool is = hot_subjects_is(hot, subject_of(i), 20100);
        found += is;
        if (higher < HOT_TOP / 2) assert_true(is); /* counts near the edge of the top may be equal */
        if (higher > HOT_TOP * 2) assert_false(is);
    }
    assert_int_equal(found, HOT_TOP);
    hot_subjects_free(hot);
}

TEST(memory_is_bounded_and_the_hot_stay) {
    struct hot_subjects *hot = hot_subjects_new(50);
    for (int i = 0; i < 200000; i++) {
        hot_subjects_read(hot, subject_of(1000 + i), 30000 + i / 1000);
        if (i % 100 == 0) hot_subjects_read(hot, "post:1", 30000 + i / 1000);
    }
    assert_true(hot_subjects_is(hot, "post:1", 30200));
    for (int i = 0; i < HOT_TOP + 10; i++) /* a new crowd replaces the old one once that has gone */
        for (int k = 0; k < 60; k++) hot_subjects_read(hot, subject_of(i + 10), 60000);
    assert_false(hot_subjects_is(hot, "post:1", 60000));
    int found = 0;
    for (int i = 0; i < HOT_TOP + 10; i++) found += hot_subjects_is(hot, subject_of(i + 10), 60000);
    assert_int_equal(found, HOT_TOP);
    hot_subjects_free(hot);
}
