/* What replay and history write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/config.h"
#include "cli/past.h"
#include "cli/record_text.h"
#include "event/topics.h"

static const struct kafka_settings SETTINGS = {.topics = &TOPICS_ALL, .prefix = "t."};

struct sample {
    struct kafka_record record;
    uint8_t key[16];
    struct buffer value;
};

static void with_key(struct sample *sample, int64_t first, int64_t second) {
    bytes_put_be64(sample->key, (uint64_t)first);
    bytes_put_be64(sample->key + 8, (uint64_t)second);
    sample->record.key = sample->key;
    sample->record.key_size = second ? 16 : 8;
}

static void with_value(struct sample *sample) {
    sample->record.value = sample->value.data;
    sample->record.value_size = sample->value.size;
}

static struct sample sample_of(const struct topic *topic) {
    return (struct sample){.record = {.topic = topic, .partition = 3, .offset = 17, .timestamp = 1700000000000}};
}

static char *text_of(const struct sample *sample) {
    struct buffer out = {.data = NULL};
    struct codec *codec = codec_new();
    record_text(&out, &SETTINGS, codec, &sample->record);
    char *text = strdup(buffer_cstring(&out));
    codec_free(codec);
    buffer_free(&out);
    return text;
}

static bool concerns(const struct sample *sample, int64_t user) {
    struct codec *codec = codec_new();
    bool result = record_concerns(codec, &sample->record, user);
    codec_free(codec);
    return result;
}

#define assert_text(sample, expected)                                                                                  \
    do {                                                                                                               \
        char *text_ = text_of(sample);                                                                                 \
        assert_string_equal(text_, expected);                                                                          \
        free(text_);                                                                                                   \
    } while (0)

#define HEAD(topic) "{\"topic\":\"t." topic "\",\"partition\":3,\"offset\":17,\"timestamp\":1700000000000,\"key\":"

static void a_friendship_has_both_users_in_its_key(void **state) {
    struct sample sample = sample_of(&TOPIC_FRIENDSHIPS);
    with_key(&sample, 5, 9);
    assert_text(&sample, HEAD("friendships") "[5,9],\"value\":null}");
    event_encode_friendship(&sample.value, &(struct friendship){.state = FRIENDSHIP_FRIENDS, .since = 7});
    with_value(&sample);
    char *text = text_of(&sample);
    assert_non_null(strstr(text, "\"key\":[5,9],\"value\":{"));
    assert_non_null(strstr(text, "FRIENDS"));
    free(text);
    assert_true(concerns(&sample, 5));
    assert_false(concerns(&sample, 9)); // the other half is the other user's
    buffer_free(&sample.value);
}

static void a_command_concerns_both_users(void **state) {
    struct sample sample = sample_of(&TOPIC_FRIEND_COMMANDS);
    with_key(&sample, 5, 0);
    event_encode_friend_command(
        &sample.value, &(struct friend_command){.kind = FRIEND_COMMAND_REQUEST, .from = 9, .to = 5, .time = 1});
    with_value(&sample);
    assert_true(concerns(&sample, 5));
    assert_true(concerns(&sample, 9));
    assert_false(concerns(&sample, 1));
    char *text = text_of(&sample);
    assert_non_null(strstr(text, "\"key\":5,\"value\":{"));
    free(text);
    buffer_free(&sample.value);
}

static void what_cannot_be_read_is_shown_as_it_is(void **state) {
    struct sample sample = sample_of(&TOPIC_LOCATIONS);
    sample.record.key = (const uint8_t *)"abc";
    sample.record.key_size = 3;
    sample.record.value = (const uint8_t *)"\x01\xfe";
    sample.record.value_size = 2;
    char *text = text_of(&sample);
    assert_non_null(strstr(text, "\"key\":\"616263\",\"value\":null,\"error\":\""));
    assert_non_null(strstr(text, ",\"bytes\":\"01fe\"}"));
    free(text);
    assert_false(concerns(&sample, 5));
}

/* A batch with one Move and one Roster, as a router writes it. */
static void a_delivery_concerns_whom_it_names(void **state) {
    static const int64_t RECIPIENTS[] = {20, 21};
    static const struct roster_friend FRIENDS[] = {{.user = 31, .lat = 1, .lng = 2, .time = 3}};
    const struct delivery_item items[] = {
        {.kind = DELIVERY_ITEM_MOVE,
         .move = {.user = 10, .lat = 1, .lng = 2, .time = 3, .recipients = {RECIPIENTS, 2}}},
        {.kind = DELIVERY_ITEM_ROSTER,
         .roster = {.recipient = 30, .session = 1, .complete = true, .friends = {FRIENDS, 1}}},
        {.kind = DELIVERY_ITEM_PARTED, .parted = {.recipient = 40, .friend = 41}},
        {.kind = DELIVERY_ITEM_DIGEST, .digest = {.recipient = 50, .session = 1, .time = 2, .count = 0, .hash = 0}},
    };
    uint8_t bytes[1024], *at = bytes + DELIVERY_HEAD_MAX, *end = at;
    for (size_t i = 0; i < ARRAY_SIZE(items); i++) end = delivery_item_write(end, &items[i]);
    *end++ = 0;
    uint8_t *start = delivery_head_write_before(at, 5, 6, ARRAY_SIZE(items));
    struct sample sample = sample_of(&TOPIC_DELIVERIES);
    sample.record.value = start;
    sample.record.value_size = (size_t)(end - start);
    static const int64_t NAMED[] = {10, 20, 21, 30, 31, 40, 41, 50};
    for (size_t i = 0; i < ARRAY_SIZE(NAMED); i++) assert_true(concerns(&sample, NAMED[i]));
    assert_false(concerns(&sample, 1));
    char *text = text_of(&sample);
    assert_non_null(strstr(text, "\"key\":null,\"value\":{"));
    free(text);
}

