/* Notices on disk: the newest 200 of a user are shown, newest first, and the keys of others are named. */
#include "feed/notices.h"
#include "unit/kit/kit.h"

enum { PARTITIONS = 3, USER = 5, MANY = 230, START = 1000 };

struct disk {
    char *folder;
    struct store *store;
    struct notices *notices;
    int32_t partition; /* of USER */
    int64_t offset;
    struct error error;
};

SET_UP() {
    struct disk *disk = kit_zero(sizeof *disk);
    disk->folder = kit_folder();
    disk->partition = hash_user_partition(USER, PARTITIONS);
    assert_int_equal(store_open(disk->folder, &(struct store_options){.memory_bytes = 0}, &disk->store, &disk->error),
                     0);
    disk->notices = notices_new(disk->store, PARTITIONS);
    assert_int_equal(table_store_open(notices_table(disk->notices), disk->partition, 0, 0, &disk->error), 0);
    assert_int_equal(table_store_next(notices_table(disk->notices), disk->partition, 0), -1);
    return disk;
}

TEAR_DOWN(struct disk *disk) {
    notices_free(disk->notices);
    store_close(disk->store);
}

static const char *complaint(struct notices *notices, int32_t partition, const void *key, size_t key_size,
                             const void *value, size_t size, struct error *error) {
    const struct kafka_record record = {
        .partition = partition, .key = key, .key_size = key_size, .value = value, .value_size = size};
    return notices_complaint(notices, NULL, &record, error);
}

static void take(struct disk *disk, int64_t user, int64_t time, bool gone) {
    struct notice_key key = {.user = user, .time = time, .kind = NOTICE_OF_FOLLOW, .number = time + 1};
    struct notice notice = {.what = NOTICE_FOLLOW, .user = time + 1, .time = time};
    FREED_BUFFER value = {.size = 0};
    uint8_t bytes[NOTICE_KEY_SIZE];
    notice_key_write(bytes, &key);
    event_encode_notice(&value, &notice);
    table_store_put(notices_table(disk->notices), disk->partition, disk->offset++, bytes, sizeof bytes,
                    gone ? NULL : value.data, gone ? 0 : value.size);
    assert_int_equal(table_store_write(notices_table(disk->notices), &disk->error), 0);
}

struct seen {
    int64_t times[MANY];
    size_t count, max;
};

static bool see(void *context, const struct notice_key *key, const struct notice *notice) {
    struct seen *seen = context;
    assert_true(key->user == USER && notice->time == key->time && notice->user == key->number);
    seen->times[seen->count++] = key->time;
    return seen->count < seen->max;
}

static void see_key(void *context, const uint8_t key[NOTICE_KEY_SIZE]) {
    struct seen *seen = context;
    struct notice_key read;
    assert_true(notice_key_read(key, NOTICE_KEY_SIZE, &read));
    seen->times[seen->count++] = read.time;
}

static void see_nothing(void *context, const uint8_t key[NOTICE_KEY_SIZE]) {}

TEST(test_the_newest_are_shown_and_others_are_named, struct disk *disk) {
    struct seen seen = {.max = MANY}, excess = {.max = MANY};
    for (int64_t i = 0; i < MANY; i++) { // in no order, among others' and one in two twice
        int64_t time = START + i * 7 % MANY;
        take(disk, USER, time, false);
        take(disk, i % 2 ? USER : USER + 1, time, false);
    }
    assert_int_equal(notices_each(disk->notices, disk->partition, USER, see, &seen, &disk->error), 0);
    assert_int_equal(seen.count, NOTICES_KEPT);
    for (int i = 0; i < NOTICES_KEPT; i++) assert_int_equal(seen.times[i], START + MANY - 1 - i);
    assert_int_equal(notices_trim(disk->notices, disk->partition, USER, NULL, see_key, &excess, &disk->error), 0);
    assert_int_equal(excess.count, MANY - NOTICES_KEPT);

    excess.count = 0; // each is named once, also before its tombstone is read back
    assert_int_equal(notices_trim(disk->notices, disk->partition, USER, NULL, see_key, &excess, &disk->error), 0);
    assert_int_equal(excess.count, 0);
    seen = (struct seen){.max = 3};
    assert_int_equal(notices_each(disk->notices, disk->partition, USER, see, &seen, &disk->error), 0);
    assert_int_equal(seen.count, 3);
}

static void take_of(struct disk *disk, enum notice_kind kind, int64_t sender, int64_t time) {
    struct notice_key key = {
        .user = USER, .time = time, .kind = kind, .number = kind == NOTICE_OF_FOLLOW ? sender : time};
    struct notice notice = {.what = (enum notice_what)(kind - 1), .user = sender, .time = time};
    FREED_BUFFER value = {.size = 0};
    uint8_t bytes[NOTICE_KEY_SIZE];
    notice_key_write(bytes, &key);
    event_encode_notice(&value, &notice);
    table_store_put(notices_table(disk->notices), disk->partition, disk->offset++, bytes, sizeof bytes, value.data,
                    value.size);
    assert_int_equal(table_store_write(notices_table(disk->notices), &disk->error), 0);
    assert_int_equal(notices_trim(disk->notices, disk->partition, USER, NULL, see_nothing, NULL, &disk->error), 0);
}

/* How many are there of a kind; *all: of any. */
struct kinds {
    int of[NOTICE_KINDS], all;
    int64_t oldest_reply;
};

