#include "tasks/carried.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* The newest settled epoch and all that are not settled: one more than there may be unsettled. */
enum { NOTES = EPOCHS_MAX + 1 };

struct course_of_effects {
    int64_t next;    /* effects before are sent */
    int64_t held;    /* those from here on are not sent to the end; INT64_MAX */
    int64_t settled; /* effects before are acknowledged */
    int64_t committed;
};

struct carried {
    const struct topic **topics;
    size_t states;
    int32_t partitions;
    struct epochs *epochs;
    uint64_t *live_epochs; /* by partition: the first that says anything about it; 0: it is not live */
    uint64_t settled_epoch;
    struct course_of_effects *courses; /* by partition, then by state */
    int64_t *notes; /* by epoch modulo NOTES, then as `courses`: what was sent when the epoch was closed */
};

struct carried *carried_new(const struct topic *const *topics, size_t states, int32_t partitions,
                            struct epochs *epochs) {
    size_t places = (size_t)partitions * states;
    struct carried *carried = mem_alloc(sizeof *carried);
    *carried = (struct carried){
        .topics = mem_alloc(states * sizeof *carried->topics),
        .states = states,
        .partitions = partitions,
        .epochs = epochs,
        .live_epochs = mem_zero((size_t)partitions, sizeof *carried->live_epochs),
        .courses = mem_zero(places, sizeof *carried->courses),
        .notes = mem_zero(places * NOTES, sizeof *carried->notes),
    };
    memcpy(carried->topics, topics, states * sizeof *topics);
    return carried;
}

void carried_free(struct carried *carried) {
    if (!carried) return;
    free(carried->topics);
    free(carried->live_epochs);
    free(carried->courses);
    free(carried->notes);
    free(carried);
}

static size_t place_of(const struct carried *carried, size_t state, int32_t partition) {
    return (size_t)partition * carried->states + state;
}

void carried_live(struct carried *carried, int32_t partition, const int64_t *from) {
    carried->live_epochs[partition] = epochs_open(carried->epochs);
    for (size_t s = 0; s < carried->states; s++)
        carried->courses[place_of(carried, s, partition)] =
            (struct course_of_effects){.next = from[s], .held = INT64_MAX, .settled = from[s], .committed = -1};
}

void carried_stop(struct carried *carried, int32_t partition) { carried->live_epochs[partition] = 0; }

bool carried_due(struct carried *carried, size_t state, int32_t partition, int64_t offset) {
    struct course_of_effects *course = &carried->courses[place_of(carried, state, partition)];
    if (!carried->live_epochs[partition] || offset < course->next) return false;
    course->next = offset + 1;
    return true;
}

void carried_hold(struct carried *carried, size_t state, int32_t partition, int64_t offset) {
    carried->courses[place_of(carried, state, partition)].held = offset;
}

void carried_note(struct carried *carried) {
    size_t places = (size_t)carried->partitions * carried->states;
    int64_t *notes = carried->notes + epochs_open(carried->epochs) % NOTES * places;
    for (size_t i = 0; i < places; i++) {
        const struct course_of_effects *course = &carried->courses[i];
        notes[i] = course->next < course->held ? course->next : course->held;
    }
}

size_t carried_settled(struct carried *carried, bool again, struct kafka_position *positions) {
    uint64_t epoch = epochs_settled(carried->epochs) - 1;
    const int64_t *notes = carried->notes + epoch % NOTES * (size_t)carried->partitions * carried->states;
    bool news = epoch > carried->settled_epoch;
    size_t count = 0;
    if (news) carried->settled_epoch = epoch;
    for (int32_t p = 0; p < carried->partitions; p++) {
        uint64_t live = carried->live_epochs[p];
        for (size_t s = 0; live && s < carried->states; s++) {
            size_t place = place_of(carried, s, p);
            struct course_of_effects *course = &carried->courses[place];
            if (news && live <= epoch) course->settled = notes[place];
            if (course->settled <= course->committed && !again) continue;
            course->committed = course->settled;
            positions[count++] =
                (struct kafka_position){.topic = carried->topics[s], .partition = p, .offset = course->settled};
        }
    }
    return count;
}

int64_t carried_settled_at(const struct carried *carried, size_t state, int32_t partition) {
    return carried->courses[place_of(carried, state, partition)].settled;
}

int64_t carried_next(const struct carried *carried, size_t state, int32_t partition) {
    return carried->courses[place_of(carried, state, partition)].next;
}

int64_t carried_rewind(struct carried *carried, size_t state, int32_t partition) {
    struct course_of_effects *course = &carried->courses[place_of(carried, state, partition)];
    if (!carried->live_epochs[partition] || course->settled == course->next) return -1;
    course->next = course->settled;
    course->held = INT64_MAX;
    return course->next;
}

void carried_forget(struct carried *carried) {
    carried->settled_epoch = epochs_settled(carried->epochs) - 1; // nothing was noted of it
}
