/* Tests owner.c, owner_rolls.c, owner_table.c and owner_telling.c. The owner's side of watching: silence before it is live, answers,
 * changes, roll calls, watchers that are gone, and slices. */
#include "unit/kit/kit.h"
#include "watch/owner.h"
#include "watch/records.h"
#include "unit/lib/watch/says.h"

enum { PARTITIONS = 3, SLICE = 100 };

/* Keeps what the owner did as text: a line a callback. */
struct desk {
    struct watch_owner *owner;
    struct buffer said;
    size_t deliveries, forgotten;
    int64_t version; /* of everything; -1: not known yet */
    bool quiet;      /* counts only */
};

static bool say_version(void *context, int32_t partition, const void *what, size_t size,
                        struct watch_version *version) {
    struct desk *desk = context;
    *version = (struct watch_version){.number = desk->version};
    return desk->version >= 0;
}

static void deliver(void *context, int32_t route, const void *payload, size_t size) {
    struct desk *desk = context;
    struct watch_delivery d;
    assert_int_equal(watch_delivery_decode(payload, size, &d), 0);
    desk->deliveries++;
    if (desk->quiet) return;
    if (d.is == WATCH_NOTE_IS_AGAIN)
        buffer_format(&desk->said, "@%d again %d of %d\n", route, (int)d.watcher, d.partition);
    else if (d.is == WATCH_NOTE_IS_NAMED)
        buffer_format(&desk->said, "@%d %.*s is %d\n", route, (int)d.what_size, (const char *)d.what,
                      (int)d.version.number);
    else
        buffer_format(&desk->said, "@%d %.*s %d>%d %.*s\n", route, (int)d.what_size, (const char *)d.what,
                      (int)d.since.number, (int)d.version.number, (int)d.content_size, (const char *)d.content);
}

static void forget(void *context, int32_t partition, const void *key, size_t size) {
    struct desk *desk = context;
    struct watch_key parsed;
    assert_int_equal(watch_key_decode(key, size, &parsed), 0);
    desk->forgotten++;
    if (!desk->quiet)
        buffer_format(&desk->said, "forget %.*s of %d\n", (int)parsed.what_size, (const char *)parsed.what,
                      (int)parsed.watcher);
}

static void watched(void *context, int32_t partition, const void *what, size_t size, bool now) {
    struct desk *desk = context;
    if (!desk->quiet) buffer_format(&desk->said, "%.*s %s\n", (int)size, (const char *)what, now ? "watched" : "left");
}

static void free_desk(void *it) {
    struct desk *desk = it;
    watch_owner_free(desk->owner);
    buffer_free(&desk->said);
}

static struct desk *desk_new(int64_t version) {
    struct desk *desk = kit_zero(sizeof *desk);
    *desk = (struct desk){.version = version};
    struct watch_owner_options options = {.partitions = PARTITIONS,
                                          .slice = SLICE,
                                          .context = desk,
                                          .output = desk,
                                          .version = say_version,
                                          .deliver = deliver,
                                          .forget = forget,
                                          .watched = watched};
    desk->owner = watch_owner_new(&options);
    watch_owner_attach(desk->owner, 0, 0);
    kit_after(free_desk, desk);
    return desk;
}

static int read_value(struct desk *desk, const char *what, uint64_t watcher, const struct buffer *value) {
    uint8_t key[WATCH_KEY_MAX];
    size_t size = watch_key_encode(key, what, strlen(what), watcher);
    return watch_owner_read(desk->owner, 0, key, size, value ? value->data : NULL, value ? value->size : 0);
}

/* A watch record; route -1: a tombstone. */
static void record(struct desk *desk, const char *what, uint64_t watcher, int32_t route) {
    FREED_BUFFER value = {.size = 0};
    watch_value_encode(&value, route);
    assert_int_equal(read_value(desk, what, watcher, route < 0 ? NULL : &value), 0);
}

/* A roll call of a watcher with these things at that route, and with an acknowledgement of the first ones: versions, -1: none heard. */
struct call {
    uint64_t watcher;
    int32_t route;
    int64_t number;
    const char *things[4];
    size_t acks;
    int64_t heard[4];
    bool more;
};

