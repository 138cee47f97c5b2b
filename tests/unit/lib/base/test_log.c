/* Log lines in both formats. */
#include <math.h>
#include <sys/socket.h>

#include "base/log.h"
#include "unit/kit/kit.h"

/* A log into memory. */
struct capture {
    char *text;
    size_t size;
    FILE *stream;
    struct log *log;
};

static void capture_start(struct capture *capture, enum log_level level, enum log_format format) {
    *capture = (struct capture){0};
    capture->stream = open_memstream(&capture->text, &capture->size); // which writes to the struct, so it must stay put
    capture->log = log_new(capture->stream, "tester", level, format);
}

static void capture_free(struct capture *capture) {
    log_free(capture->log);
    fclose(capture->stream);
    free(capture->text);
}

/* Asserts that the one line begins with a time as in `front` (digits for 9) and that the rest is as given. */
static void assert_line(const struct capture *capture, const char *front, const char *rest) {
    assert_non_null(capture->text);
    const char *at = capture->text;
    for (; *front; front++, at++) {
        if (*front == '9')
            assert_true(*at >= '0' && *at <= '9');
        else
            assert_int_equal(*at, *front);
    }
    assert_string_equal(at, rest);
}

TEST(logfmt_line) {
    struct capture capture;
    capture_start(&capture, LOG_INFO_LEVEL, LOG_LOGFMT);
    log_info(capture.log, "partition assigned", LOG_TEXT("topic", "locations"), LOG_INT("partition", 3),
             LOG_DOUBLE("lag_s", 0.25));
    assert_line(&capture, "time=9999-99-99T99:99:99.999Z ",
                "level=info daemon=tester event=\"partition assigned\" topic=locations partition=3 lag_s=0.25\n");
    capture_free(&capture);
}

TEST(json_line) {
    struct capture capture;
    capture_start(&capture, LOG_INFO_LEVEL, LOG_JSON);
    log_error(capture.log, "partition assigned", LOG_TEXT("topic", "loca\"tions"), LOG_INT("partition", INT64_MIN),
              LOG_DOUBLE("lag_s", NAN), LOG_DOUBLE("far", HUGE_VAL));
    assert_line(
        &capture, "{\"time\":\"9999-99-99T99:99:99.999Z\",",
        "\"level\":\"error\",\"daemon\":\"tester\",\"event\":\"partition assigned\",\"topic\":\"loca\\\"tions\","
        "\"partition\":-9223372036854775808,\"lag_s\":null,\"far\":null}\n");
    capture_free(&capture);
}

TEST(values_cannot_forge_lines_or_fields) {
    static const struct {
        const char *value, *written;
    } CASES[] = {
        {"bare-word/1.2:3", "bare-word/1.2:3"},
        {"", "\"\""},
        {NULL, "\"\""},
        {"two words", "\"two words\""},
        {"a=b", "\"a=b\""},
        {"say \"x\"", "\"say \\\"x\\\"\""},
        {"C:\\dir", "\"C:\\\\dir\""},
        {"x\nlevel=error", "\"x\\nlevel=error\""},
        {"x\r\t\x1b[31m\x7f", "\"x\\r\\t\\u001b[31m\\u007f\""},
        {"\xe4\xbd\xa0", "\"\xe4\xbd\xa0\""},
        {"\xff", "\"\xef\xbf\xbd\""},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct capture capture;
        capture_start(&capture, LOG_INFO_LEVEL, LOG_LOGFMT);
        log_info(capture.log, "e", LOG_TEXT("v", CASES[i].value));
        char rest[256];
        snprintf(rest, sizeof rest, "level=info daemon=tester event=e v=%s\n", CASES[i].written);
        assert_line(&capture, "time=9999-99-99T99:99:99.999Z ", rest);
        capture_free(&capture);
    }
}

TEST(levels_below_are_silent) {
    struct capture capture;
    capture_start(&capture, LOG_WARN_LEVEL, LOG_LOGFMT);
    log_debug(capture.log, "no");
    log_info(capture.log, "no");
    fflush(capture.stream);
    assert_int_equal(capture.size, 0);
    log_warn(capture.log, "yes");
    assert_line(&capture, "time=9999-99-99T99:99:99.999Z ", "level=warn daemon=tester event=yes\n");
    capture_free(&capture);
    log_error(NULL, "nobody listens");
    log_free(NULL);
}

TEST(a_line_is_one_write) {
    // A packet socket keeps each write apart; without a buffer as standard error is, and with one.
    for (int buffered = 0; buffered < 2; buffered++) {
        int ends[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
        FILE *stream = fdopen(ends[0], "w");
        setvbuf(stream, NULL, buffered ? _IOFBF : _IONBF, 0);
        struct log *log = log_new(stream, "tester", LOG_DEBUG_LEVEL, LOG_LOGFMT);
        log_debug(log, "first", LOG_TEXT("text", "some more words"), LOG_INT("n", 1));
        log_debug(log, "second");
        char packet[1024];
        ssize_t size = recv(ends[1], packet, sizeof packet, MSG_DONTWAIT);
        assert_true(size > 0 && packet[size - 1] == '\n' && memchr(packet, '\n', (size_t)size) == packet + size - 1);
        size = recv(ends[1], packet, sizeof packet, MSG_DONTWAIT);
        assert_true(size > 0 && packet[size - 1] == '\n');
        assert_int_equal(recv(ends[1], packet, sizeof packet, MSG_DONTWAIT), -1);
        log_free(log);
        fclose(stream);
        close(ends[1]);
    }
}

TEST(due_once_in_a_while) {
    int64_t last = 0;
    assert_true(log_due(&last, 1000));
    assert_false(log_due(&last, 1000));
    last -= (int64_t)1001 * 1000000;
    assert_true(log_due(&last, 1000));
    assert_true(log_due(&last, 0));
}
