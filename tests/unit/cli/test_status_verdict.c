#include "cli/status_verdict.h"
#include "event/topics.h"
#include "kafka/consumer.h"
#include "unit/kit/kit.h"

enum { PARTITIONS = 2, ROUTERS = 0, EDGES = 1 };

/* Everything runs, owns its partition and has nothing to do; each test spoils something. */
struct world {
    struct status status;
    struct kafka_position owned[STATUS_GROUPS][PARTITIONS];
    struct kafka_member members[STATUS_GROUPS];
    int64_t first[STATUS_GROUPS][PARTITIONS], last[STATUS_GROUPS][PARTITIONS], end[STATUS_GROUPS][PARTITIONS];
};

static char STABLE[] = "Stable", EMPTY[] = "Empty", SHARING[] = "PreparingRebalance", MEMBER[] = "starling@a:1";

static void set_up(struct world *world) {
    static const struct topic *const TOPICS[STATUS_GROUPS] = {&TOPIC_LOCATIONS,        &TOPIC_DELIVERIES,
                                                              &TOPIC_LOCATIONS,        &TOPIC_FOLLOW_COMMANDS,
                                                              &TOPIC_COMMENT_COMMANDS, &TOPIC_COMMENTS_WIDE};
    static const char *const WHAT[STATUS_GROUPS] = {
        "routers", "edges", "history sinks", "feed processes", "comments processes", "moderation processes"};
    *world = (struct world){.status = {.seconds = 1}};
    for (int g = 0; g < STATUS_GROUPS; g++) {
        for (int i = 0; i < PARTITIONS; i++) {
            world->owned[g][i] = (struct kafka_position){.topic = TOPICS[g], .partition = i};
            world->first[g][i] = world->last[g][i] = world->end[g][i] = 5000;
        }
        world->members[g] =
            (struct kafka_member){.client_id = MEMBER, .owned = world->owned[g], .owned_count = PARTITIONS};
        world->status.groups[g] = (struct status_group){
            .name = "g",
            .what = WHAT[g],
            .group = {STABLE, &world->members[g], 1},
            .topics = {{TOPICS[g], PARTITIONS, {world->first[g], world->end[g]}, {world->last[g], world->end[g]}}},
            .topic_count = 1,
            .commits = g != EDGES,
        };
    }
}

static void expect(const struct world *world, enum status_level level, const char *reason) {
    struct status_verdict verdict;
    status_judge(&world->status, &verdict);
    assert_int_equal(verdict.level, level);
    assert_int_equal(verdict.reason_count > 0, reason != NULL);
    if (reason) assert_string_equal(buffer_cstring(&verdict.reasons[0]), reason);
    status_verdict_clear(&verdict);
}

static void remove_members(struct world *world, int group) {
    world->status.groups[group].group = (struct kafka_group){EMPTY, NULL, 0};
}

TEST(all_is_well) {
    struct world world;
    set_up(&world);
    expect(&world, STATUS_HEALTHY, NULL);
}

TEST(without_routers_it_is_down) {
    struct world world;
    set_up(&world);
    remove_members(&world, ROUTERS);
    expect(&world, STATUS_DOWN, "no routers run (group g)");
}

TEST(a_product_that_nobody_uses_need_not_run) {
    struct world world;
    set_up(&world);
    for (int g = 3; g < STATUS_GROUPS; g++) {
        remove_members(&world, g);
        memset(world.end[g], 0, sizeof world.end[g]);
    }
    expect(&world, STATUS_HEALTHY, NULL);
    for (int g = 0; g < STATUS_GROUPS; g++) {
        remove_members(&world, g);
        memset(world.end[g], 0, sizeof world.end[g]);
    }
    expect(&world, STATUS_DOWN, "no routers run (group g)"); // nothing runs at all
}

