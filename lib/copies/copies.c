#include "copies/copies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "copies/profiles.h"
#include "event/topics.h"
#include "kafka/consumer.h"

enum {
    ASK_TIMEOUT_MS = 2000,
    RETRY_MS = 1000,
    CURRENT_EVERY_MS = 600 * 1000,
    COPIED = 2,        /* topics */
    SHARING_BITS = 10, /* sharing is held in so many maps (2 to the power of this) that none takes long to grow */
};

static const struct topic *const COPIED_TOPICS[COPIED] = {&TOPIC_SHARING, &TOPIC_PROFILES};

/* Asking the broker where the topics end blocks, so it is done on a worker. It belongs to both sides: whoever of them
 * is last frees it. */
struct question {
    struct copies *copies; /* NULL once those are gone; the loop's thread only */
    struct kafka_consumer *consumer;
    uv_sem_t answered;
    uv_mutex_t lock;
    bool cancelled; /* under the lock */
    int partitions;
    int64_t *ends; /* [COPIED][partitions] */
    int code;
    struct error error;
};

struct copies {
    struct copies_options options;
    char *path;
    struct kafka_consumer *consumer;
    struct profiles *profiles;
    struct codec *codec;
    struct map *sharing[1 << SHARING_BITS]; /* by the user's hash; user -> offset << 2 | mode */
    struct buffer found;                    /* the profile that was last looked up */
    struct question *question;
    struct loop_timer *timer; /* asks again; then, once ready, notes that the profiles are current */
    int64_t *ends;            /* [COPIED][partitions], from the question; NULL before */
    bool ready;
    bool stuck; /* the store refused a write: held until the timer tries again */
    struct {
        struct metric *records, *bad;
    } counts[COPIED];
    struct metric *users, *ready_gauge, *store_failures;
};

static int copied_index(const struct topic *topic) { return topic == &TOPIC_SHARING ? 0 : 1; }

/* ---- where the topics end ---- */

static bool cancelled(struct question *question) {
    uv_mutex_lock(&question->lock);
    bool value = question->cancelled;
    uv_mutex_unlock(&question->lock);
    return value;
}

static void ask(void *context) {
    struct question *question = context;
    question->code = 0;
    for (int i = 0; !question->code && i < COPIED * question->partitions; i++) {
        int64_t low;
        question->code = cancelled(question)
                             ? -ECANCELED
                             : kafka_consumer_watermarks(question->consumer, COPIED_TOPICS[i / question->partitions],
                                                         i % question->partitions, &low, &question->ends[i],
                                                         ASK_TIMEOUT_MS, &question->error);
    }
    uv_sem_post(&question->answered);
}

static void question_free(struct question *question) {
    uv_sem_destroy(&question->answered);
    uv_mutex_destroy(&question->lock);
    free(question->ends);
    free(question);
}

static void start_reading(struct copies *copies);

static void answered(void *context) {
    struct question *question = context;
    struct copies *copies = question->copies;
    if (copies) {
        copies->question = NULL;
        if (question->code) {
            log_debug(copies->options.log, "waiting for the ends of profiles and sharing",
                      LOG_TEXT("error", question->error.text));
            loop_timer_again(copies->timer, RETRY_MS, 0);
        } else {
            copies->ends = question->ends;
            question->ends = NULL;
            start_reading(copies);
        }
    }
    question_free(question);
}

static void ask_for_ends(struct copies *copies) {
    int partitions = copies->options.partitions;
    struct question *question = mem_alloc(sizeof *question);
    *question = (struct question){
        .copies = copies,
        .consumer = copies->consumer,
        .cancelled = false,
        .partitions = partitions,
        .ends = mem_zero((size_t)(COPIED * partitions), sizeof *question->ends),
        .code = 0,
        .error = {.text = ""},
    };
    uv_sem_init(&question->answered, 0);
    uv_mutex_init(&question->lock);
    copies->question = question;
    loop_work(copies->options.loop, ask, answered, question);
}

/* ---- reading ---- */

