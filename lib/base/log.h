/* Logs: one line an event, logfmt or JSON, to a stream (standard error in the daemons).
 *
 *     log_info(log, "partition assigned", LOG_TEXT("topic", topic), LOG_INT("partition", partition));
 *     -> time=2026-01-31T12:00:00.123Z level=info daemon=starling-router event="partition assigned" topic=locations partition=3
 *
 * Nothing logs a token or a position at info or above. The maker of a struct log owns it and passes it down; a NULL log writes
 * nothing. Any thread (a line is one write).
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

enum log_level { LOG_DEBUG_LEVEL, LOG_INFO_LEVEL, LOG_WARN_LEVEL, LOG_ERROR_LEVEL };
enum log_format { LOG_LOGFMT, LOG_JSON };

struct log;

struct log_field {
    const char *key;
    enum { LOG_FIELD_TEXT, LOG_FIELD_INT, LOG_FIELD_DOUBLE } type;
    const char *text; /* NULL is written as empty */
    int64_t integer;
    double real;
};

#define LOG_TEXT(k, v) ((struct log_field){.key = (k), .type = LOG_FIELD_TEXT, .text = (v)})
#define LOG_INT(k, v) ((struct log_field){.key = (k), .type = LOG_FIELD_INT, .integer = (v)})
#define LOG_DOUBLE(k, v) ((struct log_field){.key = (k), .type = LOG_FIELD_DOUBLE, .real = (v)})

/* The stream stays the caller's. */
struct log *log_new(FILE *stream, const char *daemon, enum log_level level, enum log_format format);
void log_free(struct log *log);

void log_event(struct log *log, enum log_level level, const char *event, const struct log_field *fields, size_t count);

/* True once in each `seconds` for a place in the code that may repeat (a static-free rate limit: the caller keeps *last). */
int log_due(int64_t *last_us, int seconds);

#define LOG_FIELDS_(...) ((const struct log_field[]){{.key = NULL}, ##__VA_ARGS__})
#define LOG_AT_(log, level, event, ...)                                                                                \
    log_event((log), (level), (event), LOG_FIELDS_(__VA_ARGS__) + 1,                                                   \
              sizeof(LOG_FIELDS_(__VA_ARGS__)) / sizeof(struct log_field) - 1)
#define log_debug(log, event, ...) LOG_AT_(log, LOG_DEBUG_LEVEL, event, ##__VA_ARGS__)
#define log_info(log, event, ...) LOG_AT_(log, LOG_INFO_LEVEL, event, ##__VA_ARGS__)
#define log_warn(log, event, ...) LOG_AT_(log, LOG_WARN_LEVEL, event, ##__VA_ARGS__)
#define log_error(log, event, ...) LOG_AT_(log, LOG_ERROR_LEVEL, event, ##__VA_ARGS__)
