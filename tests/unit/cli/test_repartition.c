#include "cli/repartition.h"

#include "base/bytes.h"
#include "event/codec.h"
#include "event/topics.h"
#include "ids/ids.h"
#include "subjects/subject.h"
#include "unit/kit/kit.h"
#include "users/handle.h"

enum { BEFORE = 4, AFTER = 7, PUT_MAX = 4 };
#define TIME INT64_C(1800000000000)

struct put {
    int32_t partition;
    uint8_t key[SUBJECT_KEY_MAX], value[256];
    size_t key_size, value_size;
};

struct world {
    struct repartition *repartition;
    struct put puts[PUT_MAX];
    size_t count;
    int code; /* of the next put */
};

SET_UP() {
    static struct world world;
    const struct topics_shape before = {.partitions = {BEFORE, BEFORE, 1}}, after = {.partitions = {AFTER, AFTER, 1}};
    world = (struct world){.repartition = repartition_new(&before, &after)};
    return &world;
}

TEAR_DOWN(struct world *world) { repartition_free(((struct world *)world)->repartition); }

static int put(void *context, const struct kafka_record *record) {
    struct world *world = context;
    assert_true(world->count < PUT_MAX);
    struct put *it = &world->puts[world->count++];
    *it = (struct put){.partition = record->partition, .key_size = record->key_size, .value_size = record->value_size};
    memcpy(it->key, record->key, record->key_size);
    if (record->value) memcpy(it->value, record->value, record->value_size);
    return world->code;
}

/* A record where it belongs among BEFORE; its code. */
static int give(struct world *world, const struct topic *topic, const void *key, size_t key_size, const void *value,
                size_t value_size) {
    world->count = 0;
    const struct kafka_record record = {.topic = topic,
                                        .partition = topic_partition(topic, key, key_size, BEFORE),
                                        .timestamp = TIME,
                                        .key = key,
                                        .key_size = key_size,
                                        .value = value,
                                        .value_size = value_size};
    return repartition_record(world->repartition, &record, world, put);
}

/* An author who moves from the partition. */
static int64_t author_of(int32_t partition) {
    int64_t author = 1;
    while (hash_user_partition(author, BEFORE) != partition || hash_user_partition(author, AFTER) == partition)
        author++;
    return author;
}

TEST(test_records_go_where_their_keys_belong, struct world *world) {
    uint8_t pair[16], name[NAME_KEY_MAX];
    for (int64_t user = 1; user < 100; user++) {
        bytes_put_be64(pair, (uint64_t)user);
        bytes_put_be64(pair + 8, 5);
        assert_int_equal(give(world, &TOPIC_FRIENDSHIPS, pair, sizeof pair, "x", 1), 0);
        assert_int_equal(world->count, 1);
        assert_int_equal(world->puts[0].partition, hash_user_partition(user, AFTER));
        assert_memory_equal(world->puts[0].value, "x", 1);
    }
    assert_int_equal(give(world, &TOPIC_NAMES, name, name_key_of_handle(name, "ada_l"), "x", 1), 0);
    assert_int_equal(world->puts[0].partition, handle_partition("ada_l", AFTER));
    assert_int_equal(give(world, &TOPIC_NAMES, name, name_key_of_user(name, 7), "x", 1), 0);
    assert_int_equal(world->puts[0].partition, hash_user_partition(7, AFTER));
    assert_int_equal(repartition_counts(world->repartition).left_out, 0);
}

