#include "tracks/track.h"

#include <inttypes.h>
#include <string.h>

#include "base/instant.h"
#include "json/json.h"

static const struct format {
    const char *name, *media_type;
} FORMATS[TRACK_FORMATS] = {
    [TRACK_JSONL] = {"jsonl", "application/x-ndjson"},
    [TRACK_CSV] = {"csv", "text/csv"},
    [TRACK_GPX] = {"gpx", "application/gpx+xml"},
    [TRACK_GEOJSON] = {"geojson", "application/geo+json"},
};

bool track_format_find(const char *name, enum track_format *format) {
    for (int i = 0; i < TRACK_FORMATS; i++) {
        if (strcmp(FORMATS[i].name, name) != 0) continue;
        *format = (enum track_format)i;
        return true;
    }
    return false;
}

const char *track_media_type(enum track_format format) { return FORMATS[format].media_type; }

static void begin_gpx_track(struct buffer *out, int64_t user) {
    buffer_format(out, "<trk><name>%" PRId64 "</name><trkseg>\n", user);
}

static void put_csv_names(struct buffer *out) {
    buffer_string(out, "user,time,lat,lng,accuracy,received");
    for (int i = 0; i < DETAILS_MEMBERS; i++) buffer_format(out, ",%s", DETAILS_NAMES[i]);
    buffer_byte(out, '\n');
}

void track_begin(struct track_writer *writer, struct buffer *out, enum track_format format, int64_t user) {
    *writer = (struct track_writer){.format = format, .user = user};
    if (format == TRACK_CSV) put_csv_names(out);
    if (format == TRACK_GEOJSON) buffer_string(out, "{\"type\":\"FeatureCollection\",\"features\":[");
    if (format != TRACK_GPX) return;
    buffer_string(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                       "<gpx version=\"1.1\" creator=\"starling\" xmlns=\"http://www.topografix.com/GPX/1/1\" "
                       "xmlns:starling=\"urn:starling:history\">\n");
    begin_gpx_track(out, user);
}

static void put_csv(struct buffer *out, const struct track_report *report) {
    buffer_format(out, "%" PRId64 ",%" PRId64 ",", report->user, report->time);
    json_put_degrees(out, report->lat);
    buffer_byte(out, ',');
    json_put_degrees(out, report->lng);
    buffer_byte(out, ',');
    if (report->accuracy >= 0) json_put_int(out, report->accuracy);
    buffer_format(out, ",%" PRId64, report->received);
    for (int i = 0; i < DETAILS_MEMBERS; i++) {
        buffer_byte(out, ',');
        details_put(out, &report->details, i);
    }
    buffer_byte(out, '\n');
}

/* ,"accuracy":12,"received":1790000000090}, with details */
static void put_rest(struct buffer *out, const struct track_report *report) {
    buffer_string(out, ",\"accuracy\":");
    if (report->accuracy >= 0)
        json_put_int(out, report->accuracy);
    else
        buffer_string(out, "null");
    buffer_format(out, ",\"received\":%" PRId64, report->received);
    json_member_details(out, &report->details);
    buffer_byte(out, '}');
}

static void put_jsonl(struct buffer *out, const struct track_report *report) {
    buffer_format(out, "{\"user\":%" PRId64 ",\"time\":%" PRId64, report->user, report->time);
    json_member_place(out, report->lat, report->lng);
    put_rest(out, report);
    buffer_byte(out, '\n');
}

/* Longitude comes first. */
static void put_geojson(struct buffer *out, const struct track_report *report) {
    buffer_string(out, "{\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\",\"coordinates\":[");
    json_put_degrees(out, report->lng);
    buffer_byte(out, ',');
    json_put_degrees(out, report->lat);
    buffer_format(out, "]},\"properties\":{\"user\":%" PRId64 ",\"time\":%" PRId64, report->user, report->time);
    put_rest(out, report);
    buffer_byte(out, '}');
}

/* GPX's longitudes end before 180; its times are xsd:dateTime. */
static void put_gpx(struct buffer *out, const struct track_report *report) {
    char time[INSTANT_TEXT_SIZE], received[INSTANT_TEXT_SIZE];
    buffer_string(out, "<trkpt lat=\"");
    json_put_degrees(out, report->lat);
    buffer_string(out, "\" lon=\"");
    json_put_degrees(out, report->lng == 1800000000 ? -1800000000 : report->lng);
    buffer_format(out, "\"><time>%s</time><extensions>", instant_format(report->time, time));
    if (report->accuracy >= 0)
        buffer_format(out, "<starling:accuracy>%" PRId64 "</starling:accuracy>", report->accuracy);
    buffer_format(out, "<starling:received>%s</starling:received>", instant_format(report->received, received));
    for (int i = 0; i < DETAILS_MEMBERS; i++) {
        if (!details_has(&report->details, i)) continue;
        buffer_format(out, "<starling:%s>", DETAILS_NAMES[i]);
        details_put(out, &report->details, i);
        buffer_format(out, "</starling:%s>", DETAILS_NAMES[i]);
    }
    buffer_string(out, "</extensions></trkpt>\n");
}

void track_put(struct track_writer *writer, struct buffer *out, const struct track_report *report) {
    switch (writer->format) {
    case TRACK_CSV: put_csv(out, report); break;
    case TRACK_GPX:
        if (report->user != writer->user) {
            buffer_string(out, "</trkseg></trk>\n");
            begin_gpx_track(out, report->user);
            writer->user = report->user;
        }
        put_gpx(out, report);
        break;
    case TRACK_GEOJSON:
        buffer_string(out, writer->begun ? ",\n" : "\n");
        put_geojson(out, report);
        break;
    default: put_jsonl(out, report); break;
    }
    writer->begun = true;
}

void track_end(const struct track_writer *writer, struct buffer *out) {
    if (writer->format == TRACK_GPX) buffer_string(out, "</trkseg></trk>\n</gpx>\n");
    if (writer->format == TRACK_GEOJSON) buffer_string(out, "\n]}\n");
}
