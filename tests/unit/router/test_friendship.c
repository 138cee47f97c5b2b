/* What commands make of a pair: rule by rule, and random sequences against a model that keeps the pair in another form. */
#include "router/friendship.h"
#include "unit/kit/kit.h"

enum { LOW = 3, HIGH = 8 };

static struct friendship half(enum friendship_state state, bool by_me, bool by_them, int64_t since) {
    return (struct friendship){.state = state, .blocked_by_me = by_me, .blocked_by_them = by_them, .since = since};
}

static struct friend_command command(enum friend_command_kind kind, int64_t from, int64_t to, int64_t time) {
    return (struct friend_command){.kind = kind, .from = from, .to = to, .time = time, .since = 0};
}

/* Applies and checks the lower user's half. */
static void expect(struct friendship *lower, struct friend_command c, struct friendship wanted) {
    struct friendship next;
    bool changed = friendship_decide(lower, &c, false, &next);
    assert_int_equal(changed, !friendship_equal(lower, &wanted));
    assert_true(friendship_equal(&next, &wanted));
    *lower = next;
}

TEST(test_asking_and_accepting) {
    struct friendship pair = half(FRIENDSHIP_NONE, false, false, 0);
    expect(&pair, command(FRIEND_COMMAND_REQUEST, LOW, HIGH, 10), half(FRIENDSHIP_REQUESTED, false, false, 10));
    expect(&pair, command(FRIEND_COMMAND_REQUEST, LOW, HIGH, 11), half(FRIENDSHIP_REQUESTED, false, false, 10));
    expect(&pair, command(FRIEND_COMMAND_REQUEST, HIGH, LOW, 12), half(FRIENDSHIP_FRIENDS, false, false, 12));
    expect(&pair, command(FRIEND_COMMAND_REQUEST, HIGH, LOW, 13), half(FRIENDSHIP_FRIENDS, false, false, 12));
    expect(&pair, command(FRIEND_COMMAND_REMOVE, HIGH, LOW, 14), half(FRIENDSHIP_NONE, false, false, 0));
    expect(&pair, command(FRIEND_COMMAND_REQUEST, HIGH, LOW, 15), half(FRIENDSHIP_INVITED, false, false, 15));
    expect(&pair, command(FRIEND_COMMAND_REMOVE, LOW, HIGH, 16), half(FRIENDSHIP_NONE, false, false, 0));
}

TEST(test_mirror) {
    struct friendship a = half(FRIENDSHIP_REQUESTED, true, false, 5), b = friendship_mirror(&a),
                      c = friendship_mirror(&b);
    struct friendship wanted = half(FRIENDSHIP_INVITED, false, true, 5);
    assert_true(friendship_equal(&b, &wanted));
    assert_true(friendship_equal(&c, &a));
}

TEST(test_blocking_removes_and_prevents) {
    struct friendship pair = half(FRIENDSHIP_FRIENDS, false, false, 10);
    expect(&pair, command(FRIEND_COMMAND_BLOCK, HIGH, LOW, 11), half(FRIENDSHIP_NONE, false, true, 11));
    // The blocked one asks as if nothing were: the other sees nothing of it until he unblocks.
    expect(&pair, command(FRIEND_COMMAND_REQUEST, LOW, HIGH, 12), half(FRIENDSHIP_REQUESTED, false, true, 11));
    struct friendship other = friendship_mirror(&pair);
    assert_int_equal(friendship_view(&pair), FRIENDSHIP_VIEW_REQUESTED);
    assert_int_equal(friendship_view(&other), FRIENDSHIP_VIEW_BLOCKED);
    // A user who blocks cannot ask, and a gateway cannot befriend them.
    expect(&pair, command(FRIEND_COMMAND_REQUEST, HIGH, LOW, 13), half(FRIENDSHIP_REQUESTED, false, true, 11));
    expect(&pair, command(FRIEND_COMMAND_BEFRIEND, LOW, HIGH, 14), half(FRIENDSHIP_REQUESTED, false, true, 11));
    expect(&pair, command(FRIEND_COMMAND_UNBLOCK, LOW, HIGH, 15), half(FRIENDSHIP_REQUESTED, false, true, 11));
    expect(&pair, command(FRIEND_COMMAND_UNBLOCK, HIGH, LOW, 16), half(FRIENDSHIP_REQUESTED, false, false, 16));
    expect(&pair, command(FRIEND_COMMAND_REQUEST, HIGH, LOW, 17), half(FRIENDSHIP_FRIENDS, false, false, 17));
}

