/* Tests fanout/nearby/faces.c and fanout/nearby/frames.c. What the edge says: every frame is read back by jansson, which wrote none of
 * it. Names come from a real copy of the profiles on disk; there is no broker. */
#include <math.h>

#include "base/bytes.h"
#include "event/topics.h"
#include "fanout/frames.h"
#include "fanout/nearby/frames.h"
#include "fanout/nearby/request.h"
#include "json/json.h"
#include "unit/kit/kit.h"
#include "users/profiles.h"
#include "ws/ws.h"

enum { FRIENDS = 45, PARTITIONS = 1, FACES_BYTES = 8192 }; /* fewer faces than friends */

static const char NASTY[] = "Zoë \"the\\quote\" </script>\n\t\x01 \xf0\x9f\x9a\xb2 \xff.";

struct fixture {
    char *root;
    struct profiles *profiles;
    struct faces *faces;
    struct lists *lists;
    struct nearby nearby;
    struct buffer frame;
};

static void put_profile(struct copy_disk *disk, int64_t user, const char *name, const char *url) {
    FREED_BUFFER value = {.size = 0};
    struct profile profile = {.name = {name, strlen(name)}, .avatar_url = {url, strlen(url)}};
    uint8_t key[8];
    bytes_put_be64(key, (uint64_t)user);
    event_encode_profile(&value, &profile);
    copy_disk_put(disk, key, sizeof key, value.data, value.size);
}

static void make_profiles(const char *root) {
    struct copy_disk *disk;
    if (copy_disk_open(root, TOPIC_PROFILES.name, PARTITIONS, &disk, &failure)) fail_msg("%s", failure.text);
    put_profile(disk, 1, "Ada", "https://example.org/ada.png?a=1&b=2");
    put_profile(disk, 2, NASTY, "");
    assert_int_equal(copy_disk_write(disk, &failure), 0);
    copy_disk_close(disk);
}

SET_UP() {
    struct fixture *f = kit_zero(sizeof *f);
    f->root = kit_folder();
    make_profiles(f->root);
    const struct profiles_options options = {.data_dir = f->root, .partitions = PARTITIONS};
    if (profiles_open(&options, &f->profiles, &failure)) fail_msg("%s", failure.text);
    f->faces = faces_new(f->profiles, FACES_BYTES);
    f->lists = lists_new();
    nearby_init(&f->nearby, f->lists, 8046.72);
    nearby_locate(&f->nearby, (struct geo_point){399847021, 1163184170}, 1000);
    return f;
}

TEAR_DOWN(struct fixture *f) {
    faces_free(f->faces);
    profiles_close(f->profiles);
    nearby_free(&f->nearby);
    lists_free(f->lists);
    buffer_free(&f->frame);
}

/* The frame as the phone's JSON parser sees it. */
static json_t *read_frame(const struct fixture *f, const char *type) {
    json_t *json = json_parse(f->frame.data + WS_HEADROOM, f->frame.size - WS_HEADROOM, &failure);
    if (!json) fail_msg("%s: %.*s", failure.text, (int)(f->frame.size - WS_HEADROOM), f->frame.data + WS_HEADROOM);
    assert_string_equal(json_string_value(json_object_get(json, "type")), type);
    return json;
}

static int64_t integer(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

static const char *text(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_string(value));
    return json_string_value(value);
}

static void meet(struct fixture *f, int64_t user, int32_t north_e7) {
    nearby_upsert(&f->nearby, user, (struct geo_point){399847021 + north_e7, 1163184170}, 900 + user);
}

