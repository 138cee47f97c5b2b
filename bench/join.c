/* The pure join: friend checks a second and core at 1, 4 and 10 million online.
 *
 *     bench-join [--json FILE] [millions ...]
 *
 * Workload: every user online is present; a report's user has 400 friends among ten times as many users as are online, so
 * that 10% of them are online; those live where the user lives, and are near. The floor is what memory itself costs, with
 * nothing decided: for each friend one random byte of a table as large as the filter, for every tenth one random line of a
 * table as large as the slots, as many under way at once.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "bench/arguments.h"
#include "router/join.h"

enum { FRIENDS = 400, REPORTS = 20000, ROUTES = 64, NEIGHBOURS = 2000 };

/* Users are 0 to 10 * online; those divisible by ten are online. A neighbourhood is NEIGHBOURS of ids in a row and one place. */
static struct geo_point home(int64_t user) {
    uint64_t h = hash_u64((uint64_t)(user / NEIGHBOURS));
    struct geo_point p = {(int32_t)(h % 1200000000) - 600000000, (int32_t)(h >> 32) % 1700000000};
    p.lat += (int32_t)(hash_u64((uint64_t)user) % 200000);
    p.lng += (int32_t)(hash_u64((uint64_t)user + 1) % 200000);
    return p;
}

static struct location report_of(int64_t user, int64_t time) {
    struct geo_point at = home(user);
    return (struct location){.user = user,
                             .lat = at.lat,
                             .lng = at.lng,
                             .time = time,
                             .kind = LOCATION_REPORT,
                             .session = user + 1,
                             .route = (int32_t)(user % ROUTES),
                             .opted = 1};
}

static void choose_friends(uint64_t seed, int64_t user, int64_t *friends) {
    int64_t first = user / NEIGHBOURS * NEIGHBOURS;
    for (int i = 0; i < FRIENDS; i++) friends[i] = first + (int64_t)(hash_u64(seed + (uint64_t)i) % NEIGHBOURS);
}

struct figures {
    double checks_per_s, floor_checks_per_s, us_per_report, near_per_report, bytes_per_user, peak_rss;
};

/* The floor: REPORTS times FRIENDS random touches of tables of the presence's size. */
static double floor_seconds(size_t online) {
    size_t slots = online * 10 / 9;
    uint8_t *filter = mem_alloc(slots);
    uint64_t *lines = mem_alloc(slots * 40);
    memset(filter, 1, slots);
    memset(lines, 1, slots * 40);
    volatile uint64_t sink = 0;
    uint64_t sum = 0;
    double before = bench_cpu_s();
    for (int report = 0; report < REPORTS; report++) {
        for (int from = 0; from < FRIENDS; from += 40) {
            size_t at[40];
            for (int i = 0; i < 40; i++) {
                at[i] = hash_u64((uint64_t)report * FRIENDS + (uint64_t)(from + i)) % slots;
                __builtin_prefetch(&filter[at[i]]);
            }
            for (int i = 0; i < 40; i++) {
                sum += filter[at[i]];
                if (i % 10 == 0) __builtin_prefetch(&lines[at[i] * 5]);
            }
            for (int i = 0; i < 40; i += 10) sum += lines[at[i] * 5];
        }
    }
    sink = sum;
    (void)sink;
    double seconds = bench_cpu_s() - before;
    free(filter);
    free(lines);
    return seconds;
}

static struct figures measure(size_t online) {
    struct presence *presence = presence_new(600000);
    struct join_result result;
    int64_t friends[FRIENDS];
    uint64_t near = 0;
    const struct rounding_list nobody = {.count = 0};
    join_result_init(&result);
    join_reserve(&result, FRIENDS);
    for (size_t i = 0; i < online; i++) {
        struct location event = report_of((int64_t)i * 10, 1000000);
        event.kind = LOCATION_JOIN;
        presence_apply(presence, &event, event.time, NULL, NULL);
    }
    struct join_context context = {.presence = presence,
                                   .now = 1030000,
                                   .inactive_ms = 600000,
                                   .radius_m = GEO_RADIUS_DEFAULT_M,
                                   .rounded = grid_of(6),
                                   .warm = true,
                                   .digests = true};
    double choosing = bench_cpu_s();
    for (int i = 0; i < REPORTS; i++)
        choose_friends((uint64_t)i * FRIENDS, (int64_t)(hash_u64((uint64_t)i) % online) * 10, friends);
    choosing = bench_cpu_s() - choosing;

    double before = bench_cpu_s();
    for (int i = 0; i < REPORTS; i++) {
        struct location event = report_of((int64_t)(hash_u64((uint64_t)i) % online) * 10, 1030000);
        choose_friends((uint64_t)i * FRIENDS, event.user, friends);
        if (!join_event(&context, &event, event.time, &result)) continue;
        join_friends(&context, friends, FRIENDS, &nobody, &result);
        near += result.recipient_count;
    }
    double seconds = bench_cpu_s() - before - choosing;
    struct figures figures = {
        .checks_per_s = (double)REPORTS * FRIENDS / seconds,
        .us_per_report = seconds / REPORTS * 1e6,
        .near_per_report = (double)near / REPORTS,
        .bytes_per_user = (double)presence_bytes(presence) / (double)online,
        .peak_rss = bench_peak_rss(),
    };
    join_result_free(&result);
    presence_free(presence);
    figures.floor_checks_per_s = (double)REPORTS * FRIENDS / floor_seconds(online);
    return figures;
}

int main(int argc, char **argv) {
    FILE *json = NULL;
    double millions[16] = {1, 4, 10};
    int count = 3;
    const struct argument known[] = {ARGUMENT("--json", &json)};
    argc = arguments_read(argc, argv, known, ARRAY_SIZE(known));
    if (argc > 1) count = argc - 1 < 16 ? argc - 1 : 16;
    for (int i = 0; i < count && argc > 1; i++) millions[i] = atof(argv[i + 1]);
    if (json) fputc('{', json);
    bench_print_machine(stdout, json, "join");
    printf("%d friends, a tenth of them online and near; %d reports; CPU of one core\n\n", FRIENDS, REPORTS);
    printf("%10s %12s %12s %8s %10s %8s %12s %9s\n", "online", "checks/s", "floor/s", "ratio", "us/report", "near",
           "bytes/user", "RSS MB");
    if (json) fprintf(json, "\"friends\":%d,\"rows\":[", FRIENDS);
    for (int i = 0; i < count; i++) {
        struct figures f = measure((size_t)(millions[i] * 1e6));
        printf("%9.2fM %11.1fM %11.1fM %8.2f %10.2f %8.1f %12.1f %9.0f\n", millions[i], f.checks_per_s / 1e6,
               f.floor_checks_per_s / 1e6, f.checks_per_s / f.floor_checks_per_s, f.us_per_report, f.near_per_report,
               f.bytes_per_user, f.peak_rss / 1e6);
        if (json)
            fprintf(
                json,
                "%s{\"online\":%.0f,\"checks_per_s\":%.0f,\"floor_checks_per_s\":%.0f,\"us_per_report\":%.3f,\"near\":%.2f,\"bytes_per_user\":%.2f}",
                i ? "," : "", millions[i] * 1e6, f.checks_per_s, f.floor_checks_per_s, f.us_per_report,
                f.near_per_report, f.bytes_per_user);
    }
    if (json) {
        fputs("]}\n", json);
        fclose(json);
    }
    return 0;
}
