/* What strangers nearby cost a router, without Kafka and HTTP: a report of a user who shares publicly and of one who does not, and
 * a list in a crowd.
 *
 *     bench-strangers [MILLIONS]
 *
 * Workload: so many users (1 million) share publicly, all in two neighbouring cells. Lists of 100; a fiftieth of those met is hidden.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "bench/machine.h"
#include "router/strangers.h"

enum { MILLION = 1000000, START_MS = 1000000, DELAY_MS = 60000, INACTIVE_MS = 600000, LISTS = 1000, MAX = 100 };

static const struct geo_point HOME = {525200000, 134050000};

static bool some_are_hidden(void *context, int64_t user) { return user % 50 == 0; }

static void report_all(struct strangers *strangers, int64_t users, uint64_t seed, int64_t now) {
    for (int64_t i = 0; i < users; i++) {
        int64_t user = i * 7919 % users;
        struct geo_point at = HOME;
        at.lat += (int32_t)(hash_u64(seed + (uint64_t)user) % 800000);
        strangers_place(strangers, user, at, now, now);
    }
}

static size_t ask_often(const struct strangers *strangers, int64_t now, struct stranger *list) {
    struct strangers_question question = {.user = 5, .at = HOME, .now_ms = now, .max = MAX, .hidden = some_are_hidden};
    size_t listed = 0;
    for (question.turn = 0; question.turn < LISTS; question.turn++)
        listed += strangers_list(strangers, &question, list);
    return listed;
}

/* Prints what one of `count` things took since `before`, and returns the time now. */
static double tell(const char *what, double before, int64_t count) {
    double now = bench_cpu_s();
    printf("| %s | %.0f ns |\n", what, (now - before) / (double)count * 1e9);
    return bench_cpu_s();
}

int main(int argc, char **argv) {
    int64_t users = (argc > 1 ? strtoll(argv[1], NULL, 10) : 1) * MILLION, others = 0;
    if (users <= 0) bench_fail("how many millions?");
    struct strangers_options options = {
        .precision = 5, .delay_ms = DELAY_MS, .inactive_ms = INACTIVE_MS, .key = "bench"};
    struct strangers *strangers = strangers_new(&options);
    struct stranger *list = mem_zero(MAX, sizeof *list);
    bench_print_machine(stdout, NULL, "strangers");
    double at = bench_cpu_s();
    for (int64_t user = 0; user < users; user++) strangers_add(strangers, user);
    at = tell("a user begins to share publicly", at, users);
    report_all(strangers, users, 0, START_MS);
    at = tell("a first report", at, users);
    strangers_advance(strangers, START_MS + DELAY_MS, START_MS, (size_t)users);
    at = tell("a place is told", at, users);
    report_all(strangers, users, 1, START_MS + DELAY_MS + 1);
    at = tell("a report", at, users);
    for (int64_t user = 0; user < users; user++) others += strangers_has(strangers, users + user * 7919);
    at = tell("a report of somebody else", at, users);
    size_t listed = ask_often(strangers, START_MS + DELAY_MS + 1, list);
    at = tell("a list of 100", at, LISTS);
    size_t silent = ask_often(strangers, START_MS + DELAY_MS + 1 + INACTIVE_MS, list);
    tell("a list where all are silent", at, LISTS);
    if (others || listed != LISTS * MAX || silent) bench_fail("the lists are wrong");
    printf("%.0f MB\n", bench_peak_rss() / 1e6);
    free(list);
    strangers_free(strangers);
    return 0;
}
