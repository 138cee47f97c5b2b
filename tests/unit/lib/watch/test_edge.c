/* Tests edge.c, edge_replay.c, edge_telling.c, edge_writing.c and names.c. The edge's side of watching: what it writes, in which order
 * and slices, and what it tells which session. */
#include "unit/kit/kit.h"
#include "watch/edge.h"
#include "watch/records.h"
#include "unit/lib/watch/says.h"

enum { PARTITIONS = 4, WATCHER = 77, SLICE = 100 };

/* Keeps what the edge did as text: a line a callback. */
struct desk {
    struct watch_edge *edge;
    struct buffer said;
    size_t writes, tells, roll_calls, contents;
    int64_t after_max;
    int full;                    /* so many writes find no room */
    uint64_t hang_up;            /* the session that leaves when it is told something; 0: none */
    struct watch_roll roll;      /* the last one; its acknowledgements are in said */
    int64_t numbers[PARTITIONS]; /* of the last roll calls */
};

static int32_t partition_of(void *context, const void *what, size_t size) {
    return ((const uint8_t *)what)[size - 1] % PARTITIONS;
}

static void say_roll(struct desk *desk, int32_t partition, const void *value, size_t size) {
    struct watch_ack ack;
    assert_int_equal(watch_roll_decode(value, size, &desk->roll), 0);
    assert_int_equal(desk->roll.number, ++desk->numbers[partition]);
    buffer_format(&desk->said, "roll %d @%d:", (int)desk->roll.count, desk->roll.route);
    struct watch_roll roll = desk->roll;
    while (watch_roll_next(&roll, &ack)) buffer_format(&desk->said, " %d", ack.known ? (int)ack.version.number : -1);
    buffer_string(&desk->said, desk->roll.more ? " more\n" : "\n");
    desk->roll_calls++;
}

static int write_record(void *context, int32_t partition, const void *key, size_t key_size, const void *value,
                        size_t value_size) {
    struct desk *desk = context;
    struct watch_key parsed;
    int32_t route;
    if (desk->full > 0) {
        desk->full--;
        return -EAGAIN;
    }
    assert_int_equal(watch_key_decode(key, key_size, &parsed), 0);
    assert_int_equal(parsed.watcher, WATCHER);
    desk->writes++;
    if (!parsed.what_size) {
        say_roll(desk, partition, value, value_size);
        return 0;
    }
    assert_int_equal(partition, partition_of(NULL, parsed.what, parsed.what_size));
    buffer_format(&desk->said, "%.*s ", (int)parsed.what_size, (const char *)parsed.what);
    if (value) {
        assert_int_equal(watch_value_decode(value, value_size, &route), 0);
        buffer_format(&desk->said, "@%d\n", route);
    } else {
        buffer_string(&desk->said, "gone\n");
    }
    return 0;
}

static void maybe_hang_up(struct desk *desk, uint64_t session) {
    desk->tells++;
    if (desk->hang_up == session) watch_edge_leave(desk->edge, session);
}

static void tell_change(void *context, uint64_t session, const void *what, size_t size, struct watch_version since,
                        struct watch_version version, const void *content, size_t content_size) {
    struct desk *desk = context;
    buffer_format(&desk->said, "%d: %.*s %d>%d %.*s\n", (int)session, (int)size, (const char *)what, (int)since.number,
                  (int)version.number, (int)content_size, (const char *)content);
    maybe_hang_up(desk, session);
}

static void tell_any(void *context, uint64_t session, const void *what, size_t size, const void *content,
                     size_t content_size) {
    struct desk *desk = context;
    buffer_format(&desk->said, "%d: %.*s any %.*s\n", (int)session, (int)size, (const char *)what, (int)content_size,
                  (const char *)content);
}

static void say_content(void *context, const void *content, size_t size) {
    struct desk *desk = context;
    desk->contents++;
}

static void tell_stale(void *context, uint64_t session, const void *what, size_t size, struct watch_version version,
                       int64_t after_ms) {
    struct desk *desk = context;
    if (after_ms > desk->after_max) desk->after_max = after_ms;
    buffer_format(&desk->said, "%d: %.*s stale %d\n", (int)session, (int)size, (const char *)what, (int)version.number);
    maybe_hang_up(desk, session);
}

