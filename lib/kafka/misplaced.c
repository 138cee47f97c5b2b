#include "kafka/misplaced.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "kafka/producer_private.h"

enum { LETTERS_A_MINUTE = 100, MINUTE_MS = 60000 };

struct kafka_misplaced {
    const struct topic_list *topics;
    struct metric **counters; /* by the topics' order */
    struct map *written;      /* topic's number << 32 | partition -> one beyond the highest offset that is a letter */
    struct kafka_producer *producer;
    int64_t minute_ms; /* when the letters of this minute began */
    int letters;
};

struct kafka_misplaced *kafka_misplaced_new(const struct topic_list *topics, struct metrics *metrics) {
    struct kafka_misplaced *misplaced =
        MEM_NEW(&(struct kafka_misplaced){.topics = topics,
                                          .counters = mem_zero(topics->count + 1, sizeof *misplaced->counters),
                                          .written = map_new(),
                                          .minute_ms = INT64_MIN / 2});
    for (size_t i = 0; i < topics->count; i++) {
        char *label = mem_format("topic=\"%s\"", topics->items[i]->name);
        misplaced->counters[i] = metrics_counter(
            metrics, "starling_misplaced_records_total",
            "Records that were read and not taken, because they lie in another partition than their key's", label);
        free(label);
    }
    return misplaced;
}

void kafka_misplaced_free(struct kafka_misplaced *misplaced) {
    if (!misplaced) return;
    map_free(misplaced->written);
    free(misplaced->counters);
    free(misplaced);
}

void kafka_misplaced_use(struct kafka_misplaced *misplaced, struct kafka_producer *producer) {
    if (misplaced && !misplaced->producer) misplaced->producer = producer;
}

void kafka_misplaced_end(struct kafka_misplaced *misplaced, const struct kafka_producer *producer) {
    if (misplaced && misplaced->producer == producer) misplaced->producer = NULL;
}

static bool may_write(struct kafka_misplaced *misplaced) {
    int64_t now_ms = clock_coarse_ms();
    if (now_ms - misplaced->minute_ms >= MINUTE_MS) {
        misplaced->minute_ms = now_ms;
        misplaced->letters = 0;
    }
    return misplaced->producer && misplaced->letters < LETTERS_A_MINUTE;
}

static void write_letter(struct kafka_misplaced *misplaced, size_t topic, const struct kafka_record *record,
                         int32_t wanted) {
    uint64_t *next = map_put(misplaced->written, (uint64_t)topic << 32 | (uint32_t)record->partition, NULL);
    if ((uint64_t)record->offset < *next || !may_write(misplaced)) return;
    char *reason = mem_format("not in the partition of its key, which is %" PRId32, wanted);
    if (!kafka_producer_send_dead(misplaced->producer, record, reason)) {
        misplaced->letters++;
        *next = (uint64_t)record->offset + 1;
    }
    free(reason);
}

bool kafka_misplaced_take(const struct kafka_settings *settings, const struct kafka_record *record) {
    const struct topic *topic = record->topic;
    struct kafka_misplaced *misplaced = settings->misplaced;
    if (!misplaced || topic->scattered || settings->dead_letters) return false;
    int32_t wanted = topic_partition(topic, record->key, record->key_size, settings->partitions[topic->space]);
    if (wanted < 0 || wanted == record->partition) return false;
    size_t number = 0;
    while (number < misplaced->topics->count && misplaced->topics->items[number] != topic) number++;
    if (number == misplaced->topics->count) return true;
    misplaced->counters[number]->value++;
    write_letter(misplaced, number, record, wanted);
    return true;
}
