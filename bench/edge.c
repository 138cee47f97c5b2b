/* The load of the edge's benches: a city of phones on one edge, and routers' deliveries for it.
 *
 *     bench-edge prepare --bootstrap H:P --prefix X --sessions N --friends K   opts the users in, gives them profiles, and
                                                                             (if K is given) makes them friends
 *     bench-edge drive   ... --key-file F --listen H:P --pid PID --friends K --report-s S --compress C --seconds T
 *                        [--scattered] [--reports] [--tls]                 an edge: deliveries by Kafka
 *     bench-edge plain   --listen H:P --pid PID --sessions N [--hello T] [--tls] [--feed PORT ...]  a floor or a peer
 *
 * Each user (bench/people.h) reports every S/C seconds, at an even rate; each report is a Move to the K friends, gathered by
 * the router's own outbox.
 *     bench-edge sizes                                                       of our own structures for a session
 *
 * --scattered: as if there were very many edges, each Move has one recipient here. --reports: each phone also sends its own
 * report when its user moves, and gets a Digest. Prints one JSON object.
 */
#include <inttypes.h>

#include "base/bytes.h"
#include "base/loop.h"
#include "bench/arguments.h"
#include "bench/people.h"
#include "bench/phones.h"
#include "bench/sender.h"
#include "event/codec.h"
#include "event/topics.h"
#include "fanout/screens.h"
#include "fanout/sessions.h"
#include "router/telling.h"
#include "ws/internal.h"

enum { TICK_MS = 5, BATCH_BYTES = 64 * 1024, PENDING_MAX = 4000, SETUP_S = 120 };

struct options {
    const char *mode, *bootstrap, *prefix, *key_file, *listen, *hello;
    int pid, partitions, routes, seconds, feed, source;
    size_t sessions;
    unsigned friends;
    double report_s, compress, warm_s;
    bool scattered, reports, tls;
};

struct city {
    struct options options;
    uv_loop_t *loop;
    struct kafka_settings kafka;
    struct kafka_producer *producer;
    struct kafka_consumer *consumer;
    struct codec *codec;
    struct deliver *outbox;
    struct epochs *epochs;
    struct phones phones;
    int64_t started_ms;
    size_t joined;
    int64_t *sessions; /* by user's index, of this run; 0: not joined */
    int32_t *routes;
    int64_t *times; /* of the latest report */
    struct geo_point *places;
    struct people people;
    struct deliver_recipient *recipients;
    bool moving;
    int64_t moving_since_us;
    uint64_t moves, deliveries, digests_due;
    uint64_t failed, memory_before;
    struct buffer fed; /* for a peer: entries on their way */
    int feed;
};

/* ---- arguments ---- */

static const char USAGE[] = "its head says which modes and arguments there are";

static struct options parse(int argc, char **argv) {
    struct options o = {.sessions = 15000,
                        .friends = 0,
                        .report_s = 30,
                        .compress = 1,
                        .seconds = 10,
                        .partitions = 4,
                        .routes = 4,
                        .warm_s = 3,
                        .source = 1};
    const struct argument known[] = {ARGUMENT("--scattered", &o.scattered),
                                     ARGUMENT("--reports", &o.reports),
                                     ARGUMENT("--tls", &o.tls),
                                     ARGUMENT("--bootstrap", &o.bootstrap),
                                     ARGUMENT("--prefix", &o.prefix),
                                     ARGUMENT("--key-file", &o.key_file),
                                     ARGUMENT("--listen", &o.listen),
                                     ARGUMENT("--hello", &o.hello),
                                     ARGUMENT("--pid", &o.pid),
                                     ARGUMENT("--partitions", &o.partitions),
                                     ARGUMENT("--routes", &o.routes),
                                     ARGUMENT("--seconds", &o.seconds),
                                     ARGUMENT("--feed", &o.feed),
                                     ARGUMENT("--source", &o.source),
                                     ARGUMENT("--friends", &o.friends),
                                     ARGUMENT("--sessions", &o.sessions),
                                     ARGUMENT("--warm-s", &o.warm_s),
                                     ARGUMENT("--report-s", &o.report_s),
                                     ARGUMENT("--compress", &o.compress)};
    if (arguments_read(argc, argv, known, ARRAY_SIZE(known)) != 2) bench_fail(USAGE);
    o.mode = argv[1];
    if (o.reports && o.tls)
        bench_fail("reports are said from another thread than the phones', which TLS does not allow");
    return o;
}

