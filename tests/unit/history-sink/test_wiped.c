/* The record of forgotten users: which rows go, what is still to do, and what a topic that is read again changes. */
#include "base/bytes.h"
#include "history-sink/wiped.h"
#include "unit/kit/kit.h"

enum { PARTITIONS = 4 };

static int learn(struct wiped *wiped, int64_t user, int64_t offset, int64_t time) {
    uint8_t key[8];
    struct wipe_user who;
    bytes_put_be64(key, (uint64_t)user);
    const struct kafka_record record = {.partition = hash_user_partition(user, PARTITIONS),
                                        .offset = offset,
                                        .timestamp = time,
                                        .key = key,
                                        .key_size = sizeof key};
    int code = wiped_learn(wiped, &record, &who, NULL);
    if (code > 0) assert_true(who.user == user && who.before == time);
    return code;
}

/* Another user of the same partition. */
static int64_t neighbour(int64_t user) {
    int64_t other = user + 1;
    while (hash_user_partition(other, PARTITIONS) != hash_user_partition(user, PARTITIONS)) other++;
    return other;
}

SET_UP() { return wiped_new(PARTITIONS); }
TEAR_DOWN(struct wiped *wiped) { wiped_free(wiped); }

TEST(test_rows_from_before_go, struct wiped *wiped) {
    assert_int_equal(learn(wiped, 7, 0, 1000), 1);
    assert_true(wiped_has(wiped, 7, 999));
    assert_false(wiped_has(wiped, 7, 1000));
    assert_false(wiped_has(wiped, 8, 999));
    assert_int_equal(learn(wiped, 7, 1, 3000), 1); // forgotten again
    assert_true(wiped_has(wiped, 7, 2999));
    assert_int_equal(learn(wiped, 7, 2, 2000), 1); // a broker's clock stepped back
    assert_true(wiped_has(wiped, 7, 2999));
}

TEST(test_what_is_to_do, struct wiped *wiped) {
    int64_t a = 7, b = neighbour(a);
    int32_t partition = hash_user_partition(a, PARTITIONS);
    size_t count;
    assert_null(wiped_next(wiped, partition, 0));
    assert_int_equal(learn(wiped, b, 3, 1000), 1);
    assert_int_equal(learn(wiped, a, 5, 1100), 1);
    assert_int_equal(learn(wiped, b, 9, 1200), 1);
    assert_int_equal(wiped_learnt(wiped, partition), 10);
    assert_int_equal(wiped_next(wiped, partition, 0)->offset, 3);
    assert_int_equal(wiped_next(wiped, partition, 4)->offset, 5);
    assert_null(wiped_next(wiped, partition, 10));
    struct wipe_user *users = wiped_users(wiped, partition, 0, &count);
    assert_int_equal(count, 2);
    assert_true(users[0].user == a && users[0].before == 1100 && users[1].user == b && users[1].before == 1200);
    free(users);
    users = wiped_users(wiped, partition, 6, &count);
    assert_true(count == 1 && users[0].user == b);
    free(users);
    wiped_drop(wiped, partition, 9);
    assert_int_equal(wiped_count(wiped, partition), 1);
    assert_true(wiped_has(wiped, a, 1099));        // known for good
    assert_int_equal(learn(wiped, a, 5, 1100), 0); // read once more
    wiped_anew(wiped);
    assert_int_equal(wiped_count(wiped, partition), 0);
    assert_int_equal(learn(wiped, a, 0, 500), 1); // another topic
    assert_true(wiped_has(wiped, a, 1099));
}

TEST(test_what_is_no_erasure, struct wiped *wiped) {
    struct wipe_user who;
    uint8_t key[8];
    bytes_put_be64(key, 7);
    struct kafka_record record = {
        .partition = (hash_user_partition(7, PARTITIONS) + 1) % PARTITIONS, .key = key, .key_size = 8};
    assert_int_equal(wiped_learn(wiped, &record, &who, NULL), -EBADMSG);
    record.partition = hash_user_partition(7, PARTITIONS);
    record.key_size = 7;
    assert_int_equal(wiped_learn(wiped, &record, &who, NULL), -EBADMSG);
    bytes_put_be64(key, (uint64_t)-7);
    record.key_size = 8;
    assert_int_equal(wiped_learn(wiped, &record, &who, NULL), -EBADMSG);
    assert_int_equal(wiped_learnt(wiped, record.partition), 0);
}
