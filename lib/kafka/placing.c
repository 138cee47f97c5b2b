/* Checks that records of topics lie where their keys belong: partitions that were added later leave the older records where they are. */
#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "kafka/admin_private.h"

enum {
    SAMPLE = 16, /* records of each partition that are looked at, the oldest ones */
    FEW = 4,     /* keys in wrong places that a bad program may have written */
    POLL_MS = 100
};

/* A record's place, and the hash of what chooses it. */
struct placed {
    int32_t partition, hash;
};

/* One partition that is looked at. Those of a topic follow each other, from partition 0 on. */
struct corner {
    const struct topic *topic;
    int32_t partition;
    size_t seen;
    bool done;
};

struct placing {
    struct kafka_settings settings;
    struct kafka_opaque opaque;
    rd_kafka_t *client;
    const struct topics_shape *shape;
    struct corner *corners;
    size_t corner_count, left; /* left: that are not done */
    bool answered;             /* some partition */
    struct placed *placed[TOPIC_SPACES];
    size_t placed_count[TOPIC_SPACES];
};

static bool is_looked_at(const struct kafka_settings *settings, const struct topic *topic) {
    return topic->keyed != TOPIC_KEYED_NOT && !topic->scattered &&
           (!settings->uses || topic_used(settings->uses, topic, TOPIC_READS));
}

static struct corner *corner_of(struct placing *placing, const struct topic *topic, int32_t partition) {
    size_t at = 0;
    while (at < placing->corner_count && placing->corners[at].topic != topic)
        at += (size_t)placing->shape->partitions[placing->corners[at].topic->space];
    return at < placing->corner_count ? &placing->corners[at + (size_t)partition] : NULL;
}

static void finish_corner(struct placing *placing, struct corner *corner) {
    if (corner->done) return;
    corner->done = true;
    placing->left--;
}

static void take(struct placing *placing, struct corner *corner, const rd_kafka_message_t *message) {
    enum topic_space space = corner->topic->space;
    int32_t hash = topic_partition(corner->topic, message->key, message->key_len, INT32_MAX);
    if (corner->done) return;
    if (++corner->seen == SAMPLE) finish_corner(placing, corner);
    if (hash >= 0)
        placing->placed[space][placing->placed_count[space]++] =
            (struct placed){.partition = message->partition, .hash = hash};
}

/* Passes over records that cannot be read: those who read them in earnest say why. */
static void skip(struct placing *placing, const struct topic *topic, int32_t partition) {
    for (size_t i = 0; i < placing->corner_count; i++) {
        struct corner *corner = &placing->corners[i];
        if (corner->topic == topic && (partition < 0 || corner->partition == partition)) finish_corner(placing, corner);
    }
}

static int open_client(struct placing *placing, struct error *error) {
    static const struct kafka_property OURS[] = {
        // Also what an aborted transaction wrote lies where its key belongs.
        {"isolation.level", "read_uncommitted"},
        {"auto.offset.reset", "earliest"},
        {"fetch.message.max.bytes", "16384"},
        {"fetch.wait.max.ms", "10"},
        {NULL, NULL},
    };
    static const struct kafka_property FIXED[] = {
        {"group.id", KAFKA_READERS_GROUP},
        {"enable.auto.commit", "false"},
        {"enable.partition.eof", "true"},
        {NULL, NULL},
    };
    rd_kafka_conf_t *conf = NULL;
    placing->opaque = (struct kafka_opaque){.log = placing->settings.log};
    int code = kafka_conf_new(&placing->settings, OURS, FIXED, &placing->opaque, &conf, error);
    return code ? code : kafka_client_new(RD_KAFKA_CONSUMER, conf, &placing->client, error);
}

static int begin(struct placing *placing, const struct topic_list *topics, const struct topics_shape *shape,
                 struct error *error) {
    size_t corners[TOPIC_SPACES] = {0}, all = 0;
    for (size_t i = 0; i < topics->count; i++)
        if (is_looked_at(&placing->settings, topics->items[i]))
            corners[topics->items[i]->space] += (size_t)shape->partitions[topics->items[i]->space];
    for (int space = 0; space < TOPIC_SPACES; space++) {
        placing->placed[space] = mem_zero(corners[space] * SAMPLE + 1, sizeof *placing->placed[space]);
        all += corners[space];
    }
    placing->corners = mem_zero(all + 1, sizeof *placing->corners);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)all);
    for (size_t i = 0; i < topics->count; i++) {
        const struct topic *topic = topics->items[i];
        if (!is_looked_at(&placing->settings, topic)) continue;
        char *name = topic_full_name(&placing->settings, topic, false);
        for (int32_t p = 0; p < shape->partitions[topic->space]; p++) {
            placing->corners[placing->corner_count++] = (struct corner){.topic = topic, .partition = p};
            rd_kafka_topic_partition_list_add(list, name, p)->offset = RD_KAFKA_OFFSET_BEGINNING;
        }
        free(name);
    }
    placing->left = placing->corner_count;
    int code = placing->left ? open_client(placing, error) : 0;
    rd_kafka_resp_err_t err =
        code || !placing->left ? RD_KAFKA_RESP_ERR_NO_ERROR : rd_kafka_assign(placing->client, list);
    if (err) code = kafka_failed(error, err, "reading the oldest records");
    rd_kafka_topic_partition_list_destroy(list);
    return code;
}

