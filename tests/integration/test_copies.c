/* Tests lib/copies/copies.c. Copies of compacted topics, by those of profiles (on disk) and sharing (in memory): read whole, followed,
 * kept over restarts. */
#include <signal.h>
#include <sys/resource.h>

#include "base/bytes.h"
#include "event/topics.h"
#include "unit/kit/kit.h"
#include "users/profiles.h"
#include "users/sharing_modes.h"
#include "world.h"

struct fixture {
    struct world *world;
    struct kafka_producer *producer;
    struct metrics *metrics;
    struct copies *copies;
    struct sharing_modes *modes;
    struct profiles *names;
    char *directory;
    int readies, sharings, profiles;
    bool failing; /* the disk */
    int64_t last_user, last_offset;
    enum sharing_mode last_mode;
};

static void on_ready(void *context) { ((struct fixture *)context)->readies++; }

static void on_disk(void *context, const struct topic *topic, const char *reason) {
    struct fixture *f = context;
    assert_ptr_equal(topic, &TOPIC_PROFILES);
    assert_true(f->failing != (reason != NULL)); // each change once
    f->failing = reason != NULL;
}

static void on_sharing(void *context, int64_t user, enum sharing_mode mode, int64_t offset) {
    struct fixture *f = context;
    f->sharings++;
    f->last_user = user;
    f->last_mode = mode;
    f->last_offset = offset;
    int64_t seen;
    assert_int_equal(sharing_modes_find(f->modes, user, &seen), mode);
    assert_int_equal(seen, offset);
}

static void on_profile(void *context, int64_t user) {
    struct fixture *f = context;
    f->profiles++;
    f->last_user = user;
}

static void start(struct fixture *f, int partitions) {
    const struct profiles_options names = {
        .data_dir = f->directory, .partitions = partitions, .context = f, .on_change = on_profile};
    const struct sharing_modes_options modes = {.metrics = f->metrics, .context = f, .on_change = on_sharing};
    if (profiles_open(&names, &f->names, &failure)) fail_msg("%s", failure.text);
    f->modes = sharing_modes_new(&modes);
    const struct copy_definition definitions[] = {sharing_modes_copy(f->modes), profiles_copy(f->names)};
    struct copies_options options = {
        .loop = &f->world->loop,
        .settings = &f->world->settings,
        .partitions = partitions,
        .definitions = definitions,
        .count = 2,
        .log = NULL,
        .metrics = f->metrics,
        .dead_letters = f->producer,
        .context = f,
        .on_ready = on_ready,
        .on_disk = on_disk,
    };
    f->readies = 0;
    if (copies_new(&options, &f->copies, &failure)) fail_msg("%s", failure.text);
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
    sharing_modes_free(f->modes);
    profiles_close(f->names);
    f->copies = NULL;
    f->modes = NULL;
    f->names = NULL;
}

SET_UP() {
    struct world *world = world_create(true);
    if (!world) return NULL;
    struct fixture *f = mem_zero(1, sizeof *f);
    f->world = world;
    f->producer = world_producer(f->world, NULL);
    f->metrics = metrics_new();
    f->directory = kit_folder();
    return f;
}

TEAR_DOWN(struct fixture *f) {
    if (!f) return;
    stop(f);
    kafka_producer_free(f->producer, 1000);
    metrics_free(f->metrics);
    free(f);
}

static void produce(struct fixture *f, const struct topic *topic, int64_t user, const void *value, size_t size) {
    uint8_t key[8];
    bytes_put_be64(key, (uint64_t)user);
    assert_int_equal(
        kafka_producer_send(f->producer, topic, KAFKA_PARTITION_BY_KEY, key, sizeof key, value, size, NULL), 0);
    world_flush(f->world, f->producer);
}

static void share(struct fixture *f, int64_t user, enum sharing_mode mode) {
    FREED_BUFFER out = {.size = 0};
    event_encode_sharing(&out, &(struct sharing){.mode = mode});
    produce(f, &TOPIC_SHARING, user, out.data, out.size);
}

static void name(struct fixture *f, int64_t user, const char *text) {
    FREED_BUFFER out = {.size = 0};
    struct profile profile = {.name = {text, strlen(text)}, .avatar_url = {"http://x/", 9}};
    event_encode_profile(&out, &profile);
    produce(f, &TOPIC_PROFILES, user, out.data, out.size);
}

