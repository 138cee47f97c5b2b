/* Older versions of a record, read into the newest struct: the codecs here are generated from tests/schemas/evolution, with
 * every change that Avro's schema resolution allows between version 1 and 2 (a field gone, new, elsewhere; int to long;
 * symbols of an enum; branches of a union). Random values of version 1 are made and encoded by avro-c. */
#include "unit/kit/kit.h"
#include "unit/lib/event/samples.h"
#include "evolution/records.h"

enum { VISIT_V1 = 1, TRIP_V1 = 2, ROUNDS = 3000 };

static avro_value_t child(avro_value_t *value, const char *name) {
    avro_value_t result = {.iface = NULL};
    assert_int_equal(avro_value_get_by_name(value, name, &result, NULL), 0);
    return result;
}

static avro_value_t item(avro_value_t *array, size_t i) {
    avro_value_t result = {.iface = NULL};
    assert_int_equal(avro_value_get_by_index(array, i, &result, NULL), 0);
    return result;
}

static size_t count_of(avro_value_t *array) {
    size_t count = 0;
    assert_int_equal(avro_value_get_size(array, &count), 0);
    return count;
}

static int64_t number(avro_value_t value) {
    int64_t wide = 0;
    int32_t narrow = 0;
    if (avro_value_get_type(&value) == AVRO_INT64) {
        assert_int_equal(avro_value_get_long(&value, &wide), 0);
        return wide;
    }
    assert_int_equal(avro_value_get_int(&value, &narrow), 0);
    return narrow;
}

static void assert_visit(const struct visit *visit, avro_value_t *old) {
    static const enum visit_mood moods[] = {VISIT_HAPPY, VISIT_SAD, VISIT_NEUTRAL}; /* BORED is gone: the default */
    static const char title[] = "a \"day\" in Z\xc3\xbcrich\n";
    int mood = 0;
    avro_value_t value = child(old, "mood"), marks = child(old, "marks"), stays = child(old, "stays");
    assert_int_equal(avro_value_get_enum(&value, &mood), 0);
    assert_int_equal(visit->mood, moods[mood]);
    assert_true(visit->user == number(child(old, "user")));
    assert_int_equal(visit->marks.count, count_of(&marks));
    for (size_t i = 0; i < visit->marks.count; i++) assert_true(visit->marks.items[i] == number(item(&marks, i)));
    assert_int_equal(visit->stays.count, count_of(&stays));
    for (size_t i = 0; i < visit->stays.count; i++) {
        value = item(&stays, i);
        assert_true(visit->stays.items[i].place == number(child(&value, "place")));
        assert_int_equal(visit->stays.items[i].nights, 1);
    }
    value = child(old, "guide");
    assert_true(visit->guide.user == number(child(&value, "user")));
    assert_int_equal(visit->guide.stars, -5);
    assert_int_equal(visit->title.size, sizeof title - 1);
    assert_memory_equal(visit->title.data, title, sizeof title - 1);
    const void *stamp = NULL;
    size_t stamp_size = 0;
    value = child(old, "stamp");
    assert_int_equal(avro_value_get_bytes(&value, &stamp, &stamp_size), 0);
    assert_int_equal(visit->stamp.size, stamp_size);
    if (stamp_size > 0) assert_memory_equal(visit->stamp.data, stamp, stamp_size);
    assert_true(visit->paid);
    assert_true(visit->least == INT64_MIN);
    assert_int_equal(visit->rating, VISIT_HIGH);
    assert_int_equal(visit->more.count, 0);
    avro_value_t names = child(old, "names");
    assert_int_equal(visit->names.count, count_of(&names));
    for (size_t i = 0; i < visit->names.count; i++) {
        const char *text = NULL;
        size_t size = 0; /* with the NUL */
        value = item(&names, i);
        assert_int_equal(avro_value_get_string(&value, &text, &size), 0);
        assert_int_equal(visit->names.items[i].size, size - 1);
        assert_memory_equal(visit->names.items[i].data, text, size - 1);
    }
    assert_int_equal(visit->notes.count, 0);
}

TEST(test_an_older_record_becomes_the_newest_struct) {
    struct samples *samples = samples_new(&evolution_schemas[0], 1);
    FREED_BUFFER bytes = {.size = 0};
    visit_reader *read = visit_reader_of(VISIT_V1);
    for (int i = 0; i < ROUNDS; i++) {
        struct codec *codec = kit_codec();
        struct visit visit;
        samples_next(samples, &bytes);
        assert_ptr_equal(read(bytes.data, bytes.data + bytes.size, &visit, codec), bytes.data + bytes.size);
        assert_visit(&visit, &samples->value);
    }
    samples_free(samples);
}

