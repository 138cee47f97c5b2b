#include "cli/screen.h"
#include "unit/kit/kit.h"

struct fixture {
    struct watch_screen *screen;
    struct buffer changes; /* "+1 ~2 -1 " */
};

static void on_change(void *context, enum screen_change change, const struct screen_friend *who) {
    struct fixture *fixture = context;
    buffer_format(&fixture->changes, "%c%d ", "+~-"[change], (int)who -> user);
}

static void end(void *it) {
    struct fixture *fixture = it;
    screen_free(fixture->screen);
    buffer_free(&fixture->changes);
}

static struct fixture *fixture_new(void) {
    struct fixture *fixture = kit_zero(sizeof *fixture);
    const struct watch_screen_options options = {.context = fixture, .on_change = on_change};
    *fixture = (struct fixture){.screen = screen_new(&options)};
    kit_after(end, fixture);
    return fixture;
}

static int nearby(struct fixture *fixture, const char *text, char next[32]) {
    FREED_JSON *frame = json_parse(text, strlen(text), NULL);
    assert_non_null(frame);
    const char *cursor = NULL;
    buffer_clear(&fixture->changes);
    int code = screen_nearby(fixture->screen, frame, &cursor);
    if (next) strcpy(next, cursor ? cursor : "");
    return code;
}

static int update(struct fixture *fixture, const char *text) {
    FREED_JSON *frame = json_parse(text, strlen(text), NULL);
    assert_non_null(frame);
    buffer_clear(&fixture->changes);
    return screen_update(fixture->screen, frame);
}

#define ITEM(user, lat)                                                                                                \
    "{\"user\":" #user ",\"name\":\"N" #user "\",\"lat\":" #lat ",\"lng\":0,\"distance_m\":1,\"time\":5}"
#define assert_changes(fixture, text) assert_string_equal(buffer_cstring(&(fixture)->changes), text)

TEST(the_list_is_what_the_frames_say_nearest_first) {
    struct fixture *fixture = fixture_new();
    char next[32];
    assert_int_equal(nearby(fixture, "{\"items\":[" ITEM(1, 0.02) "," ITEM(2, 0.01) "],\"next\":\"c1\"}", next), 0);
    assert_string_equal(next, "c1");
    assert_changes(fixture, "+1 +2 ");
    assert_int_equal(nearby(fixture, "{\"items\":[" ITEM(3, 0.03) "],\"next\":null}", next), 0);
    assert_string_equal(next, "");
    assert_int_equal(
        update(fixture, "{\"near\":[" ITEM(3, 0.001) "," ITEM(4, 0.05) "," ITEM(2, 0.01) "],\"gone\":[1,77]}"), 0);
    assert_changes(fixture, "~3 +4 -1 ");
    size_t count;
    const struct screen_friend *friends = screen_sorted(fixture->screen, &count);
    assert_int_equal(count, 3);
    assert_int_equal(friends[0].user, 3);
    assert_int_equal(friends[1].user, 2);
    assert_int_equal(friends[2].user, 4);
    assert_string_equal(friends[2].name, "N4");
    assert_true(friends[0].distance_m > 111 && friends[0].distance_m < 112);
    screen_place(fixture->screen, (struct geo_point){.lat = 500000, .lng = 0});
    friends = screen_sorted(fixture->screen, &count);
    assert_int_equal(friends[0].user, 4);
    assert_true(friends[0].distance_m < 0.01);
}

TEST(a_new_session_drops_who_is_on_none_of_its_pages) {
    struct fixture *fixture = fixture_new();
    screen_begin(fixture->screen);
    nearby(fixture,
           "{\"items\":[" ITEM(1, 0.01) "," ITEM(2, 0.01) "," ITEM(3, 0.01) "," ITEM(4, 0.01) "],\"next\":null}", NULL);
    screen_begin(fixture->screen);
    nearby(fixture, "{\"items\":[" ITEM(1, 0.01) "],\"next\":\"x\"}", NULL);
    assert_changes(fixture, "");
    update(fixture, "{\"near\":[" ITEM(4, 0.02) "],\"gone\":[]}");
    assert_changes(fixture, "~4 ");
    nearby(fixture, "{\"items\":[" ITEM(3, 0.01) "],\"next\":null}", NULL);
    assert_changes(fixture, "-2 ");
}

