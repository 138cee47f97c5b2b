/* Tests track.c. Reports as files of each kind. */
#include "tracks/track.h"
#include "unit/kit/kit.h"

static const struct track_report REPORTS[] = {
    {.user = 7,
     .lat = 399847021,
     .lng = -1163184000,
     .time = 1769860800123,
     .accuracy = 12,
     .received = 1769860800200,
     .details = {570, 1, 1400, 27050, 5, 2}},
    {.user = 7,
     .lat = -5,
     .lng = 1800000000,
     .time = 0,
     .accuracy = -1,
     .received = 1769860801000,
     .details = {DETAILS_NONE}},
};

static void writes(enum track_format format, size_t count, const char *expected) {
    struct track_writer writer;
    FREED_BUFFER out = {.size = 0};
    track_begin(&writer, &out, format, 7);
    for (size_t i = 0; i < count; i++) track_put(&writer, &out, &REPORTS[i]);
    track_end(&writer, &out);
    assert_string_equal(out.size ? buffer_cstring(&out) : "", expected);
}

TEST(lines_of_json) {
    writes(TRACK_JSONL, 0, "");
    writes(TRACK_JSONL, 2,
           "{\"user\":7,\"time\":1769860800123,\"lat\":39.9847021,\"lng\":-116.3184,\"accuracy\":12,\"received\":"
           "1769860800200,\"battery\":0.57,\"charging\":true,\"speed_mps\":1.4,\"course\":270.5,"
           "\"activity\":\"walking\",\"vertical_accuracy_m\":0.05}\n"
           "{\"user\":7,\"time\":0,\"lat\":-0.0000005,\"lng\":180,\"accuracy\":null,\"received\":1769860801000}\n");
}

TEST(csv) {
    static const char NAMES[] =
        "user,time,lat,lng,accuracy,received,battery,charging,speed_mps,course,activity,vertical_accuracy_m\n";
    char expected[400];
    writes(TRACK_CSV, 0, NAMES);
    snprintf(expected, sizeof expected,
             "%s7,1769860800123,39.9847021,-116.3184,12,1769860800200,0.57,true,1.4,270.5,walking,0.05\n"
             "7,0,-0.0000005,180,,1769860801000,,,,,,\n",
             NAMES);
    writes(TRACK_CSV, 2, expected);
}

TEST(geojson) {
    writes(TRACK_GEOJSON, 0, "{\"type\":\"FeatureCollection\",\"features\":[\n]}\n");
    writes(TRACK_GEOJSON, 2,
           "{\"type\":\"FeatureCollection\",\"features\":[\n"
           "{\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\",\"coordinates\":[-116.3184,39.9847021]},"
           "\"properties\":{\"user\":7,\"time\":1769860800123,\"accuracy\":12,\"received\":1769860800200,"
           "\"battery\":0.57,\"charging\":true,\"speed_mps\":1.4,\"course\":270.5,\"activity\":\"walking\","
           "\"vertical_accuracy_m\":0.05}},\n"
           "{\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\",\"coordinates\":[180,-0.0000005]},"
           "\"properties\":{\"user\":7,\"time\":0,\"accuracy\":null,\"received\":1769860801000}}\n]}\n");
}

/* GPX has no longitude of 180: it is -180. */
TEST(gpx) {
    static const char BEGIN[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<gpx version=\"1.1\" creator=\"starling\" "
                                "xmlns=\"http://www.topografix.com/GPX/1/1\" xmlns:starling=\"urn:starling:history\">\n"
                                "<trk><name>7</name><trkseg>\n";
    static const char END[] = "</trkseg></trk>\n</gpx>\n";
    char expected[2048];
    snprintf(expected, sizeof expected, "%s%s", BEGIN, END);
    writes(TRACK_GPX, 0, expected);
    snprintf(
        expected, sizeof expected,
        "%s<trkpt lat=\"39.9847021\" lon=\"-116.3184\"><time>2026-01-31T12:00:00.123Z</time><extensions>"
        "<starling:accuracy>12</starling:accuracy><starling:received>2026-01-31T12:00:00.200Z</starling:received>"
        "<starling:battery>0.57</starling:battery><starling:charging>true</starling:charging>"
        "<starling:speed_mps>1.4</starling:speed_mps><starling:course>270.5</starling:course>"
        "<starling:activity>walking</starling:activity>"
        "<starling:vertical_accuracy_m>0.05</starling:vertical_accuracy_m></extensions></trkpt>\n<trkpt lat=\"-0.0000005\" lon=\"-180\"><time>1970-01-01T00:00:00.000Z</time>"
        "<extensions><starling:received>2026-01-31T12:00:01.000Z</starling:received></extensions></trkpt>\n%s",
        BEGIN, END);
    writes(TRACK_GPX, 2, expected);
}

TEST(each_user_has_a_track) {
    struct track_report others[] = {REPORTS[1], REPORTS[1], REPORTS[1]};
    struct track_writer writer;
    FREED_BUFFER out = {.size = 0};
    others[1].user = others[2].user = 9;
    track_begin(&writer, &out, TRACK_GPX, 7);
    for (size_t i = 0; i < 3; i++) track_put(&writer, &out, &others[i]);
    track_end(&writer, &out);
    const char *second =
        strstr(buffer_cstring(&out), "</trkpt>\n</trkseg></trk>\n<trk><name>9</name><trkseg>\n<trkpt ");
    assert_non_null(second);
    assert_null(strstr(second + 30, "<trk><name>"));
}

TEST(formats_have_names_and_types) {
    static const char *const NAMES[TRACK_FORMATS] = {"jsonl", "csv", "gpx", "geojson"};
    enum track_format format;
    for (int i = 0; i < TRACK_FORMATS; i++) {
        assert_true(track_format_find(NAMES[i], &format));
        assert_int_equal(format, i);
    }
    assert_false(track_format_find("kml", &format));
    assert_string_equal(track_media_type(TRACK_GPX), "application/gpx+xml");
}