static int read_all(struct copies *copies, struct error *error) {
    int partitions = copies->options.partitions;
    struct kafka_position *list = mem_alloc((size_t)(COPIED * partitions) * sizeof *list);
    size_t count = 0;
    for (int p = 0; p < partitions; p++) {
        int64_t next = profiles_offset(copies->profiles, p);
        list[count++] = (struct kafka_position){&TOPIC_SHARING, p, KAFKA_OFFSET_BEGINNING};
        list[count++] = (struct kafka_position){&TOPIC_PROFILES, p, next < 0 ? KAFKA_OFFSET_BEGINNING : next};
    }
    int code = kafka_consumer_read(copies->consumer, list, count, error);
    free(list);
    return code;
}

static void start_reading(struct copies *copies) {
    struct error error = {.text = ""};
    int code = 0;
    for (int p = 0; !code && p < copies->options.partitions; p++) {
        // A topic that ends before what was read of it is another topic.
        int64_t end = copies->ends[copied_index(&TOPIC_PROFILES) * copies->options.partitions + p];
        if (profiles_offset(copies->profiles, p) > end) code = profiles_forget(copies->profiles, &error);
    }
    if (!code) code = read_all(copies, &error);
    if (!code) return;
    log_debug(copies->options.log, "profiles and sharing cannot be read yet", LOG_TEXT("error", error.text));
    free(copies->ends);
    copies->ends = NULL;
    loop_timer_again(copies->timer, RETRY_MS, 0);
}

static bool reached_the_ends(const struct copies *copies) {
    for (int i = 0; i < COPIED * copies->options.partitions; i++) {
        const struct topic *topic = COPIED_TOPICS[i / copies->options.partitions];
        if (kafka_consumer_position(copies->consumer, topic, i % copies->options.partitions) < copies->ends[i]) {
            return false;
        }
    }
    return true;
}

static void drained(void *context) {
    struct copies *copies = context;
    if (copies->ready || copies->stuck || !copies->ends || !reached_the_ends(copies)) return;
    copies->ready = true;
    copies->ready_gauge->value = 1;
    profiles_current(copies->profiles, NULL); // a failure costs reading them again after the next start
    loop_timer_again(copies->timer, CURRENT_EVERY_MS, CURRENT_EVERY_MS);
    if (copies->options.on_ready) copies->options.on_ready(copies->options.context);
}

static void ticked(void *context) {
    struct copies *copies = context;
    if (copies->stuck) {
        copies->stuck = false;
        if (copies->ready) loop_timer_again(copies->timer, CURRENT_EVERY_MS, CURRENT_EVERY_MS);
        kafka_consumer_hold(copies->consumer, false);
    } else if (copies->ready) {
        if (reached_the_ends(copies)) profiles_current(copies->profiles, NULL);
    } else if (!copies->ends && !copies->question) {
        ask_for_ends(copies);
    }
}

static void offset_lost(void *context, const struct topic *topic, int32_t partition) {
    struct copies *copies = context;
    struct kafka_position start = {.topic = topic, .partition = partition, .offset = KAFKA_OFFSET_BEGINNING};
    struct error error = {.text = ""};
    // What was removed meanwhile cannot be known any more, so all profiles are read anew; nothing of sharing is kept on
    // disk, and its newest records, which the topic still has, win.
    int code = topic == &TOPIC_PROFILES ? profiles_forget(copies->profiles, &error) : 0;
    if (!code)
        code =
            topic == &TOPIC_PROFILES ? read_all(copies, &error) : kafka_consumer_seek(copies->consumer, &start, &error);
    if (code) log_debug(copies->options.log, "a lost offset could not be mended", LOG_TEXT("error", error.text));
}

/* ---- records ---- */

static void reject(struct copies *copies, const struct kafka_record *record, const char *reason) {
    copies->counts[copied_index(record->topic)].bad->value++;
    kafka_producer_send_dead(copies->options.dead_letters, record, reason);
}

/* By the bits that the map itself uses last. */
static struct map *sharing_of(const struct copies *copies, int64_t user) {
    return copies->sharing[hash_fold((uint64_t)user) >> (64 - SHARING_BITS)];
}