/* ---- Kafka ---- */

static void acknowledged(void *context, void *opaque, int code, const struct topic *topic, int32_t partition,
                         int64_t offset) {
    struct city *city = context;
    (void)opaque, (void)topic, (void)partition, (void)offset;
    if (code) city->failed++;
}

static void pump(struct city *city, int64_t until_us) {
    do uv_run(city->loop, UV_RUN_ONCE);
    while (clock_monotonic_us() < until_us);
}

static void wait_for_room(struct city *city, size_t most) {
    while (kafka_producer_pending(city->producer) > most) pump(city, 0);
}

static int send_batch(void *context, int32_t route, const void *bytes, size_t size, uint64_t epoch) {
    struct city *city = context;
    (void)epoch;
    if (kafka_producer_pending(city->producer) > PENDING_MAX) return -EAGAIN;
    return kafka_producer_send(city->producer, &TOPIC_DELIVERIES, route, NULL, 0, bytes, size, NULL);
}

static void prepare_friendships(const struct options *options, struct sender *sender) {
    struct people people = people_new(options->sessions, options->friends);
    for (size_t i = 0; i < people.count; i++) {
        for (unsigned k = 0; k < people.friends; k++) {
            uint8_t key[16];
            bytes_put_be64(key, (uint64_t)people_user(i));
            bytes_put_be64(key + 8, (uint64_t)people_user(people_friend(&people, i, k)));
            event_encode_friendship(&sender->value, &(struct friendship){.state = FRIENDSHIP_FRIENDS, .since = 1});
            sender_send(sender, &TOPIC_FRIENDSHIPS, KAFKA_PARTITION_BY_KEY, key, sizeof key);
        }
    }
    free(people.distances);
}

static void prepare(const struct options *options) {
    struct sender sender;
    sender_open(&sender, options->bootstrap, options->prefix, SENDER_LINGER_MS);
    if (options->friends) prepare_friendships(options, &sender);
    for (size_t i = 0; i < options->sessions; i++) {
        char name[32], avatar[64];
        event_encode_sharing(&sender.value, &(struct sharing){.mode = SHARING_FRIENDS});
        sender_send_user(&sender, &TOPIC_SHARING, people_user(i));
        int name_size = snprintf(name, sizeof name, "Person Number %zu", i);
        int avatar_size = snprintf(avatar, sizeof avatar, "https://img.example.org/~%" PRId64 ".jpg", people_user(i));
        event_encode_profile(&sender.value, &(struct profile){.name = {name, (size_t)name_size},
                                                              .avatar_url = {avatar, (size_t)avatar_size}});
        sender_send_user(&sender, &TOPIC_PROFILES, people_user(i));
    }
    sender_close(&sender);
}

static void saw_locations(void *context, const struct kafka_record *records, size_t count) {
    struct city *city = context;
    for (size_t i = 0; i < count; i++) {
        struct location location;
        struct error error;
        if (event_decode_location(city->codec, records[i].value, records[i].value_size, &location, &error)) continue;
        size_t index = people_index(location.user);
        if (location.session >> 21 < city->started_ms || index >= city->options.sessions) continue;
        if (location.kind != LOCATION_JOIN && location.kind != LOCATION_REJOIN) continue;
        if (!city->sessions[index]) city->joined++;
        city->sessions[index] = location.session;
        city->routes[index] = location.route;
    }
}

static void start_kafka(struct city *city) {
    struct error error;
    city->kafka = (struct kafka_settings){
        .topics = &TOPICS_ALL, .bootstrap = city->options.bootstrap, .prefix = city->options.prefix};
    if (kafka_producer_new(
            &(struct kafka_producer_options){
                .loop = city->loop, .settings = &city->kafka, .context = city, .on_delivered = acknowledged},
            &city->producer, &error))
        bench_die("producer", error.text);
}

static void read_joins(struct city *city) {
    struct error error;
    struct kafka_position positions[64];
    if (kafka_consumer_new(
            &(struct kafka_consumer_options){
                .loop = city->loop, .settings = &city->kafka, .context = city, .on_records = saw_locations},
            &city->consumer, &error))
        bench_die("consumer", error.text);
    for (int i = 0; i < city->options.partitions; i++)
        positions[i] = (struct kafka_position){&TOPIC_LOCATIONS, i, KAFKA_OFFSET_BEGINNING};
    if (kafka_consumer_read(city->consumer, positions, (size_t)city->options.partitions, &error))
        bench_die("read", error.text);
}

