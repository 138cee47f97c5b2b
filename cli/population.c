#include "cli/population.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "cli/cli.h"

struct friend_pair {
    int64_t a, b;
};

struct population {
    int64_t *people; /* rising */
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
    struct population *population = MEM_NEW(&(struct population){.known = map_new()});
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