TEST(welcome_says_everything, struct fixture *f) {
    struct welcome welcome = {.user = INT64_MAX,
                              .session = INT64_MAX - 1,
                              .server_time = 1790000000123,
                              .report_every_s = 30,
                              .inactive_after_s = 600,
                              .radius_m = 8046.72};
    frame_welcome(&f->frame, &welcome);
    FREED_JSON *json = read_frame(f, "welcome");
    assert_true(integer(json, "user") == INT64_MAX);
    assert_string_equal(json_string_value(json_object_get(json, "session")), "9223372036854775806");
    assert_int_equal(integer(json, "server_time"), 1790000000123);
    assert_true(json_real_value(json_object_get(json, "radius_m")) == 8046.72);
    assert_int_equal(integer(json, "report_every_s"), 30);
    assert_int_equal(integer(json, "inactive_after_s"), 600);
    assert_int_equal(json_object_size(json), 7);
}

TEST(items_say_who_where_and_when, struct fixture *f) {
    meet(f, 1, 100000);
    meet(f, 2, -90);
    meet(f, 3, 0);
    assert_int_equal(frame_nearby(&f->frame, &f->nearby, (struct nearby_cursor){-1, -1}, f->faces), 3);
    json_t *json = read_frame(f, "nearby"), *items = json_object_get(json, "items");
    assert_int_equal(integer(json, "total"), 3);
    assert_int_equal(json_array_size(items), 3);
    assert_true(json_is_null(json_object_get(json, "next")));

    const json_t *nobody = json_array_get(items, 0), *nasty = json_array_get(items, 1), *ada = json_array_get(items, 2);
    assert_int_equal(integer(nobody, "user"), 3);
    assert_string_equal(text(nobody, "name"), "");
    assert_string_equal(text(nobody, "avatar_url"), "");
    assert_true(json_number_value(json_object_get(nobody, "distance_m")) == 0);
    assert_string_equal(text(nasty, "name"), "Zoë \"the\\quote\" </script>\n\t\x01 \xf0\x9f\x9a\xb2 \xef\xbf\xbd.");
    assert_string_equal(text(ada, "name"), "Ada");
    assert_string_equal(text(ada, "avatar_url"), "https://example.org/ada.png?a=1&b=2");
    assert_true(json_number_value(json_object_get(ada, "lat")) == 39.9947021);
    assert_true(json_number_value(json_object_get(ada, "lng")) == 116.318417);
    assert_true(json_number_value(json_object_get(ada, "distance_m")) == 1112.0);
    assert_int_equal(integer(ada, "time"), 901);
    assert_int_equal(json_object_size(ada), 7);
    json_decref(json);
}

/* Ada's entry of the first page. */
static json_t *ada_of(struct fixture *f, json_t **page) {
    frame_nearby(&f->frame, &f->nearby, (struct nearby_cursor){-1, -1}, f->faces);
    *page = read_frame(f, "nearby");
    return json_array_get(json_object_get(*page, "items"), 0);
}

static void ada_has(struct fixture *f, size_t members, double battery) {
    json_t *page;
    const json_t *ada = ada_of(f, &page);
    bool rounded = json_object_get(ada, "rounded");
    assert_int_equal(json_object_size(ada), members);
    if (members > 8) assert_true(json_number_value(json_object_get(ada, "battery")) == battery);
    assert_int_equal(json_is_integer(json_object_get(ada, "accuracy")), members > 7 && !rounded);
    assert_int_equal(json_is_true(json_object_get(ada, "charging")), members > 9);
    json_decref(page);
}

static struct user_details details_of(int64_t time) {
    return (struct user_details){.user = 1, .time = time, .accuracy = 12, .shown = true, .said = {DETAILS_NONE}};
}

TEST(items_say_what_phones_say_of_that_report, struct fixture *f) {
    struct user_details details = details_of(901);
    meet(f, 1, 0);
    ada_has(f, 7, 0);
    details.said.battery = 500;
    assert_true(faces_tell(f->faces, &details));
    ada_has(f, 9, 0.5);
    assert_false(faces_tell(f->faces, &details)); // once more
    details.said.battery = 250;
    details.said.charging = 1;
    assert_true(faces_tell(f->faces, &details)); // of the same time
    ada_has(f, 10, 0.25);
    faces_forget(f->faces, 1); // a new profile
    ada_has(f, 10, 0.25);
    details.time = 900; // an older report's
    assert_false(faces_tell(f->faces, &details));
    ada_has(f, 10, 0.25);
    details.time = 902; // a newer one's, whose place is not known here
    assert_true(faces_tell(f->faces, &details));
    ada_has(f, 7, 0);
}

