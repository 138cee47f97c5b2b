#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

bool text_number(const char *text, size_t size, int64_t max, int64_t *value) {
    uint64_t number = 0;
    if (size == 0 || size > 19) return false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        number = number * 10 + (uint64_t)(text[i] - '0');
    }
    if (number > (uint64_t)max) return false;
    *value = (int64_t)number;
    return true;
}

bool text_numbers(const char *text, int64_t *numbers, size_t most, size_t *count) {
    for (*count = 0;; text++) {
        size_t size = strcspn(text, ",");
        if (*count == most || !text_number(text, size, INT64_MAX, &numbers[(*count)++])) return false;
        text += size;
        if (!*text) return true;
    }
}

static bool within(uint8_t byte, uint8_t low, uint8_t high) { return byte >= low && byte <= high; }

/* Table 3-7 of the Unicode standard: the lead byte says how many follow, and what the first of them may be (no overlong
 * forms, no surrogates, nothing beyond U+10FFFF). */
size_t text_utf8_length(const char *text, size_t size) {
    const uint8_t *at = (const uint8_t *)text;
    if (size == 0) return 0;
    if (at[0] < 0x80) return 1;

    size_t length;
    uint8_t low = 0x80, high = 0xbf;
    if (within(at[0], 0xc2, 0xdf)) {
        length = 2;
    } else if (within(at[0], 0xe0, 0xef)) {
        length = 3;
        low = at[0] == 0xe0 ? 0xa0 : low;
        high = at[0] == 0xed ? 0x9f : high;
    } else if (within(at[0], 0xf0, 0xf4)) {
        length = 4;
        low = at[0] == 0xf0 ? 0x90 : low;
        high = at[0] == 0xf4 ? 0x8f : high;
    } else {
        return 0;
    }
    if (size < length || !within(at[1], low, high)) return 0;
    for (size_t i = 2; i < length; i++)
        if (!within(at[i], 0x80, 0xbf)) return 0;
    return length;
}

int64_t text_utf8_points(const char *text, size_t size) {
    int64_t points = 0;
    for (size_t at = 0, length; at < size; at += length, points++) {
        length = text_utf8_length(text + at, size - at);
        if (!length || !text[at]) return -1;
    }
    return points;
}

/* The character's number; it is valid UTF-8. */
static uint32_t point_of(const char *text, size_t length) {
    uint32_t point = length == 1 ? (uint8_t)text[0] : (uint32_t)(uint8_t)text[0] & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) point = point << 6 | ((uint8_t)text[i] & 0x3fU);
    return point;
}

struct code_point_span {
    uint32_t first, last;
};

static bool lies_in(const struct code_point_span *spans, size_t count, uint32_t point) {
    for (size_t i = 0; i < count; i++)
        if (point >= spans[i].first && point <= spans[i].last) return true;
    return false;
}

