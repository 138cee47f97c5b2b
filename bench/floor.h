/* Clients of bare librdkafka, for the floors in Kafka's part. Header-only, for bench programs. */
#pragma once

#include <librdkafka/rdkafka.h>
#include <stdarg.h>

#include "bench/machine.h"

/* "name=value name=value ...", as of printf. */
__attribute__((format(printf, 1, 2))) static inline rd_kafka_conf_t *floor_settings(const char *format, ...) {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    char *text, reason[256];
    va_list values;
    va_start(values, format);
    if (vasprintf(&text, format, values) < 0) bench_fail("no memory");
    va_end(values);
    for (char *rest = text, *name; (name = strsep(&rest, " "));) {
        char *value = strchr(name, '=');
        if (!value) bench_die(name, "has no value");
        *value = '\0';
        if (rd_kafka_conf_set(conf, name, value + 1, reason, sizeof reason)) bench_fail(reason);
    }
    free(text);
    return conf;
}

/* Takes conf. */
static inline rd_kafka_t *floor_client(rd_kafka_type_t type, rd_kafka_conf_t *conf) {
    char reason[256];
    rd_kafka_t *made = rd_kafka_new(type, conf, reason, sizeof reason);
    if (!made) bench_fail(reason);
    return made;
}
