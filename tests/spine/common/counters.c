#include "counters.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"

#define DAY_MS INT64_C(86400000)
#define SUM_MAX INT64_C(1000000000000000)

const struct topic COUNTER_COMMANDS = {
    .name = "counter-commands", .space = TOPIC_SPACE_USERS, .cleanup = TOPIC_DELETED, .retention_ms = DAY_MS};
const struct topic COUNTERS = {
    .name = "counters", .space = TOPIC_SPACE_USERS, .cleanup = TOPIC_COMPACTED, .retention_ms = DAY_MS};
const struct topic COUNTER_OFFSETS = {
    .name = "counter-offsets", .space = TOPIC_SPACE_USERS, .cleanup = TOPIC_COMPACTED, .retention_ms = DAY_MS};
const struct topic COUNTER_WATCHES = {
    .name = "counter-watches", .space = TOPIC_SPACE_USERS, .cleanup = TOPIC_COMPACTED, .retention_ms = DAY_MS};
const struct topic COUNTER_CHANGES = {
    .name = "counter-changes", .space = TOPIC_SPACE_USERS, .cleanup = TOPIC_DELETED, .retention_ms = DAY_MS};
const struct topic COUNTER_DELIVERIES = {
    .name = "deliveries", .space = TOPIC_SPACE_ROUTES, .cleanup = TOPIC_DELETED, .retention_ms = 600000};

int32_t counter_partition(const void *name, size_t size, int32_t partitions) {
    return hash_partition(name, size, partitions);
}

/* ---- commands ---- */

static bool is_name(const void *name, size_t size) {
    return size >= 1 && size <= COUNTER_NAME_MAX && !memchr(name, 0, size);
}

/* NULL: the record is a command; else why it is none. */
static const char *complaint(const struct kafka_record *record, int32_t partitions) {
    if (!is_name(record->key, record->key_size)) return "the key must be a name of 1 to 64 bytes without zeros";
    if (record->value_size < 8 || record->value_size > 8 + COUNTER_CLIENT_KEY_MAX)
        return "the value must be 8 bytes and a key of up to 64 bytes";
    if (counter_partition(record->key, record->key_size, partitions) != record->partition)
        return "not in the partition of its counter";
    int64_t add = (int64_t)bytes_get_be64(record->value);
    return add < -SUM_MAX || add > SUM_MAX ? "too much at once" : NULL;
}

int counter_command_read(const struct kafka_record *record, int32_t partitions, struct counter_command *command,
                         struct error *error) {
    const char *reason = complaint(record, partitions);
    if (reason) return error_set(error, -EBADMSG, "%s", reason);
    size_t client = record->value_size - 8;
    *command = (struct counter_command){.add = (int64_t)bytes_get_be64(record->value),
                                        .name_size = record->key_size,
                                        .key_size = record->key_size + (client ? 1 + client : 0)};
    memcpy(command->key, record->key, record->key_size);
    if (client) memcpy(command->key + record->key_size + 1, record->value + 8, client);
    return 0;
}

bool counter_add(const struct counter *counter, int64_t add, int64_t offset, struct counter *next) {
    if (counter->sum + add < 0 || counter->sum + add > SUM_MAX) return false;
    *next = (struct counter){.sum = counter->sum + add, .version = counter->version + 1, .offset = offset};
    return true;
}

/* ---- state ---- */

void counter_put(uint8_t *value, const struct counter *counter) {
    bytes_put_be64(value, (uint64_t)counter->sum);
    bytes_put_be64(value + 8, (uint64_t)counter->version);
    bytes_put_be64(value + 16, (uint64_t)counter->offset);
}

void counter_get(const uint8_t *value, struct counter *counter) {
    *counter = (struct counter){.sum = (int64_t)bytes_get_be64(value),
                                .version = (int64_t)bytes_get_be64(value + 8),
                                .offset = (int64_t)bytes_get_be64(value + 16)};
}

void counter_outcome_put(uint8_t *value, const struct counter_outcome *outcome) {
    value[0] = outcome->accepted;
    bytes_put_be64(value + 1, (uint64_t)outcome->sum);
    bytes_put_be64(value + 9, (uint64_t)outcome->version);
}

void counter_outcome_get(const uint8_t *value, struct counter_outcome *outcome) {
    *outcome = (struct counter_outcome){.accepted = value[0] != 0,
                                        .sum = (int64_t)bytes_get_be64(value + 1),
                                        .version = (int64_t)bytes_get_be64(value + 9)};
}

bool counter_state_valid(const struct kafka_record *record, int32_t partitions, bool *counter) {
    const uint8_t *zero = record->key_size ? memchr(record->key, 0, record->key_size) : NULL;
    size_t name = zero ? (size_t)(zero - record->key) : record->key_size;
    *counter = !zero;
    return record->value && record->value_size == (zero ? COUNTER_OUTCOME_SIZE : COUNTER_SIZE) &&
           record->key_size <= COUNTER_KEY_MAX && is_name(record->key, name) &&
           counter_partition(record->key, name, partitions) == record->partition;
}
