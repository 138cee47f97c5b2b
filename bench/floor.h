/* Clients of bare librdkafka, for the floors in Kafka's part. Header-only, for bench programs. */
#pragma once

#include <librdkafka/rdkafka.h>

#include "bench/machine.h"

/* settings: names and values, ended by NULL. */
static inline void floor_configure(rd_kafka_conf_t *conf, const char *const *settings) {
    char reason[256];
    for (; *settings; settings += 2)
        if (rd_kafka_conf_set(conf, settings[0], settings[1], reason, sizeof reason)) bench_fail(reason);
}

/* Takes conf. */
static inline rd_kafka_t *floor_client_of(rd_kafka_type_t type, rd_kafka_conf_t *conf) {
    char reason[256];
    rd_kafka_t *made = rd_kafka_new(type, conf, reason, sizeof reason);
    if (!made) bench_fail(reason);
    return made;
}

static inline rd_kafka_t *floor_client(rd_kafka_type_t type, const char *const *settings) {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    floor_configure(conf, settings);
    return floor_client_of(type, conf);
}
