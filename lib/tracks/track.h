/* A user's stored reports as a file of some kind. Pure; any thread.
 *
 *     jsonl     {"user":7,"time":1790000000000,"lat":39.9,"lng":116.3,"accuracy":12,"received":1790000000090} and details, one a line
 *     csv       the same columns, with a line of their names
 *     gpx       GPX 1.1: a track of one segment for each user; accuracy, received and details are extensions
 *     geojson   RFC 7946: a FeatureCollection of Points, the rest as properties
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "json/details.h"

enum track_format { TRACK_JSONL, TRACK_CSV, TRACK_GPX, TRACK_GEOJSON, TRACK_FORMATS };

struct track_report {
    int64_t user;
    int32_t lat, lng; /* 1e-7 degrees */
    int64_t time;     /* of the report, ms */
    int64_t accuracy; /* metres; -1: unknown */
    int64_t received; /* when Kafka took it, ms */
    struct report_details details;
};

/* The format of that name ("gpx"); false: there is none. */
bool track_format_find(const char *name, enum track_format *format);
const char *track_media_type(enum track_format format); /* "application/gpx+xml" */

/* Writes a file piece by piece: once the beginning, then each report, then the end. The reports of a user stand together, those of `user`
 * first. Each appends to out, which may be emptied between the
 * calls. */
struct track_writer {
    enum track_format format;
    int64_t user;
    bool begun; /* a report was written */
};
void track_begin(struct track_writer *writer, struct buffer *out, enum track_format format, int64_t user);
void track_put(struct track_writer *writer, struct buffer *out, const struct track_report *report);
void track_end(const struct track_writer *writer, struct buffer *out);
