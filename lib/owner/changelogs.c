#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "decider/command_offset.h"
#include "owner/private.h"

enum { BATCH_DEFAULT = 1000 };

/*            own                         live
 *     nothing ---> restoring ------------------------> live: what comes is news
 *        |  keep      ^  own: reads the rest             |
 *        +----------> stand-by: kept up to date, in silence
 *                        ^-------------------------------+ keep               drop: from anywhere to nothing */

static bool has_offsets(const struct owner *owner) { return owner->options.offsets != NULL; }

static size_t topics_count(const struct owner *owner) { return owner->state_count + has_offsets(owner); }

/* ---- reading ---- */

/* Has a partition read from these offsets (>= 0 or KAFKA_OFFSET_BEGINNING), or no longer, from changelogs_read on; a partition may be named
 * once in between. */
static void add(struct owner *owner, int32_t partition, const int64_t *from) {
    for (size_t s = 0; s < topics_count(owner); s++)
        owner->more[owner->more_count++] =
            (struct kafka_position){.topic = owner->states[s], .partition = partition, .offset = from[s]};
}

static void drop(struct owner *owner, int32_t partition) {
    for (size_t s = 0; s < topics_count(owner); s++)
        owner->less[owner->less_count++] = (struct kafka_position){.topic = owner->states[s], .partition = partition};
}

int changelogs_read(struct owner *owner, struct error *error) {
    int code = 0;
    if (owner->less_count) code = kafka_consumer_read_less(owner->changelogs, owner->less, owner->less_count, error);
    if (!code && owner->more_count)
        code = kafka_consumer_read_more(owner->changelogs, owner->more, owner->more_count, error);
    owner->less_count = owner->more_count = 0;
    return code;
}

int owner_read_again(struct owner *owner, size_t state, int32_t partition, int64_t offset, struct error *error) {
    struct kafka_position position = {.topic = owner->states[state], .partition = partition, .offset = offset};
    return kafka_consumer_seek(owner->changelogs, &position, error);
}

int64_t owner_position(const struct owner *owner, size_t state, int32_t partition) {
    return kafka_consumer_position(owner->changelogs, owner->states[state], partition);
}

bool owner_reached(const struct owner *owner, size_t state, int32_t partition, int64_t end) {
    return end == 0 || (owner->opened[partition] && owner_position(owner, state, partition) >= end);
}

int64_t owner_state_lag(const struct owner *owner, size_t state, int32_t partition) {
    return kafka_consumer_lag(owner->changelogs, owner->states[state], partition);
}

int64_t changelogs_left(const struct owner *owner, int32_t partition, const int64_t *ends) {
    int64_t left = 0;
    for (size_t s = 0; owner->opened[partition] && s < owner->state_count; s++) {
        int64_t next = owner_position(owner, s, partition);
        if (ends[s] != INT64_MAX && next < ends[s]) left += ends[s] - (next < 0 ? 0 : next);
    }
    return left;
}

/* ---- what the decider has written of its progress ---- */

static int64_t *decided_of(const struct owner *owner, size_t command, int32_t partition) {
    return &owner->decided[command * (size_t)owner->options.partitions + (size_t)partition];
}

static void take_offset(struct owner *owner, const struct kafka_record *record) {
    int64_t next;
    if (!record->value || command_offset_get(record->value, record->value_size, &next)) return;
    for (size_t c = 0; c < owner->command_count; c++) {
        const char *name = owner->commands[c]->name;
        if (strlen(name) != record->key_size || memcmp(name, record->key, record->key_size) != 0) continue;
        int64_t *decided = decided_of(owner, c, record->partition);
        if (next > *decided) *decided = next;
    }
}

int64_t changelogs_decided(const struct owner *owner, size_t command, int32_t partition) {
    int64_t next = *decided_of(owner, command, partition);
    return next <= owner->command_ends[command * (size_t)owner->options.partitions + (size_t)partition] ? next : -1;
}

void changelogs_asked(struct owner *owner, int32_t partition, int64_t offsets_end, const int64_t *command_ends) {
    owner->offsets_ends[partition] = offsets_end;
    for (size_t c = 0; c < owner->command_count; c++)
        owner->command_ends[c * (size_t)owner->options.partitions + (size_t)partition] = command_ends[c];
}

/* ---- records ---- */

static void count_records(struct owner *owner, const struct kafka_record *records, size_t count) {
    size_t standing = 0, restoring = 0;
    for (size_t i = 0; i < count; i++) {
        int32_t p = records[i].partition;
        if (owner->standing[p])
            standing++;
        else
            restoring += stages_of(owner->stages, p) != STAGE_LIVE;
    }
    owner->metrics.standby_records->value += (double)standing;
    owner->metrics.restore_records->value += (double)restoring;
}

/* The product gets all of a batch at once: the positions stand behind the whole batch already. */
static void take(void *context, const struct kafka_record *records, size_t count) {
    struct owner *owner = context;
    size_t kept = 0;
    count_records(owner, records, count);
    for (size_t i = 0; i < count; i++) {
        if (!owner->opened[records[i].partition]) continue;
        if (records[i].topic == owner->options.offsets)
            take_offset(owner, &records[i]);
        else
            owner->batch[kept++] = records[i];
    }
    if (kept) PRODUCT(owner, state, owner->batch, kept);
    owner_progress(owner);
}

