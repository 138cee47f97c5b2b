#include "users/user_copies.h"

#include <stdlib.h>

#include "base/config.h"
#include "base/loop.h"
#include "base/mem.h"

enum { TICK_MS = 50 };

struct user_copies {
    struct user_copies_options options;
    struct loop_timer *tick; /* ends sharing */
    struct copies *copies;   /* of the three: */
    struct sharing_modes *modes;
    struct mutes *mutes;
    struct profiles *profiles;
};

static void copies_are_ready(void *context) {
    const struct user_copies *copies = context;
    if (copies->options.on_ready) copies->options.on_ready(copies->options.context);
}

static void tick(void *context) {
    struct user_copies *copies = context;
    if (copies_ready(copies->copies)) sharing_modes_tick(copies->modes);
}

static int start(struct user_copies *copies, struct error *error) {
    const struct user_copies_options *options = &copies->options;
    const struct copy_definition definitions[] = {sharing_modes_copy(copies->modes), profiles_copy(copies->profiles),
                                                  mutes_copy(copies->mutes)};
    return copies_new(
        &(struct copies_options){
            .loop = options->loop,
            .settings = options->settings,
            .partitions = options->partitions,
            .definitions = definitions,
            .count = ARRAY_SIZE(definitions),
            .log = options->log,
            .metrics = options->metrics,
            .dead_letters = options->dead_letters,
            .context = copies,
            .on_ready = copies_are_ready,
        },
        &copies->copies, error);
}

int user_copies_new(const struct user_copies_options *options, struct user_copies **out, struct error *error) {
    struct user_copies *copies = MEM_NEW(&(struct user_copies){.options = *options});
    *out = copies;
    const struct profiles_options profiles = {
        .data_dir = options->data_dir,
        .partitions = options->partitions,
        .log = options->log,
        .context = options->context,
        .on_change = options->on_profile,
    };
    const struct sharing_modes_options modes = {.metrics = options->metrics,
                                                .context = options->context,
                                                .now = options->now,
                                                .on_change = options->on_sharing};
    int code = profiles_open(&profiles, &copies->profiles, error);
    if (code) return code;
    copies->modes = sharing_modes_new(&modes);
    copies->mutes = mutes_new(&(struct mutes_options){.metrics = options->metrics,
                                                      .partitions = options->partitions,
                                                      .context = options->context,
                                                      .on_change = options->on_mute});
    code = start(copies, error);
    if (code) return code;
    copies->tick = loop_timer_new(options->loop, TICK_MS, TICK_MS, tick, copies);
    return 0;
}

void user_copies_free(struct user_copies *copies) {
    if (!copies) return;
    loop_timer_free(copies->tick);
    copies_free(copies->copies);
    sharing_modes_free(copies->modes);
    mutes_free(copies->mutes);
    profiles_close(copies->profiles);
    free(copies);
}

bool user_copies_ready(const struct user_copies *copies) { return copies_ready(copies->copies); }

struct sharing_modes *user_copies_modes(struct user_copies *copies) {
    return copies->modes;
}

struct profiles *user_copies_profiles(struct user_copies *copies) {
    return copies->profiles;
}

struct mutes *user_copies_mutes(struct user_copies *copies) {
    return copies->mutes;
}
