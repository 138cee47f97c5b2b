/* The people of the edge's benches. Header-only, for bench programs.
 *
 * Users stand in a ring; a user's friends are those at K/2 random distances to either side, so that friendship goes both
 * ways and a list is spread over the server's whole memory. Everybody is within the radius of everybody.
 */
#pragma once

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "geo/geo.h"
#include "service/token.h"

enum { PEOPLE_TOKEN_MS = 3600 * 1000 };

struct people {
    size_t count;
    unsigned friends;    /* of each; even */
    uint32_t *distances; /* half as many, around the ring */
};

static inline int64_t people_user(size_t index) { return 10000000 + (int64_t)index * 37; }

static inline size_t people_index(int64_t user) { return (size_t)((user - 10000000) / 37); }

static inline struct people people_new(size_t count, unsigned friends) {
    struct people people = {.count = count, .friends = friends / 2 * 2};
    size_t half = (count - 1) / 2;
    bool *taken = mem_zero(half + 1, 1);
    people.distances = mem_alloc((friends / 2 + 1) * sizeof *people.distances);
    for (unsigned i = 0, seed = 1; i < friends / 2 && i < half; seed++) {
        size_t distance = 1 + hash_u64(seed) % half;
        if (taken[distance]) continue;
        taken[distance] = true;
        people.distances[i++] = (uint32_t)distance;
    }
    free(taken);
    return people;
}

static inline size_t people_friend(const struct people *people, size_t index, unsigned which) {
    size_t n = people->count, distance = people->distances[which / 2];
    return which % 2 ? (index + distance) % n : (index + n - distance) % n;
}

static const struct geo_point PEOPLE_CENTRE = {399847000, 1163184000};

static inline struct geo_point people_home(size_t index) {
    uint64_t h = hash_u64(index + 1);
    return (struct geo_point){PEOPLE_CENTRE.lat + (int32_t)(h % 400000) - 200000,
                              PEOPLE_CENTRE.lng + (int32_t)((h >> 32) % 400000) - 200000};
}

/* Within 500 m of home. */
static inline struct geo_point people_place(size_t index, uint64_t step) {
    uint64_t h = hash_u64(step * 31 + index);
    struct geo_point at = people_home(index);
    return (struct geo_point){at.lat + (int32_t)(h % 10000) - 5000, at.lng + (int32_t)((h >> 32) % 10000) - 5000};
}

/* What a phone says: a hello with its token, or a report. Returns the size. */
static inline size_t people_say(char *text, size_t room, const char *token, struct geo_point at, int64_t time) {
    int size =
        snprintf(text, room, "{\"type\":\"%s\"%s%s%s,\"lat\":%.7f,\"lng\":%.7f,\"time\":%" PRId64 ",\"accuracy\":12}",
                 token ? "hello" : "location", token ? ",\"token\":\"" : "", token ? token : "", token ? "\"" : "",
                 at.lat / 1e7, at.lng / 1e7, time);
    return (size_t)size;
}

/* The hello of a user; the caller frees. */
static inline char *people_hello(struct token_issuer *issuer, size_t index, int64_t time) {
    char text[1024];
    char *token = token_issue(issuer, people_user(index), NULL, clock_wall_ms() + PEOPLE_TOKEN_MS);
    people_say(text, sizeof text, token, people_home(index), time);
    free(token);
    return mem_string(text);
}