static void free_desk(void *it) {
    struct desk *desk = it;
    watch_edge_free(desk->edge);
    buffer_free(&desk->said);
}

static struct desk *desk_new(struct watch_edge_options options) {
    struct desk *desk = kit_zero(sizeof *desk);
    *desk = (struct desk){.edge = NULL};
    options.watcher = WATCHER;
    options.partitions = PARTITIONS;
    options.slice = SLICE;
    options.context = desk;
    options.partition = partition_of;
    options.write = write_record;
    options.tell_change = tell_change;
    options.tell_any = tell_any;
    options.content = say_content;
    options.tell_stale = tell_stale;
    desk->edge = watch_edge_new(&options, 0);
    kit_after(free_desk, desk);
    return desk;
}

static struct watch_version counter(int64_t number) { return (struct watch_version){.number = number}; }

static int show(struct desk *desk, uint64_t session, const char *what, int64_t version) {
    struct watch_version known = counter(version);
    return watch_edge_show(desk->edge, session, what, strlen(what), version < 0 ? NULL : &known);
}

static void hide(struct desk *desk, uint64_t session, const char *what) {
    watch_edge_hide(desk->edge, session, what, strlen(what));
}

static int take(struct desk *desk, struct watch_delivery delivery) {
    FREED_BUFFER payload = {.size = 0};
    watch_delivery_encode(&payload, &delivery);
    return watch_edge_take(desk->edge, payload.data, payload.size);
}

static void named_version(struct desk *desk, const char *what, struct watch_version version) {
    assert_int_equal(take(desk, (struct watch_delivery){.is = WATCH_NOTE_IS_NAMED,
                                                        .what = (const uint8_t *)what,
                                                        .what_size = strlen(what),
                                                        .version = version}),
                     0);
}

static void named(struct desk *desk, const char *what, int64_t version) { named_version(desk, what, counter(version)); }

static void told(struct desk *desk, const char *what, struct watch_version since, struct watch_version version) {
    assert_int_equal(take(desk, (struct watch_delivery){.is = WATCH_NOTE_IS_TOLD,
                                                        .what = (const uint8_t *)what,
                                                        .what_size = strlen(what),
                                                        .since = since,
                                                        .version = version,
                                                        .content = (const uint8_t *)"new",
                                                        .content_size = 3}),
                     0);
}

/* Goes on until nothing is left; what was said since the last time. */
static const char *says(struct desk *desk, int64_t now_ms) {
    for (int i = 0; watch_edge_continue(desk->edge, now_ms) == 0; i++) assert_true(i < 10000);
    return buffer_cstring(&desk->said);
}

SET_UP() { return desk_new((struct watch_edge_options){.things = 0}); }

TEST(test_first_session_writes_and_last_one_writes_a_tombstone, struct desk *desk) {
    watch_edge_route(desk->edge, 3);
    assert_int_equal(show(desk, 1, "a", 4), 0);
    assert_int_equal(show(desk, 2, "a", 4), 0);
    assert_says(desk, 0, "a @3\n");
    hide(desk, 1, "a");
    hide(desk, 1, "a");
    hide(desk, 9, "a");
    assert_says(desk, 0, "");
    watch_edge_leave(desk->edge, 2);
    assert_says(desk, 0, "a gone\n");
    // A thing that nobody shows any more before its record was written leaves no trace.
    show(desk, 1, "b", 4);
    watch_edge_leave(desk->edge, 1);
    assert_says(desk, 0, "");
}

TEST(test_without_a_route_nothing_is_written, struct desk *desk) {
    show(desk, 1, "a", 4);
    assert_says(desk, 200000, "");
    watch_edge_route(desk->edge, 3);
    assert_string_equal(says(desk, 200000), "a @3\nroll 1 @3: -1\n");
    buffer_clear(&desk->said);
    watch_edge_route(desk->edge, 5);
    watch_edge_route(desk->edge, 5);
    assert_says(desk, 200000, "a @5\n");
    watch_edge_route(desk->edge, -1);
    watch_edge_leave(desk->edge, 1);
    assert_says(desk, 900000, "");
    watch_edge_route(desk->edge, 5);
    assert_string_equal(says(desk, 900000), "a gone\nroll 0 @5:\n");
}