static void roll_call(struct desk *desk, struct call call) {
    struct watch_roll roll = {.route = call.route, .number = call.number, .more = call.more, .heard = call.acks};
    struct watch_ack acks[4];
    for (size_t i = 0; i < 4 && call.things[i]; i++) {
        uint64_t hash = watch_hash(call.things[i], strlen(call.things[i]));
        roll.count++;
        roll.hash += watch_hash_share(hash, call.route);
        bool known = call.heard[i] >= 0;
        acks[i] =
            (struct watch_ack){.what_hash = hash, .known = known, .version = {.number = known ? call.heard[i] : 0}};
    }
    FREED_BUFFER value = {.size = 0};
    watch_roll_encode(&value, &roll, acks);
    assert_int_equal(read_value(desk, "", call.watcher, &value), 0);
}

static size_t change(struct desk *desk, const char *what, int64_t since, int64_t version) {
    desk->version = version;
    return watch_owner_change(desk->owner, 0, what, strlen(what), (struct watch_version){.number = since},
                              (struct watch_version){.number = version}, "new", 3);
}

static const char *says(struct desk *desk, int64_t now_ms) {
    for (int i = 0; watch_owner_continue(desk->owner, now_ms) == 0; i++) assert_true(i < 100000);
    return buffer_cstring(&desk->said);
}

SET_UP() { return desk_new(5); }

TEST(test_nobody_is_told_before_the_topic_was_read, struct desk *desk) {
    record(desk, "a", 81, 3);
    record(desk, "b", 81, 3);
    record(desk, "a", 95, 6);
    record(desk, "b", 81, -1);
    record(desk, "c", 95, -1);
    roll_call(desk, (struct call){.watcher = 95, .route = 6, .number = 1});
    assert_int_equal(change(desk, "a", 5, 6), 0);
    assert_says(desk, 400000, "a watched\nb watched\nb left\n");
    watch_owner_live(desk->owner, 0);
    assert_says(desk, 400000, "@3 a is 6\n@6 a is 6\n");
}

TEST(test_watches_are_answered_and_changes_told_once_a_route, struct desk *desk) {
    watch_owner_live(desk->owner, 0);
    record(desk, "a", 81, 3);
    record(desk, "a", 82, 3); // a former process at the same route
    record(desk, "a", 95, 6);
    assert_says(desk, 0, "a watched\n@3 a is 5\n@3 a is 5\n@6 a is 5\n");
    assert_int_equal(change(desk, "a", 5, 6), 2);
    assert_int_equal(change(desk, "a", 5, 6), 0); // an effect that is repeated
    assert_int_equal(change(desk, "z", 5, 6), 0);
    assert_says(desk, 0, "@3 a 5>6 new\n@6 a 5>6 new\n");
    record(desk, "a", 95, 7);
    assert_int_equal(watch_owner_name(desk->owner, 0, "a", 1, (struct watch_version){.number = 9}), 2);
    assert_says(desk, 0, "@7 a is 6\n@3 a is 9\n@7 a is 9\n");
    assert_true(watch_owner_watched(desk->owner, 0, "a", 1));
    record(desk, "a", 81, -1);
    record(desk, "a", 82, -1);
    record(desk, "a", 95, -1);
    assert_says(desk, 0, "a left\n");
    assert_false(watch_owner_watched(desk->owner, 0, "a", 1));
    assert_false(watch_owner_watched(desk->owner, 1, "a", 1));
}

TEST(test_a_version_that_is_not_known_is_named_later) {
    struct desk *desk = desk_new(-1);
    record(desk, "a", 81, 3);
    watch_owner_live(desk->owner, 0);
    record(desk, "a", 95, 6);
    assert_says(desk, 0, "a watched\n");
    watch_owner_name(desk->owner, 0, "a", 1, (struct watch_version){.number = 4});
    assert_says(desk, 0, "@3 a is 4\n@6 a is 4\n");
    // If the caller never says it, roll calls ask again; and then all are told.
    desk->version = -1;
    record(desk, "b", 81, 3);
    record(desk, "b", 95, 6);
    roll_call(desk,
              (struct call){.watcher = 81, .route = 3, .number = 1, .things = {"a", "b"}, .acks = 1, .heard = {4}});
    assert_says(desk, 0, "b watched\n");
    desk->version = 8;
    roll_call(desk, (struct call){.watcher = 81, .route = 3, .number = 2, .things = {"a", "b"}});
    assert_says(desk, 0, "@3 b is 8\n@6 b is 8\n");
}

