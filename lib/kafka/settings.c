#include "kafka/settings.h"

#include "base/mem.h"

static const char *const NAMES[TOPICS] = {
    [TOPIC_LOCATIONS] = "locations",     [TOPIC_FRIEND_COMMANDS] = "friend-commands",
    [TOPIC_FRIENDSHIPS] = "friendships", [TOPIC_PROFILES] = "profiles",
    [TOPIC_SHARING] = "sharing",         [TOPIC_DELIVERIES] = "deliveries",
};

const char *topic_name(enum topic topic) { return NAMES[topic]; }

char *topic_full_name(const struct kafka_settings *settings, enum topic topic, bool dead_letters) {
    return mem_format("%s%s%s", settings->prefix, NAMES[topic], dead_letters || settings->dead_letters ? ".dlq" : "");
}