static void drained(void *context) {
    struct owner *owner = context;
    PRODUCT(owner, state_idle);
    inputs_flush_ready(owner);
    owner_progress(owner);
}

static void offset_lost(void *context, const struct topic *topic, int32_t partition) {
    struct owner *owner = context;
    size_t state = owner_number_of(owner->states, topics_count(owner), topic);
    if (!owner->opened[partition] || state == topics_count(owner)) return;
    bool restore = state < owner->state_count && PRODUCT(owner, state_lost, state, partition);
    if (restore) owner_restore_again(owner, partition);
    owner_read_again(owner, state, partition, KAFKA_OFFSET_BEGINNING, NULL);
}

/* ---- partitions come and go ---- */

/* from: where each state goes on; the caller has it read. */
static int open_part(struct owner *owner, int32_t partition, int64_t from[STAGES_TOPICS_MAX + 1], struct error *error) {
    int code = PRODUCT(owner, open, partition, from, error);
    if (code) return code;
    from[owner->state_count] = KAFKA_OFFSET_BEGINNING; // options.offsets has a record a topic of commands
    for (size_t c = 0; c < owner->command_count; c++) *decided_of(owner, c, partition) = -1;
    owner->opened[partition] = true;
    return 0;
}

int changelogs_activate(struct owner *owner, int32_t partition, const struct stages_answer *answer,
                        struct error *error) {
    int64_t from[STAGES_TOPICS_MAX + 1], again[STAGES_TOPICS_MAX];
    bool fresh = !owner->opened[partition];
    int code = fresh ? open_part(owner, partition, from, error) : 0;
    if (code) return code;
    owner->standing[partition] = false;
    for (size_t s = 0; s < owner->state_count; s++) again[s] = KAFKA_OFFSET_NONE;
    PRODUCT(owner, activate, partition, fresh, answer->states, again);
    for (size_t s = 0; !code && s < owner->state_count; s++) {
        if (again[s] == KAFKA_OFFSET_NONE) continue;
        if (fresh)
            from[s] = again[s];
        else
            code = owner_read_again(owner, s, partition, again[s], error);
    }
    if (fresh) add(owner, partition, from);
    return code;
}

int changelogs_stand_by(struct owner *owner, int32_t partition, struct error *error) {
    int64_t from[STAGES_TOPICS_MAX + 1];
    bool fresh = !owner->opened[partition];
    if (owner->standing[partition]) return 0;
    int code = fresh ? open_part(owner, partition, from, error) : 0;
    if (code) return code;
    if (fresh) add(owner, partition, from);
    owner->standing[partition] = true;
    PRODUCT(owner, stand_by, partition);
    return 0;
}

void changelogs_drop(struct owner *owner, int32_t partition) {
    if (!owner->opened[partition]) return;
    PRODUCT(owner, close, partition);
    owner->opened[partition] = owner->standing[partition] = false;
    fresh_forget(owner->fresh, partition);
    drop(owner, partition);
}

bool changelogs_reached(struct owner *owner, int32_t partition, const int64_t *ends) {
    if (!owner->opened[partition] || !PRODUCT(owner, reached, partition, ends)) return false;
    return !has_offsets(owner) || owner_reached(owner, owner->state_count, partition, owner->offsets_ends[partition]);
}

int64_t changelogs_standby_lag(struct owner *owner, int32_t partition) {
    int64_t lag = PRODUCT(owner, unapplied, partition);
    for (size_t s = 0; s < topics_count(owner); s++) {
        int64_t left = owner_state_lag(owner, s, partition);
        if (left < 0) return -1;
        lag += left;
    }
    return lag;
}

/* ---- beginning and end ---- */

int changelogs_new(struct owner *owner, struct error *error) {
    const struct owner_options *options = &owner->options;
    size_t partitions = (size_t)options->partitions;
    size_t batch = options->state_batch ? options->state_batch : BATCH_DEFAULT;
    owner->states[owner->state_count] = options->offsets;
    owner->batch = mem_zero(batch, sizeof *owner->batch);
    owner->standing = mem_zero(partitions, sizeof *owner->standing);
    owner->opened = mem_zero(partitions, sizeof *owner->opened);
    owner->offsets_ends = mem_zero(partitions, sizeof *owner->offsets_ends);
    owner->command_ends = mem_zero(partitions * (owner->command_count + 1), sizeof *owner->command_ends);
    owner->decided = mem_zero(partitions * (owner->command_count + 1), sizeof *owner->decided);
    owner->more = mem_zero(partitions * topics_count(owner), sizeof *owner->more);
    owner->less = mem_zero(partitions * topics_count(owner), sizeof *owner->less);
    struct kafka_consumer_options consumer = {
        .loop = options->loop,
        .settings = options->kafka,
        .batch = batch,
        .context = owner,
        .on_records = take,
        .on_drained = drained,
        .on_offset_lost = offset_lost,
    };
    return kafka_consumer_new(&consumer, &owner->changelogs, error);
}

void changelogs_free(struct owner *owner) {
    kafka_consumer_free(owner->changelogs);
    free(owner->more);
    free(owner->less);
    free(owner->standing);
    free(owner->opened);
    free(owner->offsets_ends);
    free(owner->decided);
    free(owner->command_ends);
    free(owner->batch);
}
