/* Records as JSON for people. */
#include "event/codec.h"
#include "unit/kit/kit.h"

TEST(test_a_record_is_one_line) {
    const struct location location = {.user = 9007199254740993,
                                      .lat = 399847021,
                                      .lng = -1163186017,
                                      .time = 1700000000123,
                                      .kind = LOCATION_REPORT,
                                      .session = 0,
                                      .route = -1,
                                      .opted = 12,
                                      .accuracy = 5,
                                      .battery = 570,
                                      .charging = 1,
                                      .speed = -1,
                                      .course = -1,
                                      .vertical_accuracy = -1,
                                      .activity = 2};
    struct codec *codec = kit_codec();
    FREED_BUFFER value = {.data = NULL}, out = {.data = NULL};
    event_encode_location(&value, &location);
    buffer_string(&out, "before ");
    assert_int_equal(event_to_json(codec, value.data, value.size, &out, NULL), 0);
    assert_string_equal(buffer_cstring(&out),
                        "before {\"user\": 9007199254740993, \"lat\": 399847021, \"lng\": -1163186017, "
                        "\"time\": 1700000000123, \"kind\": \"REPORT\", \"session\": 0, \"route\": -1, \"opted\": 12, "
                        "\"accuracy\": 5, \"battery\": 570, \"charging\": 1, \"speed\": -1, \"course\": -1, "
                        "\"vertical_accuracy\": -1, \"activity\": 2, \"shown\": false}");
}

TEST(test_a_batch_names_its_items) {
    struct codec *codec = kit_codec();
    FREED_BUFFER out = {.size = 0};
    static const char batch[] = "\0\0\0\0\6\2\4\4\12\2\4\10\22\2\6\0\0";
    for (int i = 0; i < 2; i++) { /* the second time nothing of the first may be left */
        buffer_clear(&out);
        assert_int_equal(event_to_json(codec, batch, sizeof batch - 1, &out, NULL), 0);
        assert_string_equal(buffer_cstring(&out),
                            "{\"stream_time\": 1, \"oldest_received\": 2, \"items\": [{\"Parted\": {\"recipient\": 1, "
                            "\"friend\": 2}}, {\"Left\": {\"user\": 9, \"recipients\": [3]}}]}");
    }
}

static int refused(const char *bytes, size_t size, struct error *error) {
    struct codec *codec = kit_codec();
    struct buffer out = {.data = NULL};
    int rc = event_to_json(codec, bytes, size, &out, error);
    assert_int_equal(out.size, 0);
    return rc;
}

TEST(test_what_is_no_record_is_refused) {
    struct error error;
    assert_int_equal(refused("\0\0\0\0", 4, &error), -EBADMSG);
    assert_int_equal(refused("\0\0\0\0\0", 5, &error), -ENOENT);
    assert_string_equal(error.text, "unknown schema id 0");
    assert_int_equal(refused("\0\0\0\0\5\6", 6, &error), -EBADMSG); /* sharing of a mode that there is not */
    assert_string_equal(error.text, "malformed sharing of 6 bytes");
    assert_int_equal(refused("\0\0\0\0\5\2\0", 7, &error), -EBADMSG);     /* a byte left over */
    assert_int_equal(refused("\0\0\0\0\4\2\377\0", 8, &error), -EBADMSG); /* a name that is not UTF-8 */
}
