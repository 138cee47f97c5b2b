/* Random histories of who was shown which strangers, against lists that are searched. */
#include "fanout/discover/shown.h"
#include "unit/kit/kit.h"

enum { VIEWERS = 4, USERS = 6, STEPS = 200000 };

/* The strangers that each viewer should remember, oldest first. */
struct model {
    int64_t users[SHOWN_MAX];
    size_t count;
};

struct world {
    struct shown_viewer viewers[VIEWERS];
    size_t seen[VIEWERS][USERS]; /* calls of seen */
};

static void seen(void *context, struct shown_viewer *viewer, int64_t user) {
    struct world *world = context;
    world->seen[viewer - world->viewers][user]++;
}

static size_t take(struct model *model, int64_t user) {
    size_t kept = 0;
    for (size_t i = 0; i < model->count; i++) {
        if (model->users[i] != user) model->users[kept++] = model->users[i];
    }
    size_t taken = model->count - kept;
    model->count = kept;
    return taken;
}

static void add(struct model *model, int64_t user) {
    if (model->count == SHOWN_MAX) {
        for (size_t i = 1; i < SHOWN_MAX; i++) model->users[i - 1] = model->users[i];
        model->count--;
    }
    model->users[model->count++] = user;
}

TEST(as_lists_that_are_searched) {
    struct world world = {.seen = {{0}}};
    struct model *models = mem_zero(VIEWERS, sizeof *models);
    struct shown *shown = shown_new();
    srand(1);
    for (int step = 0; step < STEPS; step++) {
        int viewer = rand() % VIEWERS;
        int64_t user = rand() % USERS;
        size_t expected[VIEWERS][USERS] = {{0}};
        world = (struct world){.viewers = {world.viewers[0], world.viewers[1], world.viewers[2], world.viewers[3]}};
        switch (rand() % 20000) {
        case 0:
        case 1:
        case 2:
            shown_take_user(shown, user, seen, &world);
            for (int v = 0; v < VIEWERS; v++) expected[v][user] = take(&models[v], user);
            break;
        case 3:
            shown_take_all(shown, &world.viewers[viewer], seen, &world);
            for (int u = 0; u < USERS; u++) expected[viewer][u] = take(&models[viewer], u);
            break;
        case 4:
            shown_clear(shown, &world.viewers[viewer]);
            models[viewer].count = 0;
            break;
        default: shown_add(shown, &world.viewers[viewer], user); add(&models[viewer], user);
        }
        assert_memory_equal(world.seen, expected, sizeof expected);
        assert_int_equal(world.viewers[viewer].count, models[viewer].count);
    }
    for (int v = 0; v < VIEWERS; v++) shown_clear(shown, &world.viewers[v]);
    shown_free(shown);
    free(models);
}
