/* Tests health.c. The broker goes away and comes back. The test that runs this has the broker in hand: this prints "stop broker" and
 * "start broker", each on a line of its own, and goes on when it reads a line. */
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "event/topics.h"
#include "unit/kit/kit.h"
#include "world.h"

static atomic_int sockets;

/* In the place of libc's: counts. */
int socket(int domain, int type, int protocol) {
    sockets++;
    return (int)syscall(SYS_socket, domain, type, protocol);
}

static void ask_for(const char *what) {
    char line[16];
    printf("%s\n", what);
    fflush(stdout);
    assert_non_null(fgets(line, sizeof line, stdin));
}

struct fates {
    int acknowledged, failed, ups, downs;
};

static void delivered(void *context, void *opaque, int code, const struct topic *topic, int32_t partition,
                      int64_t offset) {
    struct fates *fates = context;
    code ? fates->failed++ : fates->acknowledged++;
}

static void broker(void *context, bool up, const char *reason) {
    struct fates *fates = context;
    up ? fates->ups++ : fates->downs++;
    assert_true(up || reason[0]);
}

struct both {
    struct reader *reader;
    struct fates *fates;
    int ups, downs;
};

static bool told(void *context) {
    struct both *both = context;
    return both->reader->ups >= both->ups && both->fates->ups >= both->ups && both->reader->downs >= both->downs &&
           both->fates->downs >= both->downs;
}

SET_UP() { return world_create(true); }

TEST(test_broker_goes_and_comes, struct world *world) {
    struct fates fates = {.acknowledged = 0};
    struct reader reader = {.world = NULL};
    struct kafka_producer *producer = NULL;
    struct kafka_producer_options options = {
        .loop = &world->loop,
        .settings = &world->settings,
        .timeout_ms = 10 * PATIENCE_MS, // a busy machine takes its time to start a broker
        .queue_bytes = 64 << 10,
        .context = &fates,
        .on_delivered = delivered,
        .on_broker = broker,
    };
    assert_int_equal(kafka_producer_new(&options, &producer, NULL), 0);
    reader_open(&reader, world, NULL, NULL);
    reader_read(&reader, &TOPIC_LOCATIONS, 0, 0);
    world_send(world, producer, &TOPIC_LOCATIONS, 0, "before");
    reader_until(&reader, 1);
    struct both both = {.reader = &reader, .fates = &fates, .ups = 1, .downs = 0};
    world_until(world, told, &both, "both are up");

    ask_for("stop broker");
    both.downs = 1;
    world_until(world, told, &both, "both are told that the broker is away");
    assert_false(kafka_producer_up(producer));
    // Some fit into the queue; then it says why no more do.
    int taken = 0, code = 0;
    char value[1000] = "meanwhile";
    while (!(code = kafka_producer_send(producer, &TOPIC_LOCATIONS, 0, NULL, 0, value, sizeof value, NULL))) taken++;
    assert_int_equal(code, -EHOSTDOWN);
    assert_true(taken > 10);
    int64_t low, high;
    code = kafka_consumer_watermarks(reader.consumer, &TOPIC_LOCATIONS, 0, &low, &high, 500, &failure);
    assert_true(code == -ETIMEDOUT || code == -EHOSTDOWN);
    assert_int_equal(fates.downs, 1); // once, not each second
    assert_int_equal(reader.downs, 1);

    // Each client has one or two brokers in mind, and connects to each of them ten times a second at most.
    int before = sockets;
    world_run(world, 3000);
    assert_in_range(sockets - before, 5, 250);

    ask_for("start broker");
    both.ups = 2;
    world_until(world, told, &both, "both are up again");
    world_flush(world, producer);
    assert_int_equal(fates.failed, 0);
    reader_until(&reader, (size_t)taken + 1);
    for (size_t i = 1; i < reader.count; i++) assert_string_equal(reader.seen[i].value, "meanwhile");
    reader_close(&reader);
    kafka_producer_free(producer, 1000);
}
