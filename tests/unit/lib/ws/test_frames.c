/* Tests frames.c and utf8.c. The pure parts of lib/ws: frames that are cut anywhere, and UTF-8 that is. */
#include "base/text.h"
#include "unit/kit/kit.h"
#include "ws/frames.h"
#include "ws/utf8.h"

static unsigned dice(unsigned sides) { return (unsigned)rand() % sides; }

/* ---- frames ---- */

/* A stream of frames becomes a text that does not depend on the pieces it comes in: of each frame the opcode, its bits, its payload
 * and an end. */
static void say_head(struct buffer *said, unsigned opcode, bool final) {
    buffer_format(said, "<%u%s ", opcode, final ? " final" : "");
}

static size_t some_size(void) {
    switch (dice(8)) {
    case 0: return 0;
    case 1: return 120 + dice(10);
    case 2: return 65530 + dice(10);
    default: return dice(40);
    }
}

/* Appends a frame that fits behind those before; *in_message goes along. */
static void frame_make(struct buffer *wire, struct buffer *said, bool *in_message) {
    static const uint8_t CONTROLS[] = {FRAME_CLOSE, FRAME_PING, FRAME_PONG};
    bool control = dice(4) == 0, starts = !control && !*in_message;
    unsigned opcode = control ? CONTROLS[dice(3)] : starts ? FRAME_TEXT + dice(2) : FRAME_CONTINUATION;
    bool final = control || dice(3) == 0;
    size_t size = control ? dice(FRAME_CONTROL_MAX + 1) : some_size();
    uint8_t mask[4];
    for (int i = 0; i < 4; i++) mask[i] = (uint8_t)dice(256);
    if (!control) *in_message = !final;
    buffer_byte(wire, (uint8_t)(opcode | (final ? FRAME_FINAL : 0)));
    buffer_byte(wire, (uint8_t)(0x80 | (size < 126 ? size : size < 65536 ? 126 : 127)));
    for (int shift = size < 126 ? -8 : size < 65536 ? 8 : 56; shift >= 0; shift -= 8)
        buffer_byte(wire, (uint8_t)(size >> shift));
    buffer_append(wire, mask, sizeof mask);
    say_head(said, opcode, final);
    for (size_t i = 0; i < size; i++) {
        uint8_t byte = (uint8_t)('a' + dice(26));
        buffer_byte(said, byte);
        buffer_byte(wire, byte ^ mask[i % 4]);
    }
    buffer_byte(said, '>');
}

static void piece_say(struct buffer *said, const struct frame_piece *piece) {
    if (piece->begins) say_head(said, piece->opcode, piece->final);
    buffer_append(said, piece->bytes, piece->size);
    if (!piece->left) buffer_byte(said, '>');
}

TEST(frames_are_the_same_however_they_are_cut) {
    srand(7);
    for (int round = 0; round < 200; round++) {
        FREED_BUFFER wire = {0}, expected = {0}, said = {0};
        struct frame_reader reader = {.left = 0};
        struct frame_piece piece;
        const char *reason;
        bool in_message = false;
        for (int i = 0; i < 12; i++) frame_make(&wire, &expected, &in_message);
        unsigned longest = dice(2) ? 1 + dice(20) : 1 + dice(5000);
        for (size_t from = 0, size; from < wire.size; from += size) {
            size = 1 + dice(longest);
            if (size > wire.size - from) size = wire.size - from;
            uint8_t *copy = mem_alloc(size), *at = copy; /* so that the sanitizer sees each byte beyond */
            memcpy(copy, wire.data + from, size);
            enum frame_result result;
            while ((result = frame_read(&reader, &at, copy + size, &piece, &reason)) == FRAME_PIECE)
                piece_say(&said, &piece);
            assert_int_equal(result, FRAME_WAITS);
            assert_ptr_equal(at, copy + size);
            free(copy);
        }
        assert_int_equal(said.size, expected.size);
        assert_memory_equal(said.data, expected.data, said.size);
        assert_int_equal(reader.in_message, in_message);
    }
}

static const char *fault_of(const char *bytes, size_t size, size_t *taken) {
    struct frame_reader reader = {.left = 0};
    struct frame_piece piece;
    const char *reason = NULL;
    uint8_t copy[64], *at = copy;
    memcpy(copy, bytes, size);
    enum frame_result result;
    while ((result = frame_read(&reader, &at, copy + size, &piece, &reason)) == FRAME_PIECE) {}
    *taken = (size_t)(at - copy);
    return result == FRAME_FAULT ? reason : NULL;
}