/* The blocker sees since when; nothing that the blocked one does moves it, and the blocked one does not see it. */
TEST(test_the_time_of_a_block_tells_nothing) {
    static const enum friend_command_kind BY_BLOCKED[] = {FRIEND_COMMAND_REQUEST, FRIEND_COMMAND_REQUEST,
                                                          FRIEND_COMMAND_REMOVE,  FRIEND_COMMAND_BEFRIEND,
                                                          FRIEND_COMMAND_UNBLOCK, FRIEND_COMMAND_REQUEST};
    for (int by_lower = 0; by_lower < 2; by_lower++) {
        int64_t blocker = by_lower ? LOW : HIGH, blocked = by_lower ? HIGH : LOW;
        struct friendship lower = half(FRIENDSHIP_NONE, false, false, 0);
        struct friend_command block = command(FRIEND_COMMAND_BLOCK, blocker, blocked, 11);
        friendship_decide(&lower, &block, false, &lower);
        for (size_t i = 0; i < sizeof BY_BLOCKED / sizeof *BY_BLOCKED; i++) {
            struct friend_command c = command(BY_BLOCKED[i], blocked, blocker, 20 + (int64_t)i);
            friendship_decide(&lower, &c, false, &lower);
            struct friendship higher = friendship_mirror(&lower);
            const struct friendship *blockers = by_lower ? &lower : &higher, *others = by_lower ? &higher : &lower;
            assert_int_equal(friendship_view(blockers), FRIENDSHIP_VIEW_BLOCKED);
            assert_int_equal(friendship_view_since(FRIENDSHIP_VIEW_BLOCKED, blockers->since), 11);
            assert_int_equal(friendship_view_since(friendship_view(others), others->since), 0);
        }
        block.time = 30; // again: nothing happens that the blocker could see
        friendship_decide(&lower, &block, false, &lower);
        assert_int_equal(lower.state, FRIENDSHIP_NONE);
        assert_int_equal(lower.since, 11);
    }
}

TEST(test_unblocking_leaves_nothing) {
    struct friendship pair = half(FRIENDSHIP_NONE, false, false, 0);
    expect(&pair, command(FRIEND_COMMAND_BLOCK, LOW, HIGH, 5), half(FRIENDSHIP_NONE, true, false, 5));
    expect(&pair, command(FRIEND_COMMAND_BLOCK, LOW, HIGH, 6), half(FRIENDSHIP_NONE, true, false, 5));
    expect(&pair, command(FRIEND_COMMAND_BLOCK, HIGH, LOW, 7), half(FRIENDSHIP_NONE, true, true, 7));
    expect(&pair, command(FRIEND_COMMAND_UNBLOCK, LOW, HIGH, 8), half(FRIENDSHIP_NONE, false, true, 7));
    expect(&pair, command(FRIEND_COMMAND_UNBLOCK, HIGH, LOW, 9), half(FRIENDSHIP_NONE, false, false, 0));
    assert_true(friendship_empty(&pair));
}

TEST(test_the_cap_refuses_friends_not_requests) {
    struct friendship next, invited = half(FRIENDSHIP_INVITED, false, false, 5),
                            none = half(FRIENDSHIP_NONE, false, false, 0);
    struct friend_command accept = command(FRIEND_COMMAND_REQUEST, LOW, HIGH, 6);
    struct friend_command befriend = command(FRIEND_COMMAND_BEFRIEND, HIGH, LOW, 6);
    assert_false(friendship_decide(&invited, &accept, true, &next));
    assert_false(friendship_decide(&none, &befriend, true, &next));
    assert_true(friendship_decide(&none, &accept, true, &next));
    assert_int_equal(next.state, FRIENDSHIP_REQUESTED);
    assert_true(friendship_decide(&invited, &accept, false, &next));
    assert_int_equal(next.state, FRIENDSHIP_FRIENDS);
}

TEST(test_a_removal_of_one_friendship_does_not_hit_the_next) {
    struct friendship next, pair = half(FRIENDSHIP_FRIENDS, false, false, 50),
                            asked = half(FRIENDSHIP_REQUESTED, false, false, 50);
    struct friend_command remove = command(FRIEND_COMMAND_REMOVE, HIGH, LOW, 60);
    remove.since = 49;
    assert_false(friendship_decide(&pair, &remove, false, &next));
    remove.since = 50;
    assert_false(friendship_decide(&asked, &remove, false, &next));
    assert_true(friendship_decide(&pair, &remove, false, &next));
    assert_true(friendship_empty(&next));
}

