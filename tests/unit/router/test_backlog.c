/* Reports held while their owner is far behind: what supersedes what, and in which order they come out. */
#include "router/backlog.h"
#include "unit/kit/kit.h"

static struct location report(int64_t user, int64_t time) {
    return (struct location){.user = user, .time = time, .kind = LOCATION_REPORT, .session = 9, .route = 2, .opted = 5};
}

static struct backlog_item item(int32_t partition, int64_t offset, struct location event) {
    return (struct backlog_item){.event = event, .partition = partition, .offset = offset, .timestamp = offset * 10};
}

static void put(struct backlog *backlog, int32_t partition, int64_t offset, struct location event) {
    struct backlog_item held = item(partition, offset, event);
    backlog_put(backlog, &held);
}

TEST(test_only_a_newer_report_of_the_same_session_supersedes) {
    struct backlog *backlog = backlog_new(10);
    struct location event = report(1, 100);
    assert_false(backlog_supersede(backlog, &event)); // nothing is held
    put(backlog, 0, 7, event);

    event = report(2, 200);
    assert_false(backlog_supersede(backlog, &event));
    event = report(1, 99);
    assert_false(backlog_supersede(backlog, &event));
    for (int kind = 0; kind <= LOCATION_LEAVE; kind++) {
        event = report(1, 200);
        event.kind = (enum location_kind)kind;
        if (kind != LOCATION_REPORT) assert_false(backlog_supersede(backlog, &event));
    }
    event = report(1, 200);
    event.session = 8;
    assert_false(backlog_supersede(backlog, &event));
    event.session = 10;
    assert_false(backlog_supersede(backlog, &event));
    event = report(1, 200);
    event.route = 3;
    assert_false(backlog_supersede(backlog, &event));
    event = report(1, 200);
    event.opted = 4;
    assert_false(backlog_supersede(backlog, &event));

    event = report(1, 100); // at equal times the later one counts
    assert_true(backlog_supersede(backlog, &event));
    assert_int_equal(backlog_count(backlog), 0);
    assert_false(backlog_supersede(backlog, &event));
    backlog_free(backlog);
}

TEST(test_they_come_out_by_age_or_by_user) {
    struct backlog *backlog = backlog_new(5000);
    struct backlog_item out;
    for (int64_t user = 0; user < 5000; user++) put(backlog, (int32_t)(user % 3), user, report(user, 1));
    assert_true(backlog_full(backlog));
    for (int64_t user = 0; user < 5000; user += 2) {
        assert_true(backlog_take(backlog, user, &out));
        assert_int_equal(out.event.user, user);
        assert_int_equal(out.offset, user);
        assert_int_equal(out.timestamp, user * 10);
    }
    assert_false(backlog_full(backlog));
    assert_false(backlog_take(backlog, 4998, &out));
    for (int64_t user = 0; user < 100; user += 2)
        put(backlog, 0, 6000 + user, report(user, 2)); // places of those taken
    for (int64_t user = 1; user < 5000; user += 2) {
        assert_true(backlog_take_oldest(backlog, &out));
        assert_int_equal(out.event.user, user);
    }
    for (int64_t user = 0; user < 100; user += 2) {
        assert_true(backlog_take_oldest(backlog, &out));
        assert_int_equal(out.event.user, user);
        assert_int_equal(out.offset, 6000 + user);
    }
    assert_false(backlog_take_oldest(backlog, &out));
    assert_int_equal(backlog_count(backlog), 0);
    backlog_free(backlog);
}

TEST(test_nothing_held_may_be_committed) {
    struct backlog *backlog = backlog_new(10);
    struct backlog_item out;
    int64_t offsets[] = {100, 100, 100};
    put(backlog, 0, 40, report(1, 1));
    put(backlog, 2, 30, report(2, 1));
    put(backlog, 0, 50, report(3, 1));
    put(backlog, 2, 120, report(4, 1));
    backlog_lower(backlog, offsets, 3);
    assert_int_equal(offsets[0], 40);
    assert_int_equal(offsets[1], 100);
    assert_int_equal(offsets[2], 30);
    struct location newer = report(1, 2);
    assert_true(backlog_supersede(backlog, &newer));
    assert_true(backlog_take(backlog, 2, &out));
    int64_t later[] = {100, 100, 100};
    backlog_lower(backlog, later, 3);
    assert_int_equal(later[0], 50);
    assert_int_equal(later[2], 100);
    backlog_free(backlog);
    backlog_free(NULL);
}
