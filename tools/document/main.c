/* Prints docs/CONFIGURATION.md from the tables that the daemons read their configuration by. */
#include <stdio.h>

#include "fanout/fanout.h"
#include "history-sink/history_sink.h"
#include "ingest/ingest.h"
#include "router/router.h"
#include "service/service.h"

int main(void) {
    const struct service_definition *daemons[] = {&INGEST_SERVICE, &ROUTER_SERVICE, &FANOUT_SERVICE,
                                                  &HISTORY_SINK_SERVICE};
    struct service_settings settings;
    struct config_section common = service_section(NULL, &settings), sections[1 + ARRAY_SIZE(daemons)] = {common};
    size_t count = 1;
    for (size_t i = 0; i < ARRAY_SIZE(daemons); i++)
        if (daemons[i]->section) sections[count++] = *daemons[i]->section;
    config_document(sections, count, stdout);
    service_section_free(&common);
    return fflush(stdout) ? 1 : 0;
}
