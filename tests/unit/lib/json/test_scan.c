/* JSON read where it lies: every document that jansson writes is read the same, and every broken one ends without a byte beyond it. */
#include "json/json.h"
#include "json/scan.h"
#include "unit/kit/kit.h"

static uint64_t chance;

static unsigned below(unsigned count) {
    chance = hash_u64(chance + 1);
    return (unsigned)(chance % count);
}

static json_t *random_text(void) {
    static const char *const PIECES[] = {"a", "\"", "\\", "{", "]", ",", ":", "\n", "\xc3\xa4", "7", "}", "["};
    char text[64] = "";
    for (unsigned i = below(6); i--;) strcat(text, PIECES[below(sizeof PIECES / sizeof *PIECES)]);
    return json_string(text);
}

static json_t *random_value(unsigned depth) {
    unsigned kind = below(depth ? 7 : 5), count = below(4);
    char key[16];
    if (kind == 0) return json_integer(below(1000000));
    if (kind == 1) return json_boolean(below(2));
    if (kind == 2) return json_null();
    if (kind == 3) return json_real(below(1000) / 8.0);
    if (kind == 4) return random_text();
    json_t *value = kind == 5 ? json_array() : json_object();
    for (unsigned i = 0; i < count; i++) {
        snprintf(key, sizeof key, "k%u", i);
        if (kind == 5)
            json_array_append_new(value, random_value(depth - 1));
        else
            json_object_set_new(value, key, random_value(depth - 1));
    }
    return value;
}

static void assert_same(struct json_scan *scan, const json_t *expected);

static void assert_same_members(struct json_scan *scan, const json_t *expected) {
    struct json_bytes key;
    size_t seen = 0;
    assert_true(json_scan_object(scan));
    while (json_scan_member(scan, &key)) {
        char name[8];
        snprintf(name, sizeof name, "%.*s", (int)key.size, key.data);
        assert_same(scan, json_object_get(expected, name));
        seen++;
    }
    assert_int_equal(seen, json_object_size(expected));
}

static void assert_same_bytes(struct json_scan *scan, const json_t *expected) {
    struct json_bytes bytes;
    assert_true(json_scan_value(scan, &bytes));
    FREED_JSON *value = json_loadb(bytes.data, bytes.size, JSON_DECODE_ANY, NULL);
    assert_true(json_equal(value, expected));
}

/* Reads the next value one way or the other. */
static void assert_same(struct json_scan *scan, const json_t *expected) {
    int64_t number;
    bool truth;
    if (json_is_integer(expected)) {
        assert_true(json_scan_int(scan, &number));
        assert_int_equal(number, json_integer_value(expected));
    } else if (json_is_boolean(expected)) {
        assert_true(json_scan_bool(scan, &truth));
        assert_int_equal(truth, json_is_true(expected));
    } else if (json_is_array(expected) && below(2)) {
        size_t seen = 0;
        assert_true(json_scan_array(scan));
        while (json_scan_element(scan)) assert_same(scan, json_array_get(expected, seen++));
        assert_int_equal(seen, json_array_size(expected));
    } else if (json_is_object(expected) && below(2)) {
        assert_same_members(scan, expected);
    } else {
        assert_same_bytes(scan, expected);
    }
}

/* Reads all values of an array, however broken it is; the copy has no byte more than the text. */
static bool reads_whole(const char *text, size_t size) {
    FREED char *copy = malloc(size ? size : 1);
    if (size) memcpy(copy, text, size);
    struct json_scan scan = json_scan_of(copy, size);
    struct json_bytes value;
    json_scan_array(&scan);
    while (json_scan_element(&scan)) json_scan_value(&scan, &value);
    return !scan.bad;
}

TEST(what_jansson_writes_is_read_the_same) {
    for (int i = 0; i < 20000; i++) {
        chance = (uint64_t)i;
        FREED_JSON *value = json_array();
        for (unsigned count = below(4); count--;) json_array_append_new(value, random_value(3));
        FREED char *text = json_dumps(value, below(2) ? JSON_COMPACT : JSON_INDENT(2));
        size_t size = strlen(text);
        struct json_scan scan = json_scan_of(text, size);
        assert_same(&scan, value);
        assert_false(scan.bad);
        assert_ptr_equal(scan.at, text + size);
        for (size_t cut = 0; cut < size; cut++) assert_false(reads_whole(text, cut));
        text[below((unsigned)size)] = "\"\\[]{},:x"[below(9)];
        reads_whole(text, size);
    }
}

TEST(what_is_not_expected_is_bad) {
    struct json_bytes bytes;
    int64_t number;
    bool truth;
    struct json_scan scan = json_scan_of("7", 1);
    assert_false(json_scan_array(&scan));
    assert_true(scan.bad);
    assert_false(json_scan_int(&scan, &number)); /* and it stays so */
    scan = json_scan_of("-7", 2);
    assert_false(json_scan_int(&scan, &number));
    scan = json_scan_of("\"7\"", 3);
    assert_false(json_scan_bool(&scan, &truth));
    scan = json_scan_of("\"a\\n\"", 5);
    assert_false(json_scan_text(&scan, &bytes));
    scan = json_scan_of("\"abc\"", 5);
    assert_true(json_scan_text(&scan, &bytes));
    assert_true(json_bytes_are(&bytes, "abc"));
    assert_false(json_bytes_are(&bytes, "abcd"));
    static const char *const BROKEN[] = {"[1 2]", "[,]", "[1,]", "[1}", "[:]", "{}", "[\"a]", "[[1]", ""};
    for (size_t i = 0; i < sizeof BROKEN / sizeof *BROKEN; i++) assert_false(reads_whole(BROKEN[i], strlen(BROKEN[i])));
}