/* ---- the city ---- */

static void city_new(struct city *city) {
    size_t n = city->options.sessions;
    city->codec = codec_new();
    city->sessions = mem_zero(n, sizeof *city->sessions);
    city->routes = mem_zero(n, sizeof *city->routes);
    city->times = mem_zero(n, sizeof *city->times);
    city->places = mem_zero(n, sizeof *city->places);
    city->recipients = mem_zero(city->options.friends + 1, sizeof *city->recipients);
    city->people = people_new(n, city->options.friends);
    for (size_t i = 0; i < n; i++) city->places[i] = people_home(i);
    city->epochs = epochs_new();
    city->outbox = deliver_new(&(struct deliver_options){.destinations = city->options.routes,
                                                         .flush_bytes = BATCH_BYTES,
                                                         .flush_us = TICK_MS * 1000,
                                                         .epochs = city->epochs,
                                                         .context = city,
                                                         .send = send_batch});
}

static void make_hellos(struct city *city) {
    struct token_issuer *issuer;
    struct error error;
    if (token_issuer_new(city->options.key_file, &issuer, &error)) bench_die("key", error.text);
    for (size_t i = 0; i < city->options.sessions; i++) {
        city->times[i] = clock_wall_ms();
        city->phones.all[i].hello = people_hello(issuer, i, city->times[i]);
    }
    token_issuer_free(issuer);
}

static void send_rosters(struct city *city) {
    unsigned count = city->people.friends;
    struct roster_friend *friends = mem_alloc((count + 1) * sizeof *friends);
    for (size_t i = 0; i < city->options.sessions; i++) {
        for (unsigned k = 0; k < count; k++) {
            size_t other = people_friend(&city->people, i, k);
            friends[k] = (struct roster_friend){.user = people_user(other),
                                                .lat = city->places[other].lat,
                                                .lng = city->places[other].lng,
                                                .time = city->times[other]};
        }
        struct nearby_item item = {
            .kind = NEARBY_ITEM_ROSTER,
            .roster = {.session = city->sessions[i], .complete = true, .friends = {friends, count}}};
        telling_put(city->outbox, city->routes[i], people_user(i), &item, 0, clock_monotonic_us());
        while (!deliver_retry(city->outbox)) pump(city, 0);
    }
    deliver_flush(city->outbox);
    while (!deliver_retry(city->outbox)) pump(city, 0);
    wait_for_room(city, 0);
    free(friends);
}

static void put_digest(struct city *city, size_t index, int64_t now_us) {
    uint64_t hash = 0;
    unsigned count = city->people.friends;
    for (unsigned k = 0; k < count; k++)
        hash += hash_u64((uint64_t)people_user(people_friend(&city->people, index, k)));
    struct nearby_item item = {.kind = NEARBY_ITEM_DIGEST,
                               .digest = {.session = city->sessions[index],
                                          .time = city->times[index],
                                          .count = (int32_t)count,
                                          .hash = (int64_t)hash}};
    telling_put(city->outbox, city->routes[index], people_user(index), &item, clock_wall_ms(), now_us);
}

static size_t mover(const struct city *city, uint64_t number) {
    return (size_t)(number * 7919 % city->options.sessions); /* a prime: everybody once a round */
}

static void put_word(struct buffer *out, size_t word) {
    uint8_t bytes[4] = {(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16), (uint8_t)(word >> 24)};
    buffer_append(out, bytes, sizeof bytes);
}

/* A peer gets the entry ready-made, and to whom it goes. */
static void feed_entry(struct city *city, size_t index, int64_t now) {
    char text[512];
    unsigned count = city->people.friends;
    int size = snprintf(text, sizeof text,
                        "{\"user\":%" PRId64
                        ",\"name\":\"Person Number %zu\",\"avatar_url\":\"https://img.example.org/~%" PRId64
                        ".jpg\",\"lat\":%.7f,\"lng\":%.7f,\"time\":%" PRId64 ",\"distance_m\":%.1f}",
                        people_user(index), index, people_user(index), city->places[index].lat / 1e7,
                        city->places[index].lng / 1e7, now, geo_distance(PEOPLE_CENTRE, city->places[index]));
    put_word(&city->fed, (size_t)size);
    put_word(&city->fed, count);
    for (unsigned k = 0; k < count; k++) put_word(&city->fed, people_friend(&city->people, index, k));
    buffer_append(&city->fed, text, (size_t)size);
}