TEST(test_the_struct_is_written_as_the_newest_version) {
    static const int64_t marks[] = {1, INT64_MAX};
    static const struct visit_stay stays[] = {{.place = INT64_MIN, .nights = 3}};
    static const struct event_text names[] = {{"Ann", 3}, {"", 0}};
    const struct visit visit = {.marks = {.items = marks, .count = 2},
                                .mood = VISIT_SAD,
                                .user = 1LL << 40,
                                .guide = {.user = 2, .stars = 5},
                                .stays = {.items = stays, .count = 1},
                                .stamp = {.data = (const uint8_t *)"\1A", .size = 2},
                                .title = {.data = "Köln", .size = strlen("Köln")},
                                .paid = false,
                                .least = 9,
                                .rating = VISIT_LOW,
                                .more = {.items = marks, .count = 1},
                                .names = {.items = names, .count = 2}};
    struct samples *samples = samples_new(&evolution_schemas[2], 1);
    FREED_BUFFER theirs = {.size = 0};
    FREED char *json = NULL;
    uint8_t *bytes = mem_alloc(visit_size_max(&visit)), *end = visit_write(bytes, &visit);
    assert_true(samples_parse(samples, bytes, (size_t)(end - bytes), &theirs));
    assert_int_equal(theirs.size, end - bytes);
    assert_memory_equal(theirs.data, bytes, theirs.size);
    assert_int_equal(avro_value_to_json(&samples->value, 1, &json), 0);
    assert_string_equal(
        json,
        "{\"marks\": [1, 9223372036854775807], \"mood\": \"SAD\", \"user\": 1099511627776, "
        "\"guide\": {\"user\": 2, \"stars\": 5}, "
        "\"stays\": [{\"place\": -9223372036854775808, \"nights\": 3}], "
        "\"stamp\": \"\\u0001A\", \"title\": \"K\\u00F6ln\", \"paid\": false, \"least\": 9, \"rating\": \"LOW\", \"more\": [1], "
        "\"names\": [\"Ann\", \"\"], \"notes\": []}");
    free(bytes);
    samples_free(samples);
}

TEST(test_an_older_union_becomes_the_newest_struct) {
    struct samples *samples = samples_new(&evolution_schemas[1], 2);
    struct codec *codec = kit_codec();
    FREED_BUFFER bytes = {.size = 0};
    assert_int_equal(samples->schema->id, TRIP_V1);
    for (int i = 0; i < ROUNDS; i++) {
        struct trip trip;
        avro_value_t value, branch;
        int kind = 0;
        samples_next(samples, &bytes);
        const uint8_t *end = bytes.data + bytes.size;
        assert_ptr_equal(trip_reader_of(TRIP_V1)(bytes.data, end, &trip, codec), end);
        value = child(&samples->value, "item");
        assert_int_equal(avro_value_get_discriminant(&value, &kind), 0);
        assert_int_equal(avro_value_get_current_branch(&value, &branch), 0);
        if (kind == 0) {
            assert_int_equal(trip.kind, TRIP_START);
            assert_true(trip.start.user == number(child(&branch, "user")));
            assert_false(trip.start.fast);
        } else {
            assert_int_equal(trip.kind, TRIP_STOP);
            assert_true(trip.stop.user == number(child(&branch, "user")));
        }
    }
    samples_free(samples);
}

/* A damaged older record is refused by its reader and by find_end alike, or by neither; neither reads beyond the end. */
TEST(test_damaged_older_records) {
    struct samples *samples = samples_new(&evolution_schemas[0], 3);
    struct codec *codec = codec_new();
    FREED_BUFFER bytes = {.size = 0};
    int taken = 0, refused = 0;
    for (int i = 0; i < 20000; i++) {
        struct visit visit;
        codec_free(codec);
        codec = codec_new();
        samples_next(samples, &bytes);
        samples_mutate(samples, &bytes);
        uint8_t *copy = mem_alloc(bytes.size), *end = copy + bytes.size;
        if (bytes.size > 0) memcpy(copy, bytes.data, bytes.size);
        const uint8_t *found = samples->schema->find_end(copy, end);
        assert_ptr_equal(visit_reader_of(VISIT_V1)(copy, end, &visit, codec), found);
        *(found ? &taken : &refused) += 1;
        free(copy);
    }
    assert_true(taken > 100 && refused > 100);
    codec_free(codec);
    samples_free(samples);
}

TEST(test_readers_are_found_by_id) {
    assert_non_null(visit_reader_of(VISIT_SCHEMA_ID));
    assert_true(visit_reader_of(VISIT_V1) != visit_reader_of(VISIT_SCHEMA_ID));
    assert_null(visit_reader_of(TRIP_V1));
    assert_null(visit_reader_of(0));
    assert_null(trip_reader_of(VISIT_V1));
    assert_int_equal(VISIT_SCHEMA_ID, 4);
    assert_int_equal(TRIP_SCHEMA_ID, 7);
}
