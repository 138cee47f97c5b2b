/* The sessions of users on an owner's disk, and runs that fall silent. */
#include "feed/devices.h"
#include "event/topics.h"
#include "unit/kit/kit.h"

enum { SILENT_S = 180, PARTITION = 0, FORGOTTEN_MAX = 5000 };

struct world {
    char *folder;
    struct store *store;
    struct device_store *devices;
    int64_t offset;
    struct device_key forgotten[FORGOTTEN_MAX];
    size_t forgotten_count;
    struct device_row rows[DEVICES_SHOWN];
    size_t count;
};

static void forget(void *context, int32_t partition, const void *key, size_t size) {
    struct world *w = context;
    assert_int_equal(partition, PARTITION);
    assert_true(w->forgotten_count < FORGOTTEN_MAX);
    assert_true(device_key_read(key, size, &w->forgotten[w->forgotten_count++]));
}

static void open_devices(struct world *w) {
    assert_int_equal(store_open(w->folder, &(struct store_options){.memory_bytes = 0}, &w->store, &failure), 0);
    w->devices = device_store_new(&(struct device_store_options){
        .store = w->store, .partitions = 1, .silent_s = SILENT_S, .context = w, .forget = forget});
    assert_int_equal(table_store_open(device_store_table(w->devices), PARTITION, 0, 0, &failure), 0);
}

static void close_devices(struct world *w) {
    device_store_free(w->devices);
    store_close(w->store);
}

SET_UP() {
    struct world *w = kit_zero(sizeof *w);
    w->folder = kit_folder();
    open_devices(w);
    return w;
}

TEAR_DOWN(struct world *w) { close_devices(w); }

/* Reads a record, as tasks do: the reason why it is none, or NULL. */
static const char *take(struct world *w, const void *key, size_t key_size, const void *value, size_t size) {
    const char *reason = NULL;
    const struct kafka_record record = {.topic = &TOPIC_DEVICES,
                                        .partition = PARTITION,
                                        .offset = w->offset++,
                                        .key = key,
                                        .key_size = key_size,
                                        .value = value,
                                        .value_size = size};
    assert_int_equal(TABLE_STORE_KIND.take(device_store_table(w->devices), 0, &record, &reason, &failure), 0);
    assert_int_equal(table_store_write(device_store_table(w->devices), &failure), 0);
    return reason;
}

static const char *put(struct world *w, struct device_key key, const char *name, int64_t since) {
    FREED_BUFFER value = {.size = 0};
    uint8_t bytes[DEVICE_KEY_MAX];
    size_t size = device_key_write(bytes, &key);
    if (name) event_encode_device(&value, &(struct device){.name = {name, strlen(name)}, .since = since});
    return take(w, bytes, size, value.data, value.size);
}

static void row(struct world *w, int64_t user, int64_t run, int64_t session, const char *name) {
    assert_null(put(w, (struct device_key){user, run, session}, name, session * 10));
}

static void beat(struct world *w, int64_t run) { row(w, -1, run, 0, ""); }

static void list(struct world *w, int64_t user, bool silent) {
    assert_int_equal(device_store_of(w->devices, PARTITION, user, silent, w->rows, &w->count, &failure), 0);
}

static void seconds(struct world *w, int count) {
    for (int i = 0; i < count; i++) assert_int_equal(device_store_second(w->devices, PARTITION, &failure), 0);
}

/* Kafka brings the tombstones back. */
static void read_back(struct world *w) {
    for (size_t i = 0; i < w->forgotten_count; i++) put(w, w->forgotten[i], NULL, 0);
    w->forgotten_count = 0;
}

TEST(a_user_has_sessions_and_names, struct world *w) {
    row(w, 7, 1, 11, "Pixel");
    row(w, 7, 2, 12, "");
    row(w, 8, 1, 13, "other");
    list(w, 7, false);
    assert_int_equal(w->count, 2);
    assert_int_equal(w->rows[0].session, 12); /* the newest first */
    assert_int_equal(w->rows[0].size, 0);
    assert_int_equal(w->rows[1].since, 110);
    assert_memory_equal(w->rows[1].name, "Pixel", w->rows[1].size);
    row(w, 7, 2, 12, NULL);
    list(w, 7, false);
    assert_int_equal(w->count, 1);
    list(w, 6, false);
    assert_int_equal(w->count, 0);
}

