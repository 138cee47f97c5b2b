/* Tests groups.c and membership.c. Consumer groups: what is owned, what is read, what is committed, through rebalances. */
#include "event/topics.h"
#include "unit/kit/kit.h"
#include "world.h"

static void fill(struct world *world, const struct topic *topic, int32_t partition, int from, int to) {
    struct kafka_producer *producer = world_producer(world, NULL);
    for (int i = from; i < to; i++) {
        char value[16];
        snprintf(value, sizeof value, "%d", i);
        world_send(world, producer, topic, partition, value);
    }
    world_flush(world, producer);
    kafka_producer_free(producer, 0);
}

static bool all_owned_once(void *context) {
    struct reader *const *readers = context;
    for (int32_t p = 0; p < PARTITIONS; p++) {
        int owners = 0;
        for (int i = 0; readers[i]; i++) {
            bool locations = reader_owns(readers[i], &TOPIC_LOCATIONS, p);
            if (locations != reader_owns(readers[i], &TOPIC_FRIEND_COMMANDS, p)) return false; // co-partitioned
            owners += locations;
        }
        if (owners != 1) return false;
    }
    for (int i = 0; readers[i]; i++) {
        if (readers[i]->owned_count != 2 * PARTITIONS / (readers[1] ? 2 : 1)) return false;
    }
    return true;
}

/* What a router does: owns half, reads all of locations and a topic that it is not subscribed to. */
static void read_everything(struct reader *reader) {
    struct kafka_position list[2 * PARTITIONS];
    for (int32_t p = 0; p < PARTITIONS; p++) {
        int64_t position = kafka_consumer_position(reader->consumer, &TOPIC_LOCATIONS, p);
        list[2 * p] = (struct kafka_position){&TOPIC_LOCATIONS, p, position < 0 ? KAFKA_OFFSET_BEGINNING : position};
        position = kafka_consumer_position(reader->consumer, &TOPIC_FRIENDSHIPS, p);
        list[2 * p + 1] =
            (struct kafka_position){&TOPIC_FRIENDSHIPS, p, position < 0 ? KAFKA_OFFSET_BEGINNING : position};
    }
    assert_int_equal(kafka_consumer_read(reader->consumer, list, 2 * PARTITIONS, NULL), 0);
}

static void assert_each_once(const struct reader *reader, const struct topic *topic, int64_t count) {
    for (int32_t p = 0; p < PARTITIONS; p++) {
        int64_t next = 0;
        for (size_t i = 0; i < reader->count; i++) {
            const struct seen *seen = &reader->seen[i];
            if (seen->topic == topic && seen->partition == p) assert_int_equal(seen->offset, next++);
        }
        assert_int_equal(next, count);
    }
}

SET_UP() { return world_create(true); }

TEST(test_reads_everything_through_rebalances, struct world *world) {
    struct reader a = {.on_assigned = read_everything}, b = {.on_assigned = read_everything};
    struct reader *both[] = {&a, &b, NULL}, *one[] = {&a, NULL};
    struct kafka_producer *producer = world_producer(world, NULL);
    int sent = 0;
#define SEND(n)                                                                                                        \
    for (int i = 0; i < (n); i++, sent++) {                                                                            \
        for (int32_t p = 0; p < PARTITIONS; p++) {                                                                     \
            world_send(world, producer, &TOPIC_LOCATIONS, p, "x");                                                     \
            world_send(world, producer, &TOPIC_FRIENDSHIPS, p, "y");                                                   \
        }                                                                                                              \
    }
    SEND(100);
    reader_open(&a, world, "routers", NULL);
    reader_until_assigned(&a, 2 * PARTITIONS);
    SEND(100);
    reader_open(&b, world, "routers", NULL);
    for (int turn = 0; turn < 20; turn++) {
        SEND(10);
        world_run(world, 5); // records keep coming in the middle of the rebalance
    }
    world_until(world, all_owned_once, both, "both own half");
    assert_true(a.revocations >= 1);
    SEND(50);
    reader_until(&a, (size_t)(2 * PARTITIONS * sent));
    reader_until(&b, (size_t)(2 * PARTITIONS * sent));
    assert_each_once(&b, &TOPIC_LOCATIONS, sent);
    reader_close(&b);
    for (int turn = 0; turn < 20; turn++) {
        SEND(10);
        world_run(world, 5);
    }
    world_until(world, all_owned_once, one, "the one that is left owns all");
    reader_until(&a, (size_t)(2 * PARTITIONS * sent));
    assert_each_once(&a, &TOPIC_LOCATIONS, sent);
    assert_each_once(&a, &TOPIC_FRIENDSHIPS, sent);
    assert_int_equal(a.lost, 0);
#undef SEND
    kafka_producer_free(producer, 1000);
    reader_close(&a);
}