TEST(test_a_post_goes_to_its_author_and_to_where_its_id_says, struct world *world) {
    int64_t author = author_of(2), id = ids_make(ids_tick(TIME, 0, -1), 2);
    uint8_t key[24];
    bytes_put_be64(key, (uint64_t)author);
    bytes_put_be64(key + 8, (uint64_t)id);
    assert_int_equal(give(world, &TOPIC_POSTS, key, 16, NULL, 0), 0);
    assert_int_equal(world->count, 2);
    assert_int_equal(world->puts[0].partition, hash_user_partition(author, AFTER));
    assert_int_equal(world->puts[1].partition, 2);
    assert_int_equal(repartition_counts(world->repartition).newest_ms, TIME);
    memset(key + 16, 0, 8);
    key[23] = 1; // the version of a former text
    assert_int_equal(give(world, &TOPIC_POST_TEXTS, key, sizeof key, "x", 1), 0);
    assert_int_equal(world->count, 2);
    assert_int_equal(world->puts[0].partition, hash_user_partition(author, AFTER));
    assert_int_equal(world->puts[1].partition, 2);
    assert_memory_equal(world->puts[1].key, key, sizeof key);
    world->code = -11;
    assert_int_equal(give(world, &TOPIC_POST_TEXTS, key, sizeof key, "x", 1), -11);
    assert_int_equal(world->count, 1);
}

/* The copy that an earlier migration has made is made anew; what lies elsewhere is nobody's. */
TEST(test_only_what_lies_where_it_belongs_is_copied, struct world *world) {
    int64_t author = author_of(2);
    uint8_t key[24] = {[23] = 1};
    struct kafka_record record = {.topic = &TOPIC_POSTS, .partition = 3, .key = key, .key_size = 16};
    bytes_put_be64(key, (uint64_t)author);
    bytes_put_be64(key + 8, (uint64_t)ids_make(ids_tick(TIME, 0, -1), 3));
    assert_int_equal(repartition_record(world->repartition, &record, world, put), 0);
    record.topic = &TOPIC_POST_TEXTS;
    record.key_size = sizeof key; // a former text
    assert_int_equal(repartition_record(world->repartition, &record, world, put), 0);
    assert_int_equal(repartition_counts(world->repartition).left_out, 0);
    record.topic = &TOPIC_FOLLOWS;
    record.key_size = 16;
    assert_int_equal(repartition_record(world->repartition, &record, world, put), 0);
    assert_int_equal(repartition_counts(world->repartition).left_out, 1);
    assert_int_equal(world->count, 0);
}

TEST(test_subjects_forget_their_last_command, struct world *world) {
    struct comment_subject subject = {.owner = 7, .visible = 3, .command = 4000}, read;
    struct codec *codec = kit_codec();
    FREED_BUFFER value = {.size = 0};
    event_encode_comment_subject(&value, &subject);
    assert_int_equal(give(world, &TOPIC_COMMENTS, "post:1", 6, value.data, value.size), 0);
    assert_int_equal(
        event_decode_comment_subject(codec, world->puts[0].value, world->puts[0].value_size, &read, &failure), 0);
    assert_int_equal(read.command, -1);
    assert_int_equal(read.owner, 7);
    assert_int_equal(read.visible, 3);
    assert_int_equal(world->puts[0].partition, hash_partition("post:1", 6, AFTER));
    assert_int_equal(give(world, &TOPIC_COMMENTS, "post:1", 6, "broken", 6), 0); // for the dead letters
    assert_memory_equal(world->puts[0].value, "broken", 6);
}

static int64_t number_after(struct world *world, int64_t number) {
    uint8_t key[SUBJECT_KEY_MAX];
    struct subject_key parts = {.subject = "post:1", .size = 6, .numbers = 2, .comment = 9, .second = number};
    assert_int_equal(give(world, &TOPIC_MODERATION_LOG, key, subject_key_write(key, &parts), "x", 1), 0);
    assert_true(subject_key_read(world->puts[0].key, world->puts[0].key_size, &parts));
    assert_int_equal(parts.comment, 9);
    assert_int_equal(world->puts[0].partition, hash_partition("post:1", 6, AFTER));
    return parts.second;
}

/* Commands are counted from 0 again, and no entry may take another one's key. */
TEST(test_entries_of_the_log_get_numbers_that_do_not_come_again, struct world *world) {
    int64_t one = number_after(world, 5000), two = number_after(world, 5001);
    assert_true(one >> 40 && two >> 40 && one != two);
    assert_int_equal(number_after(world, one), one); // at the next migration
}
