#include "tools/load/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"

enum { LINE_MAX_BYTES = 256 };

static int parse(const char *line, struct fix *fix) {
    int64_t seconds;
    int end = 0;
    if (sscanf(line, "%" SCNd64 ",%" SCNd64 ",%" SCNd32 ",%" SCNd32 "%n", &seconds, &fix->user, &fix->at.lat,
               &fix->at.lng, &end) != 4)
        return -EINVAL;
    if (line[end] != '\0' && line[end] != '\n' && line[end] != '\r') return -EINVAL;
    if (seconds < 0 || seconds > INT64_MAX / 1000 || fix->user < 0 || !geo_valid(fix->at)) return -EINVAL;
    fix->time = seconds * 1000;
    return 0;
}

static int by_time(const void *left, const void *right) {
    const struct fix *a = left, *b = right;
    return (a->time > b->time) - (a->time < b->time);
}

/* A stable sort: glibc's qsort merges, but promises nothing. Traces come sorted as a rule, and then nothing is done. */
static void sort(struct trace *trace) {
    for (size_t i = 1; i < trace->count; i++) {
        if (by_time(&trace->fixes[i - 1], &trace->fixes[i]) <= 0) continue;
        qsort(trace->fixes, trace->count, sizeof *trace->fixes, by_time);
        return;
    }
}

int trace_read(const char *path, int64_t from_s, int64_t until_s, struct trace *trace, struct error *error) {
    gzFile file = gzopen(path, "rb");
    if (!file) return error_set(error, -errno, "cannot read %s: %s", path, strerror(errno));
    char line[LINE_MAX_BYTES];
    size_t number = 0, capacity = 0;
    int result = 0;

    *trace = (struct trace){0};
    while (result == 0 && gzgets(file, line, sizeof line)) {
        struct fix fix;
        if (++number == 1 && strncmp(line, "t_s", 3) == 0) continue;
        if (parse(line, &fix)) {
            result = error_set(error, -EINVAL, "%s:%zu: not t_s,user,lat_e7,lon_e7", path, number);
        } else if (fix.time >= from_s * 1000 && fix.time <= until_s * 1000) {
            MEM_ROOM(trace->fixes, trace->count, capacity);
            trace->fixes[trace->count++] = fix;
        }
    }
    int broken = 0;
    const char *reason = gzerror(file, &broken);
    if (result == 0 && broken != Z_OK && broken != Z_STREAM_END)
        result = error_set(error, -EIO, "%s: %s", path, reason);
    gzclose(file);
    if (result)
        trace_free(trace);
    else
        sort(trace);
    return result;
}

void trace_free(struct trace *trace) {
    free(trace->fixes);
    *trace = (struct trace){0};
}