TEST(items_say_it_as_the_friend_chooses, struct fixture *f) {
    struct user_details details = details_of(901);
    meet(f, 1, 0);
    assert_false(faces_show(f->faces, 1, true)); // nothing is known
    assert_false(faces_show(f->faces, 1, false));
    details.shown = false; // the report came before the choice
    assert_false(faces_tell(f->faces, &details));
    ada_has(f, 7, 0);
    assert_true(faces_show(f->faces, 1, true));
    assert_false(faces_show(f->faces, 1, true));
    ada_has(f, 8, 0);
    assert_true(faces_show(f->faces, 1, false));
    ada_has(f, 7, 0);
}

TEST(a_rounded_friend_has_no_details, struct fixture *f) {
    const struct user_details details = details_of(901);
    meet(f, 1, 0);
    faces_tell(f->faces, &details);
    nearby_roster_start(&f->nearby);
    nearby_roster_entry(&f->nearby, 1, (struct geo_point){399847021, 1163184170}, 901, true);
    nearby_roster_end(&f->nearby, true);
    ada_has(f, 8, 0); // `rounded`
}

/* Details in an entry go at the end of the choice, also when there is no room for the friend any more. */
TEST(details_of_many_friends_are_bounded, struct fixture *f) {
    struct user_details details = details_of(901);
    for (; details.user <= FACES_DETAILED; details.user++) faces_tell(f->faces, &details);
    meet(f, 1, 0);
    ada_has(f, 8, 0);               // accuracy alone
    faces_tell(f->faces, &details); // the first has gone
    assert_true(faces_show(f->faces, 1, false));
    ada_has(f, 7, 0);
}

TEST(pages_hold_twenty, struct fixture *f) {
    int seen[FRIENDS + 1] = {0};
    size_t sizes[3];
    struct nearby_cursor cursor = {-1, -1};
    for (int64_t user = 1; user <= FRIENDS; user++) meet(f, user, (int32_t)(user * 1000));
    for (int page = 0; page < 3; page++) {
        sizes[page] = frame_nearby(&f->frame, &f->nearby, cursor, f->faces);
        json_t *json = read_frame(f, "nearby"), *items = json_object_get(json, "items");
        const json_t *next = json_object_get(json, "next");
        assert_int_equal(json_array_size(items), sizes[page]);
        assert_int_equal(integer(json, "total"), FRIENDS);
        for (size_t i = 0; i < sizes[page]; i++) seen[integer(json_array_get(items, i), "user")]++;
        if (page == 2) {
            assert_true(json_is_null(next));
        } else {
            struct nearby_request request;
            const char *code;
            FREED_JSON *more = json_pack("{s:s,s:s}", "type", "more", "after", json_string_value(next));
            assert_int_equal(nearby_request_parse("more", more, &request, &code, &failure), 0);
            cursor = request.after;
        }
        json_decref(json);
    }
    assert_int_equal(sizes[0], FRAMES_PAGE);
    assert_int_equal(sizes[1], FRAMES_PAGE);
    assert_int_equal(sizes[2], FRIENDS - 2 * FRAMES_PAGE);
    for (int user = 1; user <= FRIENDS; user++) assert_int_equal(seen[user], 1);
}

