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

int64_t states_decided(const struct owner *owner, size_t command, int32_t partition) {
    int64_t next = *decided_of(owner, command, partition);
    return next <= owner->command_ends[command * (size_t)owner->options.partitions + (size_t)partition] ? next : -1;
}

void states_asked(struct owner *owner, int32_t partition, int64_t offsets_end, const int64_t *command_ends) {
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
        if (!owner->attached[records[i].partition]) continue;
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
    owner_progress(owner);
}

static void offset_lost(void *context, size_t state, int32_t partition) {
    struct owner *owner = context;
    bool restore = state < owner->state_count && PRODUCT(owner, state_lost, state, partition);
    if (restore) owner_restore_again(owner, partition);
    follower_seek(owner->follower, state, partition, KAFKA_OFFSET_BEGINNING, NULL);
}

/* ---- partitions come and go ---- */

static int attach(struct owner *owner, int32_t partition, struct error *error) {
    int64_t from[STAGES_TOPICS_MAX + 1];
    int code = PRODUCT(owner, attach, partition, from, error);
    if (code) return code;
    from[owner->state_count] = KAFKA_OFFSET_BEGINNING; // options.offsets has a record a topic of commands
    for (size_t c = 0; c < owner->command_count; c++) *decided_of(owner, c, partition) = -1;
    owner->attached[partition] = true;
    follower_add(owner->follower, partition, from);
    return 0;
}

int states_own(struct owner *owner, int32_t partition, const struct stages_answer *answer, struct error *error) {
    int64_t again[STAGES_TOPICS_MAX];
    bool fresh = !owner->attached[partition];
    int code = fresh ? attach(owner, partition, error) : 0;
    if (code) return code;
    owner->standing[partition] = false;
    for (size_t s = 0; s < owner->state_count; s++) again[s] = KAFKA_OFFSET_NONE;
    PRODUCT(owner, own, partition, fresh, answer->states, again);
    for (size_t s = 0; !code && !fresh && s < owner->state_count; s++) {
        if (again[s] != KAFKA_OFFSET_NONE) code = follower_seek(owner->follower, s, partition, again[s], error);
    }
    return code;
}

int states_keep(struct owner *owner, int32_t partition, struct error *error) {
    if (owner->standing[partition]) return 0;
    int code = owner->attached[partition] ? 0 : attach(owner, partition, error);
    if (code) return code;
    owner->standing[partition] = true;
    PRODUCT(owner, silence, partition);
    return 0;
}

void states_drop(struct owner *owner, int32_t partition) {
    if (!owner->attached[partition]) return;
    PRODUCT(owner, detach, partition);
    owner->attached[partition] = owner->standing[partition] = false;
    follower_remove(owner->follower, partition);
}

int states_read(struct owner *owner, struct error *error) { return follower_read(owner->follower, error); }

bool states_reached(struct owner *owner, int32_t partition, const int64_t *ends) {
    if (!owner->attached[partition] || !PRODUCT(owner, reached, partition, ends)) return false;
    return !has_offsets(owner) ||
           follower_reached(owner->follower, owner->state_count, partition, owner->offsets_ends[partition]);
}

int64_t states_standby_lag(struct owner *owner, int32_t partition) {
    int64_t lag = PRODUCT(owner, unapplied, partition);
    for (size_t s = 0; s < owner->state_count + has_offsets(owner); s++) {
        int64_t left = follower_lag(owner->follower, s, partition);
        if (left < 0) return -1;
        lag += left;
    }
    return lag;
}

/* ---- beginning and end ---- */

int states_new(struct owner *owner, struct error *error) {
    const struct owner_options *options = &owner->options;
    size_t partitions = (size_t)options->partitions;
    size_t batch = options->state_batch ? options->state_batch : BATCH_DEFAULT;
    owner->states[owner->state_count] = options->offsets;
    owner->batch = mem_zero(batch, sizeof *owner->batch);
    owner->standing = mem_zero(partitions, sizeof *owner->standing);
    owner->attached = mem_zero(partitions, sizeof *owner->attached);
    owner->offsets_ends = mem_zero(partitions, sizeof *owner->offsets_ends);
    owner->command_ends = mem_zero(partitions * (owner->command_count + 1), sizeof *owner->command_ends);
    owner->decided = mem_zero(partitions * (owner->command_count + 1), sizeof *owner->decided);
    struct follower_options follower = {
        .loop = options->loop,
        .kafka = options->kafka,
        .partitions = options->partitions,
        .topics = owner->states,
        .topic_count = owner->state_count + has_offsets(owner),
        .batch = batch,
        .context = owner,
        .on_records = take,
        .on_drained = drained,
        .on_offset_lost = offset_lost,
    };
    return follower_new(&follower, &owner->follower, error);
}

void states_free(struct owner *owner) {
    follower_free(owner->follower);
    free(owner->standing);
    free(owner->attached);
    free(owner->offsets_ends);
    free(owner->decided);
    free(owner->command_ends);
    free(owner->batch);
}