static void take_message(struct placing *placing, const rd_kafka_message_t *message) {
    const struct topic *topic =
        message->rkt ? kafka_topic_of(&placing->settings, rd_kafka_topic_name(message->rkt)) : NULL;
    struct corner *corner = topic ? corner_of(placing, topic, message->partition) : NULL;
    placing->answered |= topic != NULL;
    if (!message->err && corner)
        take(placing, corner, message);
    else if (message->err && topic)
        skip(placing, topic, message->partition);
}

static int by_hash(const void *left, const void *right) {
    const struct placed *a = left, *b = right;
    if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
    return (a->partition > b->partition) - (a->partition < b->partition);
}

/* Leaves one of those that say the same; returns how many there are then. */
static size_t without_repeats(struct placed *placed, size_t count) {
    size_t kept = 0;
    qsort(placed, count, sizeof *placed, by_hash);
    for (size_t i = 0; i < count; i++)
        if (!kept || by_hash(&placed[kept - 1], &placed[i]) != 0) placed[kept++] = placed[i];
    return kept;
}

static bool is_wrong(const struct placed *placed, int32_t partitions) {
    return placed->hash % partitions != placed->partition;
}

static size_t count_wrong(const struct placed *placed, size_t count, int32_t partitions) {
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) wrong += is_wrong(&placed[i], partitions);
    return wrong;
}

/* Added partitions explain nearly all that lies in wrong places of the partitions that there were before; records that a bad program has
 * written anywhere are not explained by any number. New records lie in the added ones, so these say nothing; but one partition explains
 * everything in it, and must have had most of all. */
static bool explain(const struct placed *placed, size_t count, int32_t partitions, int32_t before) {
    size_t looked_at = 0, wrong = 0, explained = 0;
    for (size_t i = 0; i < count; i++) {
        if (before > 1 && placed[i].partition >= before) continue;
        bool misplaced = is_wrong(&placed[i], partitions);
        looked_at++;
        wrong += misplaced;
        explained += misplaced && !is_wrong(&placed[i], before);
    }
    // Two partitions explain every other key that lies in them by chance.
    size_t few = before <= 2 ? 2 * FEW : FEW;
    return wrong >= few && wrong * (before > 1 ? 4 : 2) >= looked_at && explained * 8 >= wrong * 7;
}

/* 0: nobody has added partitions. */
static int judge(const struct placing *placing, enum topic_space space, int32_t partitions, struct error *error) {
    struct placed *placed = placing->placed[space];
    size_t count = without_repeats(placed, placing->placed_count[space]);
    // Nearly always all is well, and no number has to be tried.
    if (count_wrong(placed, count, partitions) < FEW) return 0;
    int32_t before = partitions - 1;
    while (before && !explain(placed, count, partitions, before)) before--;
    if (!before) return 0;
    return error_set(error, -EINVAL,
                     "the topics of %s have %d partitions, and their records were placed among %d: added partitions "
                     "move keys away from their records (docs/OPERATIONS.md, \"More partitions\", has the way out)",
                     topic_space_name(space), (int)partitions, (int)before);
}

int kafka_topics_placed(struct kafka_admin *admin, const struct topic_list *topics, const struct topics_shape *shape,
                        int timeout_ms, struct error *error) {
    struct placing placing = {.settings = *admin->settings, .shape = shape};
    int64_t deadline = kafka_deadline_us(timeout_ms);
    placing.settings.topics = topics;
    int code = begin(&placing, topics, shape, error);
    while (!code && placing.left && kafka_remaining_ms(deadline)) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(placing.client, POLL_MS);
        if (!message) continue;
        take_message(&placing, message);
        rd_kafka_message_destroy(message);
    }
    // A partition without a leader does not answer, and stops nobody: those that did are judged.
    if (!code && placing.left && !placing.answered)
        code = error_set(error, -EHOSTDOWN, "reading the oldest records: no broker has answered in time");
    for (int space = 0; !code && space < TOPIC_SPACES; space++)
        if (placing.placed_count[space])
            code = judge(&placing, (enum topic_space)space, shape->partitions[space], error);
    if (placing.client) rd_kafka_destroy(placing.client);
    for (int space = 0; space < TOPIC_SPACES; space++) free(placing.placed[space]);
    free(placing.corners);
    return code;
}
