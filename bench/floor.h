/* Clients of bare librdkafka, for the floors in Kafka's part. Header-only, for bench programs. */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#include <librdkafka/rdkafka.h>

#include "bench/machine.h"

/* settings: names and values, ended by NULL. */
static inline rd_kafka_t *floor_client(rd_kafka_type_t type, const char *const *settings) {
    char reason[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    for (; *settings; settings += 2)
        if (rd_kafka_conf_set(conf, settings[0], settings[1], reason, sizeof reason)) bench_fail(reason);
    rd_kafka_t *made = rd_kafka_new(type, conf, reason, sizeof reason);
    if (!made) bench_fail(reason);
    return made;
}

#endif
