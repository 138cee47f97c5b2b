/* Users get handles in random histories, which are checked at every moment and when all is calm. Commands come late, twice, and in any
 * order. Each rule of the protocol is needed: without it some history goes wrong. */
#include "feed/names_rules.h"
#include "unit/kit/kit.h"

enum { USERS = 4, NAMES = 3, STEPS = 60, ROOM = 4096, HISTORIES = 20000, CALM_MAX = 100000 };

static const char *const HANDLES[NAMES] = {"ada", "ben", "cem"};

enum rule {
    RULE_NONE,
    RULE_FIRST,     /* a handle that another user has is not granted */
    RULE_OWN,       /* a user's later wish for a handle that the user still has is granted */
    RULE_NEWEST,    /* an earlier wish does not undo a later one's grant */
    RULE_EQUAL,     /* RELEASE acts only on an equal number */
    RULE_OVERTAKEN, /* a grant that a later wish has overtaken is given back */
    RULE_FORMER,    /* so is the handle that counted before */
    RULE_COUNTS,    /* a grant counts only if its wish is the newest one */
    RULE_NUMBERS,   /* each wish has a number of its own */
    RULES
};

static const char *const RULE_NAMES[RULES] = {"none",      "first",  "own",    "newest", "equal",
                                              "overtaken", "former", "counts", "numbers"};

struct world {
    uint64_t seed;
    enum rule without;
    struct name_of_user users[USERS];
    struct name_of_handle handles[NAMES];
    struct name_step last[USERS]; /* what each user wanted last */
    struct name_step under_way[ROOM];
    size_t count;
    const char *wrong; /* NULL: nothing yet */
};

static uint64_t below(struct world *world, uint64_t limit) { return hash_u64(world->seed++) % limit; }

static size_t index_of(const char *handle) {
    size_t i = 0;
    while (strcmp(HANDLES[i], handle) != 0) i++;
    return i;
}

static void submit(struct world *world, const struct name_step *step) {
    if (world->count < ROOM) world->under_way[world->count++] = *step;
}

/* Each handle that counts for a user must be the user's by its owner, too. */
static void look(struct world *world) {
    for (int64_t u = 0; u < USERS; u++) {
        const struct name_of_user *user = &world->users[u];
        if (!user->handle[0]) continue;
        const struct name_of_handle *handle = &world->handles[index_of(user->handle)];
        if (handle->user != u || handle->number != user->granted)
            world->wrong = "a handle counts that another user may get";
    }
}

/* ---- one command, as its owner decides it; a rule is left out by giving the owner other state, or another command ---- */

static void decide_user(struct world *world, struct name_step *step, struct name_steps *out) {
    struct name_of_user *user = &world->users[step->user];
    bool own = step->kind == NAME_COMMAND_WISH || step->kind == NAME_COMMAND_GIVE_UP;
    bool counts = step->number == user->number && strcmp(step->handle, user->wish) == 0;
    if (own) world->last[step->user] = *step;
    if (world->without == RULE_NUMBERS && own && user->number) user->number--;
    if (world->without == RULE_COUNTS && step->kind == NAME_COMMAND_GRANTED && user->wish[0]) {
        step->number = user->number;
        strcpy(user->wish, step->handle);
    }
    name_decide_user(user, step, out);
    if (step->kind != NAME_COMMAND_GRANTED) return;
    if (world->without == RULE_OVERTAKEN && !counts) out->count = 0;
    if (world->without == RULE_FORMER && counts) out->count = 0;
}

static void decide_handle(struct world *world, struct name_step *step, struct name_steps *out) {
    struct name_of_handle *handle = &world->handles[index_of(step->handle)];
    bool own = handle->user == step->user, grant = step->kind == NAME_COMMAND_GRANT;
    int64_t before = handle->user;
    if (world->without == RULE_EQUAL && !grant && own) step->number = handle->number;
    if (world->without == RULE_FIRST && grant && !own) handle->user = -1;
    if (world->without == RULE_NEWEST && grant && own) handle->number = 0;
    if (world->without == RULE_OWN && grant && own && step->number > handle->number) handle->user = USERS;
    name_decide_handle(handle, step, out);
    if (handle->user == USERS) handle->user = before;
    bool refused = out->count && out->items[0].kind == NAME_COMMAND_TAKEN;
    if (refused && (before < 0 || own)) world->wrong = "a handle is refused that no other user has";
}

