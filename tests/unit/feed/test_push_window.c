/* Records that wait to be pushed: random histories of records, pushes and courses that begin anew, against a plain reckoning. */
#include "feed/push_window.h"
#include "unit/kit/kit.h"

enum { CAPACITY = 8, COURSES = 3, RECORDS = 600, STEPS = 6000, AWAY = 200 };

/* A course's topic: what came of each record. */
struct topic_of {
    int64_t end;      /* records written */
    int64_t position; /* the next one to be read */
    int64_t settled;  /* what the group knows */
    bool wanted[RECORDS];
    size_t pushed[RECORDS];
};

struct play {
    struct push_window *window;
    struct topic_of topics[COURSES];
};

SET_UP() {
    struct play *play = kit_zero(sizeof *play);
    play->window = push_window_new(CAPACITY, COURSES);
    return play;
}

TEAR_DOWN(struct play *play) { push_window_free(play->window); }

static void read_one(struct play *play, size_t course) {
    struct topic_of *topic = &play->topics[course];
    if (topic->position == topic->end) return;
    int64_t offset = topic->position++;
    const struct notice_key key = {.user = (int64_t)course, .time = 1000 + offset, .number = offset};
    push_window_see(play->window, course, offset);
    if (topic->wanted[offset]) push_window_put(play->window, course, offset, &key);
}

static void push_some(struct play *play, size_t count) {
    if (count > push_window_count(play->window)) count = push_window_count(play->window);
    for (size_t i = 0; i < count; i++) {
        const struct push_item *item = push_window_at(play->window, i);
        if (item->dropped) continue;
        assert_int_equal(item->key.user, item->course);
        assert_int_equal(item->key.number, item->offset);
        play->topics[item->course].pushed[item->offset]++;
    }
    push_window_pop(play->window, count);
}

static int64_t position_of(void *context, size_t course) { return ((struct play *)context)->topics[course].position; }

static bool is_again(struct play *play, size_t *course, int64_t *offset) {
    return push_window_again(play->window, position_of, play, course, offset);
}

static void again(struct play *play) {
    size_t course;
    int64_t offset;
    if (is_again(play, &course, &offset)) {
        assert_true(offset < play->topics[course].position);
        play->topics[course].position = offset;
    }
}

/* Everything before what is held was pushed, or is not wanted: the group may be told. */
static void check(struct play *play) {
    for (size_t c = 0; c < COURSES; c++) {
        struct topic_of *topic = &play->topics[c];
        int64_t held = push_window_held(play->window, c);
        if (held > topic->position) held = topic->position;
        for (int64_t i = 0; i < held; i++) assert_true(topic->pushed[i] || !topic->wanted[i]);
        assert_true(held >= topic->settled);
        topic->settled = held;
    }
    assert_true(push_window_count(play->window) <= CAPACITY);
}

TEST(nothing_is_lost_and_all_is_pushed_in_the_end, struct play *play) {
    for (int step = 0; step < STEPS; step++) {
        struct topic_of *topic = &play->topics[rand() % COURSES];
        switch (rand() % 5) {
        case 0:
            if (topic->end == RECORDS) break;
            topic->wanted[topic->end++] = rand() % 4 != 0;
            break;
        case 1:
        case 2: read_one(play, (size_t)(topic - play->topics)); break;
        case 3: // the receiver is away half of the time
            if (step / AWAY % 2) push_some(play, (size_t)(rand() % 8));
            break;
        default:
            if (rand() % 20 == 0) { // another process has had it, or what was sent got lost
                push_window_drop(play->window, (size_t)(topic - play->topics));
                topic->position = topic->settled;
            } else {
                again(play);
            }
        }
        check(play);
    }
    for (int step = 0; step < STEPS; step++) {
        for (size_t c = 0; c < COURSES; c++) read_one(play, c);
        push_some(play, 2);
        again(play);
        check(play);
    }
    int64_t oldest;
    assert_int_equal(push_window_waiting(play->window, &oldest), 0);
    assert_int_equal(oldest, 0);
    for (size_t c = 0; c < COURSES; c++) {
        assert_int_equal(push_window_held(play->window, c), INT64_MAX);
        for (int64_t i = 0; i < play->topics[c].end; i++)
            assert_true(!play->topics[c].pushed[i] == !play->topics[c].wanted[i]);
    }
}

static void write_and_read(struct play *play, size_t course, int count) {
    for (int i = 0; i < count; i++) play->topics[course].wanted[play->topics[course].end++] = true;
    for (int i = 0; i < count; i++) read_one(play, course);
}

TEST(what_finds_no_room_is_counted_and_comes_when_half_is_free, struct play *play) {
    size_t course;
    int64_t offset, oldest;
    write_and_read(play, 0, CAPACITY);
    write_and_read(play, 2, 5);
    write_and_read(play, 1, 3);
    assert_int_equal(push_window_waiting(play->window, &oldest), CAPACITY + 8);
    assert_int_equal(oldest, 1000);
    push_some(play, CAPACITY / 2 - 1);
    assert_false(is_again(play, &course, &offset));
    push_some(play, 1);
    assert_true(is_again(play, &course, &offset));
    assert_true(course == 1 && offset == 0); // as both are as old, the first one
    play->topics[1].position = 0;
    assert_int_equal(push_window_held(play->window, 1), INT64_MAX);
    for (int i = 0; i < 3; i++) read_one(play, 1);
    assert_int_equal(push_window_held(play->window, 1), 0);
    push_some(play, CAPACITY);
    assert_int_equal(push_window_held(play->window, 1), INT64_MAX);
    assert_int_equal(push_window_held(play->window, 2), 0);
    assert_true(is_again(play, &course, &offset));
    assert_true(course == 2 && offset == 0);
}

TEST(a_course_that_comes_again_comes_to_its_end_first, struct play *play) {
    size_t course;
    int64_t offset;
    write_and_read(play, 0, 2 * CAPACITY);
    push_some(play, CAPACITY / 2);
    again(play);
    assert_int_equal(play->topics[0].position, CAPACITY);
    for (int i = 0; i <= CAPACITY / 2; i++) read_one(play, 0); // the last one finds no room
    push_some(play, CAPACITY);
    assert_false(is_again(play, &course, &offset));
    while (play->topics[0].position < 2 * CAPACITY) read_one(play, 0);
    assert_true(is_again(play, &course, &offset));
    assert_int_equal(offset, CAPACITY + CAPACITY / 2);
}

TEST(a_record_that_comes_again_is_known, struct play *play) {
    assert_false(push_window_see(play->window, 0, 5));
    assert_true(push_window_see(play->window, 0, 5));
    assert_false(push_window_see(play->window, 0, 6));
    push_window_drop(play->window, 0);
    assert_false(push_window_see(play->window, 0, 5));
}
