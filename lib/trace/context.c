#include "trace/context.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char OURS[] = "starling=";

/* A lower-case digit's value; -1: the standard allows no others. */
static int digit_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Stops at the first character that is no digit, so a text that is too short is not read beyond its end. */
static bool read_hex(const char *text, size_t digits, uint8_t *bytes) {
    for (size_t i = 0; i < digits; i += 2) {
        int high = digit_of(text[i]), low = high < 0 ? -1 : digit_of(text[i + 1]);
        if (low < 0) return false;
        bytes[i / 2] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool all_zeros(const uint8_t *bytes, size_t size) {
    uint8_t any = 0;
    for (size_t i = 0; i < size; i++) any |= bytes[i];
    return !any;
}

int trace_hex_parse(const char *text, size_t digits, uint8_t *bytes) {
    uint8_t read[TRACE_ID_BYTES];
    if (digits > 2 * sizeof read || strlen(text) != digits || !read_hex(text, digits, read)) return -EINVAL;
    if (all_zeros(read, digits / 2)) return -EINVAL;
    memcpy(bytes, read, digits / 2);
    return 0;
}

void trace_hex(const uint8_t *bytes, size_t size, char *text) {
    static const char DIGITS[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        *text++ = DIGITS[bytes[i] >> 4];
        *text++ = DIGITS[bytes[i] & 15];
    }
    *text = '\0';
}

int trace_context_parse(const char *text, struct trace_context *context) {
    enum { TRACE_AT = 3, SPAN_AT = 36, FLAGS_AT = 53, END_AT = 55 };
    struct trace_context read;
    uint8_t version, flags;
    if (!read_hex(text, 2, &version) || version == 0xff || text[TRACE_AT - 1] != '-') return -EINVAL;
    if (!read_hex(text + TRACE_AT, 2 * TRACE_ID_BYTES, read.trace) || text[SPAN_AT - 1] != '-') return -EINVAL;
    if (!read_hex(text + SPAN_AT, 2 * TRACE_SPAN_BYTES, read.span) || text[FLAGS_AT - 1] != '-') return -EINVAL;
    if (!read_hex(text + FLAGS_AT, 2, &flags)) return -EINVAL;
    if (text[END_AT] != '\0' && (version == 0 || text[END_AT] != '-')) return -EINVAL;
    if (all_zeros(read.trace, sizeof read.trace) || all_zeros(read.span, sizeof read.span)) return -EINVAL;
    read.sampled = flags & 1;
    *context = read;
    return 0;
}

void trace_context_write(const struct trace_context *context, char text[TRACE_PARENT_TEXT]) {
    char trace[TRACE_ID_TEXT], span[TRACE_SPAN_TEXT];
    trace_hex(context->trace, sizeof context->trace, trace);
    trace_hex(context->span, sizeof context->span, span);
    snprintf(text, TRACE_PARENT_TEXT, "00-%s-%s-%s", trace, span, context->sampled ? "01" : "00");
}

bool trace_context_same(const struct trace_context *a, const struct trace_context *b) {
    return !memcmp(a->span, b->span, sizeof a->span) && !memcmp(a->trace, b->trace, sizeof a->trace);
}

/* A number that `end`, or else the end of the member, follows. */
static bool read_number(const char **text, char end, uint32_t *number) {
    const char *at = *text;
    uint32_t read = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (at - *text == 9) return false;
        read = read * 10 + (uint32_t)(*at - '0');
    }
    if (at == *text || (end ? *at != end : *at && !strchr(", \t", *at))) return false;
    *text = at + 1;
    *number = read;
    return true;
}

struct trace_part trace_part_parse(const char *text) {
    struct trace_part part = {.first = 0, .count = 0};
    while (text) {
        text += strspn(text, " \t,");
        if (strncmp(text, OURS, sizeof OURS - 1) == 0) {
            text += sizeof OURS - 1;
            bool good = read_number(&text, ':', &part.first) && read_number(&text, '\0', &part.count);
            return good ? part : (struct trace_part){.first = 0, .count = 0};
        }
        text = strchr(text, ',');
    }
    return part;
}

void trace_part_write(struct trace_part part, char text[TRACE_STATE_TEXT]) {
    snprintf(text, TRACE_STATE_TEXT, "%s%" PRIu32 ":%" PRIu32, OURS, part.first, part.count);
}