TEST(partitions_of_nobody_are_told) {
    struct world world;
    set_up(&world);
    world.members[EDGES].owned_count = 1;
    expect(&world, STATUS_DEGRADED, "1 partition of deliveries: none of the edges has it");
    world.status.groups[EDGES].group.state = SHARING; // then some have none for a moment
    expect(&world, STATUS_DEGRADED, "the edges share out their partitions again (group g is PreparingRebalance)");
}

TEST(a_lag_counts_by_how_long_it_takes) {
    struct world world;
    set_up(&world);
    world.end[ROUTERS][0] += STATUS_LATE_RECORDS - 1;
    expect(&world, STATUS_HEALTHY, NULL);
    world.end[ROUTERS][0] += 1;
    expect(&world, STATUS_DEGRADED,
           "1000 records of locations wait for the routers, which handled none or few of them in the last second");
    world.first[ROUTERS][0] -= 10;
    expect(&world, STATUS_DEGRADED, "1000 records of locations wait for the routers, about 100 s of work");
    world.first[ROUTERS][0] -= 90; // ten seconds of work
    expect(&world, STATUS_HEALTHY, NULL);
}

TEST(the_worst_comes_first) {
    struct world world;
    set_up(&world);
    world.members[ROUTERS].owned_count = 0;
    remove_members(&world, 2);
    struct status_verdict verdict;
    status_judge(&world.status, &verdict);
    assert_int_equal(verdict.level, STATUS_DOWN);
    assert_int_equal(verdict.reason_count, 2);
    assert_string_equal(buffer_cstring(&verdict.reasons[0]), "no history sinks run (group g)");
    assert_string_equal(buffer_cstring(&verdict.reasons[1]), "2 partitions of locations: none of the routers has them");
    status_verdict_clear(&verdict);
}

TEST(gateways_and_edges_must_be_ready) {
    static const struct {
        struct status_front front; /* known, complete, gateways, ready, edges, ready, silent, sessions */
        enum status_level level;
        const char *reason;
    } CASES[] = {
        {{false, false, 0, 0, 0, 0, 7, 0}, STATUS_HEALTHY, NULL},
        {{true, true, 2, 2, 1, 1, 0, 5}, STATUS_HEALTHY, NULL},
        {{true, false, 2, 2, 1, 1, 3, 5}, STATUS_HEALTHY, NULL}, // the default addresses: not all need be there
        {{true, false, 0, 0, 1, 1, 6, 5}, STATUS_HEALTHY, NULL}, // a machine without a gateway
        {{true, true, 2, 2, 1, 1, 3, 5}, STATUS_DEGRADED, "no daemon answers at 3 of ops.addresses"},
        {{true, true, 2, 1, 1, 1, 0, 5}, STATUS_DEGRADED, "not all gateways are ready: 1 of 2"},
        {{true, true, 2, 2, 2, 1, 0, 5}, STATUS_DEGRADED, "not all edges are ready: 1 of 2"},
        {{true, true, 0, 0, 1, 1, 0, 5}, STATUS_DEGRADED, "none of the daemons at ops.addresses is a gateway"},
        {{true, true, 2, 0, 1, 1, 0, 5}, STATUS_DOWN, "no gateway is ready: 0 of 2"},
        {{true, true, 0, 0, 1, 1, 1, 5}, STATUS_DOWN, "no gateway answers; of ops.addresses, 1 are silent"},
        {{true, true, 2, 2, 2, 0, 0, 5}, STATUS_DOWN, "no edge is ready: 0 of 2"},
    };
    struct world world;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        set_up(&world);
        world.status.front = CASES[i].front;
        expect(&world, CASES[i].level, CASES[i].reason);
    }
}

TEST(refused_commands_are_told_for_a_while) {
    struct world world;
    set_up(&world);
    world.status.time_ms = 5000000;
    world.status.refused_s = 4990;
    expect(&world, STATUS_DEGRADED,
           "commands are refused: a topic takes no record as large as their outcome (max.message.bytes)");
    world.status.refused_s -= 3600;
    expect(&world, STATUS_HEALTHY, NULL);
}
