#include "cli/crowd.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "cli/cli.h"

struct friend_pair {
    int64_t a, b;
};

struct crowd {
    int64_t *people; /* rising */
    size_t count, authors;
    struct friend_pair *friends;
    size_t friend_count, friend_capacity;
    struct map *known; /* while it is made: ids */
};

static void know(struct crowd *crowd, int64_t user) { map_put(crowd->known, (uint64_t)user, NULL); }

static int add_friends(void *context, int64_t a, int64_t b) {
    struct crowd *crowd = context;
    know(crowd, a);
    know(crowd, b);
    if (a == b) return 0;
    if (crowd->friend_count == crowd->friend_capacity) {
        crowd->friend_capacity = crowd->friend_capacity ? crowd->friend_capacity * 2 : 1024;
        crowd->friends = mem_resize(crowd->friends, crowd->friend_capacity, sizeof *crowd->friends);
    }
    crowd->friends[crowd->friend_count++] = (struct friend_pair){.a = a, .b = b};
    return 0;
}

static int by_id(const void *left, const void *right) {
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static void list_people(struct crowd *crowd, size_t authors) {
    size_t cursor = 0;
    uint64_t user, unused;
    crowd->people = mem_zero(map_count(crowd->known) + 1, sizeof *crowd->people);
    while (map_next(crowd->known, &cursor, &user, &unused)) crowd->people[crowd->count++] = (int64_t)user;
    qsort(crowd->people, crowd->count, sizeof *crowd->people, by_id);
    crowd->authors = authors < crowd->count ? authors : crowd->count;
}

int crowd_new(const struct crowd_options *options, struct crowd **out, struct error *error) {
    struct crowd *crowd = mem_alloc(sizeof *crowd);
    *crowd = (struct crowd){.known = map_new()};
    int code = 0;
    for (size_t i = 0; i < options->trace->count; i++) know(crowd, options->trace->fixes[i].user);
    for (int64_t user = 1; options->city && user <= city_people(options->city); user++) know(crowd, user);
    if (options->city) code = city_friends(options->city, add_friends, crowd);
    if (!code && options->graph) code = cli_read_pairs(options->graph, add_friends, crowd, error);
    if (code) {
        crowd_free(crowd);
        return code;
    }
    list_people(crowd, options->authors);
    *out = crowd;
    return 0;
}

void crowd_free(struct crowd *crowd) {
    if (!crowd) return;
    free(crowd->people);
    free(crowd->friends);
    map_free(crowd->known);
    free(crowd);
}

size_t crowd_count(const struct crowd *crowd) { return crowd->count; }

int64_t crowd_person(const struct crowd *crowd, size_t index) { return crowd->people[index]; }

size_t crowd_authors(const struct crowd *crowd) { return crowd->authors; }

int crowd_follows(const struct crowd *crowd, int (*follows)(void *context, int64_t user, int64_t other),
                  void *context) {
    int code = 0;
    for (size_t i = 0; !code && i < crowd->friend_count; i++) {
        code = follows(context, crowd->friends[i].a, crowd->friends[i].b);
        if (!code) code = follows(context, crowd->friends[i].b, crowd->friends[i].a);
    }
    for (size_t i = 0; i < crowd->count; i++) {
        for (size_t author = 0; !code && author < crowd->authors; author++) {
            if (author != i) code = follows(context, crowd->people[i], crowd->people[author]);
        }
    }
    return code;
}
