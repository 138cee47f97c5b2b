/* Tests transactions.c. Transactions: both or neither, with the offsets of a group, and fencing of who no longer owns them. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "event/topics.h"
#include "unit/kit/kit.h"
#include "world.h"

/* A transactional producer, and what each call on the worker came to. */
struct writer {
    struct kafka_producer *producer;
    struct kafka_consumer *consumer;
    const struct kafka_position *offsets;
    size_t count;
    int code, timeout_ms;
    struct error error;
};

static void init(void *context) {
    struct writer *w = context;
    w->code = kafka_transactions_init(w->producer, PATIENCE_MS, &w->error);
}

static void commit(void *context) {
    struct writer *w = context;
    w->code = kafka_transaction_commit(w->producer, w->offsets, w->count, w->timeout_ms, &w->error);
}

static void abort_it(void *context) {
    struct writer *w = context;
    w->code = kafka_transaction_abort(w->producer, w->timeout_ms, &w->error);
}

/* A busy machine must not let them time out; where a test is about that, `extra` is its own. */
static struct config_pair patient = {.key = "transaction.timeout.ms", .value = "60000"};

static void be_patient(struct world *world) {
    world->settings.extra = &patient;
    world->settings.extra_count = 1;
}

static void writer_open(struct writer *w, struct world *world, const char *id) {
    if (!world->settings.extra) be_patient(world);
    FREED char *full = mem_format("%s%s", world->prefix, id);
    *w = (struct writer){.producer = world_producer(world, full), .timeout_ms = PATIENCE_MS};
    world_work(world, init, w);
    if (w->code) fail_msg("%s", w->error.text);
}

static void writer_begin(struct writer *w) {
    if (kafka_transaction_begin(w->producer, w->consumer, &w->error)) fail_msg("%s", w->error.text);
}

/* librdkafka ends at once what it has hardly begun (the broker may not have heard of it, and finishes the one before), which
 * the broker calls an invalid state, and that is fatal: allowed by the header, but not what these tests are about. */
static void settle(struct world *world, struct writer *w) { world_flush(world, w->producer); }

static void must(struct world *world, struct writer *w, void (*call)(void *context)) {
    world_work(world, call, w);
    if (w->code) fail_msg("%s", w->error.text);
}

static void two_halves(struct world *world, struct writer *w, const char *value) {
    world_send(world, w->producer, &TOPIC_FRIENDSHIPS, 0, value);
    world_send(world, w->producer, &TOPIC_FRIENDSHIPS, 1, value);
}

static void read_friendships(struct reader *reader, struct world *world) {
    struct kafka_position both[] = {{&TOPIC_FRIENDSHIPS, 0, 0}, {&TOPIC_FRIENDSHIPS, 1, 0}};
    reader_open(reader, world, NULL, NULL);
    assert_int_equal(kafka_consumer_read(reader->consumer, both, 2, NULL), 0);
}

struct at {
    struct reader *reader;
    int32_t partition;
    int64_t offset;
};

static bool position_is(void *context) {
    struct at *at = context;
    return kafka_consumer_position(at->reader->consumer, &TOPIC_FRIENDSHIPS, at->partition) == at->offset;
}

SET_UP() { return world_create(true); }

/* A member in a process of its own, which can be stopped dead and woken: it begins a transaction, says so on a pipe,
 * and commits when told; its exit code is the commit's. */
static int zombie(struct world *parent, const char *group, int say, int hear) {
    struct world world = *parent;
    uv_loop_init(&world.loop);
    struct reader member = {.world = NULL};
    struct writer w;
    writer_open(&w, &world, "zombie");
    reader_open(&member, &world, group, NULL);
    reader_until_assigned(&member, 2 * PARTITIONS);
    struct kafka_position offset = {&TOPIC_FRIEND_COMMANDS, 1, 7};
    w.consumer = member.consumer;
    w.offsets = &offset;
    w.count = 1;
    writer_begin(&w);
    two_halves(&world, &w, "zombie");
    world_flush(&world, w.producer);
    if (write(say, "!", 1) != 1) return 100;
    char byte;
    if (read(hear, &byte, 1) != 1) return 101; // stopped in here
    // By now librdkafka's own threads know that the session is lost, and the loop, which is not run, has heard nothing.
    usleep(500000);
    commit(&w);
    return w.code == -ESTALE ? 0 : w.code == 0 ? 1 : 2;
}

