#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/config_value.h"
#include "comments/comments.h"
#include "fanout/fanout.h"
#include "feed/feed.h"
#include "history-sink/history_sink.h"
#include "ingest/ingest.h"
#include "moderation/moderation.h"
#include "places/places.h"
#include "router/router.h"
#include "json/json.h"
#include "tools/document/document.h"

const struct service_definition *const DOCUMENT_DAEMONS[] = {
    &INGEST_SERVICE, &ROUTER_SERVICE,       &FANOUT_SERVICE,     &FEED_SERVICE, &COMMENTS_SERVICE,
    &PLACES_SERVICE, &HISTORY_SINK_SERVICE, &MODERATION_SERVICE, NULL};

static void print_member(const char *before, const char *key, const char *value) {
    struct buffer out = {.size = 0};
    if (value)
        json_put_text(&out, value, strlen(value));
    else
        buffer_string(&out, "null");
    printf("%s\"%s\":%s", before, key, buffer_cstring(&out));
    buffer_free(&out);
}

static void print_section(const struct config_section *section, const char *before) {
    print_member(before, "title", section->title);
    printf(",\"properties\":[");
    for (size_t i = 0; i < section->count; i++) {
        const struct config_property *property = &section->properties[i];
        struct buffer allowed = {.size = 0};
        config_value_allowed(&allowed, property);
        print_member(i ? ",{" : "{", "name", property->name);
        print_member(",", "default", property->fallback);
        print_member(",", "allowed", buffer_cstring(&allowed));
        print_member(",", "help", property->doc);
        putchar('}');
        buffer_free(&allowed);
    }
    printf("]}");
}

static void print_daemon(const struct service_definition *daemon) {
    struct service_settings settings;
    struct config_section common = service_section(daemon, &settings);
    print_member("{", "name", daemon->name);
    printf(",\"sections\":[");
    print_section(&common, "{");
    if (daemon->section) print_section(daemon->section, ",{");
    for (size_t i = 0; daemon->more_sections && daemon->more_sections[i]; i++)
        print_section(daemon->more_sections[i], ",{");
    printf("]}");
    service_section_free(&common);
}

void document_tables(void) {
    print_member("{", "version", STARLING_VERSION);
    printf(",\"daemons\":[");
    for (size_t i = 0; DOCUMENT_DAEMONS[i]; i++) {
        if (i) putchar(',');
        print_daemon(DOCUMENT_DAEMONS[i]);
    }
    puts("]}");
}
