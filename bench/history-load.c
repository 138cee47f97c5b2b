/* The reports of `./dev bench history`, and the floors of what it measures.
 *
 *     bench-history-load fill --bootstrap --prefix [--NAME VALUE ...]    reports --from up to --to, into the topic `locations`
 *     bench-history-load read --bootstrap --prefix [--NAME VALUE ...]    reads and decodes that topic, and keeps nothing
 *     bench-history-load files FILE ...                                  reads and decodes history files, and keeps nothing
 *
 * The world's numbers: --users --partitions --begin (ms) --step (ms, between two reports of a user). read and files print how many rows
 * there were, and this program's CPU seconds.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "bench/arguments.h"
#include "bench/feed_world.h"
#include "bench/sender.h"
#include "event/codec.h"
#include "event/container.h"
#include "event/topics.h"
#include "json/details.h"
#include "users/report.h"

enum { CITIES = 200, STRIDE = 16 };
enum { DEGREE = 10000000, CITY = 1200000, WALK = 20000, DRIVE = 150000, NOISE = 500 }; /* 1e-7 degrees */

struct options {
    const char *bootstrap, *prefix;
    int64_t users, begin, step, from, to;
    int32_t partitions;
};

/* ---- the world ---- */

/* Everybody reports once in each round, in an order that looks like none, and walks, drives or stays for STRIDE rounds at a time. */
struct walker {
    int32_t lat, lng;
};

/* Evenly from -most to most. */
static int32_t around_zero(uint64_t random, int32_t most) {
    return (int32_t)((random & 0xffffffff) % (2 * (uint64_t)most + 1)) - most;
}

static struct walker at_home(int64_t index) {
    uint64_t city = hash_u64((uint64_t)index % CITIES + 1), house = hash_u64((uint64_t)index << 8);
    return (struct walker){
        .lat = around_zero(city, 55 * DEGREE) + around_zero(house, CITY),
        .lng = around_zero(city >> 32, 170 * DEGREE) + around_zero(house >> 32, CITY),
    };
}

static int32_t within(int64_t value, int32_t most) {
    return value > most ? most : value < -most ? -most : (int32_t)value;
}

static void walk(struct walker *walker, int64_t index, int64_t round) {
    uint64_t stride = hash_u64((uint64_t)index << 24 | (uint64_t)(round / STRIDE + 1));
    int32_t pace = stride % 4 < 2 ? 0 : stride % 4 == 2 ? WALK : DRIVE;
    if (!pace) return;
    walker->lat = within((int64_t)walker->lat + around_zero(stride >> 2, pace), 89 * DEGREE);
    walker->lng = within((int64_t)walker->lng + around_zero(stride >> 32, pace), 179 * DEGREE);
}

static struct location report(const struct options *options, const struct walker *walker, int64_t index,
                              int64_t round) {
    uint64_t random = hash_u64((uint64_t)index << 24 ^ (uint64_t)round ^ UINT64_C(0x5bd1e995) << 32);
    return (struct location){
        .user = feed_world_id(index), // bench/history.py has it too
        .lat = walker->lat + around_zero(random, NOISE),
        .lng = walker->lng + around_zero(random >> 32, NOISE),
        .time = options->begin + round * options->step + (int64_t)(random >> 20) % options->step,
        .kind = round ? LOCATION_REPORT : LOCATION_JOIN,
        .session = options->begin * 1000 + index,
        .route = (int32_t)(index % options->partitions),
        .opted = index,
        .accuracy = 4 + (int32_t)(random >> 48) % 30,
        DETAILS_NONE,
    };
}

/* ---- into the topic ---- */

static void fill(const struct options *options, struct sender *sender) {
    struct walker *walkers = mem_zero((size_t)options->users, sizeof *walkers);
    for (int64_t i = 0; i < options->users; i++) walkers[i] = at_home(i);
    for (int64_t number = 0; number < options->to; number++) {
        int64_t round = number / options->users, turn = number % options->users;
        int64_t index =
            (turn * 1000003 + round * 7919) % options->users; // the prime divides no sensible number of users
        walk(&walkers[index], index, round);
        if (number < options->from) continue;
        struct location location = report(options, &walkers[index], index, round);
        report_encode(&sender->value, &location);
        sender_send_user(sender, &TOPIC_LOCATIONS, location.user);
    }
    free(walkers);
}

/* ---- the floors ---- */

struct reading {
    struct codec *codec;
    uint64_t rows, sum; /* sum: so that what was decoded is used */
};

static void decode_records(void *context, const struct kafka_record *records, size_t count) {
    struct reading *reading = context;
    struct location location;
    struct error error;
    for (size_t i = 0; i < count; i++) {
        if (event_decode_location(reading->codec, records[i].value, records[i].value_size, &location, &error))
            bench_fail(error.text);
        reading->rows++;
        reading->sum +=
            (uint64_t)(location.user ^ location.time ^ location.lat ^ location.lng) + (uint64_t)location.accuracy;
    }
}

static void print_floor(uint64_t rows, uint64_t sum) {
    printf("{\"rows\":%" PRIu64 ",\"cpu_s\":%.3f,\"sum\":%" PRIu64 "}\n", rows, bench_cpu_s(), sum);
}

static void read_topic(const struct options *options) {
    struct reading reading = {.codec = codec_new()};
    reader_read(options->bootstrap, options->prefix, &TOPIC_LOCATIONS, options->partitions, decode_records, &reading);
    print_floor(reading.rows, reading.sum);
    codec_free(reading.codec);
}

static ssize_t read_bytes(void *context, void *bytes, size_t size, struct error *error) {
    ssize_t got = read(*(int *)context, bytes, size);
    return got < 0 ? error_set(error, -errno, "%s", strerror(errno)) : got;
}

static void read_files(char **paths, int count) {
    uint64_t rows = 0, sum = 0;
    for (int i = 0; i < count; i++) {
        struct container_reader *reader;
        struct history_row row;
        struct error error;
        int code, file = open(paths[i], O_RDONLY | O_CLOEXEC);
        if (file < 0) bench_fail(paths[i]);
        if (container_reader_new(paths[i], &(struct container_input){.context = &file, .read = read_bytes}, &reader,
                                 &error))
            bench_fail(error.text);
        while ((code = container_reader_next(reader, &row, &error)) > 0) {
            rows++;
            sum += (uint64_t)(row.user ^ row.time ^ row.lat ^ row.lng) + (uint64_t)row.accuracy;
        }
        if (code) bench_fail(error.text);
        container_reader_free(reader);
        close(file);
    }
    print_floor(rows, sum);
}

static const struct loader LOADERS[] = {{"fill", .send = fill}, {"read", .alone = read_topic}};

int main(int argc, char **argv) {
    struct options o = {.users = 1000, .partitions = 12, .begin = 1, .step = 60000, .from = 0, .to = 0};
    const struct argument known[] = {ARGUMENT("--users", &o.users),         ARGUMENT("--partitions", &o.partitions),
                                     ARGUMENT("--begin", &o.begin),         ARGUMENT("--step", &o.step),
                                     ARGUMENT("--from", &o.from),           ARGUMENT("--to", &o.to),
                                     ARGUMENT("--bootstrap", &o.bootstrap), ARGUMENT("--prefix", &o.prefix)};
    argc = arguments_read(argc, argv, known, ARRAY_SIZE(known));
    if (argc > 2 && strcmp(argv[1], "files") == 0)
        read_files(argv + 2, argc - 2);
    else
        loader_run(LOADERS, ARRAY_SIZE(LOADERS), argc == 2 ? argv[1] : "", &o, o.bootstrap, o.prefix);
    return 0;
}
