#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

int error_set(struct error *error, int code, const char *format, ...) {
    if (!error) return code;
    // Through a copy: the arguments may be the text that is replaced.
    struct error made;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(made.text, sizeof made.text, format, arguments);
    va_end(arguments);
    *error = made;
    return code;
}

int error_prefix(struct error *error, int code, const char *format, ...) {
    if (!error) return code;
    struct error made;
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(made.text, sizeof made.text, format, arguments);
    va_end(arguments);
    // snprintf would do, but compilers warn of the truncation that is meant here.
    size_t length = written < 0 ? 0 : (size_t)written;
    const char *parts[] = {": ", error->text};
    for (int i = 0; i < 2; i++)
        for (const char *from = parts[i]; *from && length + 1 < sizeof made.text; from++) made.text[length++] = *from;
    made.text[length < sizeof made.text ? length : sizeof made.text - 1] = '\0';
    *error = made;
    return code;
}