static void decide(struct world *world, struct name_step step) {
    struct name_steps out = {.count = 0};
    (name_is_for_handle(step.kind) ? decide_handle : decide_user)(world, &step, &out);
    for (size_t i = 0; i < out.count; i++) submit(world, &out.items[i]);
    look(world);
}

/* One of the commands under way arrives; now and then it will come once more. */
static void arrive(struct world *world, bool again) {
    size_t i = below(world, world->count);
    struct name_step step = world->under_way[i];
    bool owners = step.kind != NAME_COMMAND_WISH && step.kind != NAME_COMMAND_GIVE_UP;
    if (!again || !owners || below(world, 5)) world->under_way[i] = world->under_way[--world->count];
    decide(world, step);
}

static void want(struct world *world) {
    struct name_step step = {.kind = NAME_COMMAND_GIVE_UP, .user = (int64_t)below(world, USERS)};
    if (below(world, 4)) {
        step.kind = NAME_COMMAND_WISH;
        strcpy(step.handle, HANDLES[below(world, NAMES)]);
    }
    submit(world, &step);
}

/* ---- calm ---- */

static void settle(struct world *world) {
    for (size_t i = 0; world->count && !world->wrong; i++) {
        if (i == CALM_MAX) world->wrong = "there is no end of commands";
        arrive(world, false);
    }
}

static void look_at_user(struct world *world, int64_t u) {
    const struct name_of_user *user = &world->users[u];
    const struct name_step *last = &world->last[u];
    if (user->wish[0])
        world->wrong = "a wish has no answer";
    else if (last->kind == NAME_COMMAND_GIVE_UP && user->handle[0])
        world->wrong = "what was given up is still there";
    else if (last->kind == NAME_COMMAND_WISH && strcmp(user->handle, last->handle) &&
             strcmp(user->refused, last->handle))
        world->wrong = "the last wish was neither granted nor refused";
}

static void look_when_calm(struct world *world) {
    for (int64_t u = 0; u < USERS && !world->wrong; u++) look_at_user(world, u);
    for (size_t i = 0; i < NAMES && !world->wrong; i++) {
        const struct name_of_handle *handle = &world->handles[i];
        const struct name_of_user *user = handle->user < 0 ? NULL : &world->users[handle->user];
        if (user && (strcmp(user->handle, HANDLES[i]) || user->granted != handle->number))
            world->wrong = "a handle is lost";
    }
}

/* A user who asks for a handle that nobody has gets it. */
static void ask_for_free_ones(struct world *world) {
    for (size_t i = 0; i < NAMES && !world->wrong; i++) {
        struct name_step step = {.kind = NAME_COMMAND_WISH, .user = (int64_t)below(world, USERS)};
        bool taken = false;
        for (int64_t u = 0; u < USERS; u++)
            taken = taken || (u != step.user && strcmp(world->users[u].handle, HANDLES[i]) == 0);
        strcpy(step.handle, HANDLES[i]);
        submit(world, &step);
        settle(world);
        bool has = strcmp(world->users[step.user].handle, HANDLES[i]) == 0;
        if (!world->wrong && has == taken)
            world->wrong = taken ? "two users have a handle" : "a free handle is not granted";
    }
}

static const char *history(uint64_t seed, enum rule without) {
    static struct world world;
    world = (struct world){.seed = hash_u64(seed), .without = without};
    for (size_t i = 0; i < NAMES; i++) world.handles[i].user = -1;
    for (int64_t u = 0; u < USERS; u++) world.last[u].kind = NAME_COMMAND_GIVE_UP;
    for (int i = 0; i < STEPS && !world.wrong; i++) {
        if (!world.count || !below(&world, 3))
            want(&world);
        else
            arrive(&world, true);
    }
    settle(&world);
    if (!world.wrong) look_when_calm(&world);
    if (!world.wrong) ask_for_free_ones(&world);
    if (!world.wrong) look_when_calm(&world);
    return world.wrong;
}

TEST(test_a_handle_has_one_user_whatever_comes_late_or_twice) {
    for (uint64_t seed = 1; seed <= HISTORIES; seed++) {
        const char *wrong = history(seed, RULE_NONE);
        if (wrong) fail_msg("seed %llu: %s", (unsigned long long)seed, wrong);
    }
}

TEST(test_each_rule_is_needed) {
    for (int rule = RULE_NONE + 1; rule < RULES; rule++) {
        const char *wrong = NULL;
        uint64_t seed = 0;
        while (!wrong && seed < HISTORIES) wrong = history(++seed, (enum rule)rule);
        printf("without %s: history %llu: %s\n", RULE_NAMES[rule], (unsigned long long)seed, wrong ? wrong : "right");
        assert_non_null(wrong);
    }
}

