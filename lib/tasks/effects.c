#include "tasks/effects.h"

#include <stdlib.h>

#include "base/mem.h"
#include "tasks/carried.h"

struct effects_part {
    bool live;
    int64_t told[STAGES_TOPICS_MAX]; /* KAFKA_OFFSET_NONE: the group knows nothing */
    int64_t ends[STAGES_TOPICS_MAX];
};

struct task_effects {
    struct owner *owner;
    struct carried *carried;
    size_t states;
    int32_t partitions;
    struct effects_part *parts;
    struct kafka_position *positions; /* room for all states of all partitions */
};

struct task_effects *task_effects_new(const struct topic *const *topics, size_t states, int32_t partitions,
                                      struct owner *owner, struct epochs *epochs) {
    struct task_effects *effects = mem_alloc(sizeof *effects);
    *effects = (struct task_effects){
        .owner = owner,
        .carried = carried_new(topics, states, partitions, epochs),
        .states = states,
        .partitions = partitions,
        .parts = mem_zero((size_t)partitions, sizeof *effects->parts),
        .positions = mem_zero((size_t)partitions * (states + 1), sizeof *effects->positions),
    };
    return effects;
}

void task_effects_free(struct task_effects *effects) {
    if (!effects) return;
    carried_free(effects->carried);
    free(effects->parts);
    free(effects->positions);
    free(effects);
}

void task_effects_told(struct task_effects *effects, int32_t partition, const int64_t *told) {
    for (size_t s = 0; s < effects->states; s++) effects->parts[partition].told[s] = told[s];
}

void task_effects_ends(struct task_effects *effects, int32_t partition, const int64_t *ends) {
    for (size_t s = 0; s < effects->states; s++) effects->parts[partition].ends[s] = ends[s];
}

void task_effects_forget(struct task_effects *effects, size_t state, int32_t partition) {
    if (state < effects->states) effects->parts[partition].told[state] = KAFKA_OFFSET_BEGINNING;
}

/* An offset behind the end is of another time, too. */
static int64_t begin_at(const struct effects_part *part, size_t state) {
    int64_t told = part->told[state], end = part->ends[state];
    if (told == KAFKA_OFFSET_NONE || told > end) return end;
    return told < 0 ? 0 : told;
}

/* Reads the state of a task that runs once more, if that was read already. */
static int read_from(struct task_effects *effects, size_t state, int32_t partition, int64_t from, struct error *error) {
    if (from >= owner_position(effects->owner, state, partition)) return 0;
    return owner_read_again(effects->owner, state, partition, from, error);
}

int task_effects_live(struct task_effects *effects, int32_t partition, struct error *error) {
    struct effects_part *part = &effects->parts[partition];
    int64_t from[STAGES_TOPICS_MAX];
    int code = 0;
    for (size_t s = 0; s < effects->states; s++) from[s] = begin_at(part, s);
    carried_live(effects->carried, partition, from);
    part->live = true;
    for (size_t s = 0; !code && s < effects->states; s++) code = read_from(effects, s, partition, from[s], error);
    if (!code) task_effects_commit(effects, false); // so that whoever takes over knows where effects began
    return code;
}

void task_effects_stop(struct task_effects *effects, int32_t partition) {
    struct effects_part *part = &effects->parts[partition];
    if (!part->live) return;
    part->live = false;
    for (size_t s = 0; s < effects->states; s++) part->told[s] = carried_settled_at(effects->carried, s, partition);
    carried_stop(effects->carried, partition);
}

bool task_effects_due(struct task_effects *effects, size_t state, int32_t partition, int64_t offset) {
    return carried_due(effects->carried, state, partition, offset);
}

void task_effects_hold(struct task_effects *effects, size_t state, int32_t partition, int64_t offset) {
    carried_hold(effects->carried, state, partition, offset);
}

int task_effects_again(struct task_effects *effects, bool lost, struct error *error) {
    int code = 0;
    if (lost) carried_forget(effects->carried);
    for (int32_t p = 0; p < effects->partitions; p++) {
        for (size_t s = 0; !code && effects->parts[p].live && s < effects->states; s++) {
            if (lost) carried_rewind(effects->carried, s, p);
            code = read_from(effects, s, p, carried_next(effects->carried, s, p), error);
        }
    }
    return code;
}

void task_effects_note(struct task_effects *effects) { carried_note(effects->carried); }

void task_effects_commit(struct task_effects *effects, bool again) {
    size_t count = carried_settled(effects->carried, again, effects->positions);
    owner_commit(effects->owner, effects->positions, count);
}