TEST(test_reading_may_start_later_than_the_assignment, struct world *world) {
    struct reader a = {.read_nothing = true}, b = {.read_nothing = true};
    struct reader *both[] = {&a, &b, NULL};
    struct kafka_position first = {&TOPIC_LOCATIONS, 0, 0};
    fill(world, &TOPIC_LOCATIONS, 0, 0, 10);
    reader_open(&a, world, "late", NULL);
    // Before there is an assignment there is nothing to read by.
    assert_int_equal(kafka_consumer_read(a.consumer, &first, 1, &failure), -ESTALE);
    reader_until_assigned(&a, 2 * PARTITIONS);
    world_run(world, 500);
    assert_int_equal(a.count, 0);
    reader_read(&a, &TOPIC_LOCATIONS, 0, 0);
    reader_until(&a, 10);
    // The group goes on with members that read nothing at all.
    reader_open(&b, world, "late", NULL);
    world_until(world, all_owned_once, both, "both own half");
    world_run(world, 300);
    assert_int_equal(a.count, 10);
    reader_close(&a);
    reader_close(&b);
}

static bool hundred_seen(void *context) { return ((struct reader *)context)->count >= 100; }

TEST(test_commits_and_goes_on_there, struct world *world) {
    struct reader a = {.world = NULL};
    fill(world, &TOPIC_LOCATIONS, 2, 0, 100);
    reader_open(&a, world, "commits", NULL);
    reader_until_assigned(&a, 2 * PARTITIONS);
    struct kafka_position where[] = {
        {&TOPIC_LOCATIONS, 2, 0}, {&TOPIC_LOCATIONS, 3, 0}, {&TOPIC_FRIEND_COMMANDS, 2, 0}};
    if (kafka_consumer_committed(a.consumer, where, 3, PATIENCE_MS, &failure)) fail_msg("%s", failure.text);
    for (int i = 0; i < 3; i++) assert_int_equal(where[i].offset, KAFKA_OFFSET_NONE);
    world_until(world, hundred_seen, &a, "all is read");
    struct kafka_position done[] = {{&TOPIC_LOCATIONS, 2, 64}, {&TOPIC_FRIEND_COMMANDS, 2, 0}};
    kafka_consumer_commit(a.consumer, done, 2);
    reader_close(&a); // what was being committed still is

    reader_open(&a, world, "commits", NULL);
    a.read_nothing = true;
    reader_until_assigned(&a, 2 * PARTITIONS);
    if (kafka_consumer_committed(a.consumer, where, 3, PATIENCE_MS, &failure)) fail_msg("%s", failure.text);
    assert_int_equal(where[0].offset, 64);
    assert_int_equal(where[1].offset, KAFKA_OFFSET_NONE);
    assert_int_equal(where[2].offset, 0);
    int64_t committed[PARTITIONS], end[PARTITIONS];
    if (kafka_group_offsets(world->admin, "commits", &TOPIC_LOCATIONS, PARTITIONS, committed, end, PATIENCE_MS,
                            &failure)) {
        fail_msg("%s", failure.text);
    }
    assert_int_equal(committed[2], 64);
    assert_int_equal(end[2], 100);
    assert_int_equal(committed[0], KAFKA_OFFSET_NONE);
    assert_int_equal(end[0], 0);
    assert_int_equal(kafka_consumer_commit_failures(a.consumer), 0);
    reader_close(&a);
}

TEST(test_held_consumer_takes_part_in_rebalances, struct world *world) {
    struct reader a = {.world = NULL}, b = {.world = NULL};
    struct reader *both[] = {&a, &b, NULL};
    for (int32_t p = 0; p < PARTITIONS; p++) fill(world, &TOPIC_LOCATIONS, p, 0, 50);
    reader_open(&a, world, "held", NULL);
    reader_until_assigned(&a, 2 * PARTITIONS);
    kafka_consumer_hold(a.consumer, true);
    size_t before = a.count;
    reader_open(&b, world, "held", NULL);
    world_until(world, all_owned_once, both, "both own half, though one is held");
    assert_int_equal(a.count, before);
    kafka_consumer_hold(a.consumer, false);
    reader_until(&b, 100);
    reader_until(&a, before + 100); // its two partitions, from the beginning again
    reader_close(&a);
    reader_close(&b);
}