TEST(frames_that_make_no_sense_are_refused) {
    static const char *const NEARBY[] = {
        "{}",
        "{\"items\":5,\"next\":null}",
        "{\"items\":[5],\"next\":null}",
        "{\"items\":[],\"next\":5}",
        "{\"items\":[{\"user\":1,\"lat\":91,\"lng\":0,\"time\":1}],\"next\":null}",
        "{\"items\":[{\"user\":-1,\"lat\":1,\"lng\":0,\"time\":1}],\"next\":null}",
        "{\"items\":[{\"user\":1,\"lat\":1,\"lng\":0,\"time\":1,\"name\":3}],\"next\":null}",
    };
    static const char *const UPDATE[] = {"{}", "{\"near\":[],\"gone\":3}", "{\"near\":[],\"gone\":[\"a\"]}",
                                         "{\"gone\":[]}"};
    struct fixture *fixture = fixture_new();
    for (size_t i = 0; i < ARRAY_SIZE(NEARBY); i++) assert_int_equal(nearby(fixture, NEARBY[i], NULL), -EBADMSG);
    for (size_t i = 0; i < ARRAY_SIZE(UPDATE); i++) assert_int_equal(update(fixture, UPDATE[i]), -EBADMSG);
    size_t count;
    screen_sorted(fixture->screen, &count);
    assert_int_equal(count, 0);
}

TEST(distances_and_ages_are_short) {
    static const struct {
        double metres;
        const char *text;
    } DISTANCES[] = {{0, "0.0 m"}, {999.44, "999.4 m"}, {8046.72, "8046.7 m"}};
    static const struct {
        int64_t ms;
        const char *text;
    } AGES[] = {{-5000, "now"}, {999, "now"}, {1000, "1 s ago"}, {119999, "119 s ago"}, {120000, "2 min ago"}};
    FREED_BUFFER out = {.size = 0};
    for (size_t i = 0; i < ARRAY_SIZE(DISTANCES); i++) {
        buffer_clear(&out);
        screen_put_distance(&out, DISTANCES[i].metres);
        assert_string_equal(buffer_cstring(&out), DISTANCES[i].text);
    }
    for (size_t i = 0; i < ARRAY_SIZE(AGES); i++) {
        buffer_clear(&out);
        screen_put_age(&out, AGES[i].ms);
        assert_string_equal(buffer_cstring(&out), AGES[i].text);
    }
}

static size_t lines_of(const char *text) {
    size_t lines = 1;
    for (; *text; text++) lines += *text == '\n';
    return lines;
}

TEST(the_picture_fits_the_window) {
    struct fixture *fixture = fixture_new();
    FREED_BUFFER out = {.size = 0};
    nearby(fixture,
           "{\"items\":[" ITEM(1, 0.01) "," ITEM(2, 0.02) "," ITEM(3, 0.03) "," ITEM(4, 0.04) "],\"next\":null}", NULL);
    screen_draw(fixture->screen, &out, "heading", 65005, 24);
    const char *picture = buffer_cstring(&out);
    assert_non_null(strstr(picture, "heading"));
    assert_true(strstr(picture, "N1") < strstr(picture, "N4"));
    assert_non_null(strstr(picture, "65 s ago"));
    assert_null(strstr(picture, "more"));
    assert_true(lines_of(picture) <= 24);
    buffer_clear(&out);
    screen_draw(fixture->screen, &out, "heading", 5, 5);
    picture = buffer_cstring(&out);
    assert_non_null(strstr(picture, "N2"));
    assert_null(strstr(picture, "N3"));
    assert_non_null(strstr(picture, "and 2 more"));
    assert_true(lines_of(picture) <= 5);
}