TEST(test_what_is_not_acknowledged_is_named_again, struct desk *desk) {
    struct call call = {.watcher = 81, .route = 3, .number = 1, .things = {"a", "b"}, .acks = 2, .heard = {5, 5}};
    watch_owner_live(desk->owner, 0);
    record(desk, "a", 81, 3);
    record(desk, "b", 81, 3);
    assert_says(desk, 0, "a watched\n@3 a is 5\nb watched\n@3 b is 5\n");
    roll_call(desk, call);
    assert_says(desk, 0, "");
    assert_int_equal(change(desk, "a", 5, 6), 1);
    assert_says(desk, 0, "@3 a 5>6 new\n");
    // The roll call may have been written before the change came: only the next one has to acknowledge it.
    call.acks = 0;
    call.number++;
    roll_call(desk, call);
    assert_says(desk, 0, "");
    for (int i = 0; i < 3; i++) {
        call.number++;
        roll_call(desk, call);
        assert_says(desk, 0, "@3 a is 6\n");
    }
    // A newer version that was told since is not due yet.
    change(desk, "a", 6, 7);
    call.acks = 1;
    call.heard[0] = 6;
    call.number++;
    roll_call(desk, call);
    assert_says(desk, 0, "@3 a 6>7 new\n");
    call.heard[0] = 7;
    call.number++;
    roll_call(desk, call);
    call.acks = 0;
    call.number++;
    roll_call(desk, call);
    call.number++;
    roll_call(desk, call);
    assert_says(desk, 0, "");
    struct watch_owner_stats stats;
    watch_owner_stats(desk->owner, &stats);
    assert_int_equal(stats.named_again, 3);
}

/* An acknowledgement of one of two things with the same hash may be of the other one. */
TEST(test_things_of_one_hash_are_told_apart, struct desk *desk) {
    char a[SAME_HASH_SIZE + 1], b[SAME_HASH_SIZE + 1], expected[200];
    uint64_t number = 0;
    watch_same_hash(&number, a);
    watch_same_hash(&number, b);
    assert_int_equal(watch_hash(a, SAME_HASH_SIZE), watch_hash(b, SAME_HASH_SIZE));
    struct call call = {.watcher = 81, .route = 3, .number = 1, .things = {a}, .acks = 1, .heard = {5}};
    watch_owner_live(desk->owner, 0);
    record(desk, a, 81, 3);
    roll_call(desk, call);
    record(desk, b, 81, 3);
    snprintf(expected, sizeof expected, "%s watched\n@3 %s is 5\n%s watched\n@3 %s is 5\n", a, a, b, b);
    assert_says(desk, 0, expected);
    call = (struct call){.watcher = 81, .route = 3, .number = 2, .things = {a, b}, .acks = 2, .heard = {5, 5}};
    roll_call(desk, call);
    assert_says(desk, 0, "");
    call.number++;
    roll_call(desk, call);
    says(desk, 0);
    assert_non_null(strstr(buffer_cstring(&desk->said), a));
    assert_non_null(strstr(buffer_cstring(&desk->said), b));
    buffer_clear(&desk->said);
    assert_int_equal(change(desk, b, 5, 6), 1);
    snprintf(expected, sizeof expected, "@3 %s 5>6 new\n%s left\n", b, b);
    record(desk, b, 81, -1);
    assert_says(desk, 0, expected);
    // Alone again, it is acknowledged as any other.
    for (int i = 0; i < 3; i++) {
        call = (struct call){.watcher = 81, .route = 3, .number = 4 + i, .things = {a}, .acks = 1, .heard = {5}};
        roll_call(desk, call);
        assert_says(desk, 0, "");
    }
}

/* With a walk over those of the same hash for each, this test would take hours. */
TEST(test_many_things_of_one_hash_cost_no_more, struct desk *desk) {
    enum { THINGS = 100000 };
    char what[SAME_HASH_SIZE + 1];
    desk->quiet = true;
    watch_owner_live(desk->owner, 0);
    for (uint64_t i = 0, number = 0; i < THINGS; i++) {
        watch_same_hash(&number, what);
        record(desk, what, 81, 3);
    }
    assert_int_equal(desk->deliveries, THINGS);
    for (uint64_t i = 0, number = 0; i < THINGS; i++) {
        watch_same_hash(&number, what);
        assert_true(watch_owner_watched(desk->owner, 0, what, SAME_HASH_SIZE));
        record(desk, what, 81, -1);
    }
    struct watch_owner_stats stats;
    watch_owner_stats(desk->owner, &stats);
    assert_int_equal(stats.watches + stats.things, 0);
}