struct rows {
    size_t count;
    struct past_report last;
};

static void count_row(void *context, const struct past_report *report) {
    struct rows *rows = context;
    rows->count++;
    rows->last = *report;
}

static int parse(const char *text, struct rows *rows, char **next, struct error *error) {
    *rows = (struct rows){.count = 0};
    return past_parse(5, text, strlen(text), count_row, rows, next, error);
}

static void pages_of_history_are_read(void **state) {
    struct rows rows;
    char *next = NULL;
    assert_int_equal(
        parse("{\"items\":[{\"lat\":39.9847021,\"lng\":-116.5,\"time\":7,\"accuracy\":null,\"received\":8},"
              "{\"lat\":1,\"lng\":2,\"time\":9,\"accuracy\":30,\"received\":10}],\"next\":\"9-4\"}",
              &rows, &next, NULL),
        0);
    assert_int_equal(rows.count, 2);
    assert_int_equal(rows.last.user, 5);
    assert_int_equal(rows.last.lat, 10000000);
    assert_int_equal(rows.last.accuracy, 30);
    assert_int_equal(rows.last.received, 10);
    assert_string_equal(next, "9-4");
    free(next);
    assert_int_equal(parse("{\"items\":[],\"next\":null}", &rows, &next, NULL), 0);
    assert_int_equal(rows.count, 0);
    assert_null(next);
}

static void answers_that_make_no_sense_are_refused(void **state) {
    static const char *const WRONG[] = {
        "",
        "[]",
        "{\"next\":null}",
        "{\"items\":{},\"next\":null}",
        "{\"items\":[],\"next\":5}",
        "{\"items\":[{\"lat\":1,\"lng\":2,\"received\":10}],\"next\":null}",
        "{\"items\":[{\"lat\":91,\"lng\":2,\"time\":1,\"received\":10}],\"next\":null}",
        "{\"items\":[{\"lat\":1,\"lng\":2,\"time\":1,\"received\":10,\"accuracy\":\"x\"}],\"next\":null}",
    };
    struct rows rows;
    for (size_t i = 0; i < ARRAY_SIZE(WRONG); i++) {
        char *next = NULL;
        struct error error = {.text = ""};
        assert_int_equal(parse(WRONG[i], &rows, &next, &error), -EBADMSG);
        assert_non_null(strstr(error.text, "cannot be understood"));
        assert_null(next);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_friendship_has_both_users_in_its_key),
        cmocka_unit_test(a_command_concerns_both_users),
        cmocka_unit_test(what_cannot_be_read_is_shown_as_it_is),
        cmocka_unit_test(a_delivery_concerns_whom_it_names),
        cmocka_unit_test(pages_of_history_are_read),
        cmocka_unit_test(answers_that_make_no_sense_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