static void feed_flush(struct city *city) {
    size_t done = 0;
    while (done < city->fed.size) {
        ssize_t sent = send(city->feed, city->fed.data + done, city->fed.size - done, MSG_NOSIGNAL);
        if (sent <= 0) bench_die("feed", "the peer has gone");
        done += (size_t)sent;
    }
    buffer_clear(&city->fed);
}

static void move_one(struct city *city, int64_t now_us) {
    unsigned count = city->people.friends;
    size_t index = mover(city, city->moves);
    int64_t now = clock_wall_ms();
    city->places[index] = people_place(index, city->moves);
    city->times[index] = now;
    city->moves++;
    if (city->options.feed) {
        feed_entry(city, index, now);
        city->deliveries += count;
        return;
    }
    if (city->options.reports) {
        char text[256];
        phones_say(&city->phones, index, text, people_say(text, sizeof text, NULL, city->places[index], now));
    }
    struct nearby_item item = {
        .kind = NEARBY_ITEM_MOVE,
        .move = {
            .user = people_user(index), .lat = city->places[index].lat, .lng = city->places[index].lng, .time = now}};
    for (unsigned k = 0; k < count; k++) {
        size_t other = people_friend(&city->people, index, k);
        city->recipients[k] =
            (struct deliver_recipient){.user = people_user(other), .destination = city->routes[other]};
        if (city->options.scattered) telling_put_many(city->outbox, &item, &city->recipients[k], 1, now, now_us);
    }
    if (!city->options.scattered) telling_put_many(city->outbox, &item, city->recipients, count, now, now_us);
    city->deliveries += count;
}

static void tick(void *context) {
    struct city *city = context;
    if (!city->moving) return;
    int64_t now_us = clock_monotonic_us();
    double rate = (double)city->options.sessions * city->options.compress / city->options.report_s;
    uint64_t due = (uint64_t)((double)(now_us - city->moving_since_us) / 1e6 * rate);
    for (; city->options.reports && city->digests_due < city->moves; city->digests_due++)
        put_digest(city, mover(city, city->digests_due),
                   now_us); /* a tick after the report: a phone's way to a router */
    while (city->moves < due) move_one(city, now_us);
    if (city->options.feed) {
        feed_flush(city);
        return;
    }
    deliver_flush(city->outbox);
    deliver_retry(city->outbox);
}

/* ---- measuring ---- */

/* Memory that a process has to itself, bytes. */
static uint64_t memory_of(int pid) {
    char path[64], line[256];
    unsigned long kib = 0;
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", pid);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "Private_Dirty: %lu", &kib) == 1) break;
    }
    if (file) fclose(file);
    return kib * 1024;
}

struct reading {
    double seconds, cpu;
    uint64_t frames, bytes, marks, deliveries;
};

static struct reading take_reading(struct city *city) {
    return (struct reading){.seconds = (double)clock_monotonic_us() / 1e6,
                            .cpu = phones_cpu_of(city->options.pid),
                            .frames = city->phones.frames,
                            .bytes = city->phones.bytes,
                            .marks = city->phones.marks,
                            .deliveries = city->deliveries};
}

static void measure(struct city *city) {
    struct reading a = take_reading(city);
    pump(city, clock_monotonic_us() + city->options.seconds * INT64_C(1000000));
    struct reading b = take_reading(city);
    printf("{\"seconds\":%.3f,\"cpu_s\":%.3f,\"frames\":%" PRIu64 ",\"entries\":%" PRIu64 ",\"bytes\":%" PRIu64
           ",\"deliveries\":%" PRIu64 ",\"open\":%zu,\"closed\":%" PRIu64 ",\"failed\":%" PRIu64 ",\"memory\":%" PRIu64
           ",\"memory_before\":%" PRIu64 "}\n",
           b.seconds - a.seconds, b.cpu - a.cpu, b.frames - a.frames, b.marks - a.marks, b.bytes - a.bytes,
           b.deliveries - a.deliveries, (size_t)city->phones.open, (uint64_t)city->phones.closed, city->failed,
           memory_of(city->options.pid), city->memory_before);
    fflush(stdout);
}

