/* A product that is as small as a product can be: counters, each with a name, to which commands add. It holds the spine's libraries
 * to their promises without any of starling's products (tests/e2e/test_spine.py); docs/SPINE.md walks through it.
 *
 *     command   key: name                 value: add (8 bytes) | the client's key (up to 64 bytes)
 *     counter   key: name                 value: sum | version | offset of the command that made it        (8 bytes each)
 *     outcome   key: name | 0 | client's key   value: 1 or 0 (accepted or refused) | sum | version          in the counter's partition
 *
 * A command without a key has no outcome that anybody could ask for, and is decided as often as it is sent. All integers are big-endian. Counters and outcomes are state: records of one compacted topic. Pure; any thread.
 */
#pragma once

#include "kafka/consumer.h"

extern const struct topic COUNTER_COMMANDS; /* key: name */
extern const struct topic COUNTERS;         /* counters and outcomes */
extern const struct topic COUNTER_OFFSETS;  /* what the decider has decided */
extern const struct topic COUNTER_WATCHES;  /* watch/records.h; a counter is watched by its name */
extern const struct topic
    COUNTER_CHANGES; /* effects: DeliveryBatches of COUNTER_CHANGE_KIND, in the counter's partition */
extern const struct topic COUNTER_DELIVERIES;

enum { COUNTER_CHANGE_KIND = 100 }; /* payload: sum | version | name */
enum {
    COUNTER_NAME_MAX = 64,
    COUNTER_CLIENT_KEY_MAX = 64,
    COUNTER_KEY_MAX = COUNTER_NAME_MAX + 1 + COUNTER_CLIENT_KEY_MAX
};

struct counter {
    int64_t sum;     /* never below 0: a command that would make it so is refused */
    int64_t version; /* 0: nothing was ever added; each change makes it one higher */
    int64_t offset;  /* of the command that changed it last */
};

struct counter_outcome {
    bool accepted;
    int64_t sum, version; /* after the command */
};

struct counter_command {
    int64_t add;
    size_t name_size, key_size;
    uint8_t key[COUNTER_KEY_MAX]; /* that of its outcome; the name stands in front. Only the name: it has no outcome */
};

int32_t counter_partition(const void *name, size_t size, int32_t partitions);

/* 0, or -EBADMSG with the reason. */
int counter_command_read(const struct kafka_record *record, int32_t partitions, struct counter_command *command,
                         struct error *error);

/* The rule: what a command makes of a counter. False: it is refused, and nothing changes. */
bool counter_add(const struct counter *counter, int64_t add, int64_t offset, struct counter *next);

enum { COUNTER_SIZE = 24, COUNTER_OUTCOME_SIZE = 17, COUNTER_VALUE_MAX = COUNTER_SIZE };
void counter_put(uint8_t *value, const struct counter *counter);
void counter_get(const uint8_t *value, struct counter *counter);
void counter_outcome_put(uint8_t *value, const struct counter_outcome *outcome);
void counter_outcome_get(const uint8_t *value, struct counter_outcome *outcome);

/* A record of COUNTERS is a counter; else an outcome. False: it is neither. */
bool counter_state_valid(const struct kafka_record *record, int32_t partitions, bool *counter);
