/* What a user's places cost a report: the function that judges it (places/verdict.h), without Kafka.
 *
 *     bench-places [--users N] [--json FILE] [places ...]
 *
 * Users live at random places; the places of each lie within 20 km, and each report is a step of up to 200 m from the one before. Users
 * are more than the caches hold, and their reports come in no order. The floor is one comparison of latitudes for each place.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "bench/arguments.h"
#include "places/verdict.h"

enum { REPORTS = 200000, ROUNDS = 10, RADIUS_M = 200, AROUND = 180000 /* 20 km in 1e-7 degrees / 10 */, STEP = 18000 };

struct bench_user {
    struct place_state state;
    struct geo_point at;
    struct watched_place *places;
    struct watched_band *bands;
};

static int32_t spread(uint64_t seed, int32_t most) { return (int32_t)(hash_u64(seed) % (2 * (uint32_t)most)) - most; }

static struct bench_user *make_users(size_t user_count, size_t count) {
    struct bench_user *users = mem_zero(user_count, sizeof *users);
    for (uint64_t u = 0; u < user_count; u++) {
        users[u].at = (struct geo_point){spread(u, 600000000), spread(u + user_count, 1700000000)};
        users[u].state.left = -1;
        users[u].places = mem_zero(count, sizeof *users[u].places);
        users[u].bands = mem_zero(count, sizeof *users[u].bands);
        for (size_t i = 0; i < count; i++) {
            uint64_t seed = (u << 20) + i;
            users[u].places[i] = (struct watched_place){
                .centre = {users[u].at.lat + 10 * spread(seed, AROUND), users[u].at.lng + 10 * spread(~seed, AROUND)},
                .radius = RADIUS_M,
                .slot = (int32_t)i};
            verdict_prepare(&users[u].places[i], false, &users[u].bands[i]);
        }
    }
    return users;
}

/* The next report of some user. */
static struct location next_report(struct bench_user *users, size_t user_count, uint64_t number,
                                   struct bench_user **user) {
    *user = &users[hash_u64(number) % user_count];
    (*user)->at.lat += spread(number * 2, STEP);
    (*user)->at.lng += spread(number * 2 + 1, STEP);
    return (struct location){.lat = (*user)->at.lat,
                             .lng = (*user)->at.lng,
                             .time = (int64_t)number + 1,
                             .kind = LOCATION_REPORT,
                             .accuracy = 10};
}

struct figures {
    double us, floor_us;
    uint64_t turned;
};

enum part { MAKING, FLOOR, JUDGING };

/* CPU a report of the quickest round. MAKING: the report alone, which is a part of the others, too. */
static double time_of(struct bench_user *users, size_t user_count, size_t count, enum part part, uint64_t *sum) {
    struct bench_user *user;
    double best = 1e9;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        double before = bench_cpu_s();
        for (uint64_t i = 0; i < REPORTS; i++) {
            struct location event = next_report(users, user_count, round * REPORTS + i, &user);
            for (size_t p = 0; part == FLOOR && p < count; p++)
                *sum += (uint16_t)(event.lat >> 15) - user->bands[p].south <= user->bands[p].height;
            if (part == JUDGING)
                *sum += (uint64_t)__builtin_popcountll(
                    verdict_take(&user->state, user->places, user->bands, count, &event, event.time, VERDICT_ANY_TIME));
            else
                *sum += (uint64_t)event.time;
        }
        double took = bench_cpu_s() - before;
        if (took < best) best = took;
    }
    return best / REPORTS * 1e6;
}

static struct figures measure(size_t user_count, size_t count) {
    struct bench_user *users = make_users(user_count, count);
    struct figures figures = {.us = 0};
    volatile uint64_t sink = 0;
    uint64_t sum = 0;
    double making = time_of(users, user_count, count, MAKING, &sum);
    figures.floor_us = time_of(users, user_count, count, FLOOR, &sum) - making;
    figures.us = time_of(users, user_count, count, JUDGING, &figures.turned) - making;
    sink = sum;
    (void)sink;
    for (size_t u = 0; u < user_count; u++) {
        free(users[u].places);
        free(users[u].bands);
    }
    free(users);
    return figures;
}

int main(int argc, char **argv) {
    FILE *json = NULL;
    size_t user_count = 20000;
    int64_t places[16] = {1, 5, 50};
    int count = 3;
    const struct argument known[] = {ARGUMENT("--json", &json), ARGUMENT("--users", &user_count)};
    argc = arguments_read(argc, argv, known, ARRAY_SIZE(known));
    if (argc > 1) count = argc - 1 < 16 ? argc - 1 : 16;
    for (int i = 0; i < count && argc > 1; i++) places[i] = atoll(argv[i + 1]);
    if (json) fputc('{', json);
    bench_print_machine(stdout, json, "places");
    printf("%zu users, the quickest of %d times %d reports; CPU of one core\n\n", user_count, ROUNDS, REPORTS);
    printf("%7s %12s %12s %8s %14s\n", "places", "us/report", "floor us", "ratio", "events/report");
    if (json) fprintf(json, "\"rows\":[");
    for (int i = 0; i < count; i++) {
        if (places[i] < 1 || places[i] > PLACES_MAX) bench_fail("a user has 1 to 50 places");
        struct figures f = measure(user_count, (size_t)places[i]);
        printf("%7d %12.3f %12.3f %8.2f %14.4f\n", (int)places[i], f.us, f.floor_us, f.us / f.floor_us,
               (double)f.turned / REPORTS / ROUNDS);
        if (json)
            fprintf(json, "%s{\"places\":%d,\"us_per_report\":%.4f,\"floor_us\":%.4f}", i ? "," : "", (int)places[i],
                    f.us, f.floor_us);
    }
    if (json) {
        fputs("]}\n", json);
        fclose(json);
    }
    return 0;
}
