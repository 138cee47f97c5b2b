#include "unit/lib/owner/beats.h"

#include "decider/decider.h"
#include "fakes/kafka.h"
#include "unit/kit/kit.h"

static void each_tenth(void *context) { owner_tenth(context); }

static void each_second(void *context) { owner_second(context); }

void owner_beats_start(struct owner_beats *beats, const struct owner_options *options, struct owner **owner) {
    if (owner_new(options, owner, &failure)) fail_msg("%s", failure.text);
    beats->tenth = loop_timer_new(options->loop, 1, 2, each_tenth, *owner);
    beats->second = loop_timer_new(options->loop, 1, 5, each_second, *owner);
    if (owner_start(*owner, &failure)) fail_msg("%s", failure.text);
}

void owner_beats_stop(struct owner_beats *beats, uv_loop_t *loop, struct owner **owner, const struct decider *decider) {
    loop_timer_free(beats->tenth);
    loop_timer_free(beats->second);
    *beats = (struct owner_beats){.tenth = NULL};
    owner_stop(*owner);
    while (owner_busy(*owner) || (decider && decider_busy(decider))) fake_turn(loop);
    owner_free(*owner);
    *owner = NULL;
}
