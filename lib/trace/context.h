/* The context of a trace, as W3C's Trace Context writes it: to which trace a request or a record belongs, and which of its spans has caused
 * it. It travels in a header `traceparent`:
 *
 *     00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
 *     |  the trace                        the span         flags: 01 is "sampled"
 *     version
 *
 * A record of several items, such as a batch of deliveries, carries `tracestate` as well, which says which of its items belong to the
 * trace: starling=FIRST:COUNT. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_PARENT_HEADER "traceparent"
#define TRACE_STATE_HEADER "tracestate"

enum {
    TRACE_ID_BYTES = 16,
    TRACE_SPAN_BYTES = 8,
    TRACE_ID_TEXT = 33,     /* characters of a trace's id, with the 0 at the end */
    TRACE_SPAN_TEXT = 17,   /* of a span's */
    TRACE_PARENT_TEXT = 56, /* of a traceparent */
    TRACE_STATE_TEXT = 32   /* of our tracestate, at most */
};

struct trace_context {
    uint8_t trace[TRACE_ID_BYTES];
    uint8_t span[TRACE_SPAN_BYTES];
    bool sampled;
};

/* Items of a record, numbered from 0; count 0: all of them. */
struct trace_part {
    uint32_t first, count;
};

/* 0; -EINVAL: it is no traceparent, and nothing is written. A version after 00 is read as far as 00 goes, as the standard wants. */
int trace_context_parse(const char *text, struct trace_context *context);
void trace_context_write(const struct trace_context *context, char text[TRACE_PARENT_TEXT]);
bool trace_context_same(const struct trace_context *a, const struct trace_context *b); /* the same span */

/* Our member of a tracestate; all items if it has none. */
struct trace_part trace_part_parse(const char *text);
void trace_part_write(struct trace_part part, char text[TRACE_STATE_TEXT]);

/* Lower-case hexadecimal digits, and a 0. */
void trace_hex(const uint8_t *bytes, size_t size, char *text);
/* 0; -EINVAL: the text is not exactly so many digits, or they are all 0. */
int trace_hex_parse(const char *text, size_t digits, uint8_t *bytes);
