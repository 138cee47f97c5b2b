#include "owner/stages.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct input_progress { /* of one input of one partition */
    int64_t first;
    int64_t next;       /* -1: nothing was ever read */
    int64_t settled;    /* what was handled before this offset is acknowledged, or was so when ownership began */
    int64_t committed;  /* what the group was told of that; -1: nothing, or it may not have heard it */
    int64_t handled_ms; /* Kafka's timestamp of the record last handled */
    int64_t current_ms; /* when nothing waited, last; 0: never yet */
};

enum fence { FENCE_NONE, FENCE_WANTED, FENCE_SENT, FENCE_DONE };

struct owned_partition {
    enum stage stage;
    enum fence fence;
    bool commands_asked, commands_live;
    uint64_t live_epoch;
    int64_t ends[STAGES_TOPICS_MAX];
    int64_t commands_from[STAGES_TOPICS_MAX], commands_ends[STAGES_TOPICS_MAX];
};

struct stages {
    int32_t partitions;
    size_t inputs;
    uint32_t ring;
    bool observed[STAGES_TOPICS_MAX]; /* by input */
    struct owned_partition *parts;
    struct input_progress *progress; /* by input, then partition */
    int64_t *notes;                  /* by epoch modulo ring, then as progress */
};

static size_t all(const struct stages *stages) { return stages->inputs * (size_t)stages->partitions; }

static struct input_progress *progress_of(const struct stages *stages, size_t input, int32_t partition) {
    return &stages->progress[input * (size_t)stages->partitions + (size_t)partition];
}

struct stages *stages_new(int32_t partitions, size_t inputs, const bool *observed, uint32_t ring) {
    struct stages *stages = MEM_NEW(&(struct stages){.partitions = partitions, .inputs = inputs, .ring = ring});
    if (inputs) memcpy(stages->observed, observed, inputs * sizeof *observed);
    size_t count = all(stages) ? all(stages) : 1;
    stages->parts = mem_zero((size_t)partitions, sizeof *stages->parts);
    stages->progress = mem_zero(count, sizeof *stages->progress);
    stages->notes = mem_zero(count * ring, sizeof *stages->notes);
    for (size_t i = 0; i < all(stages); i++) stages->progress[i].next = -1;
    return stages;
}

void stages_free(struct stages *stages) {
    if (!stages) return;
    free(stages->parts);
    free(stages->progress);
    free(stages->notes);
    free(stages);
}

enum stage stages_of(const struct stages *stages, int32_t partition) { return stages->parts[partition].stage; }

/* ---- what the group and the broker say ---- */

void stages_assign(struct stages *stages, int32_t partition) {
    struct owned_partition *part = &stages->parts[partition];
    if (part->stage == STAGE_FOREIGN) part->stage = STAGE_ASKING;
}

bool stages_release(struct stages *stages, int32_t partition) {
    struct owned_partition *part = &stages->parts[partition];
    bool attached = part->stage == STAGE_RESTORING || part->stage == STAGE_LIVE;
    part->stage = STAGE_FOREIGN;
    part->fence = FENCE_NONE;
    return attached;
}

static void begin_inputs(struct stages *stages, int32_t partition, const struct stages_answer *answer) {
    for (size_t i = 0; i < stages->inputs; i++) {
        struct input_progress *progress = progress_of(stages, i, partition);
        int64_t from = answer->inputs[i] < 0 ? progress->first : answer->inputs[i];
        // Records that others have handled since this process last owned the partition were observed here, or else need no handling.
        if (from < progress->next || progress->next < 0 || !stages->observed[i]) progress->next = from;
        progress->settled = progress->next;
        progress->committed = answer->inputs[i];
    }
}

bool stages_answered(struct stages *stages, int32_t partition, const struct stages_answer *answer) {
    struct owned_partition *part = &stages->parts[partition];
    bool begins = part->stage == STAGE_ASKING;
    if (begins) {
        begin_inputs(stages, partition, answer);
        part->stage = STAGE_RESTORING;
    }
    if (part->stage == STAGE_RESTORING) memcpy(part->ends, answer->ends, sizeof part->ends);
    memcpy(part->commands_from, answer->commands, sizeof part->commands_from);
    memcpy(part->commands_ends, answer->ends, sizeof part->commands_ends);
    part->commands_asked = true;
    for (size_t s = 0; part->fence != FENCE_DONE && s < STAGES_TOPICS_MAX; s++) {
        if (!answer->fenced[s]) continue;
        part->ends[s] = part->commands_ends[s] = INT64_MAX;
        if (part->fence == FENCE_NONE) part->fence = FENCE_WANTED;
    }
    return begins;
}

bool stages_fence_begin(struct stages *stages, int32_t partition) {
    struct owned_partition *part = &stages->parts[partition];
    if (part->fence != FENCE_WANTED) return false;
    part->fence = FENCE_SENT;
    return true;
}

void stages_fence_end(struct stages *stages, int32_t partition, const int64_t *ends) {
    struct owned_partition *part = &stages->parts[partition];
    if (part->fence != FENCE_SENT) return;
    part->fence = ends ? FENCE_DONE : FENCE_WANTED;
    for (size_t s = 0; ends && s < STAGES_TOPICS_MAX; s++) {
        if (part->ends[s] == INT64_MAX) part->ends[s] = ends[s];
        if (part->commands_ends[s] == INT64_MAX) part->commands_ends[s] = ends[s];
    }
}

