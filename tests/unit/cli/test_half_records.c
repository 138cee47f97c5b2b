#include "base/bytes.h"
#include "cli/half_records.h"
#include "unit/kit/kit.h"
#include "users/relation.h"
#include "event/topics.h"

/* Reads a record with this key and value; value NULL: a tombstone. */
static int read_half(half_reader *reader, const uint8_t *key, size_t key_size, const struct buffer *value,
                     struct half_said *said) {
    struct codec *codec = codec_new();
    const struct kafka_record record = {
        .key = key,
        .key_size = key_size,
        .value = value ? value->data : NULL,
        .value_size = value ? value->size : 0,
    };
    *said = (struct half_said){.a = -1, .b = -1};
    int code = reader(codec, &record, said);
    codec_free(codec);
    return code;
}

TEST(friendships_are_told_by_their_lower_half) {
    static const struct {
        enum friendship_state state;
        bool is;
    } STATES[] = {{FRIENDSHIP_FRIENDS, true}, {FRIENDSHIP_NONE, false}, {FRIENDSHIP_INVITED, false}};
    uint8_t key[16], mirrored[16];
    struct half_said said;
    bytes_put_be64(key, 5);
    bytes_put_be64(key + 8, 300);
    bytes_put_be64(mirrored, 300);
    bytes_put_be64(mirrored + 8, 5);
    for (size_t i = 0; i < sizeof STATES / sizeof *STATES; i++) {
        FREED_BUFFER value = {.size = 0};
        event_encode_friendship(&value, &(struct friendship){.state = STATES[i].state, .since = 7});
        assert_int_equal(read_half(half_of_friendship, key, sizeof key, &value, &said), 1);
        assert_int_equal(said.a, 5);
        assert_int_equal(said.b, 300);
        assert_int_equal(said.is, STATES[i].is);
        assert_int_equal(read_half(half_of_friendship, mirrored, sizeof mirrored, &value, &said), 0);
    }
    assert_int_equal(read_half(half_of_friendship, key, sizeof key, NULL, &said), 1);
    assert_false(said.is);
}

/* The other way round than friendships: only one half says "a follows b", whichever id is lower. */
TEST(follows_are_told_by_their_followers) {
    FREED_BUFFER value = {.size = 0};
    struct half_said said;
    event_encode_follow(&value, &(struct follow){.since = 7});
    for (unsigned direction = RELATION_FOLLOWING; direction <= RELATION_MUTED; direction++) {
        for (int higher = 0; higher < 2; higher++) {
            int64_t user = higher ? 300 : 5, other = higher ? 5 : 300;
            bool follows = direction == RELATION_FOLLOWING;
            uint8_t key[17] = {[8] = (uint8_t)direction};
            struct relation_half read;
            bytes_put_be64(key, (uint64_t)user);
            bytes_put_be64(key + 9, (uint64_t)other);
            assert_true(relation_key_read(key, sizeof key, &read));
            assert_true(read.user == user && read.other == other && read.relation == direction);
            assert_int_equal(read_half(half_of_follow, key, sizeof key, &value, &said), follows);
            assert_true(!follows || (said.a == user && said.b == other && said.is));
            assert_int_equal(read_half(half_of_follow, key, sizeof key, NULL, &said), follows);
            assert_false(said.is);
        }
    }
}

TEST(each_side_is_told_apart) {
    static const uint8_t FRIENDS[16] = {[7] = 1, [15] = 2}, MIRRORED[16] = {[7] = 2, [15] = 1};
    static const uint8_t FOLLOWS[17] = {[7] = 1, [8] = RELATION_FOLLOWING, [16] = 2},
                         FOLLOWED[17] = {[7] = 2, [8] = RELATION_FOLLOWER, [16] = 1};
    FREED_BUFFER friends = {0}, follow = {0};
    struct half_said said;
    event_encode_friendship(&friends, &(struct friendship){.state = FRIENDSHIP_FRIENDS, .since = 7});
    event_encode_follow(&follow, &(struct follow){.since = 7});
    const struct {
        half_reader *read;
        const uint8_t *key;
        size_t size;
        const struct buffer *value;
    } SAME[] = {
        {own_half_of_friendship, FRIENDS, sizeof FRIENDS, &friends},
        {mirror_of_friendship, MIRRORED, sizeof MIRRORED, &friends},
        {half_of_follow, FOLLOWS, sizeof FOLLOWS, &follow},
        {mirror_of_follow, FOLLOWED, sizeof FOLLOWED, &follow},
    };
    for (size_t i = 0; i < sizeof SAME / sizeof *SAME; i++) {
        for (int gone = 0; gone < 2; gone++) {
            const struct buffer *value = gone ? NULL : SAME[i].value;
            assert_int_equal(read_half(SAME[i].read, SAME[i].key, SAME[i].size, value, &said), 1);
            assert_true(said.a == 1 && said.b == 2 && said.is == !gone);
        }
    }
    assert_int_equal(read_half(own_half_of_friendship, MIRRORED, sizeof MIRRORED, &friends, &said), 1);
    assert_true(said.a == 2 && said.b == 1);
    assert_int_equal(read_half(mirror_of_follow, FOLLOWS, sizeof FOLLOWS, &follow, &said), 0);
}

TEST(records_of_another_shape_cannot_be_read) {
    static const uint8_t NO_KEY[17] = {0}, KEY[17] = {[7] = 1, [8] = RELATION_FOLLOWING, [16] = 2};
    static const uint8_t LATER[17] = {[7] = 1, [8] = 6, [16] = 2}, PAIR[16] = {[7] = 1, [15] = 2};
    uint8_t nonsense[] = {1, 0xfe};
    struct buffer value = {.data = nonsense, .size = sizeof nonsense};
    struct half_said said;
    struct relation_half read;
    assert_int_equal(read_half(half_of_follow, NULL, 0, NULL, &said), -EBADMSG);
    assert_int_equal(read_half(half_of_follow, NO_KEY, sizeof NO_KEY, NULL, &said), -EBADMSG);
    assert_int_equal(read_half(half_of_follow, LATER, sizeof LATER, NULL, &said), -EBADMSG);
    assert_int_equal(read_half(half_of_follow, PAIR, sizeof PAIR, NULL, &said), -EBADMSG);
    assert_int_equal(read_half(half_of_follow, KEY, sizeof KEY, &value, &said), -EBADMSG);
    assert_int_equal(read_half(half_of_friendship, NULL, 0, NULL, &said), -EBADMSG);
    assert_int_equal(read_half(half_of_friendship, KEY, sizeof KEY, NULL, &said), -EBADMSG);
    assert_int_equal(read_half(half_of_friendship, PAIR, sizeof PAIR, &value, &said), -EBADMSG);
    assert_int_equal(read_half(mirror_of_follow, PAIR, sizeof PAIR, NULL, &said), -EBADMSG);
    assert_int_equal(read_half(mirror_of_friendship, KEY, sizeof KEY, NULL, &said), -EBADMSG);
    assert_int_equal(said.a, -1);
    assert_false(relation_key_read(NULL, 17, &read));
}
