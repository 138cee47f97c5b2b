/* The reports of `./dev bench history`, and the floors of what it measures.
 *
 *     bench-history-load fill BOOTSTRAP PREFIX [--NAME VALUE ...]    reports --from up to --to, into the topic `locations`
 *     bench-history-load read BOOTSTRAP PREFIX [--NAME VALUE ...]    reads and decodes that topic, and keeps nothing
 *     bench-history-load files FILE ...                              reads and decodes history files, and keeps nothing
 *
 * The world's numbers: --users --partitions --begin (ms) --step (ms, between two reports of a user). read and files print how many rows
 * there were, and this program's CPU seconds.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "bench/machine.h"
#include "bench/sender.h"
#include "event/codec.h"
#include "event/container.h"
#include "event/topics.h"
#include "kafka/consumer.h"

enum { ID_BITS = 27, CITIES = 200, STRIDE = 16, MOST_PARTITIONS = 1024, TIMEOUT_MS = 10000 };
enum { DEGREE = 10000000, CITY = 1200000, WALK = 20000, DRIVE = 150000, NOISE = 500 }; /* 1e-7 degrees */

struct options {
    int64_t users, partitions, begin, step, from, to;
};

/* ---- the world ---- */

/* Everybody reports once in each round, in an order that looks like none, and walks, drives or stays for STRIDE rounds at a time. */
struct walker {
    int32_t lat, lng;
};

/* A bijection of 27 bits; never 0. bench/history.py has it too. */
static int64_t user_id(int64_t index) { return (index * 0x9e3779b1 & ((1 << ID_BITS) - 1)) + 1; }

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
        .user = user_id(index),
        .lat = walker->lat + around_zero(random, NOISE),
        .lng = walker->lng + around_zero(random >> 32, NOISE),
        .time = options->begin + round * options->step + (int64_t)(random >> 20) % options->step,
        .kind = round ? LOCATION_REPORT : LOCATION_JOIN,
        .session = options->begin * 1000 + index,
        .route = (int32_t)(index % options->partitions),
        .opted = index,
        .accuracy = 4 + (int32_t)(random >> 48) % 30,
    };
}

/* ---- into the topic ---- */

static void fill(const struct kafka_settings *settings, const struct options *options) {
    struct walker *walkers = mem_zero((size_t)options->users, sizeof *walkers);
    struct sender sender;
    sender_open(&sender, settings);
    for (int64_t i = 0; i < options->users; i++) walkers[i] = at_home(i);
    for (int64_t number = 0; number < options->to; number++) {
        int64_t round = number / options->users, turn = number % options->users;
        int64_t index =
            (turn * 1000003 + round * 7919) % options->users; // the prime divides no sensible number of users
        uint8_t key[8];
        walk(&walkers[index], index, round);
        if (number < options->from) continue;
        struct location location = report(options, &walkers[index], index, round);
        bytes_put_be64(key, (uint64_t)location.user);
        event_encode_location(&sender.value, &location);
        sender_send(&sender, &TOPIC_LOCATIONS, KAFKA_PARTITION_BY_KEY, key, sizeof key);
    }
    sender_close(&sender);
    free(walkers);
}

/* ---- the floors ---- */

struct reading {
    uv_loop_t loop;
    struct kafka_consumer *consumer;
    struct codec *codec;
    int64_t ends[MOST_PARTITIONS];
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

static bool all_is_read(const struct reading *reading, int64_t partitions) {
    for (int32_t p = 0; p < partitions; p++)
        if (reading->ends[p] && kafka_consumer_position(reading->consumer, &TOPIC_LOCATIONS, p) < reading->ends[p])
            return false;
    return true;
}

static void print_floor(uint64_t rows, uint64_t sum) {
    printf("{\"rows\":%" PRIu64 ",\"cpu_s\":%.3f,\"sum\":%" PRIu64 "}\n", rows, bench_cpu_s(), sum);
}

static void read_topic(const struct kafka_settings *settings, const struct options *options) {
    static struct reading reading;
    struct kafka_position positions[MOST_PARTITIONS];
    struct error error;
    if (options->partitions > MOST_PARTITIONS) bench_fail("too many partitions");
    reading.codec = codec_new();
    uv_loop_init(&reading.loop);
    struct kafka_consumer_options wanted = {
        .loop = &reading.loop, .settings = settings, .context = &reading, .on_records = decode_records};
    if (kafka_consumer_new(&wanted, &reading.consumer, &error)) bench_fail(error.text);
    for (int32_t p = 0; p < options->partitions; p++) {
        int64_t low;
        positions[p] = (struct kafka_position){&TOPIC_LOCATIONS, p, KAFKA_OFFSET_BEGINNING};
        if (kafka_consumer_watermarks(reading.consumer, &TOPIC_LOCATIONS, p, &low, &reading.ends[p], TIMEOUT_MS,
                                      &error))
            bench_fail(error.text);
    }
    if (kafka_consumer_read(reading.consumer, positions, (size_t)options->partitions, &error)) bench_fail(error.text);
    while (!all_is_read(&reading, options->partitions)) uv_run(&reading.loop, UV_RUN_ONCE);
    print_floor(reading.rows, reading.sum);
    kafka_consumer_free(reading.consumer);
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

/* ---- arguments ---- */

static bool take_option(struct options *options, const char *name, const char *value) {
    const struct {
        const char *name;
        int64_t *number;
    } numbers[] = {{"--users", &options->users}, {"--partitions", &options->partitions},
                   {"--begin", &options->begin}, {"--step", &options->step},
                   {"--from", &options->from},   {"--to", &options->to}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strcmp(name, numbers[i].name) != 0) continue;
        *numbers[i].number = atoll(value);
        return true;
    }
    return false;
}

int main(int argc, char **argv) {
    struct options options = {.users = 1000, .partitions = 12, .begin = 1, .step = 60000, .from = 0, .to = 0};
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "files") == 0) {
        read_files(argv + 2, argc - 2);
        return 0;
    }
    if (argc < 4) bench_fail("its head says which arguments there are");
    for (int i = 4; i < argc; i += 2)
        if (i + 1 == argc || !take_option(&options, argv[i], argv[i + 1]))
            bench_fail("no such option, or no value for it");
    struct kafka_settings settings = {
        .topics = &TOPICS_ALL, .bootstrap = argv[2], .prefix = argv[3], .client_id = "bench-history-load"};
    if (strcmp(what, "fill") == 0)
        fill(&settings, &options);
    else if (strcmp(what, "read") == 0)
        read_topic(&settings, &options);
    else
        bench_fail("fill, read or files");
    return 0;
}
