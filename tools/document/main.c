/* Prints docs/CONFIGURATION.md from the tables that the daemons read their configuration by; with the argument `tables`, these as
 * JSON; with `questions`, docs/QUESTIONS.md. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "service/service.h"
#include "tools/document/document.h"

enum { SECTIONS_MAX = 64 };

/* A default that each daemon has its own of: "127.0.0.1:9110 (starling-ingest), ..." */
static char *each_fallback(const char *property) {
    struct buffer text = {.size = 0};
    for (size_t i = 0; DOCUMENT_DAEMONS[i]; i++) {
        struct service_settings settings;
        struct config_section section = service_section(DOCUMENT_DAEMONS[i], &settings);
        for (size_t j = 0; j < section.count; j++)
            if (!strcmp(section.properties[j].name, property) && *section.properties[j].fallback)
                buffer_format(&text, "%s%s (%s)", text.size ? ", " : "", section.properties[j].fallback,
                              DOCUMENT_DAEMONS[i]->name);
        service_section_free(&section);
    }
    char *copy = mem_string(buffer_cstring(&text));
    buffer_free(&text);
    return copy;
}

struct sections {
    struct config_section items[SECTIONS_MAX];
    size_t count;
};

/* A section that several daemons have is printed once. */
static void add_section(struct sections *to, const struct config_section *section) {
    for (size_t i = 0; i < to->count; i++)
        if (to->items[i].properties == section->properties) return;
    to->items[to->count++] = *section;
}

/* The daemon's own section and its products'. */
static void add_sections(struct sections *to, const struct service_definition *daemon) {
    if (daemon->section) add_section(to, daemon->section);
    for (size_t i = 0; daemon->more_sections && daemon->more_sections[i]; i++)
        add_section(to, daemon->more_sections[i]);
}

static void print_page(void) {
    static const char *const OWN[] = {"ops.listen", "peer.listen", "data.dir"};
    struct service_settings settings;
    struct config_section common = service_section(NULL, &settings);
    struct sections sections = {.count = 0};
    struct config_property *properties = mem_alloc(common.count * sizeof *properties);
    char *fallbacks[ARRAY_SIZE(OWN)];
    memcpy(properties, common.properties, common.count * sizeof *properties);
    for (size_t i = 0; i < ARRAY_SIZE(OWN); i++) {
        fallbacks[i] = each_fallback(OWN[i]);
        for (size_t j = 0; j < common.count; j++)
            if (!strcmp(properties[j].name, OWN[i])) properties[j].fallback = fallbacks[i];
    }

    add_section(&sections, &(struct config_section){common.title, properties, common.count, &settings});
    for (size_t i = 0; DOCUMENT_DAEMONS[i]; i++) add_sections(&sections, DOCUMENT_DAEMONS[i]);
    config_document(sections.items, sections.count, stdout);

    for (size_t i = 0; i < ARRAY_SIZE(OWN); i++) free(fallbacks[i]);
    free(properties);
    service_section_free(&common);
}

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "tables"))
        document_tables();
    else if (argc == 2 && !strcmp(argv[1], "questions"))
        document_questions();
    else
        print_page();
    return fflush(stdout) ? 1 : 0;
}