/* First: it forks, and librdkafka's threads of the others should be gone. */
TEST(test_zombie_is_fenced, struct world *world) {
    char *group = mem_format("%sgroup", world->prefix);
    int said[2], told[2];
    assert_int_equal(pipe(said) | pipe(told), 0);
    // The child must not inherit librdkafka's threads half: everything of it is made after the fork.
    pid_t child = fork();
    if (child == 0) _exit(zombie(world, group, said[1], told[0]));
    char byte;
    assert_int_equal(read(said[0], &byte, 1), 1);
    assert_int_equal(kill(child, SIGSTOP), 0);
    struct reader heir = {.world = NULL};
    reader_open(&heir, world, group, NULL);
    reader_until_assigned(&heir, 2 * PARTITIONS); // after the session's 6 s
    assert_int_equal(kill(child, SIGCONT), 0);
    assert_int_equal(write(told[1], "!", 1), 1);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    struct kafka_position found = {&TOPIC_FRIEND_COMMANDS, 1, 0};
    assert_int_equal(kafka_consumer_committed(heir.consumer, &found, 1, PATIENCE_MS, NULL), 0);
    assert_int_equal(found.offset, KAFKA_OFFSET_NONE);
    reader_close(&heir);
    for (int i = 0; i < 2; i++) {
        close(said[i]);
        close(told[i]);
    }
    free(group);
}

TEST(test_committed_is_seen_and_aborted_is_not, struct world *world) {
    struct writer w;
    struct reader reader = {.world = NULL};
    writer_open(&w, world, "w");
    writer_begin(&w);
    two_halves(world, &w, "one");
    must(world, &w, commit);
    writer_begin(&w);
    two_halves(world, &w, "never");
    settle(world, &w);
    must(world, &w, abort_it);
    writer_begin(&w);
    two_halves(world, &w, "two");
    must(world, &w, commit);
    assert_int_equal(kafka_producer_pending(w.producer), 0);

    read_friendships(&reader, world);
    reader_until(&reader, 4);
    assert_int_equal(reader_count(&reader, &TOPIC_FRIENDSHIPS, 0), 2);
    for (size_t i = 0; i < reader.count; i++) assert_string_not_equal(reader.seen[i].value, "never");
    // Record, marker; record, marker; record, marker: the position gets past the last marker, where the topic ends.
    int64_t low, high;
    assert_int_equal(kafka_consumer_watermarks(reader.consumer, &TOPIC_FRIENDSHIPS, 0, &low, &high, PATIENCE_MS, NULL),
                     0);
    assert_int_equal(high, 6);
    struct at end = {&reader, 0, high};
    world_until(world, position_is, &end, "the position is the end");

    // Also for one that starts where nothing but a marker is left.
    struct kafka_position last = {&TOPIC_FRIENDSHIPS, 0, high - 1};
    assert_int_equal(kafka_consumer_read(reader.consumer, &last, 1, NULL), 0);
    world_until(world, position_is, &end, "the position is the end again");
    reader_close(&reader);
    kafka_producer_free(w.producer, 1000);
}

