#include "cli/city.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

enum {
    PLACES = 6,        /* home, work, and four where errands lead */
    STAY_MS = 240000,  /* at a place, and on the way to the next */
    FRIENDS_TRIED = 12 /* of which those who live near are likelier to be kept */
};

static const double CENTRE_LAT = 52.52, CENTRE_LNG = 13.405;
static const double CITY_RADIUS_M = 12000, METRES_PER_DEGREE = 111195.08;

struct person {
    struct {
        double north_m, east_m;
    } places[PLACES];
    char name[32];
};

struct city {
    int64_t people;
    uint64_t seed;
    struct person *persons;
};

static double chance(uint64_t *state) { return (double)(hash_u64((*state)++) >> 11) / 9007199254740992.0; }

/* Denser towards the centre: the distance is uniform, not the area. */
static void somewhere(uint64_t *state, double radius_m, double *north_m, double *east_m) {
    double angle = 2 * M_PI * chance(state), distance = radius_m * chance(state);
    *north_m = distance * cos(angle);
    *east_m = distance * sin(angle);
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
    struct city *city = mem_alloc(sizeof *city);
    *city = (struct city){.people = people, .seed = seed, .persons = mem_zero((size_t)people, sizeof *city->persons)};
    for (int64_t i = 0; i < people; i++) {
        struct person *person = &city->persons[i];
        uint64_t state = hash_u64(seed) ^ hash_u64((uint64_t)i) << 1;
        somewhere(&state, CITY_RADIUS_M, &person->places[0].north_m, &person->places[0].east_m);
        somewhere(&state, CITY_RADIUS_M / 2, &person->places[1].north_m, &person->places[1].east_m);
        for (int p = 2; p < PLACES; p++) {
            double north_m, east_m;
            somewhere(&state, CITY_RADIUS_M / 4, &north_m, &east_m);
            person->places[p].north_m = person->places[p % 2].north_m + north_m;
            person->places[p].east_m = person->places[p % 2].east_m + east_m;
        }
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
    const struct person *left = &city->persons[a], *right = &city->persons[b];
    return hypot(left->places[0].north_m - right->places[0].north_m, left->places[0].east_m - right->places[0].east_m);
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
            if (repeated || chance(&state) * CITY_RADIUS_M < home_distance(city, a, b) / 2) continue;
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
    double north_m = person->places[at].north_m + part * (person->places[next].north_m - person->places[at].north_m);
    double east_m = person->places[at].east_m + part * (person->places[next].east_m - person->places[at].east_m);
    double lat = CENTRE_LAT + north_m / METRES_PER_DEGREE;
    double lng = CENTRE_LNG + east_m / (METRES_PER_DEGREE * cos(CENTRE_LAT * M_PI / 180));
    return (struct geo_point){(int32_t)lround(lat * 1e7), (int32_t)lround(lng * 1e7)};
}