/* ---- single steps ---- */

static struct name_step step_of(enum name_command_kind kind, const char *handle, int64_t number) {
    struct name_step step = {.kind = kind, .user = 7, .number = number};
    strcpy(step.handle, handle);
    return step;
}

static void assert_sends(const struct name_steps *out, size_t i, enum name_command_kind kind, const char *handle,
                         int64_t number) {
    assert_true(i < out->count);
    assert_int_equal(out->items[i].kind, kind);
    assert_int_equal(out->items[i].user, 7);
    assert_int_equal(out->items[i].number, number);
    assert_string_equal(out->items[i].handle, handle);
}

TEST(test_a_user_keeps_the_handle_until_the_next_one_is_granted) {
    struct name_of_user name = {.number = 4, .granted = 4, .handle = "ada"};
    struct name_steps out;
    struct name_step wish = step_of(NAME_COMMAND_WISH, "ben", 0), taken = step_of(NAME_COMMAND_TAKEN, "ben", 5),
                     granted = step_of(NAME_COMMAND_GRANTED, "ben", 6);
    assert_true(name_decide_user(&name, &wish, &out));
    assert_sends(&out, 0, NAME_COMMAND_GRANT, "ben", 5);
    assert_string_equal(name.handle, "ada");
    assert_true(name_decide_user(&name, &taken, &out));
    assert_int_equal(out.count, 0);
    assert_string_equal(name.handle, "ada");
    assert_string_equal(name.refused, "ben");

    assert_true(name_decide_user(&name, &wish, &out));
    assert_string_equal(name.refused, "");
    assert_true(name_decide_user(&name, &granted, &out));
    assert_sends(&out, 0, NAME_COMMAND_RELEASE, "ada", 4);
    assert_string_equal(name.handle, "ben");
    assert_int_equal(name.granted, 6);
}

TEST(test_a_wish_that_is_repeated_asks_again_under_its_number) {
    struct name_of_user name = {.number = 4, .wish = "ada"};
    struct name_of_handle handle = {.user = 7, .number = 4};
    struct name_step wish = step_of(NAME_COMMAND_WISH, "ada", 0);
    struct name_steps out;
    assert_false(name_decide_user(&name, &wish, &out));
    assert_sends(&out, 0, NAME_COMMAND_GRANT, "ada", 4);
    struct name_step grant = out.items[0];
    assert_false(name_decide_handle(&handle, &grant, &out));
    assert_sends(&out, 0, NAME_COMMAND_GRANTED, "ada", 4);
}

TEST(test_commands_that_are_none) {
    static const struct {
        struct name_command command;
        bool good;
    } CASES[] = {
        {{.kind = NAME_COMMAND_WISH, .user = 0, .handle = {"ada", 3}}, true},
        {{.kind = NAME_COMMAND_WISH, .user = -1, .handle = {"ada", 3}}, false},
        {{.kind = NAME_COMMAND_WISH, .user = 5, .handle = {"ad", 2}}, false},
        {{.kind = NAME_COMMAND_WISH, .user = 5, .handle = {"a-b", 3}}, false},
        {{.kind = NAME_COMMAND_WISH, .user = 5, .handle = {"", 0}}, false},
        {{.kind = NAME_COMMAND_WISH, .user = 5, .number = 3, .handle = {"ada", 3}}, false},
        {{.kind = NAME_COMMAND_GIVE_UP, .user = 5}, true},
        {{.kind = NAME_COMMAND_GIVE_UP, .user = 5, .handle = {"ada", 3}}, false},
        {{.kind = NAME_COMMAND_GRANT, .user = 5, .number = 1, .handle = {"ada", 3}}, true},
        {{.kind = NAME_COMMAND_GRANT, .user = 5, .number = 0, .handle = {"ada", 3}}, false},
        {{.kind = NAME_COMMAND_RELEASE, .user = 5, .number = -1, .handle = {"ada", 3}}, false},
        {{.kind = NAME_COMMAND_TAKEN, .user = 5, .number = 1, .handle = {NULL, 0}}, false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        struct name_step step;
        assert_int_equal(name_command_complaint(&CASES[i].command, &step) == NULL, CASES[i].good);
        if (CASES[i].good) assert_int_equal(step.user, CASES[i].command.user);
    }
}