TEST(test_a_full_producer_is_tried_again_in_order, struct desk *desk) {
    watch_edge_route(desk->edge, 3);
    show(desk, 1, "a", 4);
    show(desk, 1, "e", 4);
    desk->full = 3;
    assert_true(watch_edge_continue(desk->edge, 0) > 0);
    assert_true(watch_edge_continue(desk->edge, 0) > 0);
    assert_true(watch_edge_continue(desk->edge, 0) > 0);
    assert_says(desk, 0, "a @3\ne @3\n");
    // The acknowledgements of a roll call that found no room are not lost.
    named(desk, "a", 4);
    says(desk, 0);
    desk->full = 1;
    assert_true(watch_edge_continue(desk->edge, 120000) > 0);
    assert_string_equal(says(desk, 120000), "roll 2 @3: 4 -1\n");
}

TEST(test_roll_calls_once_a_minute_with_count_hash_and_news, struct desk *desk) {
    watch_edge_route(desk->edge, 3);
    show(desk, 1, "a", 4);
    show(desk, 1, "e", 4);
    show(desk, 1, "b", 4);
    says(desk, 60000);
    size_t before = desk->roll_calls;
    for (int64_t now = 60000; now <= 60000 * 11; now += 1000) says(desk, now);
    assert_int_equal(desk->roll_calls - before, 2 * 10); // two partitions have watches
    buffer_clear(&desk->said);
    named(desk, "a", 4);
    named(desk, "e", 7);
    named(desk, "a", 5);
    for (int64_t now = 60000 * 11; now < 60000 * 12; now += 1000) says(desk, now);
    assert_non_null(strstr(buffer_cstring(&desk->said), "roll 2 @3: 5 7\n"));
    assert_non_null(strstr(buffer_cstring(&desk->said), "roll 1 @3: -1\n")); // nothing was heard of b
    buffer_clear(&desk->said);
    named(desk, "a", 5); // the same version is acknowledged again when it is said again
    for (int64_t now = 60000 * 12; now < 60000 * 13; now += 1000) says(desk, now);
    assert_non_null(strstr(buffer_cstring(&desk->said), "roll 2 @3: 5\n"));
    // The hash is that of what stands.
    hide(desk, 1, "e");
    hide(desk, 1, "b");
    desk->roll.count = 0;
    for (int64_t now = 60000 * 13; now < 60000 * 14; now += 1000) {
        says(desk, now);
        if (desk->roll.count == 1) break;
    }
    assert_int_equal(desk->roll.hash, watch_hash_share(watch_hash("a", 1), 3));
    // After a long sleep each partition has one.
    before = desk->roll_calls;
    says(desk, 60000 * 100);
    assert_true(desk->roll_calls - before <= 2);
}

/* With a walk over those of the same hash for each, this test would take hours. */
TEST(test_many_things_of_one_hash_cost_no_more) {
    enum { THINGS = 100000 };
    struct desk *desk = desk_new((struct watch_edge_options){.things = THINGS});
    char what[SAME_HASH_SIZE + 1];
    for (uint64_t i = 0, number = 0; i < THINGS; i++) {
        watch_same_hash(&number, what);
        assert_int_equal(show(desk, i / 32 + 1, what, 1), 0);
    }
    assert_int_equal(desk->tells, 0);
    for (uint64_t i = 0, number = 0; i < THINGS; i++) {
        watch_same_hash(&number, what);
        named(desk, what, 2);
        says(desk, 0);
        buffer_clear(&desk->said);
    }
    assert_int_equal(desk->tells, THINGS);
}

TEST(test_acknowledgements_that_do_not_fit_come_in_several_records) {
    struct desk *desk = desk_new((struct watch_edge_options){.session_things = 10000});
    char what[16];
    watch_edge_route(desk->edge, 3);
    for (int i = 0; i < 5000; i++) {
        sprintf(what, "%da", i);
        assert_int_equal(show(desk, 1, what, 1), 0);
        named(desk, what, 1);
    }
    says(desk, 0);
    buffer_clear(&desk->said);
    size_t acks = 0, records = 0;
    for (int64_t now = 0; now <= 60000; now += 20)
        if (watch_edge_continue(desk->edge, now) >= 0 && desk->roll_calls > records) {
            records = desk->roll_calls;
            acks += desk->roll.heard;
            assert_int_equal(desk->roll.more, acks < 5000);
            assert_int_equal(desk->roll.count, 5000);
            if (!desk->roll.more) break;
        }
    assert_int_equal(records, 3);
    assert_int_equal(acks, 5000);
}