bool stages_restore_again(struct stages *stages, int32_t partition) {
    struct owned_partition *part = &stages->parts[partition];
    if (part->stage != STAGE_LIVE && part->stage != STAGE_RESTORING) return false;
    part->stage = STAGE_RESTORING;
    for (size_t s = 0; s < STAGES_TOPICS_MAX; s++) part->ends[s] = INT64_MAX;
    return true;
}

void stages_live(struct stages *stages, int32_t partition, uint64_t epoch) {
    stages->parts[partition].stage = STAGE_LIVE;
    stages->parts[partition].live_epoch = epoch;
}

const int64_t *stages_ends(const struct stages *stages, int32_t partition) { return stages->parts[partition].ends; }

/* ---- commands ---- */

const int64_t *stages_commands(const struct stages *stages, int32_t partition, const int64_t **ends) {
    const struct owned_partition *part = &stages->parts[partition];
    *ends = part->commands_ends;
    return part->commands_asked ? part->commands_from : NULL;
}

void stages_commands_begin(struct stages *stages, int32_t partition) { stages->parts[partition].commands_live = true; }

bool stages_commanding(const struct stages *stages, int32_t partition) {
    return stages->parts[partition].commands_live;
}

void stages_commands_forget(struct stages *stages) {
    for (int32_t p = 0; p < stages->partitions; p++)
        stages->parts[p].commands_asked = stages->parts[p].commands_live = false;
}

/* ---- inputs ---- */

void stages_begin(struct stages *stages, size_t input, int32_t partition, int64_t first, int64_t next) {
    struct input_progress *progress = progress_of(stages, input, partition);
    progress->first = first;
    progress->next = next;
}

int64_t stages_next(const struct stages *stages, size_t input, int32_t partition) {
    return progress_of(stages, input, partition)->next;
}

void stages_handled(struct stages *stages, size_t input, int32_t partition, int64_t offset, int64_t timestamp) {
    struct input_progress *progress = progress_of(stages, input, partition);
    progress->next = offset + 1;
    progress->handled_ms = timestamp;
}

void stages_lower(struct stages *stages, size_t input, int32_t partition, int64_t offset) {
    struct input_progress *progress = progress_of(stages, input, partition);
    if (offset < progress->next) progress->next = offset;
}

int64_t stages_waiting_ms(struct stages *stages, size_t input, int32_t partition, bool nothing_waits, int64_t now_ms,
                          int64_t unknown) {
    struct input_progress *progress = progress_of(stages, input, partition);
    if (nothing_waits) {
        progress->current_ms = now_ms;
        return 0;
    }
    int64_t since = progress->handled_ms > progress->current_ms ? progress->handled_ms : progress->current_ms;
    return since ? now_ms - since : unknown;
}

/* ---- what may be committed ---- */

static int64_t *notes_of(const struct stages *stages, uint64_t epoch) {
    return stages->notes + (epoch % stages->ring) * all(stages);
}

int64_t *stages_note(struct stages *stages, uint64_t epoch) {
    int64_t *notes = notes_of(stages, epoch);
    for (size_t i = 0; i < all(stages); i++) notes[i] = stages->progress[i].next;
    return notes;
}

void stages_settle(struct stages *stages, uint64_t epoch) {
    const int64_t *notes = notes_of(stages, epoch);
    for (size_t i = 0; i < all(stages); i++) {
        const struct owned_partition *part = &stages->parts[i % (size_t)stages->partitions];
        if (part->stage == STAGE_LIVE && part->live_epoch <= epoch) stages->progress[i].settled = notes[i];
    }
}

void stages_rewind(struct stages *stages) {
    for (size_t i = 0; i < all(stages); i++) {
        const struct owned_partition *part = &stages->parts[i % (size_t)stages->partitions];
        struct input_progress *progress = &stages->progress[i];
        bool handled = part->stage == STAGE_LIVE || part->stage == STAGE_RESTORING;
        if (handled && progress->settled < progress->next) progress->next = progress->settled;
    }
}

bool stages_commit(struct stages *stages, bool again, size_t *input, int32_t *partition, int64_t *offset) {
    while (*input < stages->inputs) {
        if (++*partition == stages->partitions) {
            *partition = -1;
            ++*input;
            continue;
        }
        struct input_progress *progress = progress_of(stages, *input, *partition);
        if (stages->parts[*partition].stage != STAGE_LIVE) continue;
        if (again ? progress->settled < 0 : progress->settled <= progress->committed) continue;
        *offset = progress->committed = progress->settled;
        return true;
    }
    return false;
}

void stages_untold(struct stages *stages) {
    for (size_t i = 0; i < all(stages); i++) stages->progress[i].committed = -1;
}

bool stages_all_told(const struct stages *stages) {
    for (size_t i = 0; i < all(stages); i++) {
        const struct owned_partition *part = &stages->parts[i % (size_t)stages->partitions];
        if (part->stage == STAGE_LIVE && stages->progress[i].committed < stages->progress[i].next) return false;
    }
    return true;
}
