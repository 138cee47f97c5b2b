#include "tasks/effects.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* The newest settled epoch and all that are not settled: one more than there may be unsettled. */
enum { NOTES = EPOCHS_MAX + 1 };

struct course_of_effects {
    uint64_t live;     /* the first epoch that says anything about it; 0: none are carried out */
    int64_t told, end; /* meanwhile */
    int64_t next;      /* effects before are sent */
    int64_t held;      /* those from here on are not sent to the end; INT64_MAX */
    int64_t settled;   /* effects before are acknowledged */
    int64_t committed;
};

struct task_effects {
    const struct topic **topics;
    size_t states;
    int32_t partitions;
    struct epochs *epochs;
    uint64_t settled_epoch;
    struct course_of_effects *courses; /* by partition, then by state */
    int64_t *notes; /* by epoch modulo NOTES, then as `courses`: what was sent when the epoch was closed */
    struct kafka_position *positions; /* room for all courses */
};

struct task_effects *task_effects_new(const struct topic *const *topics, size_t states, int32_t partitions,
                                      struct epochs *epochs) {
    size_t places = (size_t)partitions * states;
    struct task_effects *effects = MEM_NEW(&(struct task_effects){
        .topics = mem_zero(states, sizeof *effects->topics),
        .states = states,
        .partitions = partitions,
        .epochs = epochs,
        .courses = mem_zero(places, sizeof *effects->courses),
        .notes = mem_zero(places * NOTES, sizeof *effects->notes),
        .positions = mem_zero(places, sizeof *effects->positions),
    });
    if (states) memcpy(effects->topics, topics, states * sizeof *topics);
    return effects;
}

void task_effects_free(struct task_effects *effects) {
    if (!effects) return;
    free(effects->topics);
    free(effects->courses);
    free(effects->notes);
    free(effects->positions);
    free(effects);
}

static struct course_of_effects *course_of(const struct task_effects *effects, size_t state, int32_t partition) {
    return &effects->courses[(size_t)partition * effects->states + state];
}

void task_effects_told(struct task_effects *effects, int32_t partition, const int64_t *told) {
    for (size_t s = 0; s < effects->states; s++) course_of(effects, s, partition)->told = told[s];
}

void task_effects_ends(struct task_effects *effects, int32_t partition, const int64_t *ends) {
    for (size_t s = 0; s < effects->states; s++) course_of(effects, s, partition)->end = ends[s];
}

void task_effects_anew(struct task_effects *effects, size_t state, int32_t partition) {
    if (state < effects->states) course_of(effects, state, partition)->told = KAFKA_OFFSET_BEGINNING;
}

/* An offset behind the end is of another time, too. */
void task_effects_begin(const struct task_effects *effects, int32_t partition, int64_t *from) {
    for (size_t s = 0; s < effects->states; s++) {
        const struct course_of_effects *course = course_of(effects, s, partition);
        bool known = course->told != KAFKA_OFFSET_NONE && course->told <= course->end;
        from[s] = !known ? course->end : course->told < 0 ? 0 : course->told;
    }
}

static void begin(const struct task_effects *effects, struct course_of_effects *course, int64_t from) {
    if (course->live) return;
    *course = (struct course_of_effects){
        .live = epochs_open(effects->epochs), .next = from, .held = INT64_MAX, .settled = from, .committed = -1};
}

void task_effects_live(struct task_effects *effects, int32_t partition, const int64_t *from) {
    for (size_t s = 0; s < effects->states; s++) begin(effects, course_of(effects, s, partition), from[s]);
}

int64_t task_effects_at_once(struct task_effects *effects, size_t state, int32_t partition) {
    struct course_of_effects *course = course_of(effects, state, partition);
    begin(effects, course, course->told < 0 ? 0 : course->told);
    return course->next;
}

void task_effects_stop(struct task_effects *effects, int32_t partition) {
    for (size_t s = 0; s < effects->states; s++) {
        struct course_of_effects *course = course_of(effects, s, partition);
        if (course->live) course->told = course->settled;
        course->live = 0;
    }
}

bool task_effects_due(struct task_effects *effects, size_t state, int32_t partition, int64_t offset) {
    struct course_of_effects *course = course_of(effects, state, partition);
    if (!course->live || offset < course->next) return false;
    course->next = offset + 1;
    return true;
}

void task_effects_undo(struct task_effects *effects, size_t state, int32_t partition, int64_t offset) {
    course_of(effects, state, partition)->next = offset;
}

void task_effects_pass(struct task_effects *effects, size_t state, int32_t partition, int64_t offset) {
    struct course_of_effects *course = course_of(effects, state, partition);
    if (course->live && offset > course->next) course->next = offset;
}

void task_effects_hold(struct task_effects *effects, size_t state, int32_t partition, int64_t offset) {
    course_of(effects, state, partition)->held = offset;
}

void task_effects_note(struct task_effects *effects) {
    size_t places = (size_t)effects->partitions * effects->states;
    int64_t *notes = effects->notes + epochs_open(effects->epochs) % NOTES * places;
    for (size_t i = 0; i < places; i++) {
        const struct course_of_effects *course = &effects->courses[i];
        notes[i] = course->next < course->held ? course->next : course->held;
    }
}

size_t task_effects_settled(struct task_effects *effects, bool again, const struct kafka_position **positions) {
    uint64_t epoch = epochs_settled(effects->epochs) - 1;
    const int64_t *notes = effects->notes + epoch % NOTES * (size_t)effects->partitions * effects->states;
    bool news = epoch > effects->settled_epoch;
    size_t count = 0;
    if (news) effects->settled_epoch = epoch;
    for (int32_t p = 0; p < effects->partitions; p++) {
        for (size_t s = 0; s < effects->states; s++) {
            struct course_of_effects *course = course_of(effects, s, p);
            if (!course->live) continue;
            if (news && course->live <= epoch) course->settled = notes[course - effects->courses];
            if (course->settled <= course->committed && !again) continue;
            course->committed = course->settled;
            effects->positions[count++] =
                (struct kafka_position){.topic = effects->topics[s], .partition = p, .offset = course->settled};
        }
    }
    *positions = effects->positions;
    return count;
}

void task_effects_rewind(struct task_effects *effects) {
    effects->settled_epoch = epochs_settled(effects->epochs) - 1; // nothing was noted of it
    for (size_t i = 0; i < (size_t)effects->partitions * effects->states; i++) {
        effects->courses[i].next = effects->courses[i].settled;
        effects->courses[i].held = INT64_MAX;
    }
}

int64_t task_effects_next(const struct task_effects *effects, size_t state, int32_t partition) {
    const struct course_of_effects *course = course_of(effects, state, partition);
    return course->live ? course->next : INT64_MAX;
}