TEST(test_again_writes_all_of_one_partition, struct desk *desk) {
    watch_edge_route(desk->edge, 3);
    show(desk, 1, "a", 4);
    show(desk, 1, "b", 4);
    show(desk, 1, "e", 4);
    says(desk, 0);
    buffer_clear(&desk->said);
    struct watch_delivery again = {.is = WATCH_NOTE_IS_AGAIN, .watcher = WATCHER, .partition = 'a' % PARTITIONS};
    assert_int_equal(take(desk, again), 0);
    assert_says(desk, 0, "a @3\ne @3\n");
    // Not what the owner says to the edge that had the route before, nor of partitions that do not exist.
    again.watcher++;
    take(desk, again);
    again.watcher--;
    again.partition = PARTITIONS;
    take(desk, again);
    again.partition = -1;
    take(desk, again);
    assert_says(desk, 0, "");
}

TEST(test_changes_go_to_pages_that_they_follow) {
    struct desk *desk = desk_new((struct watch_edge_options){.stale_step_ms = 1});
    watch_edge_route(desk->edge, 3);
    show(desk, 1, "a", 4);
    show(desk, 2, "a", 3);
    show(desk, 3, "a", 6);
    show(desk, 4, "a", -1);
    says(desk, 0);
    buffer_clear(&desk->said);
    told(desk, "a", counter(4), counter(5));
    assert_says(desk, 0, "4: a stale 5\n2: a stale 5\n1: a 4>5 new\n");
    told(desk, "a", counter(4), counter(5)); // repeated
    assert_says(desk, 0, "");
    told(desk, "a", counter(5), counter(8)); // a page between the two follows as well
    assert_says(desk, 0, "4: a 5>8 new\n3: a 6>8 new\n2: a 5>8 new\n1: a 5>8 new\n");
    told(desk, "a", counter(2), counter(3)); // old
    named(desk, "a", 7);                     // old
    told(desk, "b", counter(2), counter(3)); // nobody shows it
    assert_says(desk, 0, "");
    named(desk, "a", 9);
    assert_says(desk, 0, "4: a stale 9\n3: a stale 9\n2: a stale 9\n1: a stale 9\n");
}

TEST(test_the_second_session_is_told_at_once, struct desk *desk) {
    watch_edge_route(desk->edge, 3);
    show(desk, 1, "a", 4);
    named(desk, "a", 4);
    says(desk, 0);
    buffer_clear(&desk->said);
    show(desk, 2, "a", 4);
    show(desk, 3, "a", 5); // its page is newer than what the edge has heard
    assert_string_equal(buffer_cstring(&desk->said), "");
    show(desk, 4, "a", 3);
    show(desk, 5, "a", -1);
    show(desk, 4, "a", 3); // it read a gateway's copy
    show(desk, 4, "a", 4);
    assert_string_equal(buffer_cstring(&desk->said), "4: a stale 4\n5: a stale 4\n4: a stale 4\n");
    assert_int_equal(desk->after_max, 0);
}

TEST(test_fingerprints_may_fall, struct desk *desk) {
    struct watch_version seven = {.number = 7, .hash = 70}, other = {.number = 7, .hash = 71},
                         five = {.number = 5, .hash = 50};
    watch_edge_route(desk->edge, 3);
    assert_int_equal(watch_edge_show(desk->edge, 1, "a", 1, &seven), 0);
    says(desk, 0);
    buffer_clear(&desk->said);
    told(desk, "a", seven, other);
    told(desk, "a", other, five);
    assert_says(desk, 0, "1: a 7>7 new\n1: a 7>5 new\n");
    told(desk, "a", seven, other); // a repetition, as far as the edge can tell: roll calls tell the owner
    assert_says(desk, 0, "1: a stale 7\n");
    told(desk, "a", seven, five); // does not follow and falls: an old one
    assert_says(desk, 0, "");
    named_version(desk, "a", five); // the owner knows better
    assert_says(desk, 0, "1: a stale 5\n");
    assert_int_equal(desk->after_max, 1000);
    // A page that seems newer, from a gateway's copy, is read again after a while.
    desk->after_max = 0;
    assert_int_equal(watch_edge_show(desk->edge, 1, "a", 1, &seven), 0);
    assert_says(desk, 0, "1: a stale 5\n");
    assert_int_equal(desk->after_max, 1000);
}