TEST(test_acknowledgements_in_several_records_count_together, struct desk *desk) {
    struct call call = {.watcher = 81, .route = 3, .number = 1, .things = {"a", "b"}};
    watch_owner_live(desk->owner, 0);
    record(desk, "a", 81, 3);
    record(desk, "b", 81, 3);
    roll_call(desk, call);
    says(desk, 0);
    buffer_clear(&desk->said);
    struct call first = {
        .watcher = 81, .route = 3, .number = 2, .things = {"a", "b"}, .acks = 1, .heard = {5}, .more = true};
    struct call second = {.watcher = 81, .route = 3, .number = 3, .things = {"b", "a"}, .acks = 1, .heard = {5}};
    roll_call(desk, first);
    roll_call(desk, second);
    assert_says(desk, 0, "");
}

TEST(test_a_watcher_that_forgot_or_heard_something_else_is_told, struct desk *desk) {
    struct call call = {.watcher = 81, .route = 3, .number = 1, .things = {"a"}, .acks = 1, .heard = {5}};
    watch_owner_live(desk->owner, 0);
    record(desk, "a", 81, 3);
    roll_call(desk, call);
    says(desk, 0);
    buffer_clear(&desk->said);
    // Its sessions left and came back, and neither the tombstone nor the watch record was written.
    call.number = 2;
    call.heard[0] = -1;
    roll_call(desk, call);
    assert_says(desk, 0, "@3 a is 5\n");
    call.number = 3;
    call.heard[0] = 5;
    roll_call(desk, call);
    // An old delivery came late.
    call.number = 4;
    call.heard[0] = 2;
    roll_call(desk, call);
    assert_says(desk, 0, "");
    call.number = 5;
    call.acks = 0;
    roll_call(desk, call);
    assert_says(desk, 0, "@3 a is 5\n");
    call.number = 6;
    call.acks = 1;
    call.heard[0] = 5;
    roll_call(desk, call);
    assert_says(desk, 0, "");
    // A roll call that was lost may have said that: whatever it holds is named again.
    call.number = 8;
    call.acks = 0;
    roll_call(desk, call);
    assert_says(desk, 0, "@3 a is 5\n");
}

TEST(test_a_roll_call_that_differs_asks_for_all_anew, struct desk *desk) {
    watch_owner_live(desk->owner, 0);
    record(desk, "a", 81, 3);
    record(desk, "b", 81, 3);
    record(desk, "a", 95, 6);
    says(desk, 0);
    buffer_clear(&desk->said);
    roll_call(desk, (struct call){.watcher = 81, .route = 4, .number = 1, .things = {"a", "b"}}); // another route
    change(desk, "a", 5, 6);
    change(desk, "b", 5, 6);
    assert_says(desk, 0, "@4 again 81 of 0\n@6 a 5>6 new\nb left\n");
    record(desk, "a", 81, 4);
    record(desk, "b", 81, 4);
    roll_call(desk, (struct call){.watcher = 81, .route = 4, .number = 2, .things = {"a", "b"}});
    assert_says(desk, 0, "@4 a is 6\nb watched\n@4 b is 6\n");
    // Watches that come anew before the old ones are all dropped are kept.
    roll_call(desk, (struct call){.watcher = 81, .route = 4, .number = 3, .things = {"a"}});
    record(desk, "a", 81, 4);
    assert_says(desk, 0, "@4 again 81 of 0\n@4 a is 6\nb left\n");
    roll_call(desk, (struct call){.watcher = 81, .route = 4, .number = 4, .things = {"a"}});
    roll_call(desk, (struct call){.watcher = 77, .route = 9, .number = 1}); // nothing is nothing
    roll_call(desk, (struct call){.watcher = 77, .route = 9, .number = 2, .things = {"c"}});
    assert_says(desk, 0, "@9 again 77 of 0\n");
}

