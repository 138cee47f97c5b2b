#include "cli/cli.h"
#include "cli/pairs.h"
#include "unit/kit/kit.h"

static char *folder;

SET_UP() { return folder = kit_folder(); }

static char *path_of(const char *name) { return mem_format("%s/%s", folder, name); }

static char *write_text(const char *name, const char *text) {
    char *path = path_of(name);
    kit_write(path, text);
    return path;
}

static void drop(char *path) {
    unlink(path);
    free(path);
}

struct seen {
    size_t count;
    int64_t last_a, last_b, sum;
    size_t stop_at; /* 0: never */
};

static int see(void *context, int64_t a, int64_t b) {
    struct seen *seen = context;
    seen->count++;
    seen->last_a = a;
    seen->last_b = b;
    seen->sum += a + b;
    return seen->stop_at == seen->count ? 42 : 0;
}

TEST(lines_hold_two_ids) {
    static const char *const RIGHT[] = {"1 2", " 1\t2\r\n", "1,2\n", "1, 2 ", "01 2", "1 2 # friends\n", "1,2#"};
    static const char *const NONE[] = {"", "\n", "  \r\n", "# 1 2", " #\n"};
    static const char *const WRONG[] = {"1",     "1 2 3", "a b", "1 b", "-1 2", "1.5 2", "1 9223372036854775808",
                                        "1 # 2", "1#2",   "1;2"};
    for (size_t i = 0; i < ARRAY_SIZE(RIGHT); i++) {
        int64_t a = 0, b = 0;
        assert_int_equal(pairs_parse_line(RIGHT[i], &a, &b), 1);
        assert_int_equal(a, 1);
        assert_int_equal(b, 2);
    }
    int64_t a, b;
    for (size_t i = 0; i < ARRAY_SIZE(NONE); i++) assert_int_equal(pairs_parse_line(NONE[i], &a, &b), 0);
    for (size_t i = 0; i < ARRAY_SIZE(WRONG); i++) assert_int_equal(pairs_parse_line(WRONG[i], &a, &b), -EINVAL);
    assert_int_equal(pairs_parse_line("0 9223372036854775807", &a, &b), 1);
    assert_int_equal(b, INT64_MAX);
}

TEST(a_broken_line_is_named) {
    char *path = write_text("bad", "# a comment\n1 2\n\n3 x\n5 6\n");
    struct seen seen = {0};
    struct error error = {.text = ""};
    assert_int_equal(cli_read_pairs(path, see, &seen, &error), -EINVAL);
    assert_int_equal(seen.count, 1);
    assert_non_null(strstr(error.text, "bad:4: not two ids"));
    drop(path);
}

TEST(long_comments_are_passed_over_and_other_long_lines_are_not) {
    char text[3000];
    memset(text, 'x', sizeof text);
    text[0] = '#';
    memcpy(text + sizeof text - 6, "\n1 2\n", 6);
    char *path = write_text("long", text);
    struct seen seen = {0};
    assert_int_equal(cli_read_pairs(path, see, &seen, &failure), 0);
    assert_int_equal(seen.count, 1);
    drop(path);

    memset(text, ' ', sizeof text - 6);
    text[0] = '7';
    path = write_text("long", text);
    assert_fails(cli_read_pairs(path, see, &seen, &failure), -EINVAL, "long:1:");
    drop(path);
}

TEST(the_reader_stops_when_told) {
    char *path = write_text("many", "1 2\n3 4\n5 6");
    struct seen seen = {.stop_at = 2};
    assert_int_equal(cli_read_pairs(path, see, &seen, NULL), 42);
    assert_int_equal(seen.last_b, 4);
    seen = (struct seen){.stop_at = 0};
    assert_int_equal(cli_read_pairs(path, see, &seen, NULL), 0);
    assert_int_equal(seen.last_b, 6); // without a newline behind it
    drop(path);
}

struct shares {
    double share, last;
    int64_t count;
};

static int see_share(void *context, int64_t a, int64_t b) {
    struct shares *shares = context;
    assert_true(shares->share >= shares->last && shares->share <= 1);
    shares->last = shares->share;
    shares->count++;
    return 0;
}

TEST(the_share_that_is_read_grows) {
    FREED char *text = mem_alloc(1 << 20);
    size_t size = 0;
    for (int i = 0; size < (1 << 20) - 64; i++) size += (size_t)sprintf(text + size, "%d %d\n", i, i + 1);
    char *path = write_text("large", text);
    struct shares shares = {.share = 0};
    assert_int_equal(pairs_read(path, &shares.share, see_share, &shares, NULL), 0);
    assert_true(shares.count > 60000);
    assert_true(shares.last > 0.8);
    drop(path);
}

TEST(a_file_that_is_not_there_is_named) {
    assert_fails(cli_read_pairs("/nonexistent/x", see, NULL, &failure), -ENOENT, "/nonexistent/x");
    struct pairs_out *out;
    assert_int_equal(pairs_out_new("/nonexistent/x", &out, &failure), -ENOENT);
}

static size_t size_of(const char *path) {
    FILE *file = fopen(path, "r");
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    fclose(file);
    return size;
}

static char *write_pairs(const char *name, int count) {
    char *path = path_of(name);
    struct pairs_out *out;
    assert_int_equal(pairs_out_new(path, &out, &failure), 0);
    for (int i = 0; i < count; i++) assert_int_equal(pairs_out_put(out, i, i + 1, &failure), 0);
    assert_int_equal(pairs_out_close(out, &failure), 0);
    return path;
}

TEST(what_is_written_is_read_back) {
    static const char *const NAMES[] = {"plain", "packed.gz"};
    size_t sizes[ARRAY_SIZE(NAMES)];
    for (size_t i = 0; i < ARRAY_SIZE(NAMES); i++) {
        char *path = write_pairs(NAMES[i], 50000);
        struct seen seen = {0};
        assert_int_equal(cli_read_pairs(path, see, &seen, NULL), 0);
        assert_int_equal(seen.count, 50000);
        assert_int_equal(seen.sum, 50000LL * 50000);
        sizes[i] = size_of(path);
        drop(path);
    }
    assert_true(sizes[1] < sizes[0] / 2);
}

TEST(a_packed_file_that_is_cut_short_or_damaged_is_refused) {
    char *path = write_pairs("cut.gz", 50000);
    struct seen seen = {0};
    struct error error = {.text = ""};
    assert_int_equal(truncate(path, (off_t)size_of(path) / 2), 0);
    assert_true(cli_read_pairs(path, see, &seen, &error) < 0);
    assert_non_null(strstr(error.text, "cut.gz"));
    drop(path);
    path = write_pairs("bent.gz", 50000);
    FILE *file = fopen(path, "r+");
    fseek(file, (long)size_of(path) / 2, SEEK_SET);
    fputs("damage damage damage", file);
    fclose(file);
    assert_true(cli_read_pairs(path, see, &seen, &error) < 0);
    drop(path);
}

TEST(a_full_disk_is_told) {
    struct pairs_out *out;
    struct error error = {.text = ""};
    assert_int_equal(pairs_out_new("/dev/full", &out, &error), 0);
    assert_int_equal(pairs_out_put(out, 1, 2, &error), 0);
    assert_true(pairs_out_close(out, &error) < 0);
    assert_non_null(strstr(error.text, "/dev/full: No space left on device"));
}