bool text_is_control(const char *at, size_t length) {
    static const struct code_point_span CONTROLS[] = {{0, 0x1f},        {0x7f, 0x9f},     {0x61c, 0x61c},
                                                      {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};
    return lies_in(CONTROLS, sizeof CONTROLS / sizeof *CONTROLS, point_of(at, length));
}

bool text_is_override(const char *at, size_t length) {
    uint32_t point = point_of(at, length);
    return point == 0x202d || point == 0x202e;
}

/* Blanks, and what some letters are followed by: nothing is seen of them alone. */
static bool is_blank(uint32_t point) {
    static const struct code_point_span BLANKS[] = {
        {' ', ' '},       {0xa0, 0xa0},     {0xad, 0xad},     {0x34f, 0x34f},    {0x115f, 0x1160},
        {0x1680, 0x1680}, {0x17b4, 0x17b5}, {0x180b, 0x180f}, {0x2000, 0x200d},  {0x202f, 0x202f},
        {0x205f, 0x206f}, {0x2800, 0x2800}, {0x3000, 0x3000}, {0x3164, 0x3164},  {0xfe00, 0xfe0f},
        {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff}};
    return lies_in(BLANKS, sizeof BLANKS / sizeof *BLANKS, point);
}

static bool is_joiner(uint32_t point) { return point == 0x200c || point == 0x200d; }

const char *text_name_fault(const char *text, size_t size) {
    bool seen = false;
    uint32_t before = ' ';
    for (size_t at = 0, length; at < size; at += length) {
        length = text_utf8_length(text + at, size - at);
        if (!length) return "is no valid UTF-8";
        uint32_t point = point_of(text + at, length);
        if (text_is_control(text + at, length)) return "holds a line break, or a control or direction character";
        if (point == 0x200b || point == 0x2060 || point == 0xfeff) return "holds a character of no width";
        /* Joiners belong between letters, of Persian or Hindi, and between the parts of an emoji, which may end with U+FE0F. */
        bool ends = at + length == size, misplaced = is_blank(before) && before != 0xfe0f;
        if (is_joiner(point) && (ends || misplaced)) return "holds a joiner that joins nothing";
        if (is_joiner(before) && is_blank(point)) return "holds a joiner that joins nothing";
        seen |= !is_blank(point);
        before = point;
    }
    return seen ? NULL : "shows nothing";
}

static void quote_control(struct buffer *out, unsigned code) {
    switch (code) {
    case '"': buffer_append(out, "\\\"", 2); break;
    case '\\': buffer_append(out, "\\\\", 2); break;
    case '\n': buffer_append(out, "\\n", 2); break;
    case '\r': buffer_append(out, "\\r", 2); break;
    case '\t': buffer_append(out, "\\t", 2); break;
    default: buffer_format(out, "\\u%04x", code); break;
    }
}

static bool plain(uint8_t byte) { return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\'; }

void text_quote(struct buffer *out, const char *text, size_t size) {
    buffer_byte(out, '"');
    for (size_t i = 0; i < size;) {
        size_t run = i;
        while (run < size && plain((uint8_t)text[run])) run++;
        buffer_append(out, text + i, run - i);
        i = run;
        if (i == size) break;

        uint8_t byte = (uint8_t)text[i];
        size_t length = text_utf8_length(text + i, size - i);
        if (length == 0)
            buffer_string(out, "\xef\xbf\xbd");
        else if (length == 1)
            quote_control(out, byte);
        else if ((byte == 0xc2 || byte == 0xd8 || byte == 0xe2) && text_is_control(text + i, length))
            quote_control(out, point_of(text + i, length));
        else
            buffer_append(out, text + i, length);
        i += length ? length : 1;
    }
    buffer_byte(out, '"');
}

void text_hex(struct buffer *out, const uint8_t *bytes, size_t size) {
    buffer_byte(out, '"');
    for (size_t i = 0; i < size; i++) buffer_format(out, "%02x", bytes[i]);
    buffer_byte(out, '"');
}

void text_int(struct buffer *out, int64_t value) {
    char digits[20];
    char *at = digits + sizeof digits;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do *--at = (char)('0' + left % 10);
    while (left /= 10);
    if (value < 0) *--at = '-';
    buffer_append(out, at, (size_t)(digits + sizeof digits - at));
}

/* The value of a character, -1: it is none. last: the two that are not alphanumeric. */
static int sextet(char c, const char last[2]) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == last[0] ? 62 : c == last[1] ? 63 : -1;
}

static bool decode64(struct buffer *out, const char *text, size_t size, const char last[2]) {
    uint32_t bits = 0;
    if (size % 4 == 1) return false;
    for (size_t i = 0; i < size; i++) {
        int value = sextet(text[i], last);
        if (value < 0) return false;
        bits = bits << 6 | (uint32_t)value;
        if (i % 4) buffer_byte(out, (uint8_t)(bits >> (6 - 2 * (i % 4))));
    }
    return true;
}

bool text_base64url(struct buffer *out, const char *text, size_t size) { return decode64(out, text, size, "-_"); }

bool text_base64(struct buffer *out, const char *text, size_t size) {
    size_t padding = size && text[size - 1] == '=' ? 1 + (size > 1 && text[size - 2] == '=') : 0;
    return size % 4 == 0 && decode64(out, text, size - padding, "+/");
}

void text_double(struct buffer *out, double value) {
    if (isnan(value)) {
        buffer_string(out, "NaN");
        return;
    }
    if (isinf(value)) {
        buffer_string(out, value > 0 ? "+Inf" : "-Inf");
        return;
    }
    if (fabs(value) < 1e15 && value == trunc(value)) {
        text_int(out, (int64_t)value);
        return;
    }
    char text[32];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    buffer_string(out, text);
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Levenshtein's table, of which only the last row is kept: row[j] is the distance of a's part so far to b's first j. */
size_t text_distance(const char *a, const char *b) {
    size_t width = strlen(b);
    size_t *row = mem_zero(width + 1, sizeof *row);
    for (size_t j = 0; j <= width; j++) row[j] = j;
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 1; j <= width; j++) {
            size_t change = diagonal + (a[i] != b[j - 1]);
            diagonal = row[j];
            row[j] = least(change, least(row[j], row[j - 1]) + 1);
        }
    }
    size_t distance = row[width];
    free(row);
    return distance;
}

int text_word(const char *text, const char *const *words) {
    for (int i = 0; words[i]; i++) {
        if (strcmp(text, words[i]) == 0) return i;
    }
    return -1;
}

char *text_after_mark(char *text) { return strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? text + 3 : text; }

void text_escape(struct buffer *out, const char *text) {
    static const char PLAIN[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (; *text; text++) {
        if (strchr(PLAIN, *text))
            buffer_byte(out, (uint8_t)*text);
        else
            buffer_format(out, "%%%02X", (unsigned)(unsigned char)*text);
    }
}
