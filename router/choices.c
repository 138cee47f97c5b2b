#include "router/choices.h"

#include <stdlib.h>

#include "base/mem.h"
#include "copies/copies.h"
#include "router/router_private.h"
#include "users/mutes.h"
#include "users/sharing_modes.h"

enum { COPIES = 2 };

struct choices {
    const struct router *router;
    struct metrics
        *uncounted; /* of the copies, which are read a second time here: gauges of the first must stay what they are */
    struct sharing_modes *modes;
    struct mutes *mutes;
    struct copy_definition kept[COPIES];
    struct copies *copies; /* NULL: nobody has needed them yet */
};

/* A record that cannot be read changes nothing here: gateways and edges, which keep these copies too, send it to the dead letters. */
static int apply(void *context, const struct kafka_record *record, struct error *error) {
    const struct copy_definition *kept = context;
    struct error reason;
    (void)kept->apply(kept->context, record, &reason);
    return 0;
}

static void forget(void *context) {
    const struct copy_definition *kept = context;
    kept->forget(kept->context);
}

static int64_t now(void *context) { return report_clock_now(((const struct choices *)context)->router->clock); }

struct choices *choices_new(const struct router *router) {
    struct choices *choices = MEM_NEW(&(struct choices){.router = router, .uncounted = metrics_new()});
    choices->modes = sharing_modes_new(
        &(struct sharing_modes_options){.metrics = choices->uncounted, .context = choices, .now = now});
    choices->mutes =
        mutes_new(&(struct mutes_options){.metrics = choices->uncounted, .partitions = router->partitions});
    choices->kept[0] = sharing_modes_copy(choices->modes);
    choices->kept[1] = mutes_copy(choices->mutes);
    return choices;
}

void choices_free(struct choices *choices) {
    if (!choices) return;
    copies_free(choices->copies);
    sharing_modes_free(choices->modes);
    mutes_free(choices->mutes);
    metrics_free(choices->uncounted);
    free(choices);
}

int choices_read(struct choices *choices, struct error *error) {
    const struct router *router = choices->router;
    struct copy_definition definitions[COPIES];
    if (choices->copies) return 0;
    for (size_t i = 0; i < COPIES; i++)
        definitions[i] = (struct copy_definition){
            .topic = choices->kept[i].topic, .context = &choices->kept[i], .apply = apply, .forget = forget};
    return copies_new(
        &(struct copies_options){
            .loop = service_loop(router->service),
            .settings = service_kafka(router->service),
            .partitions = router->partitions,
            .definitions = definitions,
            .count = COPIES,
            .log = service_log(router->service),
            .metrics = choices->uncounted,
        },
        &choices->copies, error);
}

bool choices_ready(const struct choices *choices) { return choices->copies && copies_ready(choices->copies); }

static bool shares(const struct choices *choices, int64_t user) {
    return sharing_modes_find(choices->modes, user, NULL) != SHARING_OFF;
}

bool choices_sees(struct choices *choices, int64_t user, int64_t friend) {
    sharing_modes_tick(choices->modes);
    return shares(choices, user) && shares(choices, friend) && !mutes_has(choices->mutes, user, friend);
}
