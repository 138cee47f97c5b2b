/* Halves and friend commands as they are written: what version 1 can say is version 1, so that the previous release reads it. */
#include "base/bytes.h"
#include "unit/kit/kit.h"
#include "users/half.h"

enum { COMMAND_V1 = 2, HALF_V1 = 3 };

static uint32_t id_of(const struct buffer *value) { return bytes_get_be32(value->data + 1); }

TEST(a_half_is_of_version_1_unless_somebody_rounds) {
    struct codec *codec = kit_codec();
    FREED_BUFFER value = {.size = 0};
    for (unsigned bits = 0; bits < 16; bits++) {
        struct friendship half = {.state = FRIENDSHIP_FRIENDS,
                                  .since = 1790000000000,
                                  .blocked_by_me = bits & 4,
                                  .blocked_by_them = bits & 8,
                                  .rounded_by_me = bits & 1,
                                  .rounded_by_them = bits & 2};
        struct friendship read;
        buffer_clear(&value);
        half_encode(&value, &half);
        assert_int_equal(id_of(&value), bits & 3 ? FRIENDSHIP_SCHEMA_ID : HALF_V1);
        assert_int_equal(event_decode_friendship(codec, value.data, value.size, &read, &failure), 0);
        assert_int_equal(read.state, half.state);
        assert_true(read.since == half.since && read.blocked_by_me == half.blocked_by_me &&
                    read.blocked_by_them == half.blocked_by_them && read.rounded_by_me == half.rounded_by_me &&
                    read.rounded_by_them == half.rounded_by_them);
    }
    // What the previous release has written.
    struct friendship read;
    assert_int_equal(event_decode_friendship(codec, "\0\0\0\0\3\6\0\0\2", 9, &read, NULL), 0);
    assert_true(read.since == 1 && !read.rounded_by_me && !read.rounded_by_them);
}

TEST(only_wishes_about_rounding_are_of_version_2) {
    struct codec *codec = kit_codec();
    FREED_BUFFER value = {.size = 0};
    for (int kind = FRIEND_COMMAND_REQUEST; kind <= FRIEND_COMMAND_EXACT; kind++) {
        struct friend_command command = {
            .kind = (enum friend_command_kind)kind, .from = 7, .to = 8, .time = 5, .since = 3};
        struct friend_command read;
        bool newer = kind == FRIEND_COMMAND_ROUND || kind == FRIEND_COMMAND_EXACT;
        buffer_clear(&value);
        half_encode_command(&value, &command);
        assert_int_equal(id_of(&value), newer ? FRIEND_COMMAND_SCHEMA_ID : COMMAND_V1);
        assert_int_equal(event_decode_friend_command(codec, value.data, value.size, &read, &failure), 0);
        assert_int_equal(read.kind, kind);
        assert_true(read.from == 7 && read.to == 8 && read.time == 5 && read.since == 3);
        bytes_put_be32(value.data + 1, COMMAND_V1);
        assert_int_equal(event_decode_friend_command(codec, value.data, value.size, &read, &failure),
                         newer ? -EBADMSG : 0);
    }
}