TEST(test_ends_count_open_transactions, struct world *world) {
    struct writer w;
    struct reader reader = {.world = NULL};
    int64_t low, high;
    writer_open(&w, world, "w");
    read_friendships(&reader, world);
    writer_begin(&w);
    two_halves(world, &w, "open");
    world_flush(world, w.producer);
    assert_int_equal(kafka_consumer_watermarks(reader.consumer, &TOPIC_FRIENDSHIPS, 0, &low, &high, PATIENCE_MS, NULL),
                     0);
    assert_int_equal(high, 1);
    world_run(world, 200);
    assert_int_equal(reader.count, 0);
    assert_true(kafka_consumer_position(reader.consumer, &TOPIC_FRIENDSHIPS, 0) < high);
    must(world, &w, commit);
    reader_until(&reader, 2);
    reader_close(&reader);
    kafka_producer_free(w.producer, 1000);
}

TEST(test_offsets_are_committed_with_the_records, struct world *world) {
    struct writer w;
    struct reader member = {.world = NULL};
    FREED char *group = mem_format("%sgroup", world->prefix);
    writer_open(&w, world, "w");
    reader_open(&member, world, group, NULL);
    reader_until_assigned(&member, 2 * PARTITIONS);
    struct kafka_position offset = {&TOPIC_FRIEND_COMMANDS, 1, 7}, found = offset;
    w.consumer = member.consumer;
    w.offsets = &offset;
    w.count = 1;
    writer_begin(&w);
    two_halves(world, &w, "x");
    must(world, &w, commit);
    assert_int_equal(kafka_consumer_committed(member.consumer, &found, 1, PATIENCE_MS, NULL), 0);
    assert_int_equal(found.offset, 7);
    // An aborted one moves nothing.
    offset.offset = 9;
    writer_begin(&w);
    two_halves(world, &w, "y");
    settle(world, &w);
    must(world, &w, abort_it);
    assert_int_equal(kafka_consumer_committed(member.consumer, &found, 1, PATIENCE_MS, NULL), 0);
    assert_int_equal(found.offset, 7);
    reader_close(&member);
    kafka_producer_free(w.producer, 1000);
}

static bool gave_some_up(void *context) { return ((struct reader *)context)->revocations > 0; }

TEST(test_who_was_replaced_cannot_commit, struct world *world) {
    struct writer w;
    struct reader old = {.world = NULL}, new = {.world = NULL};
    FREED char *group = mem_format("%sgroup", world->prefix);
    writer_open(&w, world, "old");
    reader_open(&old, world, group, NULL);
    reader_until_assigned(&old, 2 * PARTITIONS);
    struct kafka_position offset = {&TOPIC_FRIEND_COMMANDS, 1, 7}, found = offset;
    w.consumer = old.consumer;
    w.offsets = &offset;
    w.count = 1;
    writer_begin(&w);
    two_halves(world, &w, "zombie");
    world_flush(world, w.producer);
    reader_open(&new, world, group, NULL);
    world_until(world, gave_some_up, &old, "the group has rebalanced");
    reader_until_assigned(&new, PARTITIONS);
    // A member again, with the very partition: it may be another's work that it would commit all the same.
    reader_until_assigned(&old, PARTITIONS);
    world_work(world, commit, &w);
    assert_int_equal(w.code, -ESTALE);
    must(world, &w, abort_it);
    reader_close(&old); // and it comes back, not assigned yet
    reader_open(&old, world, group, NULL);
    w.consumer = old.consumer;
    writer_begin(&w);
    two_halves(world, &w, "early");
    settle(world, &w);
    world_work(world, commit, &w);
    assert_int_equal(w.code, -ESTALE);
    must(world, &w, abort_it);
    reader_until_assigned(&old, PARTITIONS);
    assert_int_equal(kafka_consumer_committed(new.consumer, &found, 1, PATIENCE_MS, NULL), 0);
    assert_int_equal(found.offset, KAFKA_OFFSET_NONE);
    // As a member again it may.
    writer_begin(&w);
    two_halves(world, &w, "lawful");
    must(world, &w, commit);
    struct reader reader = {.world = NULL};
    read_friendships(&reader, world);
    reader_until(&reader, 2);
    assert_string_equal(reader.seen[0].value, "lawful");
    reader_close(&reader);
    reader_close(&old);
    reader_close(&new);
    kafka_producer_free(w.producer, 1000);
}

