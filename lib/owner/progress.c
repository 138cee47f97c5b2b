#include "owner/progress.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct course_of_effects {
    int64_t next;    /* effects before are sent */
    int64_t held;    /* those from here on are not sent to the end; INT64_MAX */
    int64_t settled; /* effects before are acknowledged */
    int64_t committed;
};

struct progress {
    const struct topic **topics;
    size_t states;
    int32_t partitions;
    struct epochs *epochs;
    uint64_t *live_epochs; /* by partition: the first that says anything about it; 0: it is not live */
    uint64_t settled_epoch;
    struct course_of_effects *courses; /* by partition, then by state */
    int64_t *notes; /* by epoch modulo EPOCHS_MAX, then as `courses`: what was sent when the epoch was closed */
};

struct progress *progress_new(const struct topic *const *topics, size_t states, int32_t partitions,
                              struct epochs *epochs) {
    size_t places = (size_t)partitions * states;
    struct progress *progress = mem_alloc(sizeof *progress);
    *progress = (struct progress){
        .topics = mem_alloc(states * sizeof *progress->topics),
        .states = states,
        .partitions = partitions,
        .epochs = epochs,
        .live_epochs = mem_zero((size_t)partitions, sizeof *progress->live_epochs),
        .courses = mem_zero(places, sizeof *progress->courses),
        .notes = mem_zero(places * EPOCHS_MAX, sizeof *progress->notes),
    };
    memcpy(progress->topics, topics, states * sizeof *topics);
    return progress;
}

void progress_free(struct progress *progress) {
    if (!progress) return;
    free(progress->topics);
    free(progress->live_epochs);
    free(progress->courses);
    free(progress->notes);
    free(progress);
}

static size_t place_of(const struct progress *progress, size_t state, int32_t partition) {
    return (size_t)partition * progress->states + state;
}

void progress_live(struct progress *progress, int32_t partition, const int64_t *from) {
    progress->live_epochs[partition] = epochs_open(progress->epochs);
    for (size_t s = 0; s < progress->states; s++)
        progress->courses[place_of(progress, s, partition)] =
            (struct course_of_effects){.next = from[s], .held = INT64_MAX, .settled = from[s], .committed = -1};
}

void progress_stop(struct progress *progress, int32_t partition) { progress->live_epochs[partition] = 0; }

bool progress_due(struct progress *progress, size_t state, int32_t partition, int64_t offset) {
    struct course_of_effects *course = &progress->courses[place_of(progress, state, partition)];
    if (!progress->live_epochs[partition] || offset < course->next) return false;
    course->next = offset + 1;
    return true;
}

void progress_hold(struct progress *progress, size_t state, int32_t partition, int64_t offset) {
    progress->courses[place_of(progress, state, partition)].held = offset;
}

void progress_note(struct progress *progress) {
    size_t places = (size_t)progress->partitions * progress->states;
    int64_t *notes = progress->notes + epochs_open(progress->epochs) % EPOCHS_MAX * places;
    for (size_t i = 0; i < places; i++) {
        const struct course_of_effects *course = &progress->courses[i];
        notes[i] = course->next < course->held ? course->next : course->held;
    }
}

size_t progress_settled(struct progress *progress, bool again, struct kafka_position *positions) {
    uint64_t epoch = epochs_settled(progress->epochs) - 1;
    const int64_t *notes = progress->notes + epoch % EPOCHS_MAX * (size_t)progress->partitions * progress->states;
    bool news = epoch > progress->settled_epoch;
    size_t count = 0;
    if (news) progress->settled_epoch = epoch;
    for (int32_t p = 0; p < progress->partitions; p++) {
        uint64_t live = progress->live_epochs[p];
        for (size_t s = 0; live && s < progress->states; s++) {
            size_t place = place_of(progress, s, p);
            struct course_of_effects *course = &progress->courses[place];
            if (news && live <= epoch) course->settled = notes[place];
            if (course->settled <= course->committed && !again) continue;
            course->committed = course->settled;
            positions[count++] =
                (struct kafka_position){.topic = progress->topics[s], .partition = p, .offset = course->settled};
        }
    }
    return count;
}

int64_t progress_rewind(struct progress *progress, size_t state, int32_t partition) {
    struct course_of_effects *course = &progress->courses[place_of(progress, state, partition)];
    if (!progress->live_epochs[partition] || course->settled == course->next) return -1;
    course->next = course->settled;
    course->held = INT64_MAX;
    return course->next;
}

void progress_forget(struct progress *progress) {
    progress->settled_epoch = epochs_settled(progress->epochs) - 1; // nothing was noted of it
}
