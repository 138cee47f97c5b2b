#include "topics/topic.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"

enum { USER_BYTES = 8, HANDLE_MARK = 0x80 };
enum {
    SEGMENTS = 10, /* in which what is kept for a time is divided, so that it is not kept for much longer */
    SEGMENT_MIN_MS = 60000,
    SHORT_MS = 3600000, /* kept for less than that: the segments are small as well */
    SHORT_SEGMENT_BYTES = 64 << 20,
    SEGMENT_BYTES = 256 << 20
};
#define DEAD_LETTERS_MS INT64_C(604800000)

const char *topic_space_name(enum topic_space space) {
    static const char *const NAMES[TOPIC_SPACES] = {"users", "subjects", "routes"};
    return NAMES[space];
}

int32_t topic_partition(const struct topic *topic, const void *key, size_t size, int32_t partitions) {
    const uint8_t *bytes = key, *end;
    switch (topic->keyed) {
    case TOPIC_KEYED_NOT: return -1;
    case TOPIC_KEYED_BY_USER:
        if (size < USER_BYTES) return -1;
        size = USER_BYTES;
        break;
    case TOPIC_KEYED_BY_NAME:
        if (size && bytes[0] == HANDLE_MARK) {
            bytes++;
            size--;
        } else if (size != USER_BYTES) {
            return -1;
        }
        break;
    case TOPIC_KEYED_BY_SUBJECT:
        end = size ? memchr(bytes, 0, size) : NULL;
        if (end) size = (size_t)(end - bytes);
        break;
    }
    return size ? hash_partition(bytes, size, partitions) : -1;
}

static void put(struct topic_setting *settings, size_t *count, const char *name, const char *value) {
    struct topic_setting *setting = &settings[(*count)++];
    setting->name = name;
    snprintf(setting->value, sizeof setting->value, "%s", value);
}

static void put_number(struct topic_setting *settings, size_t *count, const char *name, int64_t value) {
    char text[TOPIC_VALUE_SIZE];
    snprintf(text, sizeof text, "%" PRId64, value);
    put(settings, count, name, text);
}

/* Kafka deletes only whole, closed segments. So segments are closed long before their records are too old. */
static int64_t segment_ms_of(int64_t retention_ms) {
    int64_t segment_ms = retention_ms / SEGMENTS;
    return segment_ms > SEGMENT_MIN_MS ? segment_ms : SEGMENT_MIN_MS;
}

static void put_retention(struct topic_setting *settings, size_t *count, int64_t retention_ms) {
    put(settings, count, "cleanup.policy", "delete");
    put_number(settings, count, "retention.ms", retention_ms);
    put_number(settings, count, "segment.ms", segment_ms_of(retention_ms));
    put_number(settings, count, "segment.bytes", retention_ms < SHORT_MS ? SHORT_SEGMENT_BYTES : SEGMENT_BYTES);
}

size_t topic_settings(const struct topic *topic, bool dead_letters, int min_insync,
                      struct topic_setting settings[TOPIC_SETTINGS_MAX]) {
    size_t count = 0;
    if (dead_letters) {
        put_retention(settings, &count, DEAD_LETTERS_MS);
    } else if (topic->cleanup == TOPIC_COMPACTED) {
        put(settings, &count, "cleanup.policy", "compact");
        put_number(settings, &count, "delete.retention.ms", topic->retention_ms);
        // A record that was replaced or deleted is gone after that, also from a topic that is hardly written.
        put_number(settings, &count, "max.compaction.lag.ms", topic->retention_ms);
    } else {
        put_retention(settings, &count, topic->retention_ms);
    }
    if (!dead_letters && topic->append_time) put(settings, &count, "message.timestamp.type", "LogAppendTime");
    if (min_insync) put_number(settings, &count, "min.insync.replicas", min_insync);
    return count;
}

int64_t topic_kept_ms(const struct topic *topic, bool dead_letters) {
    int64_t retention_ms = dead_letters ? DEAD_LETTERS_MS : topic->retention_ms;
    return topic->cleanup == TOPIC_COMPACTED && !dead_letters ? 2 * retention_ms
                                                              : retention_ms + segment_ms_of(retention_ms);
}

void topic_settings_of_copy(struct topic_setting settings[TOPIC_SETTINGS_MAX], size_t *count) {
    bool typed = false;
    for (size_t i = 0; i < *count; i++) {
        bool type = !strcmp(settings[i].name, "message.timestamp.type");
        if (type) snprintf(settings[i].value, sizeof settings[i].value, "CreateTime");
        if (!strcmp(settings[i].name, "retention.ms")) snprintf(settings[i].value, sizeof settings[i].value, "-1");
        typed = typed || type;
    }
    if (!typed) put(settings, count, "message.timestamp.type", "CreateTime");
}

const struct topic *topic_find(const struct topic_list *list, const char *name, size_t size) {
    for (size_t i = 0; i < list->count; i++) {
        const char *known = list->items[i]->name;
        if (!strncmp(known, name, size) && !known[size]) return list->items[i];
    }
    return NULL;
}

bool topic_used(const struct topic_uses *uses, const struct topic *topic, unsigned how) {
    for (size_t i = 0; i < uses->count; i++)
        if (uses->items[i].topic == topic) return (uses->items[i].how & how) == how;
    return false;
}