TEST(updates_name_the_near_and_the_gone, struct fixture *f) {
    assert_int_equal(frame_update(&f->frame, &f->nearby, f->faces), 0);
    assert_int_equal(f->frame.size, WS_HEADROOM); /* nothing to tell: no frame */
    meet(f, 1, 1000);
    meet(f, 2, 2000);
    meet(f, 3, 3000);
    frame_nearby(&f->frame, &f->nearby, (struct nearby_cursor){-1, -1}, f->faces);
    nearby_remove(&f->nearby, 1);
    nearby_remove(&f->nearby, 3);
    meet(f, 2, 2500);
    nearby_upsert(&f->nearby, 2, (struct geo_point){399847021, 1163184170}, 2000);
    meet(f, 4, 4000);
    assert_int_equal(frame_update(&f->frame, &f->nearby, f->faces), 4);
    json_t *json = read_frame(f, "update"), *near = json_object_get(json, "near"),
           *gone = json_object_get(json, "gone");
    assert_int_equal(json_array_size(near), 2);
    size_t second = integer(json_array_get(near, 0), "user") == 2 ? 0 : 1; /* in no order */
    assert_int_equal(integer(json_array_get(near, second), "user"), 2);
    assert_int_equal(integer(json_array_get(near, second), "time"), 2000);
    assert_int_equal(integer(json_array_get(near, !second), "user"), 4);
    assert_int_equal(json_array_size(gone), 2);
    int64_t left[] = {json_integer_value(json_array_get(gone, 0)), json_integer_value(json_array_get(gone, 1))};
    assert_true((left[0] == 1 && left[1] == 3) || (left[0] == 3 && left[1] == 1));
    json_decref(json);
    assert_int_equal(frame_update(&f->frame, &f->nearby, f->faces), 0);
}

/* A face is kept as text: it must not outlive the place, the time or the profile, nor its share of the memory. */
TEST(faces_are_never_old, struct fixture *f) {
    static const struct face_place SEEN[] = {{{399847021, 1163184170}, 5, false},  {{399847022, 1163184170}, 5, false},
                                             {{399847022, -1163184170}, 5, false}, {{399847022, -1163184170}, 6, false},
                                             {{399847022, -1163184170}, 6, true},  {{-1, 0}, INT64_MAX >> 9, true}};
    for (size_t i = 0; i < sizeof SEEN / sizeof *SEEN; i++) {
        for (int64_t user = 1; user <= FRIENDS; user++) {
            ws_frame_start(&f->frame);
            faces_put(f->faces, &f->frame, user, &SEEN[i], (double)user + 0.5);
            FREED_JSON *item = json_parse(f->frame.data + WS_HEADROOM, f->frame.size - WS_HEADROOM, &failure);
            if (!item) fail_msg("%s", failure.text);
            assert_int_equal(integer(item, "user"), user);
            assert_string_equal(text(item, "name"), user == 1 ? "Ada" : text(item, "name"));
            assert_int_equal(integer(item, "time"), SEEN[i].time);
            assert_int_equal(json_is_true(json_object_get(item, "rounded")), SEEN[i].rounded);
            assert_int_equal(lround(json_number_value(json_object_get(item, "lat")) * 1e7), SEEN[i].at.lat);
            assert_int_equal(lround(json_number_value(json_object_get(item, "lng")) * 1e7), SEEN[i].at.lng);
            assert_true(json_number_value(json_object_get(item, "distance_m")) == (double)user + 0.5);
            if (user % 7 == 0) faces_forget(f->faces, user);
            assert_true(faces_bytes(f->faces) <= FACES_BYTES);
        }
    }
    assert_true(faces_count(f->faces) > 5 && faces_count(f->faces) < FRIENDS);
}

static void expect_update(struct fixture *f, struct nearby *nearby, int64_t friends, int round) {
    assert_int_equal(frame_update(&f->frame, nearby, f->faces), friends);
    json_t *json = read_frame(f, "update"), *near = json_object_get(json, "near");
    int64_t sum = 0;
    for (size_t i = 0; i < (size_t)friends; i++) {
        const json_t *item = json_array_get(near, i);
        int64_t user = integer(item, "user"), north = user * 100 + round;
        sum += user;
        if (user != 2) assert_string_equal(text(item, "name"), user == 1 ? "Ada" : "");
        assert_int_equal(integer(item, "time"), 2000 + round);
        assert_int_equal(lround(json_number_value(json_object_get(item, "lat")) * 1e7), 399847021 + north);
        assert_true(fabs(json_number_value(json_object_get(item, "distance_m")) - (double)north * 0.01112) < 0.06);
    }
    assert_int_equal(sum, friends * (friends + 1) / 2);
    json_decref(json);
}