TEST(faults_are_told_at_their_first_byte) {
    static const struct {
        const char *bytes;
        size_t size, told_after;
        const char *reason; /* NULL: fine */
    } cases[] = {
        {"\x83", 1, 1, "bad opc"},
        {"\x8b\x80", 2, 1, "bad opc"},
        {"\x09\x80", 2, 1, "frag ctl"},
        {"\x80\x80", 2, 1, "bad cont"},
        {"\x01\x80\0\0\0\0\x81\x80", 8, 7, "bad cont"},
        {"\x01\x80\0\0\0\0\x89\x80\0\0\0\0\x80\x80\0\0\0\0", 18, 18, NULL},
        {"\xc1\x80\0\0\0\0", 6, 1, "rsv bits"},
        {"\xa1\x80\0\0\0\0", 6, 1, "rsv bits"},
        {"\xc9\x80\0\0\0\0", 6, 1, "rsv bits"},
        {"\x41\x80\0\0\0\0\xc0", 7, 1, "rsv bits"},
        {"\x81\x01q", 3, 2, "not masked"},
        {"\x89\xfe\0", 3, 2, "long ctl"},
        {"\x81\xff\x80\0\0\0\0\0\0\0\0\0\0\0", 14, 14, "bad length"},
        {"\x81\xff\0\0\0\0\0\0\0\0\0\0\0\0", 14, 14, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t taken;
        const char *reason = fault_of(cases[i].bytes, cases[i].size, &taken);
        if (!reason != !cases[i].reason || (reason && strcmp(reason, cases[i].reason)) || taken != cases[i].told_after)
            fail_msg("case %zu: %s after %zu", i, reason ? reason : "fine", taken);
    }
}

TEST(close_codes_are_those_of_the_registry) {
    for (unsigned code = 0; code < 65536; code++) {
        bool named = code == 1000 || code == 1001 || code == 1002 || code == 1003 || (code >= 1007 && code <= 1014);
        assert_int_equal(frame_close_code_fits(code), named || (code >= 3000 && code <= 4999));
    }
}

/* ---- UTF-8 ---- */

static bool whole_is_utf8(const char *text, size_t size) {
    for (size_t at = 0, length; at < size; at += length)
        if (!(length = text_utf8_length(text + at, size - at))) return false;
    return true;
}

static bool cut_is_utf8(const char *text, size_t size, unsigned longest) {
    struct utf8 utf8 = {.missing = 0};
    for (size_t from = 0, some; from < size; from += some) {
        some = 1 + dice(longest);
        if (some > size - from) some = size - from;
        if (!utf8_feed(&utf8, text + from, some)) return false;
    }
    return utf8_ends(&utf8);
}

TEST(utf8_is_the_same_however_it_is_cut) {
    static const char *const PARTS[] = {"a",
                                        "plain text ",
                                        "\xc2\x80",
                                        "\xdf\xbf",
                                        "\xe0\xa0\x80",
                                        "\xed\x9f\xbf",
                                        "\xef\xbf\xbf",
                                        "\xf0\x90\x80\x80",
                                        "\xf4\x8f\xbf\xbf",
                                        "\xe2\x82\xac"};
    int valid = 0;
    srand(11);
    for (int round = 0; round < 30000; round++) {
        FREED_BUFFER text = {.size = 0};
        for (unsigned parts = dice(8); parts; parts--) buffer_string(&text, PARTS[dice(sizeof PARTS / sizeof *PARTS)]);
        if (dice(2) && text.size) text.data[dice((unsigned)text.size)] = (uint8_t)dice(256);
        if (dice(4) == 0 && text.size) text.size--;
        bool expected = whole_is_utf8((const char *)text.data, text.size);
        assert_int_equal(cut_is_utf8((const char *)text.data, text.size, 1 + dice(12)), expected);
        valid += expected;
    }
    assert_true(valid > 10000 && valid < 25000);
}

/* Every character of four bytes or less, and everything that looks like one. */
TEST(utf8_says_so_at_the_first_byte_that_cannot_be) {
    for (unsigned first = 0; first < 256; first++) {
        for (unsigned second = 0; second < 256; second++) {
            const uint8_t bytes[4] = {(uint8_t)first, (uint8_t)second, 0x80, 0x80};
            bool begins = false;
            for (size_t size = 2; size <= 4; size++) begins |= text_utf8_length((const char *)bytes, size) == size;
            bool alone = first < 0x80 && second < 0x80;
            bool opens = first < 0x80 && second >= 0xc2 && second <= 0xf4;
            struct utf8 utf8 = {.missing = 0};
            assert_int_equal(utf8_feed(&utf8, bytes, 2), begins || alone || opens);
        }
    }
}