static bool count_kind(void *context, const struct notice_key *key, const struct notice *notice) {
    struct kinds *kinds = context;
    kinds->of[key->kind]++;
    kinds->all++;
    if (key->kind == NOTICE_OF_REPLY) kinds->oldest_reply = key->time;
    return true;
}

static struct kinds count_kinds(struct disk *disk) {
    struct kinds kinds = {.all = 0};
    assert_int_equal(notices_each(disk->notices, disk->partition, USER, count_kind, &kinds, &disk->error), 0);
    return kinds;
}

TEST(test_nobody_pushes_out_others, struct disk *disk) {
    for (int i = 0; i < 30; i++) take_of(disk, NOTICE_OF_REPLY, 1000 + i, START + i);
    for (int i = 0; i < 215; i++) take_of(disk, NOTICE_OF_FOLLOW, 7, START + 100 + i); // a stranger, again and again
    struct kinds kinds = count_kinds(disk);
    assert_true(kinds.of[NOTICE_OF_FOLLOW] == 1 && kinds.of[NOTICE_OF_REPLY] == 30);

    for (int i = 0; i < 300; i++)
        take_of(disk, NOTICE_OF_MENTION, 8, START + 1000 + i); // one who mentions without an end
    kinds = count_kinds(disk);
    assert_true(kinds.of[NOTICE_OF_FOLLOW] == 1 && kinds.of[NOTICE_OF_REPLY] == 30 && kinds.all == NOTICES_KEPT);

    for (int i = 0; i < 300; i++) take_of(disk, NOTICE_OF_FOLLOW, 5000 + i, START + 2000 + i); // very many who follow
    kinds = count_kinds(disk);
    assert_true(kinds.of[NOTICE_OF_REPLY] == 30 && kinds.oldest_reply == START && kinds.all == NOTICES_KEPT);

    struct notice_key hidden = {.user = USER, .time = START + 9999, .kind = NOTICE_OF_REPLY, .number = START + 9999};
    struct seen gone = {.max = MANY};
    FREED_BUFFER value = {.size = 0};
    uint8_t bytes[NOTICE_KEY_SIZE];
    notice_key_write(bytes, &hidden);
    event_encode_notice(&value, &(struct notice){.what = NOTICE_REPLY, .user = 9, .time = hidden.time});
    table_store_put(notices_table(disk->notices), disk->partition, disk->offset++, bytes, sizeof bytes, value.data,
                    value.size);
    assert_int_equal(table_store_write(notices_table(disk->notices), &disk->error), 0);
    assert_int_equal(notices_trim(disk->notices, disk->partition, USER, &hidden, see_key, &gone, &disk->error), 0);
    assert_true(gone.count == 1 && gone.times[0] == hidden.time); // one that the user is not shown goes first
}

TEST(test_each_arrival_and_departure_stays, struct disk *disk) {
    for (int i = 0; i < 30; i++) take_of(disk, i % 2 ? NOTICE_OF_LEFT : NOTICE_OF_ARRIVED, 7, START + i);
    struct kinds kinds = count_kinds(disk);
    assert_true(kinds.of[NOTICE_OF_ARRIVED] == 15 && kinds.of[NOTICE_OF_LEFT] == 15);
}

TEST(test_records_that_are_none, struct disk *disk) {
    struct notice_key key = {.user = USER, .time = 1, .kind = NOTICE_OF_MENTION, .number = 2};
    FREED_BUFFER good = {0}, bad = {0};
    struct seen seen = {.max = MANY};
    uint8_t bytes[NOTICE_KEY_SIZE];
    notice_key_write(bytes, &key);
    event_encode_notice(&good, &(struct notice){.what = NOTICE_MENTION, .user = 3, .subject = {"post:2", 6}});
    event_encode_notice(&bad, &(struct notice){.what = NOTICE_MENTION, .user = -3});
    struct notices *notices = disk->notices;
    int32_t p = disk->partition;
    assert_null(complaint(notices, p, bytes, sizeof bytes, good.data, good.size, &disk->error));
    assert_null(complaint(notices, p, bytes, sizeof bytes, NULL, 0, &disk->error));
    assert_non_null(complaint(notices, (p + 1) % PARTITIONS, bytes, sizeof bytes, good.data, good.size, &disk->error));
    assert_non_null(complaint(notices, p, bytes, sizeof bytes - 1, good.data, good.size, &disk->error));
    assert_non_null(complaint(notices, p, bytes, sizeof bytes, bad.data, bad.size, &disk->error));
    assert_non_null(complaint(notices, p, bytes, sizeof bytes, "x", 1, &disk->error));

    // On the disk, a value that is none is damage.
    table_store_put(notices_table(notices), p, 0, bytes, sizeof bytes, "x", 1);
    assert_int_equal(table_store_write(notices_table(notices), &disk->error), 0);
    assert_int_equal(notices_each(notices, p, USER, see, &seen, &disk->error), -EBADMSG);

    // Records that were gathered and not written are forgotten with the rest.
    table_store_put(notices_table(notices), p, 1, bytes, sizeof bytes, good.data, good.size);
    assert_int_equal(table_store_reset(notices_table(notices), p, 0, &disk->error), 0);
    table_store_put(notices_table(notices), p, 0, bytes, sizeof bytes, good.data, good.size);
    assert_int_equal(table_store_write(notices_table(notices), &disk->error), 0);
    assert_int_equal(table_store_open(notices_table(notices), p, 0, 0, &disk->error), 0);
    assert_int_equal(table_store_next(notices_table(notices), p, 0), 1);
}