TEST(test_a_silent_watcher_is_dropped_and_forgotten, struct desk *desk) {
    record(desk, "a", 81, 3);
    record(desk, "a", 95, 6);
    roll_call(desk, (struct call){.watcher = 70, .route = 1, .number = 9}); // of a process that ended long ago
    watch_owner_live(desk->owner, 0);
    says(desk, 0);
    buffer_clear(&desk->said);
    for (int64_t minute = 1; minute <= 3; minute++) {
        roll_call(desk,
                  (struct call){.watcher = 95, .route = 6, .number = minute, .things = {"a"}, .acks = 1, .heard = {5}});
        assert_says(desk, minute * 60000, "");
    }
    roll_call(desk, (struct call){.watcher = 95, .route = 6, .number = 4, .things = {"a"}});
    assert_string_equal(says(desk, 240000), "forget  of 81\nforget  of 70\nforget a of 81\n");
    buffer_clear(&desk->said);
    assert_int_equal(change(desk, "a", 5, 6), 1);
    // However long this process slept, the others had no chance to be heard.
    assert_says(desk, 24000000, "@6 a 5>6 new\n");
    struct watch_owner_stats stats;
    watch_owner_stats(desk->owner, &stats);
    assert_int_equal(stats.watchers, 1);
    assert_int_equal(stats.silent, 2);
}

TEST(test_malformed_records_change_nothing, struct desk *desk) {
    uint8_t key[WATCH_KEY_MAX + 1] = {'a'};
    watch_owner_live(desk->owner, 0);
    assert_int_equal(watch_owner_read(desk->owner, 0, key, 7, NULL, 0), -EBADMSG);
    assert_int_equal(watch_owner_read(desk->owner, 0, key, WATCH_KEY_MAX + 1, NULL, 0), -EBADMSG);
    assert_int_equal(watch_owner_read(desk->owner, 0, key, 9, "", 0), -EBADMSG);
    assert_int_equal(watch_owner_read(desk->owner, 0, key, 8, "\0\0\0\0\x0b", 5), -EBADMSG);
    assert_int_equal(watch_owner_read(desk->owner, 0, key, 9, NULL, 0), 0);
    assert_int_equal(watch_owner_read(desk->owner, 0, key, 8, NULL, 0), 0);
    struct watch_owner_stats stats;
    watch_owner_stats(desk->owner, &stats);
    assert_int_equal(stats.watchers + stats.things + stats.watches, 0);
    assert_says(desk, 0, "");
}

static void fill(struct desk *desk, int things, int watchers) {
    char what[32];
    for (int i = 0; i < things; i++)
        for (int w = 0; w < watchers; w++) {
            sprintf(what, "feed:%d", i);
            record(desk, what, (uint64_t)w + 1, w);
        }
}

/* Calls continue until nothing is left; each call does no more than a slice. */
static void in_slices(struct desk *desk, int64_t now_ms) {
    for (;;) {
        size_t delivered = desk->deliveries, forgotten = desk->forgotten;
        int64_t wait = watch_owner_continue(desk->owner, now_ms);
        assert_true(desk->deliveries - delivered <= SLICE);
        assert_true(desk->forgotten - forgotten <= SLICE + 20);
        if (wait > 0) break;
    }
}

TEST(test_many_watches_go_in_slices, struct desk *desk) {
    enum { EACH = 5000, WATCHERS = 10 };
    desk->quiet = true;
    fill(desk, EACH, WATCHERS);
    assert_int_equal(desk->deliveries, 0);
    watch_owner_live(desk->owner, 0);
    in_slices(desk, 0);
    assert_int_equal(desk->deliveries, EACH * WATCHERS);
    for (int64_t minute = 1; minute <= 4; minute++) in_slices(desk, minute * 60000);
    assert_int_equal(desk->forgotten, EACH * WATCHERS + WATCHERS);
    struct watch_owner_stats stats;
    watch_owner_stats(desk->owner, &stats);
    assert_int_equal(stats.watches + stats.things + stats.watchers, 0);
    // A partition that is given away and comes back while it is freed.
    fill(desk, EACH, WATCHERS);
    watch_owner_detach(desk->owner, 0);
    watch_owner_detach(desk->owner, 0);
    watch_owner_attach(desk->owner, 0, 0);
    fill(desk, 10, 1);
    in_slices(desk, 0);
    watch_owner_stats(desk->owner, &stats);
    assert_int_equal(stats.watches, 10);
    assert_int_equal(stats.watchers, 1);
}