static void apply_sharing(struct copies *copies, const struct kafka_record *record, int64_t user) {
    struct sharing sharing = {.mode = SHARING_OFF}; // a tombstone
    struct error error = {.text = ""};
    if (record->value && event_decode_sharing(copies->codec, record->value, record->value_size, &sharing, &error)) {
        reject(copies, record, error.text);
        return;
    }
    bool created;
    *map_put(sharing_of(copies, user), (uint64_t)user, &created) =
        (uint64_t)record->offset << 2 | (uint64_t)sharing.mode;
    copies->users->value += created;
}

static void apply_profile(struct copies *copies, const struct kafka_record *record, int64_t user) {
    struct profile profile;
    struct error error = {.text = ""};
    if (!record->value) {
        profiles_remove(copies->profiles, user);
    } else if (event_decode_profile(copies->codec, record->value, record->value_size, &profile, &error)) {
        reject(copies, record, error.text);
    } else {
        profiles_put(copies->profiles, user, record->value, record->value_size);
    }
}

/* False: not a user's. */
static bool user_of(const struct kafka_record *record, int64_t *user) {
    if (record->key_size != 8) return false;
    *user = (int64_t)bytes_get_be64(record->key);
    return *user >= 0;
}

static void apply(struct copies *copies, const struct kafka_record *record) {
    int64_t user;
    copies->counts[copied_index(record->topic)].records->value++;
    if (!user_of(record, &user)) {
        reject(copies, record, "the key is not a user: 8 bytes, big-endian, not negative");
    } else if (record->topic == &TOPIC_SHARING) {
        apply_sharing(copies, record, user);
    } else {
        apply_profile(copies, record, user);
    }
    if (record->topic == &TOPIC_PROFILES) profiles_reached(copies->profiles, record->partition, record->offset + 1);
}

/* The disk refused the batch. Its profiles are asked for again, a little later: the first of each partition's. */
static void try_again_later(struct copies *copies, const struct kafka_record *records, size_t count) {
    copies->store_failures->value++;
    copies->stuck = true;
    kafka_consumer_hold(copies->consumer, true);
    for (size_t i = count; i-- > 0;) {
        if (records[i].topic != &TOPIC_PROFILES) continue;
        profiles_reached(copies->profiles, records[i].partition, records[i].offset);
    }
    for (size_t i = 0; i < count; i++) {
        struct kafka_position first = {records[i].topic, records[i].partition, records[i].offset};
        if (records[i].topic != &TOPIC_PROFILES) continue;
        if (profiles_offset(copies->profiles, first.partition) != first.offset) continue;
        kafka_consumer_seek(copies->consumer, &first, NULL);
    }
    loop_timer_again(copies->timer, RETRY_MS, 0);
}

static void tell(struct copies *copies, const struct kafka_record *record) {
    const struct copies_options *options = &copies->options;
    int64_t user, offset;
    if (!user_of(record, &user)) return;
    if (record->topic == &TOPIC_PROFILES) {
        if (options->on_profile) options->on_profile(options->context, user);
    } else if (options->on_sharing) {
        enum sharing_mode mode = copies_sharing(copies, user, &offset);
        // A record that could not be read left an older one standing; one that a later one of the batch replaced is
        // told with that.
        if (offset == record->offset) options->on_sharing(options->context, user, mode, offset);
    }
}

static void take(void *context, const struct kafka_record *records, size_t count) {
    struct copies *copies = context;
    for (size_t i = 0; i < count; i++) apply(copies, &records[i]);
    struct error error = {.text = ""};
    if (profiles_write(copies->profiles, &error)) {
        log_debug(copies->options.log, "profiles could not be written", LOG_TEXT("error", error.text));
        try_again_later(copies, records, count);
    }
    if (!copies->ready) return;
    for (size_t i = 0; i < count; i++) tell(copies, &records[i]);
}

/* ---- the outside ---- */

