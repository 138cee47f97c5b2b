/* Stand-bys for each partition: held against the assignor's own way of computing it, for every group of a fair size. */
#include "owner/members.h"
#include "unit/kit/kit.h"

enum { MEMBERS = 12, PARTITIONS = 70 };

/* rdkafka_range_assignor.c: start and length of each member's run. */
static size_t by_runs(size_t members, int32_t partitions, int32_t partition) {
    size_t each = (size_t)partitions / members, extra = (size_t)partitions % members;
    for (size_t i = 0; i < members; i++) {
        size_t start = each * i + (i < extra ? i : extra), length = each + (i + 1 > extra ? 0 : 1);
        if ((size_t)partition >= start && (size_t)partition < start + length) return i;
    }
    fail_msg("partition %d of %d is nobody's", partition, partitions);
    return 0;
}

static void each_case(void (*check)(size_t members, int32_t partitions, int32_t partition)) {
    for (size_t members = 1; members <= MEMBERS; members++) {
        for (int32_t partitions = 1; partitions <= PARTITIONS; partitions++) {
            for (int32_t p = 0; p < partitions; p++) check(members, partitions, p);
        }
    }
}

static void owner_is_the_assignors(size_t members, int32_t partitions, int32_t partition) {
    assert_int_equal(members_owner(members, partitions, partition), by_runs(members, partitions, partition));
}

TEST(test_owners_are_the_assignors) { each_case(owner_is_the_assignors); }

/* The partition stays where it is, or its one stand-by has it, whoever ends. */
static void one_covers_every_end(size_t members, int32_t partitions, int32_t partition) {
    size_t owner = members_owner(members, partitions, partition), first = MEMBERS;
    assert_int_equal(members_standbys(members, partitions, partition, &first, 1), members > 1);
    for (size_t gone = 0; members > 1 && gone < members; gone++) {
        size_t left = by_runs(members - 1, partitions, partition), next = left + (left >= gone);
        if (next == owner) continue;
        if (next != first)
            fail_msg("%zu members, %d partitions: %d goes from %zu to %zu without %zu; %zu stands by", members,
                     partitions, partition, owner, next, gone, first);
    }
}

TEST(test_one_standby_covers_every_end_of_a_member) { each_case(one_covers_every_end); }

/* Two stand-bys: also whoever has it after somebody joined. */
static void two_cover_every_join(size_t members, int32_t partitions, int32_t partition) {
    size_t owner = members_owner(members, partitions, partition), list[2];
    size_t count = members_standbys(members, partitions, partition, list, 2);
    assert_int_equal(count, members > 2 ? 2 : members - 1);
    for (size_t at = 0; at <= members; at++) {
        size_t next = by_runs(members + 1, partitions, partition);
        if (next == at) continue; // the one that joined prepared for it
        next -= next > at;
        bool covered = next == owner;
        for (size_t i = 0; i < count; i++) covered |= list[i] == next;
        assert_true(covered);
    }
}

TEST(test_two_standbys_cover_every_join) { each_case(two_cover_every_join); }

/* As many as are wanted and there are; each once; never the owner; a shorter list is the beginning of a longer one. */
static void list_is_a_list(size_t members, int32_t partitions, int32_t partition) {
    size_t owner = members_owner(members, partitions, partition), all[MEMBERS], some[MEMBERS];
    assert_int_equal(members_standbys(members, partitions, partition, all, MEMBERS), members - 1);
    for (size_t i = 0; i + 1 < members; i++) {
        assert_true(all[i] < members);
        assert_int_not_equal(all[i], owner);
        for (size_t j = 0; j < i; j++) assert_int_not_equal(all[i], all[j]);
        assert_int_equal(members_standbys(members, partitions, partition, some, i), i);
        assert_memory_equal(some, all, i * sizeof *some);
    }
}

TEST(test_lists_hold_everybody_once) { each_case(list_is_a_list); }

TEST(test_members_sort_as_the_assignor_sorts_them) {
    struct member members[] = {
        {.id = "starling-router@10.0.0.2:9220-5f", .instance = NULL},
        {.id = "b-11", .instance = "b"},
        {.id = "starling-router@10.0.0.10:9220-01", .instance = ""},
        {.id = "a2-99", .instance = "a2"},
        {.id = "a-00", .instance = "a"},
        {.id = "\xc3\xa9-00", .instance = "\xc3\xa9"}, // bytes, not characters
    };
    const char *const wanted[] = {
        "a-00",       "a2-99", "b-11", "starling-router@10.0.0.10:9220-01", "starling-router@10.0.0.2:9220-5f",
        "\xc3\xa9-00"};
    members_sort(members, 6);
    for (size_t i = 0; i < 6; i++) assert_string_equal(members[i].id, wanted[i]);

    // Static members by their instances: their ids, with "-" and a random end, would sort the other way.
    struct member pair[] = {{.id = "a!-1", .instance = "a!"}, {.id = "a-1", .instance = "a"}};
    members_sort(pair, 2);
    assert_string_equal(pair[0].instance, "a");
}

/* Three that hand over, and one partition of sharing to know them by. */
TEST(test_who_hands_over_does_not_count) {
    struct member members[] = {
        {.id = "a", .left = true}, {.id = "b"}, {.id = "c", .serves = true}, {.id = "d"}, {.id = "e", .serves = true}};
    assert_int_equal(members_counted(members, 5), 2);
    assert_string_equal(members[0].id, "c");
    assert_string_equal(members[1].id, "e");

    // Nobody hands over: who serves nothing is one too many for the partitions, and stands by.
    struct member whole[] = {{.id = "c", .serves = true}, {.id = "d"}};
    assert_int_equal(members_counted(whole, 2), 2);
    assert_int_equal(members_counted(NULL, 0), 0);
}