/* More friends than there is room for faces: those asked for ahead are thrown out before they are put. Few: the second list is
 * told with the faces that the first one has found, unless they have gone in between, and others have come in their place. */
TEST(an_update_outlives_its_faces, struct fixture *f) {
    FREED_BY(nearby_free) struct nearby other;
    nearby_init(&other, f->lists, 8046.72);
    nearby_locate(&other, (struct geo_point){399847021, 1163184170}, 1000);
    for (int round = 0; round < 12; round++) {
        int64_t friends = round % 3 == 0 ? FRIENDS : 9;
        for (int64_t user = 1; user <= friends; user++) {
            struct lists_move move = {
                .user = user, .at = {399847021 + (int32_t)(user * 100 + round), 1163184170}, .time = 2000 + round};
            uint32_t put = lists_put(f->lists, &move);
            nearby_note(&f->nearby, put, move.time);
            if (round) nearby_note(&other, put, move.time);
            if (!round) nearby_upsert(&other, user, move.at, move.time);
        }
        expect_update(f, &f->nearby, friends, round);
        for (int64_t user = 1; round % 4 == 2 && user <= friends; user += 2) faces_forget(f->faces, user);
        if (round % 4 == 2) faces_put(f->faces, &f->frame, FRIENDS, &(struct face_place){.at = {1, 1}, .time = 1}, 1);
        expect_update(f, &other, friends, round);
    }
}

static void expect_distance(struct fixture *f, double metres) {
    FREED_BUFFER expected = {.size = 0};
    buffer_string(&expected, "\"distance_m\":");
    json_put_fixed1(&expected, metres);
    buffer_byte(&expected, '}');
    ws_frame_start(&f->frame);
    faces_put(f->faces, &f->frame, 1, &(struct face_place){.at = {1, 1}, .time = 1}, metres);
    assert_memory_equal(f->frame.data + f->frame.size - expected.size, expected.data, expected.size);
}

/* Distances are written by hand; they must be those that json_put_fixed1 writes. */
TEST(distances_have_one_decimal, struct fixture *f) {
    static const double METRES[] = {0,         0.04,      0.05,      0.94,       0.96,       1,       9.94,
                                    9.96,      10,        99.96,     1234,       8046,       8046.72, 999999.94,
                                    999999.96, 1234567.8, 9999999.7, 9999999.96, 20015114.4, 1e15};
    for (size_t i = 0; i < sizeof METRES / sizeof *METRES; i++) expect_distance(f, METRES[i]);
    /* On the edges of rounding, and beside them: all up to where there are three digits, some of the rest. */
    for (int twentieths = 1; twentieths <= 200001; twentieths += twentieths < 2100 ? 1 : 19) {
        expect_distance(f, nextafter(twentieths / 20.0, 0));
        expect_distance(f, twentieths / 20.0);
        expect_distance(f, nextafter(twentieths / 20.0, HUGE_VAL));
    }
    for (int tenths = 99980; tenths < 100010; tenths++) expect_distance(f, tenths / 10.0 + 0.06);
}

TEST(errors_and_reconnect_are_quoted, struct fixture *f) {
    frame_error(&f->frame, "bad_\"code", NASTY);
    json_t *json = read_frame(f, "error");
    assert_string_equal(text(json, "code"), "bad_\"code");
    assert_non_null(strstr(text(json, "message"), "</script>"));
    json_decref(json);
    frame_reconnect(&f->frame, 1234);
    json = read_frame(f, "reconnect");
    assert_int_equal(integer(json, "after_ms"), 1234);
    json_decref(json);
}