static void assert_name(struct fixture *f, int64_t user, const char *expected) {
    struct profile profile;
    assert_int_equal(profiles_find(f->names, user, &profile), expected != NULL);
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

static void until_told_at_least(struct fixture *f, int sharings, int profiles) {
    struct wanted wanted = {.fixture = f, .sharings = sharings, .profiles = profiles};
    world_until(f->world, told, &wanted, "the changes are told");
}

static void until_told(struct fixture *f, int sharings, int profiles) {
    until_told_at_least(f, sharings, profiles);
    assert_int_equal(f->sharings, sharings);
    assert_int_equal(f->profiles, profiles);
}

TEST(test_reads_what_is_there_and_follows, struct fixture *f) {
    int64_t offset;
    for (int64_t user = 1; user <= 50; user++) {
        share(f, user, user % 2 ? SHARING_FRIENDS : SHARING_PUBLIC);
        name(f, user, user % 2 ? "Odd" : "Even");
    }
    share(f, 7, SHARING_OFF);
    start_and_wait(f);
    assert_int_equal(f->sharings + f->profiles, 0); // changes are told after ready only
    assert_int_equal(sharing_modes_find(f->modes, 1, &offset), SHARING_FRIENDS);
    assert_int_equal(sharing_modes_find(f->modes, 2, NULL), SHARING_PUBLIC);
    assert_int_equal(sharing_modes_find(f->modes, 7, &offset), SHARING_OFF);
    assert_true(offset > 0);
    assert_int_equal(sharing_modes_find(f->modes, 51, &offset), SHARING_OFF);
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
    sharing_modes_find(f->modes, 51, &offset);
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

TEST(test_restart_reads_only_what_is_new, struct fixture *f) {
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
    assert_int_equal(sharing_modes_find(f->modes, 3, NULL), SHARING_FRIENDS);
    // A second process on the same folder is refused.
    struct profiles *second = NULL;
    const struct profiles_options options = {.data_dir = f->directory, .partitions = PARTITIONS};
    assert_int_equal(profiles_open(&options, &second, NULL), -EBUSY);
    assert_null(second);
}

/* Topics made anew under the same names (and, here, the folder of another cluster). */
TEST(test_other_topics_are_read_anew, struct fixture *f) {
    for (int64_t user = 1; user <= 30; user++) name(f, user, "Other");
    start_and_wait(f);
    stop(f);
    FREED char *prefix = f->world->prefix;
    f->world->prefix = mem_format("%sagain.", prefix);
    f->world->settings.prefix = f->world->prefix;
    struct topics_plan plan = {.topics = &TOPICS_ALL, .partitions = WORLD_PARTITIONS, .replication = 1};
    assert_int_equal(kafka_topics_create(f->world->admin, &plan, PATIENCE_MS, NULL), 0);
    kafka_producer_free(f->producer, 1000);
    f->producer = world_producer(f->world, NULL);
    name(f, 2, "New");
    start_and_wait(f);
    assert_name(f, 2, "New");
    assert_name(f, 1, NULL);
}

TEST(test_bad_records_do_no_harm, struct fixture *f) {
    share(f, 9, SHARING_FRIENDS);
    name(f, 9, "Nine");
    start_and_wait(f);
    produce(f, &TOPIC_SHARING, 9, "garbage", 7);
    produce(f, &TOPIC_PROFILES, 9, "\0\0\0\0\4\xff", 6);
    produce(f, &TOPIC_PROFILES, -5, "x", 1);
    assert_int_equal(kafka_producer_send(f->producer, &TOPIC_SHARING, 0, "short", 5, "x", 1, NULL), 0);
    share(f, 10, SHARING_PUBLIC);
    world_run(f->world, 500);
    assert_int_equal(sharing_modes_find(f->modes, 9, NULL), SHARING_FRIENDS);
    assert_int_equal(sharing_modes_find(f->modes, 10, NULL), SHARING_PUBLIC);
    assert_name(f, 9, "Nine");
    assert_int_equal(f->sharings, 1); // of user 10; nothing became of the others
    const char *bad = "starling_copies_bad_records_total";
    assert_int_equal((int)metrics_counter(f->metrics, bad, "", "topic=\"sharing\"")->value, 2);
    assert_int_equal((int)metrics_counter(f->metrics, bad, "", "topic=\"profiles\"")->value, 2);
    assert_int_equal(kafka_producer_dead_lost(f->producer), 0);
}

static double store_failures(struct fixture *f) {
    return metrics_counter(f->metrics, "starling_copies_store_failures_total", "", NULL)->value;
}

static bool disk_fails(void *context) { return store_failures(context) > 0; }

/* A disk that refuses to write (here: files that may not grow) stops profiles, which come when it works again. Sharing needs no
 * disk and goes on meanwhile, so that nobody is shown longer than they want. */
TEST(test_a_disk_that_fails_stops_its_copy_alone, struct fixture *f) {
    enum { USERS = 40, NAME_SIZE = 1000 };
    char text[NAME_SIZE + 1];
    struct rlimit limit, before;
    name(f, 0, "Before");
    start_and_wait(f);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = (struct rlimit){.rlim_cur = 20000, .rlim_max = before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    for (int user = 1; user <= USERS; user++) {
        memset(text, 'a' + user % 26, NAME_SIZE);
        text[NAME_SIZE] = '\0';
        name(f, user, text);
    }
    world_until(f->world, disk_fails, f, "the disk fails");
    share(f, 1, SHARING_FRIENDS);
    until_told_at_least(f, 1, 0);
    share(f, 1, SHARING_OFF);
    until_told_at_least(f, 2, 0);
    assert_int_equal(sharing_modes_find(f->modes, 1, NULL), SHARING_OFF);
    assert_true(f->failing);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    until_told_at_least(f, 2, USERS);
    assert_int_equal(f->profiles, USERS);
    assert_false(f->failing);
    for (int user = 1; user <= USERS; user++) {
        memset(text, 'a' + user % 26, NAME_SIZE);
        assert_name(f, user, text);
    }
    stop(f);
    start_and_wait(f);
    assert_name(f, 0, "Before");
    assert_name(f, USERS, text);
}

TEST(test_waits_for_a_broker, struct fixture *f) {
    f->world->settings.bootstrap = "127.0.0.1:1";
    start(f, PARTITIONS);
    world_run(f->world, 500);
    assert_false(copies_ready(f->copies));
    stop(f); // in the middle of asking
    f->world->settings.bootstrap = getenv("STARLING_TEST_BROKER");
    start_and_wait(f);
}