TEST(the_newest_are_shown, struct world *w) {
    for (int64_t i = 0; i < 50; i++) row(w, 7, i % 3, i * 7 % 50, "");
    list(w, 7, false);
    assert_int_equal(w->count, DEVICES_SHOWN);
    for (size_t i = 0; i < w->count; i++) assert_int_equal(w->rows[i].session, 49 - i);
}

TEST(a_session_of_two_runs_is_one, struct world *w) {
    row(w, 7, 1, 11, "a");
    row(w, 7, 2, 11, "a");
    list(w, 7, false);
    assert_int_equal(w->count, 1);
    list(w, 7, true);
    assert_int_equal(w->count, 2);
}

TEST(records_that_are_none, struct world *w) {
    uint8_t bytes[DEVICE_KEY_MAX] = {0};
    char name[DEVICE_NAME_MAX + 2];
    memset(name, 'x', sizeof name);
    name[DEVICE_NAME_MAX + 1] = '\0';
    assert_non_null(take(w, bytes, 8, NULL, 0));
    assert_non_null(take(w, bytes, 24, "nonsense", 8));
    assert_non_null(put(w, (struct device_key){7, 1, 11}, "a\n", 1));
    assert_non_null(put(w, (struct device_key){7, 1, 11}, name, 1));
    list(w, 7, true);
    assert_int_equal(w->count, 0);
}

TEST(a_run_that_is_silent_does_not_count_and_is_forgotten, struct world *w) {
    beat(w, 1);
    beat(w, 2);
    row(w, 7, 1, 11, "dead");
    row(w, 7, 2, 12, "lives");
    for (int i = 0; i < 3; i++) {
        seconds(w, 60);
        beat(w, 2);
        assert_int_equal(w->forgotten_count, 0);
    }
    list(w, 7, false);
    assert_int_equal(w->count, 2);
    seconds(w, 1);
    list(w, 7, false);
    assert_int_equal(w->count, 1);
    assert_int_equal(w->rows[0].session, 12);
    list(w, 7, true);
    assert_int_equal(w->count, 2);
    seconds(w, 61);
    assert_int_equal(w->forgotten_count, 1); /* the beat stays until no row is left */
    assert_int_equal(w->forgotten[0].session, 11);
    w->forgotten_count = 0; /* it got lost */
    beat(w, 2);
    seconds(w, 61);
    assert_int_equal(w->forgotten_count, 1);
    read_back(w);
    beat(w, 2);
    seconds(w, 61);
    assert_int_equal(w->forgotten_count, 1);
    assert_int_equal(w->forgotten[0].user, -1);
    assert_int_equal(w->forgotten[0].run, 1);
    read_back(w);
    beat(w, 2);
    seconds(w, 100);
    assert_int_equal(w->forgotten_count, 0);
    list(w, 7, true);
    assert_int_equal(w->count, 1);
}

TEST(only_seconds_of_an_owner_count, struct world *w) {
    beat(w, 1);
    row(w, 7, 1, 11, "");
    close_devices(w);
    open_devices(w); /* another owner, or this one later: the run is heard from now on */
    seconds(w, SILENT_S);
    list(w, 7, false);
    assert_int_equal(w->count, 1);
    seconds(w, 70);
    list(w, 7, false);
    assert_int_equal(w->count, 0);
}

TEST(an_owner_that_comes_anew_forgets_a_dead_run, struct world *w) {
    beat(w, 1);
    row(w, 7, 1, 11, "");
    close_devices(w);
    open_devices(w);
    seconds(w, SILENT_S + 125);
    assert_true(w->forgotten_count > 0);
    assert_int_equal(w->forgotten[0].session, 11);
}

TEST(a_run_that_has_no_rows_any_more_is_unknown, struct world *w) {
    beat(w, 1);
    row(w, 7, 1, 11, "");
    seconds(w, SILENT_S + 65);
    read_back(w);
    seconds(w, 65);
    assert_int_equal(w->forgotten_count, 1);
    assert_int_equal(w->forgotten[0].user, -1);
    row(w, 7, 1, 12, "");
    list(w, 7, false);
    assert_int_equal(w->count, 1);
}

TEST(many_rows_are_forgotten_in_slices, struct world *w) {
    beat(w, 1);
    beat(w, 2);
    for (int64_t i = 0; i < 4500; i++) row(w, i, 1 + i % 2, i, "");
    seconds(w, SILENT_S);
    beat(w, 2);
    for (int i = 0; i < 10; i++) seconds(w, 6);
    beat(w, 2);
    seconds(w, 5);
    assert_int_equal(w->forgotten_count, 2250);
}