TEST(test_many_sessions_are_told_in_slices_and_read_spread_over_seconds) {
    struct desk *desk = desk_new((struct watch_edge_options){.stale_step_ms = 5, .stale_spread_ms = 3000});
    watch_edge_route(desk->edge, 3);
    for (uint64_t session = 1; session <= 2000; session++) show(desk, session, "a", 1);
    says(desk, 0);
    told(desk, "a", counter(1), counter(2));
    told(desk, "a", counter(2), counter(3));
    assert_int_equal(watch_edge_continue(desk->edge, 0), 0);
    assert_true(desk->tells > 0 && desk->tells <= SLICE);
    // Sessions come, go and say their versions in the middle of it.
    for (uint64_t session = 1; session <= 500; session++) watch_edge_leave(desk->edge, session * 4);
    for (uint64_t session = 3001; session <= 3100; session++) show(desk, session, "a", 2);
    for (size_t last = desk->tells; watch_edge_continue(desk->edge, 0) == 0; last = desk->tells)
        assert_true(desk->tells - last <= SLICE);
    buffer_clear(&desk->said);
    named(desk, "a", 9);
    desk->tells = 0;
    says(desk, 0);
    assert_int_equal(desk->tells, 1600);
    assert_in_range(desk->after_max, 2700, 3000);
}

TEST(test_a_session_may_leave_while_it_is_told, struct desk *desk) {
    watch_edge_route(desk->edge, 3);
    for (uint64_t session = 1; session <= 3; session++) show(desk, session, "a", 1);
    says(desk, 0);
    for (uint64_t session = 3; session >= 1; session--) {
        desk->hang_up = session;
        named(desk, "a", 10 - (int64_t)session);
        says(desk, 0);
    }
    struct watch_edge_stats stats;
    watch_edge_stats(desk->edge, &stats);
    assert_int_equal(stats.seats, 0);
    assert_int_equal(stats.sessions, 0);
    assert_int_equal(stats.things, 0);
}

TEST(test_what_an_edge_takes_is_bounded) {
    struct desk *desk = desk_new((struct watch_edge_options){.things = 3, .session_things = 2, .queue_bytes = 1000});
    char what[WATCH_WHAT_MAX + 2];
    memset(what, 'a', sizeof what);
    assert_int_equal(watch_edge_show(desk->edge, 1, what, 0, NULL), -EINVAL);
    assert_int_equal(watch_edge_show(desk->edge, 1, what, WATCH_WHAT_MAX + 1, NULL), -EINVAL);
    assert_int_equal(watch_edge_show(desk->edge, 1, what, WATCH_WHAT_MAX, NULL), 0);
    assert_int_equal(show(desk, 1, "b", 1), 0);
    assert_int_equal(show(desk, 1, "c", 1), -E2BIG);
    assert_int_equal(show(desk, 1, "b", 2), 0);
    assert_int_equal(show(desk, 2, "c", 1), 0);
    assert_int_equal(show(desk, 2, "d", 1), -ENOSPC);
    assert_int_equal(show(desk, 2, "b", 1), 0);
    assert_int_equal(watch_edge_take(desk->edge, "nonsense", 8), -EBADMSG);
    int taken = 0;
    struct watch_delivery name = {
        .is = WATCH_NOTE_IS_NAMED, .what = (const uint8_t *)"b", .what_size = 1, .version = counter(5)};
    while (take(desk, name) == 0) taken++;
    assert_in_range(taken, 10, 100);
    struct watch_edge_stats stats;
    watch_edge_stats(desk->edge, &stats);
    assert_int_equal(stats.refused, 1);
    says(desk, 0);
    assert_int_equal(take(desk, name), 0);
}

