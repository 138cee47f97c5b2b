#include "cli/repartition.h"

#include <stdlib.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "event/codec.h"
#include "event/topics.h"
#include "ids/ids.h"
#include "subjects/subject.h"

enum { USER_BYTES = 8, OFFSET_BITS = 40 };

struct repartition {
    struct topics_shape before, after;
    struct codec *codec;
    struct buffer value;
    uint8_t key[SUBJECT_KEY_MAX];
    struct repartition_counts counts;
};

struct repartition *repartition_new(const struct topics_shape *before, const struct topics_shape *after) {
    return MEM_NEW(&(struct repartition){.before = *before, .after = *after, .codec = codec_new()});
}

void repartition_free(struct repartition *repartition) {
    if (!repartition) return;
    codec_free(repartition->codec);
    buffer_free(&repartition->value);
    free(repartition);
}

struct repartition_counts repartition_counts(const struct repartition *repartition) {
    return repartition->counts;
}

static bool is_of_posts(const struct topic *topic) { return topic == &TOPIC_POSTS || topic == &TOPIC_POST_TEXTS; }

/* The id of the post or comment that a record is about; 0: it is about none. */
static int64_t id_of(const struct kafka_record *record) {
    struct subject_key parts;
    if (is_of_posts(record->topic)) // a former text's version is behind the id
        return record->key_size == 2 * USER_BYTES || record->key_size == 3 * USER_BYTES
                   ? (int64_t)bytes_get_be64(record->key + USER_BYTES)
                   : 0;
    bool comment = record->topic == &TOPIC_COMMENTS && subject_key_read(record->key, record->key_size, &parts);
    return comment && parts.numbers == 1 ? parts.comment : 0;
}

static void note_id(struct repartition *repartition, int64_t id) {
    int64_t time = id > 0 ? ids_time_ms(id) : 0;
    if (time > repartition->counts.newest_ms) repartition->counts.newest_ms = time;
}

/* A subject that cannot be read stays as it is, for the dead letters. */
static void forget_command(struct repartition *repartition, struct kafka_record *record) {
    struct subject_key parts;
    struct comment_subject subject;
    struct error error;
    if (record->topic != &TOPIC_COMMENTS || !record->value) return;
    if (!subject_key_read(record->key, record->key_size, &parts) || parts.numbers) return;
    if (event_decode_comment_subject(repartition->codec, record->value, record->value_size, &subject, &error)) return;
    subject.command = -1;
    buffer_clear(&repartition->value);
    event_encode_comment_subject(&repartition->value, &subject);
    record->value = (const uint8_t *)repartition->value.data;
    record->value_size = repartition->value.size;
}

/* Offsets below 4,096 of each other differ in their last bits, and no partition takes as many commands in a millisecond. Entries of bans
 * have numbers that are made of times already. */
static void number_entry(struct repartition *repartition, struct kafka_record *record) {
    struct subject_key parts;
    if (record->topic != &TOPIC_MODERATION_LOG || !subject_key_read(record->key, record->key_size, &parts)) return;
    if (parts.numbers != 2 || parts.second < 0 || parts.second >> OFFSET_BITS) return;
    parts.second = record->timestamp << IDS_FRACTION_BITS | (parts.second & ((1 << IDS_FRACTION_BITS) - 1));
    record->key_size = subject_key_write(repartition->key, &parts);
    record->key = repartition->key;
}

int repartition_record(struct repartition *repartition, const struct kafka_record *record, void *context,
                       int (*put)(void *context, const struct kafka_record *record)) {
    const struct topic *topic = record->topic;
    struct kafka_record moved = *record;
    int32_t before = repartition->before.partitions[topic->space], after = repartition->after.partitions[topic->space];
    bool strays = topic_partition(topic, record->key, record->key_size, before) != record->partition;
    if (strays && (is_of_posts(topic) || !topic->scattered)) {
        // A post's second copy is made anew.
        if (!is_of_posts(topic) || ids_partition(id_of(record)) != record->partition) repartition->counts.left_out++;
        return 0;
    }
    int64_t id = id_of(record);
    note_id(repartition, id);
    forget_command(repartition, &moved);
    number_entry(repartition, &moved);
    moved.partition = topic_partition(topic, record->key, record->key_size, after);
    int code = put(context, &moved);
    if (code || !is_of_posts(topic) || id <= 0 || ids_partition(id) == moved.partition || ids_partition(id) >= after)
        return code;
    moved.partition = ids_partition(id);
    return put(context, &moved);
}
