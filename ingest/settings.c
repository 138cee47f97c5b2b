#include "ingest/settings.h"

#include <stddef.h>

#define AT(member) offsetof(struct ingest_settings, member)

static const struct config_property PROPERTIES[] = {
    {"ingest.listen", CONFIG_STRING, AT(listen), "127.0.0.1:8080",
     .doc = "Address of the HTTP API. Several processes on one machine may share it."},
    {"ingest.max.body.bytes", CONFIG_INT, AT(max_body), "262144", .min = 1024, .max = 16777216,
     .doc = "A longer request body (bytes) is refused with 413."},
    {"ingest.max.connections", CONFIG_INT, AT(max_connections), "10000", .min = 1, .max = 1000000,
     .doc = "HTTP connections at most. Clients beyond that wait."},
    {"ingest.produce.timeout.ms", CONFIG_INT, AT(produce_timeout_ms), "5000", .min = 100, .max = 60000,
     .doc = "A write that Kafka has not acknowledged by then (ms) is answered 503."},
    {"ingest.outcome.wait.ms", CONFIG_INT, AT(outcome_wait_ms), "2000", .max = 30000,
     .doc = "How long the answer to a command waits for its outcome (ms) before it is 202."},
    {"web.dir", CONFIG_STRING, AT(web_dir), "", .doc = "Folder of the web page, served at /. Empty: no page."},
};

static struct ingest_settings values;

const struct config_section INGEST_SECTION = {"Gateway (starling-ingest)", PROPERTIES, ARRAY_SIZE(PROPERTIES), &values};
