/* The headers of traces: the first line of the input is a traceparent, the rest a tracestate. Headers are written as they were read. */
#include <string.h>

#include "fuzz.h"
#include "trace/context.h"

enum { TEXT_MAX = 512 };

static void take_parent(const char *text) {
    struct trace_context context, again;
    char written[TRACE_PARENT_TEXT];
    if (trace_context_parse(text, &context)) return;
    trace_context_write(&context, written);
    fuzz_require(trace_context_parse(written, &again) == 0);
    fuzz_require(trace_context_same(&context, &again) && context.sampled == again.sampled);
}

static void take_state(const char *text) {
    struct trace_part part = trace_part_parse(text), again;
    char written[TRACE_STATE_TEXT];
    trace_part_write(part, written);
    again = trace_part_parse(written);
    fuzz_require(part.first == again.first && part.count == again.count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char text[TEXT_MAX + 1];
    if (size > TEXT_MAX) return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    char *rest = strchr(text, '\n');
    if (rest) *rest++ = '\0';
    take_parent(text);
    take_state(rest ? rest : text);
    return 0;
}