TEST(test_rounding_is_each_one_s_own_and_ends_with_the_friendship) {
    struct friendship pair = half(FRIENDSHIP_NONE, false, false, 0), wanted = pair;
    expect(&pair, command(FRIEND_COMMAND_ROUND, LOW, HIGH, 9), wanted); // there is nothing to choose for
    wanted = half(FRIENDSHIP_REQUESTED, false, false, 10);
    expect(&pair, command(FRIEND_COMMAND_REQUEST, LOW, HIGH, 10), wanted);
    wanted.rounded_by_them = true;
    expect(&pair, command(FRIEND_COMMAND_ROUND, HIGH, LOW, 11), wanted);
    wanted.state = FRIENDSHIP_FRIENDS;
    wanted.since = 12;
    expect(&pair, command(FRIEND_COMMAND_REQUEST, HIGH, LOW, 12), wanted); // from the first moment on
    wanted.rounded_by_me = true;
    expect(&pair, command(FRIEND_COMMAND_ROUND, LOW, HIGH, 13), wanted);
    expect(&pair, command(FRIEND_COMMAND_ROUND, LOW, HIGH, 14), wanted);
    struct friendship mirror = friendship_mirror(&pair);
    assert_true(mirror.rounded_by_me && mirror.rounded_by_them);
    wanted.rounded_by_them = false;
    expect(&pair, command(FRIEND_COMMAND_EXACT, HIGH, LOW, 15), wanted);
    assert_int_equal(friendship_rounding(&pair), ROUNDING_MINE);
    mirror = friendship_mirror(&pair);
    assert_int_equal(friendship_rounding(&mirror), ROUNDING_THEIRS);
    expect(&pair, command(FRIEND_COMMAND_REMOVE, HIGH, LOW, 16), half(FRIENDSHIP_NONE, false, false, 0));
    expect(&pair, command(FRIEND_COMMAND_BEFRIEND, HIGH, LOW, 17), half(FRIENDSHIP_FRIENDS, false, false, 17));
}

TEST(test_validity) {
    struct friend_command c = command(FRIEND_COMMAND_BEFRIEND, 7, 7, 1);
    assert_false(friendship_command_valid(&c));
    c.to = -1;
    assert_false(friendship_command_valid(&c));
    c.to = 0;
    assert_true(friendship_command_valid(&c));
}

/* The model: who has asked, who blocks, and since when they are friends; two people, no halves. */
struct model {
    bool asked[2], blocks[2], friends, rounds[2];
};

static void model_apply(struct model *m, enum friend_command_kind kind, int by) {
    int to = 1 - by;
    switch (kind) {
    case FRIEND_COMMAND_REQUEST:
        if (m->blocks[by] || m->friends) return;
        if (m->asked[to] && !m->blocks[to]) {
            m->friends = true;
            m->asked[0] = m->asked[1] = false;
        } else if (!m->asked[to]) {
            m->asked[by] = true;
        }
        return;
    case FRIEND_COMMAND_REMOVE: m->friends = m->asked[0] = m->asked[1] = m->rounds[0] = m->rounds[1] = false; return;
    case FRIEND_COMMAND_BLOCK:
        m->friends = m->asked[0] = m->asked[1] = m->rounds[0] = m->rounds[1] = false;
        m->blocks[by] = true;
        return;
    case FRIEND_COMMAND_UNBLOCK: m->blocks[by] = false; return;
    case FRIEND_COMMAND_BEFRIEND:
        if (m->blocks[0] || m->blocks[1]) return;
        m->friends = true;
        m->asked[0] = m->asked[1] = false;
        return;
    case FRIEND_COMMAND_ROUND:
    case FRIEND_COMMAND_EXACT:
        if ((m->friends || m->asked[0] || m->asked[1]) && !m->blocks[by]) m->rounds[by] = kind == FRIEND_COMMAND_ROUND;
        return;
    }
}

static void check_model(const struct model *m, const struct friendship *lower) {
    enum friendship_state wanted = m->friends    ? FRIENDSHIP_FRIENDS
                                   : m->asked[0] ? FRIENDSHIP_REQUESTED
                                   : m->asked[1] ? FRIENDSHIP_INVITED
                                                 : FRIENDSHIP_NONE;
    assert_int_equal(lower->state, wanted);
    assert_int_equal(lower->blocked_by_me, m->blocks[0]);
    assert_int_equal(lower->blocked_by_them, m->blocks[1]);
    assert_int_equal(friendship_made(lower), m->friends);
    assert_int_equal(lower->rounded_by_me, m->rounds[0]);
    assert_int_equal(lower->rounded_by_them, m->rounds[1]);
    if (friendship_empty(lower)) assert_int_equal(lower->since, 0);
}

TEST(test_random_sequences) {
    uint64_t random = 1;
    for (int history = 0; history < 20000; history++) {
        struct model model = {.friends = false};
        struct friendship lower = half(FRIENDSHIP_NONE, false, false, 0);
        for (int step = 0; step < 30; step++) {
            uint64_t r = hash_u64(random++);
            enum friend_command_kind kind = (enum friend_command_kind)(r % 7);
            int by = (int)(r >> 32 & 1);
            struct friend_command c = command(kind, by ? HIGH : LOW, by ? LOW : HIGH, 100 + step);
            struct friendship next, before = lower;
            bool changed = friendship_decide(&lower, &c, false, &next);
            assert_int_equal(changed, !friendship_equal(&before, &next));
            model_apply(&model, kind, by);
            check_model(&model, &next);
            // Decided by the higher half's mirror it is the same: there is one truth.
            struct friendship mirror = friendship_mirror(&next), back = friendship_mirror(&mirror);
            assert_true(friendship_equal(&back, &next));
            lower = next;
        }
    }
}