/* The same transactional.id started again: the transaction left open is aborted at once, and its owner is out. */
TEST(test_new_producer_of_the_id_ends_the_old_one, struct world *world) {
    struct writer first, second;
    writer_open(&first, world, "id");
    writer_begin(&first);
    two_halves(world, &first, "left open");
    world_flush(world, first.producer);
    writer_open(&second, world, "id");
    world_work(world, commit, &first);
    assert_int_equal(first.code, -EIO); // of no more use: a new producer is needed
    world_work(world, abort_it, &first);
    assert_int_equal(first.code, -EIO);
    writer_begin(&second);
    two_halves(world, &second, "second");
    must(world, &second, commit);
    struct reader reader = {.world = NULL};
    read_friendships(&reader, world);
    reader_until(&reader, 2);
    assert_string_equal(reader.seen[0].value, "second");
    reader_close(&reader);
    kafka_producer_free(first.producer, 100);
    kafka_producer_free(second.producer, 1000);
}

/* Open for longer than transaction.timeout.ms: readers go on without it, and its owner hears of it. */
TEST(test_transaction_that_takes_too_long, struct world *world) {
    struct writer w;
    struct reader reader = {.world = NULL};
    struct config_pair two_seconds = {.key = "transaction.timeout.ms", .value = "2000"};
    world->settings.extra = &two_seconds;
    world->settings.extra_count = 1;
    writer_open(&w, world, "slow");
    writer_begin(&w);
    two_halves(world, &w, "slow");
    world_flush(world, w.producer);
    read_friendships(&reader, world);
    struct kafka_producer *other = world_producer(world, NULL);
    world_send(world, other, &TOPIC_FRIENDSHIPS, 0, "behind it");
    reader_until(&reader, 1); // within PATIENCE, that is: not for ever
    assert_string_equal(reader.seen[0].value, "behind it");
    world_work(world, commit, &w);
    // Nearly always it is fenced; on a busy machine librdkafka has also said that it is to be aborted.
    assert_true(w.code == -EIO || w.code == -EAGAIN);
    // A new producer of the same id goes on; its transaction may take as long as a busy machine does.
    kafka_producer_free(w.producer, 1000);
    be_patient(world);
    writer_open(&w, world, "slow");
    writer_begin(&w);
    two_halves(world, &w, "again");
    must(world, &w, commit);
    reader_until(&reader, 3);
    reader_close(&reader);
    kafka_producer_free(other, 1000);
    kafka_producer_free(w.producer, 1000);
}

struct threads {
    pthread_t loop;
    int reports, elsewhere;
};

static void delivered(void *context, void *opaque, int code, const struct topic *topic, int32_t partition,
                      int64_t offset) {
    struct threads *threads = context;
    threads->reports++;
    threads->elsewhere += !pthread_equal(pthread_self(), threads->loop);
}

TEST(test_reports_come_on_the_loop_while_a_worker_commits, struct world *world) {
    struct threads threads = {.loop = pthread_self(), .reports = 0, .elsewhere = 0};
    be_patient(world);
    FREED char *id = mem_format("%sthreads", world->prefix);
    struct kafka_producer_options options = {.loop = &world->loop,
                                             .settings = &world->settings,
                                             .transactional_id = id,
                                             .context = &threads,
                                             .on_delivered = delivered};
    struct writer w = {.timeout_ms = PATIENCE_MS};
    assert_int_equal(kafka_producer_new(&options, &w.producer, NULL), 0);
    must(world, &w, init);
    writer_begin(&w);
    for (int i = 0; i < 2000; i++) world_send(world, w.producer, &TOPIC_FRIENDSHIPS, i % PARTITIONS, "x");
    must(world, &w, commit);
    world_flush(world, w.producer);
    assert_int_equal(threads.reports, 2000);
    assert_int_equal(threads.elsewhere, 0);
    kafka_producer_free(w.producer, 1000);
}
