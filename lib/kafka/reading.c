#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "kafka/consumer_private.h"

enum { SEEK_TIMEOUT_MS = 5000 }; /* librdkafka's own threads answer, no broker: microseconds */

rd_kafka_topic_t *kafka_consumer_topic(struct kafka_consumer *consumer, const struct topic *topic) {
    return kafka_handles_get(&consumer->handles, consumer->client, consumer->options.settings, topic, TOPIC_READS);
}

struct assignment {
    struct kafka_consumer *consumer;
    rd_kafka_topic_partition_list_t *all, *paused, *resumed;
};

static void gather_one(void *context, const struct kafka_position *position, struct place *place) {
    struct assignment *assignment = context;
    kafka_list_add(assignment->all, assignment->consumer->options.settings, position);
    bool pause = place->paused || assignment->consumer->hold_paused;
    if (pause)
        kafka_list_add(assignment->paused, assignment->consumer->options.settings, position);
    else if (place->stalled)
        kafka_list_add(assignment->resumed, assignment->consumer->options.settings, position);
    place->stalled = pause;
}

rd_kafka_resp_err_t kafka_consumer_assign(struct kafka_consumer *consumer,
                                          const rd_kafka_topic_partition_list_t *list) {
    rd_kafka_resp_err_t err = rd_kafka_assign(consumer->client, list);
    // Partitions that are no longer read are stopped by two further steps of librdkafka's own queue: to stop, and that it has stopped.
    // The next list must not come in between (librdkafka 2.0.2 stops the same partition twice, and aborts). Each question
    // that is answered through that queue sees one step done.
    for (int step = 0; step < 2; step++) {
        char *answer = rd_kafka_memberid(consumer->client);
        if (answer) rd_kafka_mem_free(consumer->client, answer);
    }
    return err;
}

int kafka_consumer_apply(struct kafka_consumer *consumer, struct error *error) {
    int count = (int)positions_reading(&consumer->positions);
    struct assignment assignment = {
        .consumer = consumer,
        .all = rd_kafka_topic_partition_list_new(count),
        .paused = rd_kafka_topic_partition_list_new(count),
        .resumed = rd_kafka_topic_partition_list_new(0),
    };
    positions_each(&consumer->positions, gather_one, &assignment);
    // An empty list, never NULL: NULL would end the membership's assignment and have the group rebalance.
    rd_kafka_resp_err_t err = kafka_consumer_assign(consumer, assignment.all);
    // No record gets through in between: pausing makes those that librdkafka has fetched already outdated.
    if (!err && assignment.paused->cnt) err = rd_kafka_pause_partitions(consumer->client, assignment.paused);
    if (!err && assignment.resumed->cnt) err = rd_kafka_resume_partitions(consumer->client, assignment.resumed);
    rd_kafka_topic_partition_list_destroy(assignment.resumed);
    rd_kafka_topic_partition_list_destroy(assignment.all);
    rd_kafka_topic_partition_list_destroy(assignment.paused);
    consumer->changed = true;
    consumer->answered = true;
    return err ? kafka_failed(error, err, "choosing partitions to read") : 0;
}

static int readable(struct kafka_consumer *consumer, const struct kafka_position *positions, size_t count,
                    struct error *error) {
    if (!consumer->assigned) return error_set(error, -ESTALE, "the group has not assigned anything to this consumer");
    for (size_t i = 0; i < count; i++) {
        const struct topic *topic = positions[i].topic;
        if (!kafka_consumer_topic(consumer, topic))
            return error_set(error, -EINVAL, "no such topic: %s", topic ? topic->name : "(none)");
    }
    return 0;
}

int kafka_consumer_read(struct kafka_consumer *consumer, const struct kafka_position *positions, size_t count,
                        struct error *error) {
    int code = readable(consumer, positions, count, error);
    if (!code) code = positions_read(&consumer->positions, positions, count, true, error);
    return code ? code : kafka_consumer_apply(consumer, error);
}

int kafka_consumer_read_more(struct kafka_consumer *consumer, const struct kafka_position *positions, size_t count,
                             struct error *error) {
    int code = readable(consumer, positions, count, error);
    if (!code) code = positions_read(&consumer->positions, positions, count, false, error);
    return code ? code : kafka_consumer_apply(consumer, error);
}

int kafka_consumer_read_less(struct kafka_consumer *consumer, const struct kafka_position *positions, size_t count,
                             struct error *error) {
    int code = readable(consumer, positions, count, error);
    if (code) return code;
    for (size_t i = 0; i < count; i++) {
        struct place *place = positions_find(&consumer->positions, positions[i].topic, positions[i].partition);
        if (place) place->reading = place->paused = false;
    }
    return kafka_consumer_apply(consumer, error);
}

static rd_kafka_topic_partition_list_t *list_of(const struct kafka_consumer *consumer,
                                                const struct kafka_position *position) {
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    kafka_list_add(list, consumer->options.settings, position);
    return list;
}

