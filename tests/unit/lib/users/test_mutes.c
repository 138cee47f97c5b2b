/* The copy of muted friends against a plain table, under random records. */
#include "event/codec.h"
#include "event/topics.h"
#include "unit/kit/kit.h"
#include "users/half.h"
#include "users/mutes.h"

enum { USERS = 12, PARTITIONS = 4, STEPS = 20000 };

struct told {
    int count;
    int64_t user, other;
    bool muted;
};

static void on_change(void *context, int64_t user, int64_t other, bool muted) {
    struct told *told = context;
    *told = (struct told){told->count + 1, user, other, muted};
}

static struct kafka_record record_of(uint8_t key[HALF_KEY_SIZE], int64_t user, int64_t other,
                                     const struct buffer *value) {
    half_key_put(key, user, other);
    return (struct kafka_record){.topic = &TOPIC_NEARBY_MUTES,
                                 .partition = hash_user_partition(user, PARTITIONS),
                                 .key = key,
                                 .key_size = HALF_KEY_SIZE,
                                 .value = value ? value->data : NULL,
                                 .value_size = value ? value->size : 0};
}

static void check(const struct mutes *mutes, bool truth[USERS][USERS]) {
    for (int64_t user = 0; user < USERS; user++) {
        struct mutes_list list = mutes_of(mutes, user);
        size_t at = 0;
        for (int64_t other = 0; other < USERS; other++) {
            assert_int_equal(mutes_has(mutes, user, other), truth[user][other]);
            if (!truth[user][other]) continue;
            assert_true(at < list.count);
            assert_int_equal(list.items[at++], other);
        }
        assert_int_equal(at, list.count);
    }
}

TEST(as_a_plain_table) {
    bool truth[USERS][USERS] = {{false}};
    struct told told = {0};
    struct metrics *metrics = kit_metrics();
    struct metric *pairs = metrics_gauge(metrics, "starling_copies_nearby_mutes", "", NULL);
    struct mutes *mutes = mutes_new(&(struct mutes_options){
        .metrics = metrics, .partitions = PARTITIONS, .context = &told, .on_change = on_change});
    const struct copy_definition copy = mutes_copy(mutes);
    FREED_BUFFER value = {.size = 0};
    uint8_t key[HALF_KEY_SIZE];
    int count = 0;
    event_encode_nearby_mute(&value, &(struct nearby_mute){.since = 5});
    srand(1);
    for (int step = 0; step < STEPS; step++) {
        int user = rand() % USERS, other = rand() % USERS;
        bool muted = rand() % 2;
        struct kafka_record record = record_of(key, user, other, muted ? &value : NULL);
        int code = copy.apply(copy.context, &record, NULL);
        if (user == other) {
            assert_int_equal(code, -EBADMSG);
            continue;
        }
        assert_int_equal(code, 0);
        truth[user][other] = muted;
        copy.changed(copy.context, &record);
        assert_int_equal(told.count, ++count);
        assert_true(told.user == user && told.other == other && told.muted == muted);
        if (rand() % 1000 == 0) { // the topic is read anew
            copy.forget(copy.context);
            memset(truth, 0, sizeof truth);
        }
        check(mutes, truth);
    }
    struct mutes_list some = mutes_of(mutes, 0);
    FREED_BUFFER text = {.size = 0};
    mutes_json_put(&text, (struct mutes_list){(const int64_t[]){3, 7}, 2});
    assert_string_equal(buffer_cstring(&text), "[3,7]");
    double all = 0;
    for (int user = 0; user < USERS; user++) all += (double)mutes_of(mutes, user).count;
    assert_true(pairs->value == all && some.count <= USERS);
    mutes_free(mutes);
}

TEST(bad_records_are_refused) {
    struct error error = {.text = ""};
    struct metrics *metrics = kit_metrics();
    struct mutes *mutes = mutes_new(&(struct mutes_options){.metrics = metrics, .partitions = PARTITIONS});
    const struct copy_definition copy = mutes_copy(mutes);
    FREED_BUFFER value = {.size = 0};
    uint8_t key[HALF_KEY_SIZE];
    event_encode_nearby_mute(&value, &(struct nearby_mute){.since = 5});
    struct kafka_record record = record_of(key, 1, 2, &value);
    record.partition = (record.partition + 1) % PARTITIONS;
    assert_int_equal(copy.apply(copy.context, &record, &error), -EBADMSG);
    record = record_of(key, 1, -2, &value);
    assert_int_equal(copy.apply(copy.context, &record, &error), -EBADMSG);
    record = record_of(key, 1, 2, &value);
    record.key_size--;
    assert_int_equal(copy.apply(copy.context, &record, &error), -EBADMSG);
    record = record_of(key, 1, 2, &value);
    record.value_size = 3;
    assert_true(copy.apply(copy.context, &record, &error) < 0 && *error.text);
    assert_int_equal(mutes_of(mutes, 1).count, 0);
    mutes_free(mutes);
}
