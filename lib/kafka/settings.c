#include "kafka/settings.h"

#include "base/mem.h"

char *topic_full_name(const struct kafka_settings *settings, const struct topic *topic, bool dead_letters) {
    return mem_format("%s%s%s", settings->prefix, topic->name, dead_letters || settings->dead_letters ? ".dlq" : "");
}