static int pause_one(struct kafka_consumer *consumer, const struct topic *topic, int32_t partition, bool pause) {
    struct place *place = positions_find(&consumer->positions, topic, partition);
    if (!place || !place->reading) return -ENOENT;
    if (place->paused == pause) return 0;
    place->paused = pause;
    if (consumer->hold_paused) return 0; // paused as it is; what is resumed at the end of the hold follows the flag
    place->stalled = pause;
    struct kafka_position position = {.topic = topic, .partition = partition, .offset = place->next};
    rd_kafka_topic_partition_list_t *list = list_of(consumer, &position);
    rd_kafka_resp_err_t err =
        pause ? rd_kafka_pause_partitions(consumer->client, list) : rd_kafka_resume_partitions(consumer->client, list);
    rd_kafka_topic_partition_list_destroy(list);
    return kafka_code(err);
}

int kafka_consumer_pause(struct kafka_consumer *consumer, const struct topic *topic, int32_t partition) {
    return pause_one(consumer, topic, partition, true);
}

int kafka_consumer_resume(struct kafka_consumer *consumer, const struct topic *topic, int32_t partition) {
    return pause_one(consumer, topic, partition, false);
}

static void gather_hold(void *context, const struct kafka_position *position, struct place *place) {
    struct assignment *assignment = context;
    if (place->paused) return;
    kafka_list_add(assignment->all, assignment->consumer->options.settings, position);
    place->stalled = assignment->consumer->hold_paused;
}

void kafka_consumer_pause_all(struct kafka_consumer *consumer, bool pause) {
    struct assignment assignment = {.consumer = consumer, .all = rd_kafka_topic_partition_list_new(0), .paused = NULL};
    positions_each(&consumer->positions, gather_hold, &assignment);
    if (assignment.all->cnt && pause) rd_kafka_pause_partitions(consumer->client, assignment.all);
    if (assignment.all->cnt && !pause) rd_kafka_resume_partitions(consumer->client, assignment.all);
    rd_kafka_topic_partition_list_destroy(assignment.all);
}

/* librdkafka refused to be elsewhere. A partition whose fetching is only just being started does, and would then drop
 * all that it fetches as outdated (the seek is counted already): starting it anew, at the new place, cures both. */
static bool is_refused(struct kafka_consumer *consumer, rd_kafka_topic_partition_list_t *list) {
    rd_kafka_error_t *failure = rd_kafka_seek_partitions(consumer->client, list, SEEK_TIMEOUT_MS);
    bool refused = failure;
    for (int i = 0; i < list->cnt; i++) refused |= list->elems[i].err != 0;
    rd_kafka_error_destroy(failure);
    return refused;
}

static void gather_behind(void *context, const struct kafka_position *position, struct place *place) {
    struct assignment *assignment = context;
    if (place->paused || kafka_consumer_lag(assignment->consumer, position->topic, position->partition) <= 0) return;
    kafka_list_add(assignment->all, assignment->consumer->options.settings, position);
}

/* Its broker threads saw a full queue and sleep: for up to a second, as nothing wakes them when it is drained (a restored router
 * read in bursts, a second apart). Being sent to where a partition is does. */
void kafka_consumer_fetch_on(struct kafka_consumer *consumer) {
    struct assignment assignment = {.consumer = consumer, .all = rd_kafka_topic_partition_list_new(0)};
    if (!consumer->hold_paused) positions_each(&consumer->positions, gather_behind, &assignment);
    if (assignment.all->cnt && is_refused(consumer, assignment.all)) kafka_consumer_apply(consumer, NULL);
    rd_kafka_topic_partition_list_destroy(assignment.all);
}

int kafka_consumer_seek(struct kafka_consumer *consumer, const struct kafka_position *position, struct error *error) {
    struct place *place = positions_find(&consumer->positions, position->topic, position->partition);
    if (!place || !place->reading) return error_set(error, -ENOENT, "a partition that is not read cannot be moved");
    if (position->offset < 0 && position->offset != KAFKA_OFFSET_BEGINNING && position->offset != KAFKA_OFFSET_END)
        return error_set(error, -EINVAL, "no such offset: %lld", (long long)position->offset);
    place->next = position->offset;
    rd_kafka_topic_partition_list_t *list = list_of(consumer, position);
    bool refused = is_refused(consumer, list);
    rd_kafka_topic_partition_list_destroy(list);
    return refused ? kafka_consumer_apply(consumer, error) : 0;
}

int64_t kafka_consumer_position(const struct kafka_consumer *consumer, const struct topic *topic, int32_t partition) {
    const struct place *place = positions_find(&consumer->positions, topic, partition);
    return place && place->next >= 0 ? place->next : KAFKA_OFFSET_NONE;
}

int64_t kafka_consumer_lag(const struct kafka_consumer *consumer, const struct topic *topic, int32_t partition) {
    int64_t next = kafka_consumer_position(consumer, topic, partition);
    int64_t low = -1, high = -1;
    char *name = topic_full_name(consumer->options.settings, topic, false);
    rd_kafka_resp_err_t err = rd_kafka_get_watermark_offsets(consumer->client, name, partition, &low, &high);
    free(name);
    if (err || high < 0 || next < 0) return -1;
    return high > next ? high - next : 0;
}

void kafka_consumer_hold(struct kafka_consumer *consumer, bool hold) {
    if (consumer->held == hold) return;
    consumer->held = hold;
    if (hold) return;
    if (consumer->hold_paused) {
        consumer->hold_paused = false;
        kafka_consumer_pause_all(consumer, false);
    }
    // Messages that woke the loop while it was held were left in the queue.
    kafka_wake_again(consumer->wake, true);
}