TEST(test_groups_are_described, struct world *world) {
    struct kafka_group group;
    FREED char *name = mem_format("%sdescribed", world->prefix);
    if (kafka_group_describe(world->admin, name, &group, PATIENCE_MS, &failure)) fail_msg("%s", failure.text);
    assert_string_equal(group.state, "Dead");
    assert_int_equal(group.count, 0);
    kafka_group_clear(&group);

    struct reader a = {.world = NULL}, b = {.world = NULL};
    struct reader *both[] = {&a, &b, NULL};
    world->settings.client_id = "starling-router@10.0.0.1:9220";
    reader_open(&a, world, name, "one");
    world->settings.client_id = "starling-router@10.0.0.2:9220";
    reader_open(&b, world, name, NULL);
    world_until(world, all_owned_once, both, "both own half");
    if (kafka_group_describe(world->admin, name, &group, PATIENCE_MS, &failure)) fail_msg("%s", failure.text);
    assert_string_equal(group.state, "Stable");
    assert_int_equal(group.count, 2);
    for (size_t i = 0; i < group.count; i++) {
        const struct kafka_member *member = &group.members[i];
        struct reader *reader = strstr(member->client_id, "10.0.0.1") ? &a : &b;
        assert_int_equal(member->owned_count, PARTITIONS);
        for (size_t o = 0; o < member->owned_count; o++) {
            assert_true(reader_owns(reader, member->owned[o].topic, member->owned[o].partition));
        }
        if (reader == &a) assert_string_equal(member->instance_id, "one");
    }
    kafka_group_clear(&group);
    reader_close(&a);
    reader_close(&b);
}

static bool has_handed_over(void *context) {
    const struct reader *reader = context;
    for (size_t i = 0; i < reader->owned_count; i++) {
        if (reader->owned[i].topic != &TOPIC_SHARING) return false;
    }
    return reader->owned_count > 0;
}

/* A static member's place is kept for it when it just ends. Handing over gives away what it owns at once, and the end after it
 * ends: a membership of which nothing is read answers no questions. */
TEST(test_a_static_member_hands_over, struct world *world) {
    struct kafka_group group;
    FREED char *name = mem_format("%shanding-over", world->prefix);
    struct reader a = {.world = NULL}, b = {.world = NULL};
    struct reader *both[] = {&a, &b, NULL}, *one[] = {&b, NULL};
    reader_open(&b, world, name, "b");
    for (int i = 0; i < 3; i++) {
        char instance[] = {'a', (char)('0' + i), '\0'}; // the place of the one before is still kept
        a = (struct reader){.world = NULL};
        reader_open(&a, world, name, instance);
        world_until(world, all_owned_once, both, "both own half");
        if (kafka_group_describe(world->admin, name, &group, PATIENCE_MS, &failure)) fail_msg("%s", failure.text);
        assert_int_equal(group.count, 2);
        for (size_t m = 0; m < group.count; m++) {
            const struct reader *reader = strcmp(group.members[m].instance_id, instance) ? &b : &a;
            assert_string_equal(group.members[m].id, kafka_consumer_member(reader->consumer));
        }
        kafka_group_clear(&group);
        int64_t before = clock_monotonic_us();
        if (kafka_consumer_hand_over(a.consumer, &TOPIC_SHARING, &failure)) fail_msg("%s", failure.text);
        world_until(world, has_handed_over, &a, "it is out of it");
        world_until(world, all_owned_once, one, "the other owns all");
        assert_true(clock_monotonic_us() - before < 5000000); // the session's timeout is 6 s
        reader_close(&a);
    }
    reader_close(&b);
}

static bool was_revoked(void *context) { return ((struct reader *)context)->lost > 0; }

/* Two processes that were given the same instance id by mistake: the earlier one is told, and says why. */
static bool is_down(void *context) { return ((struct reader *)context)->downs > 0; }

static bool has_given_up(void *context) { return ((struct reader *)context)->fatal > 0; }

TEST(test_second_of_the_same_instance_fences_the_first, struct world *world) {
    struct reader a = {.world = NULL}, b = {.world = NULL};
    reader_open(&a, world, "static", "same");
    reader_until_assigned(&a, 2 * PARTITIONS);
    reader_open(&b, world, "static", "same");
    reader_until_assigned(&b, 2 * PARTITIONS);
    world_until(world, is_down, &a, "the first is told");
    world_until(world, was_revoked, &a, "the first has lost its partitions");
    world_until(world, has_given_up, &a, "the first has given up");
    assert_int_equal(b.downs + b.fatal, 0);
    assert_int_equal(a.fatal, 1);
    reader_close(&a);
    reader_close(&b);
}
