#include "cli/populate.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/map.h"
#include "cli/setup.h"

enum { HANDLED_TIMEOUT_S = 600 };

struct putting {
    struct setup *setup;
    struct map *users;
    struct error *error;
    int64_t pairs, follows;
};

static void note_user(struct putting *putting, int64_t user) { map_put(putting->users, (uint64_t)user, NULL); }

static int put_pair(void *context, int64_t a, int64_t b) {
    struct putting *putting = context;
    note_user(putting, a);
    note_user(putting, b);
    if (a == b) return 0;
    putting->pairs++;
    return setup_befriend(putting->setup, a, b, putting->error);
}

static int put_users(struct putting *putting, const struct city *city) {
    size_t cursor = 0;
    uint64_t user, unused;
    int result = 0;
    while (result == 0 && map_next(putting->users, &cursor, &user, &unused)) {
        result = setup_share(putting->setup, (int64_t)user, SHARING_FRIENDS, putting->error);
        if (result == 0 && city)
            result = setup_profile(putting->setup, (int64_t)user, city_name(city, (int64_t)user), putting->error);
    }
    return result;
}

static int put_follow(void *context, int64_t user, int64_t other) {
    struct putting *putting = context;
    putting->follows++;
    return setup_follow(putting->setup, user, other, putting->error);
}

static void say_left(void *context, int64_t left, const char *what) {
    fprintf(stderr, "simulate: %" PRId64 " %s yet\n", left, what);
}

static int put_follows(struct putting *putting, const struct populate_options *options) {
    int result = population_follows(options->population, put_follow, putting);
    if (result) return result;
    fprintf(stderr, "simulate: %" PRId64 " follows asked for\n", putting->follows);
    return setup_wait_decided(putting->setup, &SETUP_FEEDS, options->cli->settings.feed_group, HANDLED_TIMEOUT_S,
                              say_left, NULL, putting->error);
}

int populate_run(const struct populate_options *options, struct error *error) {
    const struct cli *cli = options->cli;
    const struct trace *trace = options->trace;
    const struct city *city = options->city;
    struct putting putting = {.users = map_new(), .error = error};
    cli_say_broker(cli);
    int result = setup_new(&cli->kafka, &putting.setup, error);
    if (result) goto finish;
    for (size_t i = 0; i < trace->count; i++) note_user(&putting, trace->fixes[i].user);
    for (int64_t user = 1; city && user <= city_people(city); user++) note_user(&putting, user);
    if (city)
        result = city_friends(city, put_pair, &putting);
    else
        result = cli_read_pairs(options->graph, put_pair, &putting, error);
    if (result == 0) result = put_users(&putting, city);
    if (result == 0) result = setup_flush(putting.setup, error);
    if (result == 0)
        fprintf(stderr, "simulate: %zu people opted in, %" PRId64 " friendships asked for\n", map_count(putting.users),
                putting.pairs);
    if (result == 0)
        result = setup_wait_decided(putting.setup, &SETUP_ROUTERS, cli->settings.router_group, HANDLED_TIMEOUT_S,
                                    say_left, NULL, error);
    if (result == 0 && options->population) result = put_follows(&putting, options);
finish:
    setup_free(putting.setup);
    map_free(putting.users);
    return result;
}
