/* The local copies of profiles and sharing: read whole, followed, kept over restarts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "copies/copies.h"
#include "event/topics.h"
#include "world.h"

struct fixture {
    struct world *world;
    struct kafka_producer *producer;
    struct metrics *metrics;
    struct copies *copies;
    char directory[32];
    int readies, sharings, profiles;
    int64_t last_user, last_offset;
    enum sharing_mode last_mode;
};

static void on_ready(void *context) { ((struct fixture *)context)->readies++; }

static void on_sharing(void *context, int64_t user, enum sharing_mode mode, int64_t offset) {
    struct fixture *f = context;
    f->sharings++;
    f->last_user = user;
    f->last_mode = mode;
    f->last_offset = offset;
    int64_t seen;
    assert_int_equal(copies_sharing(f->copies, user, &seen), mode);
    assert_int_equal(seen, offset);
}

static void on_profile(void *context, int64_t user) {
    struct fixture *f = context;
    f->profiles++;
    f->last_user = user;
}

static void start(struct fixture *f, int partitions) {
    struct copies_options options = {
        .loop = &f->world->loop,
        .settings = &f->world->settings,
        .data_dir = f->directory,
        .partitions = partitions,
        .log = NULL,
        .metrics = f->metrics,
        .dead_letters = f->producer,
        .context = f,
        .on_ready = on_ready,
        .on_sharing = on_sharing,
        .on_profile = on_profile,
    };
    struct error error = {.text = ""};
    f->readies = 0;
    if (copies_new(&options, &f->copies, &error)) fail_msg("%s", error.text);
}

static bool is_ready(void *context) { return ((struct fixture *)context)->readies > 0; }

static void start_and_wait(struct fixture *f) {
    start(f, PARTITIONS);
    assert_false(copies_ready(f->copies));
    world_until(f->world, is_ready, f, "the copies are ready");
    assert_true(copies_ready(f->copies));
    assert_int_equal(f->readies, 1);
}

static void stop(struct fixture *f) {
    copies_free(f->copies);
    f->copies = NULL;
}

static int setup(void **state) {
    if (world_create(state)) return -1;
    if (!*state) return 0;
    struct fixture *f = mem_zero(1, sizeof *f);
    f->world = *state;
    f->producer = world_producer(f->world, NULL);
    f->metrics = metrics_new();
    strcpy(f->directory, "/tmp/test-copies-XXXXXX");
    assert_non_null(mkdtemp(f->directory));
    *state = f;
    return 0;
}

static int teardown(void **state) {
    struct fixture *f = *state;
    if (!f) return 0;
    copies_free(f->copies);
    kafka_producer_free(f->producer, 1000);
    metrics_free(f->metrics);
    char *command = mem_format("rm -rf %s", f->directory);
    int status = system(command);
    free(command);
    void *world = f->world;
    free(f);
    return world_destroy(&world) || status ? -1 : 0;
}

static void produce(struct fixture *f, const struct topic *topic, int64_t user, const void *value, size_t size) {
    uint8_t key[8];
    bytes_put_be64(key, (uint64_t)user);
    assert_int_equal(
        kafka_producer_send(f->producer, topic, KAFKA_PARTITION_BY_KEY, key, sizeof key, value, size, NULL), 0);
    world_flush(f->world, f->producer);
}

static void share(struct fixture *f, int64_t user, enum sharing_mode mode) {
    struct buffer out = {.data = NULL, .size = 0, .capacity = 0};
    event_encode_sharing(&out, &(struct sharing){.mode = mode});
    produce(f, &TOPIC_SHARING, user, out.data, out.size);
    buffer_free(&out);
}

static void name(struct fixture *f, int64_t user, const char *text) {
    struct buffer out = {.data = NULL, .size = 0, .capacity = 0};
    struct profile profile = {.name = {text, strlen(text)}, .avatar_url = {"http://x/", 9}};
    event_encode_profile(&out, &profile);
    produce(f, &TOPIC_PROFILES, user, out.data, out.size);
    buffer_free(&out);
}

static void assert_name(struct fixture *f, int64_t user, const char *expected) {
    struct profile profile;
    assert_int_equal(copies_profile(f->copies, user, &profile), expected ? 1 : 0);
    if (!expected) return;
    assert_int_equal(profile.name.size, strlen(expected));
    assert_memory_equal(profile.name.data, expected, strlen(expected));
    assert_int_equal(profile.avatar_url.size, 9);
}

struct wanted {
    struct fixture *fixture;
    int sharings, profiles;
};

static bool told(void *context) {
    struct wanted *wanted = context;
    return wanted->fixture->sharings >= wanted->sharings && wanted->fixture->profiles >= wanted->profiles;
}

static void until_told(struct fixture *f, int sharings, int profiles) {
    struct wanted wanted = {.fixture = f, .sharings = sharings, .profiles = profiles};
    world_until(f->world, told, &wanted, "the changes are told");
    assert_int_equal(f->sharings, sharings);
    assert_int_equal(f->profiles, profiles);
}

static void test_reads_what_is_there_and_follows(void **state) {
    NEEDS_BROKER(state);
    struct fixture *f = *state;
    int64_t offset;
    for (int64_t user = 1; user <= 50; user++) {
        share(f, user, user % 2 ? SHARING_FRIENDS : SHARING_PUBLIC);
        name(f, user, user % 2 ? "Odd" : "Even");
    }
    share(f, 7, SHARING_OFF);
    start_and_wait(f);
    assert_int_equal(f->sharings + f->profiles, 0); // changes are told after ready only
    assert_int_equal(copies_sharing(f->copies, 1, &offset), SHARING_FRIENDS);
    assert_int_equal(copies_sharing(f->copies, 2, NULL), SHARING_PUBLIC);
    assert_int_equal(copies_sharing(f->copies, 7, &offset), SHARING_OFF);
    assert_true(offset > 0);
    assert_int_equal(copies_sharing(f->copies, 51, &offset), SHARING_OFF);
    assert_int_equal(offset, -1);
    assert_name(f, 1, "Odd");
    assert_name(f, 50, "Even");
    assert_name(f, 51, NULL);

    share(f, 51, SHARING_PUBLIC);
    until_told(f, 1, 0);
    assert_int_equal(f->last_user, 51);
    assert_int_equal(f->last_mode, SHARING_PUBLIC);
    name(f, 1, "Changed");
    until_told(f, 1, 1);
    assert_int_equal(f->last_user, 1);
    assert_name(f, 1, "Changed");
    // Tombstones.
    copies_sharing(f->copies, 51, &offset);
    produce(f, &TOPIC_SHARING, 51, NULL, 0);
    until_told(f, 2, 1);
    assert_int_equal(f->last_mode, SHARING_OFF);
    assert_true(f->last_offset > offset); // `opted` only rises
    produce(f, &TOPIC_PROFILES, 1, NULL, 0);
    until_told(f, 2, 2);
    assert_name(f, 1, NULL);
    assert_int_equal((int)metrics_gauge(f->metrics, "starling_copies_sharing_users", "", NULL)->value, 51);
}

static double records_read(struct fixture *f, const char *labels) {
    return metrics_counter(f->metrics, "starling_copies_records_total", "", labels)->value;
}

static void test_restart_reads_only_what_is_new(void **state) {
    NEEDS_BROKER(state);
    struct fixture *f = *state;
    for (int64_t user = 1; user <= 30; user++) name(f, user, "Before");
    share(f, 3, SHARING_FRIENDS);
    start_and_wait(f);
    assert_int_equal((int)records_read(f, "topic=\"profiles\""), 30);
    stop(f);
    name(f, 4, "Meanwhile");
    produce(f, &TOPIC_PROFILES, 5, NULL, 0);
    start_and_wait(f);
    assert_int_equal((int)records_read(f, "topic=\"profiles\""), 32);
    assert_name(f, 1, "Before");
    assert_name(f, 4, "Meanwhile");
    assert_name(f, 5, NULL);
    assert_int_equal(copies_sharing(f->copies, 3, NULL), SHARING_FRIENDS);
    // A second process on the same folder is refused.
    struct copies *second = NULL;
    struct copies_options options = {.loop = &f->world->loop,
                                     .settings = &f->world->settings,
                                     .data_dir = f->directory,
                                     .partitions = PARTITIONS,
                                     .metrics = f->metrics,
                                     .dead_letters = f->producer};
    assert_int_equal(copies_new(&options, &second, NULL), -EBUSY);
    assert_null(second);
}

/* Topics made anew under the same names (and, here, the folder of another cluster). */
static void test_other_topics_are_read_anew(void **state) {
    NEEDS_BROKER(state);
    struct fixture *f = *state;
    for (int64_t user = 1; user <= 30; user++) name(f, user, "Other");
    start_and_wait(f);
    stop(f);
    char *prefix = f->world->prefix;
    f->world->prefix = mem_format("%sagain.", prefix);
    f->world->settings.prefix = f->world->prefix;
    free(prefix);
    struct topics_plan plan = {
        .topics = &TOPICS_ALL,
        .partitions = {[TOPIC_SPACE_USERS] = PARTITIONS, [TOPIC_SPACE_ROUTES] = DELIVERY_PARTITIONS},
        .replication = 1};
    assert_int_equal(kafka_topics_create(f->world->admin, &plan, PATIENCE_MS, NULL), 0);
    kafka_producer_free(f->producer, 1000);
    f->producer = world_producer(f->world, NULL);
    name(f, 2, "New");
    start_and_wait(f);
    assert_name(f, 2, "New");
    assert_name(f, 1, NULL);
}