static void make_metrics(struct copies *copies) {
    struct metrics *metrics = copies->options.metrics;
    for (int i = 0; i < COPIED; i++) {
        char *labels = mem_format("topic=\"%s\"", COPIED_TOPICS[i]->name);
        copies->counts[i].records =
            metrics_counter(metrics, "starling_copies_records_total", "Records read into the local copies.", labels);
        copies->counts[i].bad =
            metrics_counter(metrics, "starling_copies_bad_records_total",
                            "Records that could not be read and went to the dead letter queue.", labels);
        free(labels);
    }
    copies->users =
        metrics_gauge(metrics, "starling_copies_sharing_users", "Users whose sharing mode is held in memory.", NULL);
    copies->users->value = 0; /* counted up from here on */
    copies->ready_gauge =
        metrics_gauge(metrics, "starling_copies_ready", "1 once the local copies were read to the end.", NULL);
    copies->store_failures = metrics_counter(metrics, "starling_copies_store_failures_total",
                                             "Batches of profiles that the disk refused (each is tried again).", NULL);
}

int copies_new(const struct copies_options *options, struct copies **out, struct error *error) {
    struct copies *copies = mem_alloc(sizeof *copies);
    *copies = (struct copies){
        .options = *options,
        .path = mem_format("%s/profiles", options->data_dir),
        .consumer = NULL,
        .profiles = NULL,
        .codec = codec_new(),
        .found = {.data = NULL, .size = 0, .capacity = 0},
        .question = NULL,
        .timer = NULL,
        .ends = NULL,
        .ready = false,
        .stuck = false,
    };
    for (size_t i = 0; i < ARRAY_SIZE(copies->sharing); i++) copies->sharing[i] = map_new();
    make_metrics(copies);
    int code = profiles_open(copies->path, options->partitions, &copies->profiles, error);
    if (code) goto finish;
    struct kafka_consumer_options reading = {
        .loop = options->loop,
        .settings = options->settings,
        .context = copies,
        .on_records = take,
        .on_drained = drained,
        .on_offset_lost = offset_lost,
    };
    code = kafka_consumer_new(&reading, &copies->consumer, error);
    if (code) goto finish;
    copies->timer = loop_timer_new(options->loop, RETRY_MS, 0, ticked, copies);
    ask_for_ends(copies);
finish:
    if (code) {
        copies_free(copies);
        return code;
    }
    *out = copies;
    return 0;
}

void copies_free(struct copies *copies) {
    if (!copies) return;
    if (copies->question) {
        struct question *question = copies->question;
        question->copies = NULL;
        uv_mutex_lock(&question->lock);
        question->cancelled = true;
        uv_mutex_unlock(&question->lock);
        // The worker uses the consumer: one request at most, and those have a timeout.
        uv_sem_wait(&question->answered);
    }
    loop_timer_free(copies->timer);
    kafka_consumer_free(copies->consumer);
    profiles_close(copies->profiles);
    codec_free(copies->codec);
    for (size_t i = 0; i < ARRAY_SIZE(copies->sharing); i++) map_free(copies->sharing[i]);
    buffer_free(&copies->found);
    free(copies->ends);
    free(copies->path);
    free(copies);
}

bool copies_ready(const struct copies *copies) { return copies->ready; }

enum sharing_mode copies_sharing(const struct copies *copies, int64_t user, int64_t *offset) {
    const uint64_t *found = map_find(sharing_of(copies, user), (uint64_t)user);
    if (offset) *offset = found ? (int64_t)(*found >> 2) : -1;
    return found ? (enum sharing_mode)(*found & 3) : SHARING_OFF;
}

int copies_profile(struct copies *copies, int64_t user, struct profile *profile) {
    struct error error = {.text = ""};
    int found = profiles_get(copies->profiles, user, &copies->found, &error);
    if (found == 1) {
        found =
            event_decode_profile(copies->codec, copies->found.data, copies->found.size, profile, &error) ? -EBADMSG : 1;
    }
    if (found >= 0) return found;
    // A name is not worth failing what it would decorate.
    log_debug(copies->options.log, "a profile could not be read", LOG_TEXT("error", error.text));
    return 0;
}