static void connect_phones(struct city *city) {
    city->memory_before = memory_of(city->options.pid);
    phones_start(&city->phones);
    if (!phones_wait(&city->phones.open, city->options.sessions, SETUP_S))
        bench_die("connecting", "not all phones are connected");
}

static void prepare_phones(struct city *city, const char *subprotocol, unsigned page_frame) {
    phones_init(&city->phones, city->options.sessions);
    city->phones.address = phones_address(city->options.listen);
    city->phones.subprotocol = subprotocol;
    city->phones.tls = city->options.tls ? phones_tls() : NULL;
    city->phones.source = (uint8_t)city->options.source;
    city->phones.connecting = 256;
    city->phones.round_us = 1000;
    city->phones.page_frame = page_frame;
}

static void drive(struct city *city) {
    prepare_phones(city, "starling.v1", 2);
    city_new(city);
    make_hellos(city);
    read_joins(city);
    city->started_ms = clock_wall_ms();
    connect_phones(city);
    int64_t until = clock_monotonic_us() + SETUP_S * INT64_C(1000000);
    while (city->joined < city->options.sessions && clock_monotonic_us() < until) pump(city, 0);
    if (city->joined < city->options.sessions) bench_die("joining", "not all sessions have joined");
    kafka_consumer_free(city->consumer);
    city->consumer = NULL;
    send_rosters(city);
    if (!phones_wait(&city->phones.paged, city->options.sessions, SETUP_S))
        bench_die("first pages", "not all phones have their page");
    while (city->phones.marks < (uint64_t)city->options.sessions * city->people.friends) pump(city, 0);
    city->moving_since_us = clock_monotonic_us();
    city->moving = true;
    pump(city, clock_monotonic_us() + (int64_t)(city->options.warm_s * 1e6));
    measure(city);
    city->moving = false;
    phones_stop(&city->phones);
}

static void connect_feed(struct city *city) {
    char address[32];
    snprintf(address, sizeof address, "127.0.0.1:%d", city->options.feed);
    struct sockaddr_in to = phones_address(address);
    city->feed = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(city->feed, (struct sockaddr *)&to, sizeof to)) bench_die("feed", "nobody listens");
}

/* A floor that makes its load itself, or a peer that is fed. */
static void plain(struct city *city) {
    prepare_phones(city, NULL, 1);
    for (size_t i = 0; city->options.hello && i < city->options.sessions; i++)
        city->phones.all[i].hello = mem_string(city->options.hello);
    connect_phones(city);
    if (city->options.hello && !phones_wait(&city->phones.paged, city->options.sessions, SETUP_S))
        bench_die("hello", "not all phones were answered");
    if (city->options.feed) {
        city_new(city);
        connect_feed(city);
        city->moving_since_us = clock_monotonic_us();
        city->moving = true;
    }
    pump(city, clock_monotonic_us() + (int64_t)(city->options.warm_s * 1e6));
    measure(city);
    city->moving = false;
    phones_stop(&city->phones);
}

/* What a session is in our own structures, bytes. */
static void sizes(void) {
    enum { TABLE_ENTRY = 16 * 8 / 7, TABLES = 2 };
    size_t screens = 0;
    for (size_t i = 0; SCREENS[i]; i++) screens += SCREENS[i]->session_bytes;
    printf("{\"session\":%zu,\"connection\":%zu,\"tables\":%d}\n", SESSION_BYTES + screens,
           sizeof(struct ws_connection), TABLES * TABLE_ENTRY);
}

int main(int argc, char **argv) {
    struct city city = {.options = parse(argc, argv), .loop = mem_alloc(sizeof(uv_loop_t))};
    const char *mode = city.options.mode;
    bool plainly = !strcmp(mode, "plain");
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!strcmp(mode, "sizes")) {
        sizes();
        return 0;
    }
    if (!strcmp(mode, "prepare")) {
        prepare(&city.options);
        return 0;
    }
    if (!city.options.listen || (!plainly && strcmp(mode, "drive") != 0)) bench_fail(USAGE);
    uv_loop_init(city.loop);
    struct loop_timer *ticker = loop_timer_new(city.loop, TICK_MS, TICK_MS, tick, &city);
    if (plainly) {
        plain(&city);
    } else {
        start_kafka(&city);
        drive(&city);
    }
    loop_timer_free(ticker);
    kafka_producer_free(city.producer, 1000);
    deliver_free(city.outbox);
    epochs_free(city.epochs);
    codec_free(city.codec);
    return 0;
}
