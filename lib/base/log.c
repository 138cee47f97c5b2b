#include "base/log.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"

struct log {
    FILE *stream;
    char *daemon;
    enum log_level level;
    enum log_format format;
};

static const char *const LEVELS[] = {"debug", "info", "warn", "error"};

struct log *log_new(FILE *stream, const char *daemon, enum log_level level, enum log_format format) {
    return MEM_NEW(&(struct log){.stream = stream, .daemon = mem_string(daemon), .level = level, .format = format});
}

void log_free(struct log *log) {
    if (!log) return;
    free(log->daemon);
    free(log);
}

/* A word that needs no quotes in logfmt. Anything beyond ASCII is quoted, which also checks its UTF-8. */
static bool bare(const char *text) {
    if (!*text) return false;
    for (; *text; text++)
        if (*text <= ' ' || *text > '~' || *text == '"' || *text == '=' || *text == '\\') return false;
    return true;
}

static void write_key(struct buffer *line, enum log_format format, const char *key) {
    if (line->size)
        buffer_byte(line, format == LOG_JSON ? ',' : ' ');
    else if (format == LOG_JSON)
        buffer_byte(line, '{');
    if (format == LOG_JSON)
        text_quote(line, key, strlen(key));
    else
        buffer_string(line, key);
    buffer_byte(line, format == LOG_JSON ? ':' : '=');
}

static void write_text(struct buffer *line, enum log_format format, const char *key, const char *text) {
    write_key(line, format, key);
    if (!text) text = "";
    if (format == LOG_LOGFMT && bare(text))
        buffer_string(line, text);
    else
        text_quote(line, text, strlen(text));
}

static void write_double(struct buffer *line, enum log_format format, const char *key, double value) {
    write_key(line, format, key);
    if (format == LOG_JSON && !isfinite(value))
        buffer_string(line, "null"); // JSON has no word for it
    else
        text_double(line, value);
}

static void write_field(struct buffer *line, enum log_format format, const struct log_field *field) {
    switch (field->type) {
    case LOG_FIELD_TEXT: write_text(line, format, field->key, field->text); break;
    case LOG_FIELD_INT:
        write_key(line, format, field->key);
        text_int(line, field->integer);
        break;
    case LOG_FIELD_DOUBLE: write_double(line, format, field->key, field->real); break;
    }
}

static void write_time(struct buffer *line, enum log_format format) {
    int64_t now = clock_wall_ms();
    time_t seconds = (time_t)(now / 1000);
    struct tm utc;
    gmtime_r(&seconds, &utc);
    char date[32], text[48];
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text, sizeof text, "%s.%03dZ", date, (int)(now % 1000));
    write_text(line, format, "time", text);
}

void log_event(struct log *log, enum log_level level, const char *event, const struct log_field *fields, size_t count) {
    if (!log || level < log->level) return;
    struct buffer line = {0};
    write_time(&line, log->format);
    write_text(&line, log->format, "level", LEVELS[level]);
    write_text(&line, log->format, "daemon", log->daemon);
    write_text(&line, log->format, "event", event);
    for (size_t i = 0; i < count; i++) write_field(&line, log->format, &fields[i]);
    buffer_string(&line, log->format == LOG_JSON ? "}\n" : "\n");
    fwrite(line.data, 1, line.size, log->stream);
    fflush(log->stream);
    buffer_free(&line);
}

int log_due(int64_t *last_us, int seconds) {
    int64_t now = clock_monotonic_us();
    if (*last_us && now - *last_us < (int64_t)seconds * 1000000) return 0;
    *last_us = now;
    return 1;
}
