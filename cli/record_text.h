/* Kafka records as lines of JSON, for people and their tools. */
#pragma once

#include <stdbool.h>

#include "event/codec.h"
#include "kafka/consumer.h"

/* The header of a dead letter whose value was cut. */
#define RECORD_CUT_HEADER "starling.cut.value.size"

/* Appends {"topic":,"partition":,"offset":,"timestamp":,"key":,"value":} without a newline. key: the user's id; of friendships
 * [user, friend]; of follows [user, "follows", other], with "followed by" and "mutes" for the other relations; of posts and their
 * texts [author, "id"]; of names and their commands the user or "@handle"; of notices [user, "id"]; of watches ["feed:USER", "watcher"];
 * null without one; other bytes as a hexadecimal string. value: as event_to_json writes it, but for batches of envelopes, with the units of
 * record_units unless it is wanted raw; null for a tombstone, and
 * for bytes that cannot be read, which are then in "bytes" with the reason in
 * "error". Of dead letters also "reason", "by", "from_partition", "from_offset": texts, why, by whom and from where they came;
 * and, of one that was cut as it did not fit, "whole_size": how many bytes its value had. */
void record_text(struct buffer *out, const struct kafka_settings *settings, struct codec *codec,
                 const struct kafka_record *record, bool raw);

/* Is it about that user: the key's user, or anybody whom a command or a batch of envelopes names. */
bool record_concerns(struct codec *codec, const struct kafka_record *record, int64_t user);