TEST(test_a_page_that_is_a_little_older_is_told_what_followed) {
    struct desk *desk =
        desk_new((struct watch_edge_options){.replay_bytes = 4 * (3 + sizeof(struct watch_version) * 3)});
    show(desk, 1, "a", 4);
    told(desk, "a", counter(4), counter(6));
    told(desk, "a", counter(6), counter(7));
    told(desk, "a", counter(6), counter(7)); // twice
    assert_says(desk, 0, "1: a 4>6 new\n1: a 6>7 new\n");
    assert_int_equal(desk->contents, 2);
    show(desk, 2, "a", 5);
    assert_says(desk, 0, "2: a 5>6 new\n2: a 6>7 new\n");
    show(desk, 1, "a", 6);
    assert_says(desk, 0, "1: a 6>7 new\n");
    show(desk, 1, "a", 7);
    show(desk, 1, "a", 9);
    assert_says(desk, 0, "");
    // A page from before what is kept is read again, and so is one across a gap.
    for (int64_t version = 7; version < 12; version++) told(desk, "a", counter(version), counter(version + 1));
    says(desk, 0);
    buffer_clear(&desk->said);
    show(desk, 3, "a", 5);
    assert_says(desk, 0, "3: a stale 12\n");
    show(desk, 3, "a", 11);
    assert_says(desk, 0, "3: a 11>12 new\n");
    named(desk, "a", 20);
    says(desk, 0);
    buffer_clear(&desk->said);
    show(desk, 3, "a", 11);
    assert_says(desk, 0, "3: a stale 20\n");
    struct watch_edge_stats stats;
    watch_edge_stats(desk->edge, &stats);
    assert_int_equal(stats.replay_bytes, 0);
}

TEST(test_the_things_with_the_newest_changes_keep_them) {
    struct watch_edge_stats stats;
    size_t one = 3 + sizeof(struct watch_version) * 2 + sizeof(size_t);
    struct desk *desk = desk_new((struct watch_edge_options){.replay_bytes = 2 * one, .replay_total = 3 * one});
    for (const char *what = "abc"; *what; what++) {
        const char name[] = {*what, 0};
        show(desk, 1, name, 4);
        told(desk, name, counter(4), counter(5));
    }
    told(desk, "a", counter(5), counter(6)); // b is the one without news for longest
    says(desk, 0);
    buffer_clear(&desk->said);
    for (const char *what = "abc"; *what; what++) show(desk, 2, (const char[]){*what, 0}, 4);
    assert_says(desk, 0, "2: a 4>5 new\n2: a 5>6 new\n2: b stale 5\n2: c 4>5 new\n");
    watch_edge_stats(desk->edge, &stats);
    assert_int_equal(stats.replay_bytes, 3 * one);
    // A thing that nobody shows any more gives its room back.
    watch_edge_leave(desk->edge, 1);
    watch_edge_leave(desk->edge, 2);
    says(desk, 0);
    watch_edge_stats(desk->edge, &stats);
    assert_int_equal(stats.replay_bytes, 0);
}

TEST(test_what_is_for_every_page_changes_no_version, struct desk *desk) {
    show(desk, 1, "a", 4);
    show(desk, 2, "a", 9);
    named(desk, "a", 4);
    told(desk, "a", WATCH_VERSION_ANY, WATCH_VERSION_ANY);
    assert_says(desk, 0, "2: a any new\n1: a any new\n");
    assert_int_equal(desk->contents, 1);
    told(desk, "a", counter(4), counter(5));
    assert_says(desk, 0, "1: a 4>5 new\n");
    named(desk, "a", 12);
    assert_says(desk, 0, "2: a stale 12\n1: a stale 12\n");
}

TEST(test_twenty_thousand_things_go_in_slices, struct desk *desk) {
    char what[24];
    for (int i = 0; i < 20000; i++) {
        sprintf(what, "feed:%d", i);
        assert_int_equal(show(desk, (uint64_t)i + 1, what, 1), 0);
    }
    for (int32_t route = 3; route <= 4; route++) {
        watch_edge_route(desk->edge, route);
        desk->writes = 0;
        for (size_t last = 0; watch_edge_continue(desk->edge, 0) == 0; last = desk->writes)
            assert_true(desk->writes - last <= SLICE);
        assert_int_equal(desk->writes, 20000);
    }
}
