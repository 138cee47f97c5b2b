#include "tools/load/population.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "cli/setup.h"

enum { HANDLED_TIMEOUT_S = 600 };

struct friend_pair {
    int64_t a, b;
};

struct population {
    const struct city *city; /* NULL: none */
    int64_t *people;         /* rising */
    size_t count, authors;
    struct friend_pair *friends;
    size_t friend_count, friend_capacity;
    struct map *known; /* while it is made: ids */
};

static void know(struct population *population, int64_t user) { map_put(population->known, (uint64_t)user, NULL); }

static int add_friends(void *context, int64_t a, int64_t b) {
    struct population *population = context;
    know(population, a);
    know(population, b);
    if (a == b) return 0;
    MEM_ROOM(population->friends, population->friend_count, population->friend_capacity);
    population->friends[population->friend_count++] = (struct friend_pair){.a = a, .b = b};
    return 0;
}

static void list_people(struct population *population, size_t authors) {
    size_t cursor = 0;
    uint64_t user, unused;
    population->people = mem_zero(map_count(population->known) + 1, sizeof *population->people);
    while (map_next(population->known, &cursor, &user, &unused))
        population->people[population->count++] = (int64_t)user;
    qsort(population->people, population->count, sizeof *population->people, sorted_order);
    population->authors = authors < population->count ? authors : population->count;
}

int population_new(const struct population_options *options, struct population **out, struct error *error) {
    struct population *population = MEM_NEW(&(struct population){.city = options->city, .known = map_new()});
    int code = 0;
    for (size_t i = 0; i < options->trace->count; i++) know(population, options->trace->fixes[i].user);
    for (int64_t user = 1; options->city && user <= city_people(options->city); user++) know(population, user);
    if (options->city) code = city_friends(options->city, add_friends, population);
    if (!code && options->graph) code = cli_read_pairs(options->graph, add_friends, population, error);
    if (code) {
        population_free(population);
        return code;
    }
    list_people(population, options->authors);
    *out = population;
    return 0;
}

void population_free(struct population *population) {
    if (!population) return;
    free(population->people);
    free(population->friends);
    map_free(population->known);
    free(population);
}

size_t population_count(const struct population *population) { return population->count; }

int64_t population_person(const struct population *population, size_t index) { return population->people[index]; }

size_t population_authors(const struct population *population) { return population->authors; }

int population_follows(const struct population *population, int (*follows)(void *context, int64_t user, int64_t other),
                       void *context) {
    int code = 0;
    for (size_t i = 0; !code && i < population->friend_count; i++) {
        code = follows(context, population->friends[i].a, population->friends[i].b);
        if (!code) code = follows(context, population->friends[i].b, population->friends[i].a);
    }
    for (size_t i = 0; i < population->count; i++) {
        for (size_t author = 0; !code && author < population->authors; author++)
            if (author != i) code = follows(context, population->people[i], population->people[author]);
    }
    return code;
}

/* ---- import ---- */

struct putting {
    struct setup *setup;
    struct error *error;
    int64_t follows;
};

static int put_people(const struct population *population, struct setup *setup, struct error *error) {
    int code = 0;
    for (size_t i = 0; !code && i < population->friend_count; i++)
        code = setup_befriend(setup, population->friends[i].a, population->friends[i].b, error);
    for (size_t i = 0; !code && i < population->count; i++) {
        int64_t user = population->people[i];
        code = setup_share(setup, user, SHARING_FRIENDS, error);
        if (!code && population->city && user > 0 && user <= city_people(population->city))
            code = setup_profile(setup, user, city_name(population->city, user), error);
    }
    return code ? code : setup_flush(setup, error);
}

static int put_follow(void *context, int64_t user, int64_t other) {
    struct putting *putting = context;
    putting->follows++;
    return setup_follow(putting->setup, user, other, putting->error);
}

static void say_left(void *context, int64_t left, const char *what) {
    fprintf(stderr, "simulate: %" PRId64 " %s yet\n", left, what);
}

int population_import(const struct population *population, const struct cli *cli, bool follows, struct error *error) {
    struct putting putting = {.error = error};
    int code = setup_new(&cli->kafka, &putting.setup, error);
    if (!code) code = put_people(population, putting.setup, error);
    if (code) goto finish;
    fprintf(stderr, "simulate: %zu people opted in, %zu friendships asked for\n", population->count,
            population->friend_count);
    code = setup_wait_decided(putting.setup, &SETUP_ROUTERS, cli->settings.router_group, HANDLED_TIMEOUT_S, say_left,
                              NULL, error);
    if (!code && follows) code = population_follows(population, put_follow, &putting);
    if (code || !follows) goto finish;
    fprintf(stderr, "simulate: %" PRId64 " follows asked for\n", putting.follows);
    code = setup_wait_decided(putting.setup, &SETUP_FEEDS, cli->settings.feed_group, HANDLED_TIMEOUT_S, say_left, NULL,
                              error);
finish:
    setup_free(putting.setup);
    return code;
}
