#include "tools/load/city.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "tools/load/streets.h"

enum {
    PLACES = 6,        /* home, work, and four where errands lead */
    STAY_MS = 240000,  /* at a place, and on the way to the next */
    FRIENDS_TRIED = 12 /* of which those who live near are likelier to be kept */
};

struct person {
    struct plan_point places[PLACES];
    char name[32];
};

struct city {
    int64_t people;
    uint64_t seed;
    struct person *persons;
};

static double chance(uint64_t *state) { return (double)(hash_u64((*state)++) >> 11) / 9007199254740992.0; }

/* Denser towards the centre: the distance is uniform, not the area. */
static struct plan_point somewhere(uint64_t *state, struct plan_point around, double radius_m) {
    double angle = 2 * M_PI * chance(state), distance = radius_m * chance(state);
    return streets_near((struct plan_point){around.x + distance * sin(angle), around.y + distance * cos(angle)});
}

static void name_person(struct person *person, uint64_t *state) {
    static const char *const FIRST[] = {"Ada",  "Ben",  "Cleo", "Dara", "Emil", "Fay",   "Gus",  "Hana",  "Ivo",
                                        "June", "Kai",  "Lina", "Milo", "Nora", "Otis",  "Pia",  "Quinn", "Rosa",
                                        "Sami", "Tess", "Uma",  "Vito", "Wren", "Xenia", "Yuri", "Zoe"};
    static const char *const LAST[] = {"Adler", "Brandt", "Costa", "Diaz",  "Eder",  "Falk",  "Grau",  "Horn",
                                       "Ito",   "Jung",   "Kern",  "Lang",  "Moser", "Novak", "Ortiz", "Park",
                                       "Rossi", "Silva",  "Toth",  "Vogel", "Weiss", "Young", "Zimmer"};
    const char *first = FIRST[hash_u64((*state)++) % (sizeof FIRST / sizeof *FIRST)];
    const char *last = LAST[hash_u64((*state)++) % (sizeof LAST / sizeof *LAST)];
    snprintf(person->name, sizeof person->name, "%s %s", first, last);
}

struct city *city_new(int64_t people, uint64_t seed) {
    struct city *city = MEM_NEW(
        &(struct city){.people = people, .seed = seed, .persons = mem_zero((size_t)people, sizeof *city->persons)});
    for (int64_t i = 0; i < people; i++) {
        struct person *person = &city->persons[i];
        uint64_t state = hash_u64(seed) ^ hash_u64((uint64_t)i) << 1;
        person->places[0] = somewhere(&state, (struct plan_point){0, 0}, STREETS_HOMES_M);
        person->places[1] = somewhere(&state, (struct plan_point){0, 0}, STREETS_HOMES_M / 2.0);
        for (int p = 2; p < PLACES; p++)
            person->places[p] = somewhere(&state, person->places[p % 2], STREETS_HOMES_M / 4.0);
        name_person(person, &state);
    }
    return city;
}

void city_free(struct city *city) {
    if (!city) return;
    free(city->persons);
    free(city);
}

int64_t city_people(const struct city *city) { return city->people; }

const char *city_name(const struct city *city, int64_t user) { return city->persons[user - 1].name; }

static double home_distance(const struct city *city, int64_t a, int64_t b) {
    const struct plan_point *left = &city->persons[a].places[0], *right = &city->persons[b].places[0];
    return hypot(left->x - right->x, left->y - right->y);
}

int city_friends(const struct city *city, int (*pair)(void *context, int64_t a, int64_t b), void *context) {
    for (int64_t a = 0; a < city->people; a++) {
        uint64_t state = hash_u64(city->seed + 1) ^ hash_u64((uint64_t)a) << 1;
        int64_t chosen[FRIENDS_TRIED];
        int count = 0;
        for (int tried = 0; tried < FRIENDS_TRIED; tried++) {
            /* Only people with greater ids are asked, so that each pair comes once; a repeat is dropped. */
            if (a + 1 >= city->people) break;
            int64_t b = a + 1 + (int64_t)(hash_u64(state++) % (uint64_t)(city->people - a - 1));
            bool repeated = false;
            for (int i = 0; i < count; i++) repeated |= chosen[i] == b;
            if (repeated || chance(&state) * STREETS_HOMES_M < home_distance(city, a, b) / 2) continue;
            chosen[count++] = b;
            int result = pair(context, a + 1, b + 1);
            if (result) return result;
        }
    }
    return 0;
}

struct geo_point city_place(const struct city *city, int64_t user, int64_t time_ms) {
    const struct person *person = &city->persons[user - 1];
    /* Everybody's day is shifted, or all would set out at once. */
    int64_t shifted = time_ms + (int64_t)(hash_u64((uint64_t)user) % STAY_MS);
    int64_t leg = shifted / STAY_MS;
    double part = (double)(shifted % STAY_MS) / STAY_MS;
    uint64_t at = hash_u64(city->seed ^ hash_u64((uint64_t)(leg / 2) ^ (uint64_t)user << 32)) % PLACES;
    uint64_t next = hash_u64(city->seed ^ hash_u64((uint64_t)(leg / 2 + 1) ^ (uint64_t)user << 32)) % PLACES;
    if (leg % 2 == 0) part = 0; /* staying; odd legs are under way */
    return streets_ground(streets_between(person->places[at], person->places[next], part));
}