static void test_bad_records_do_no_harm(void **state) {
    NEEDS_BROKER(state);
    struct fixture *f = *state;
    share(f, 9, SHARING_FRIENDS);
    name(f, 9, "Nine");
    start_and_wait(f);
    produce(f, &TOPIC_SHARING, 9, "garbage", 7);
    produce(f, &TOPIC_PROFILES, 9, "\0\0\0\0\4\xff", 6);
    produce(f, &TOPIC_PROFILES, -5, "x", 1);
    assert_int_equal(kafka_producer_send(f->producer, &TOPIC_SHARING, 0, "short", 5, "x", 1, NULL), 0);
    share(f, 10, SHARING_PUBLIC);
    world_run(f->world, 500);
    assert_int_equal(copies_sharing(f->copies, 9, NULL), SHARING_FRIENDS);
    assert_int_equal(copies_sharing(f->copies, 10, NULL), SHARING_PUBLIC);
    assert_name(f, 9, "Nine");
    assert_int_equal(f->sharings, 1); // of user 10; nothing became of the others
    const char *bad = "starling_copies_bad_records_total";
    assert_int_equal((int)metrics_counter(f->metrics, bad, "", "topic=\"sharing\"")->value, 2);
    assert_int_equal((int)metrics_counter(f->metrics, bad, "", "topic=\"profiles\"")->value, 2);
    assert_int_equal(kafka_producer_dead_lost(f->producer), 0);
}

static void test_waits_for_a_broker(void **state) {
    NEEDS_BROKER(state);
    struct fixture *f = *state;
    f->world->settings.bootstrap = "127.0.0.1:1";
    start(f, PARTITIONS);
    world_run(f->world, 500);
    assert_false(copies_ready(f->copies));
    stop(f); // in the middle of asking
    f->world->settings.bootstrap = getenv("STARLING_TEST_BROKER");
    start_and_wait(f);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_reads_what_is_there_and_follows),
        TEST(test_restart_reads_only_what_is_new),
        TEST(test_other_topics_are_read_anew),
        TEST(test_bad_records_do_no_harm),
        TEST(test_waits_for_a_broker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
