/* What it costs a router to observe the reports of users whom it does not own: decoding, the clock, presence. No Kafka.
 *
 *     bench-scale-observe [--json FILE] [MILLIONS ...]
 *
 * Workload: so many users (1, 10 and 40 million) are present; then reports of random users come, as records of the topic.
 * The floor is what memory costs: reading and writing one random line of a table as large as the slots for each report.
 * Strangers (discover) come on top: `./dev bench strangers`. Beside it: what a copy of `sharing` takes for as many users.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "bench/arguments.h"
#include "event/codec.h"
#include "json/details.h"
#include "router/presence.h"
#include "router/report_clock.h"
#include "users/report.h"

enum { REPORTS = 2000000, BATCH = 10000, MILLION = 1000000, ROUTES = 1000, PARTITIONS = 16, SLOT = 40, ROWS_MAX = 16 };

static const int64_t JOINED_MS =
    1700000000000; /* a session is as long as a real one, and a user's is the same all the time */

struct row {
    double online, us, floor_us, bytes_a_user, record_bytes, copy_bytes; /* copy_bytes: of `sharing`, a user */
};

static struct location report_of(int64_t user, int64_t time, enum location_kind kind) {
    uint64_t h = hash_u64((uint64_t)user + (uint64_t)time);
    return (struct location){.user = user,
                             .lat = (int32_t)(h % 1200000000) - 600000000,
                             .lng = (int32_t)(h >> 33) - 1000000000,
                             .time = time,
                             .kind = kind,
                             .session = JOINED_MS << 21 | (int64_t)(hash_u64((uint64_t)user) & 0x1fffff),
                             .route = (int32_t)(user % ROUTES),
                             .opted = user,
                             .accuracy = -1,
                             DETAILS_NONE};
}

/* The records of one batch, one behind the other. */
struct batch {
    struct buffer bytes;
    size_t ends[BATCH];
};

static void batch_fill(struct batch *batch, int64_t online, uint64_t first, int64_t time) {
    buffer_clear(&batch->bytes);
    for (uint64_t i = 0; i < BATCH; i++) {
        struct location event = report_of((int64_t)(hash_u64(first + i) % (uint64_t)online), time, LOCATION_REPORT);
        report_encode(&batch->bytes, &event);
        batch->ends[i] = batch->bytes.size;
    }
}

/* What reports_handle does for a partition that the router does not own. */
static void batch_observe(const struct batch *batch, struct codec *codec, struct report_clock *clock,
                          struct presence *presence) {
    size_t from = 0;
    for (size_t i = 0; i < BATCH; i++) {
        struct location event;
        struct error error;
        if (event_decode_location(codec, batch->bytes.data + from, batch->ends[i] - from, &event, &error))
            bench_fail(error.text);
        if (!presence_valid(&event) || !report_clock_accept(clock, (int32_t)(event.user % PARTITIONS), &event))
            bench_fail("a report that should count does not");
        if (presence_apply(presence, &event, event.time, NULL, NULL) != PRESENCE_MOVED)
            bench_fail("a report moves nobody");
        from = batch->ends[i];
    }
}

static double floor_us(int64_t online) {
    size_t slots = (size_t)online * 10 / 9,
           size = (slots * SLOT + MEM_LARGE_PAGE - 1) / MEM_LARGE_PAGE * MEM_LARGE_PAGE;
    uint8_t *table = mem_pages(size, true);
    memset(table, 1, size);
    double before = bench_cpu_s();
    for (uint64_t i = 0; i < REPORTS; i++) table[hash_u64(i) % slots * SLOT]++;
    double us = (bench_cpu_s() - before) / REPORTS * 1e6;
    mem_pages_free(table, size);
    return us;
}

/* The table of lib/users/sharing_modes.h. */
static double copy_bytes(int64_t users) {
    struct map *map = map_new();
    for (int64_t user = 0; user < users; user++) *map_put(map, (uint64_t)user, NULL) = (uint64_t)user;
    double bytes = (double)map_bytes(map) / (double)users;
    map_free(map);
    return bytes;
}

static struct row measure(int64_t online) {
    struct presence *presence = presence_new(600000);
    struct codec *codec = codec_new();
    int64_t now = clock_wall_ms();
    struct report_clock *clock = report_clock_new(false, PARTITIONS, 60000, 60000);
    report_clock_tick(clock);
    for (int64_t user = 0; user < online; user++) {
        struct location event = report_of(user, now - 60000, LOCATION_JOIN);
        presence_apply(presence, &event, event.time, NULL, NULL);
    }
    struct batch *batch = mem_zero(1, sizeof *batch);
    double seconds = 0, bytes = 0;
    for (int64_t done = 0; done < REPORTS; done += BATCH) {
        batch_fill(batch, online, (uint64_t)done, now - 30000 + done / BATCH);
        bytes += (double)batch->bytes.size;
        double before = bench_cpu_s();
        batch_observe(batch, codec, clock, presence);
        seconds += bench_cpu_s() - before;
    }
    struct row row = {.online = (double)online,
                      .us = seconds / REPORTS * 1e6,
                      .bytes_a_user = (double)presence_bytes(presence) / (double)online,
                      .record_bytes = bytes / REPORTS};
    buffer_free(&batch->bytes);
    free(batch);
    report_clock_free(clock);
    codec_free(codec);
    presence_free(presence);
    row.floor_us = floor_us(online);
    row.copy_bytes = copy_bytes(online);
    return row;
}

int main(int argc, char **argv) {
    FILE *json = NULL;
    double millions[ROWS_MAX] = {1, 10, 40};
    int count = 3;
    const struct argument known[] = {ARGUMENT("--json", &json)};
    argc = arguments_read(argc, argv, known, ARRAY_SIZE(known));
    if (argc > 1) count = argc - 1 < ROWS_MAX ? argc - 1 : ROWS_MAX;
    for (int i = 0; i < count && argc > 1; i++) millions[i] = atof(argv[i + 1]);
    if (json) fputc('{', json);
    bench_print_machine(stdout, json, "scale-observe");
    printf("%9s %12s %10s %8s %11s %13s %18s\n", "present", "us a report", "floor us", "ratio", "bytes/user",
           "bytes/record", "copy bytes/user");
    if (json) fprintf(json, "\"rows\":[");
    for (int i = 0; i < count; i++) {
        if (!(millions[i] >= 0.01)) bench_fail("MILLIONS must be 0.01 at least");
        struct row row = measure((int64_t)(millions[i] * MILLION));
        printf("%8.2fM %12.3f %10.3f %8.2f %11.1f %13.1f %18.1f\n", row.online / MILLION, row.us, row.floor_us,
               row.us / row.floor_us, row.bytes_a_user, row.record_bytes, row.copy_bytes);
        fflush(stdout);
        if (json)
            fprintf(
                json,
                "%s{\"online\":%.0f,\"us\":%.4f,\"floor_us\":%.4f,\"bytes_a_user\":%.2f,\"record_bytes\":%.2f,\"copy_bytes\":%.2f}",
                i ? "," : "", row.online, row.us, row.floor_us, row.bytes_a_user, row.record_bytes, row.copy_bytes);
    }
    if (json) {
        fputs("]}\n", json);
        fclose(json);
    }
    return 0;
}
