/* The owner's bookkeeping where no broker is needed: what is rewound, and what may come before the group is joined. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "router/ownership_private.h"

enum { PARTITIONS = 3, PLACES = 2 * PARTITIONS };

struct world {
    uv_loop_t loop;
    struct router_settings settings;
    struct partition parts[PARTITIONS];
    struct metrics *all;
    struct router router;
    struct ownership ownership;
    struct kafka_position positions[PLACES];
};

static int send_nothing(void *context, int32_t route, const void *bytes, size_t size, uint64_t epoch) { return 0; }

static int setup(void **state) {
    struct world *w = mem_zero(1, sizeof *w);
    struct epochs *epochs = epochs_new();
    struct deliver_options outbox = {
        .destinations = 1, .flush_bytes = 1024, .epochs = epochs, .context = w, .send = send_nothing};
    uv_loop_init(&w->loop);
    w->all = metrics_new();
    w->settings.max_lag_s = 30;
    w->router = (struct router){.loop = &w->loop,
                                .settings = &w->settings,
                                .partitions = PARTITIONS,
                                .routes = 1,
                                .parts = w->parts,
                                .epochs = epochs,
                                .outbox = deliver_new(&outbox)};
    router_metrics_init(&w->router.metrics, w->all);
    w->router.overload = overload_new(&w->router);
    w->ownership = (struct ownership){.router = &w->router, .positions = w->positions};
    *state = w;
    return 0;
}

static int teardown(void **state) {
    struct world *w = *state;
    overload_free(w->router.overload);
    deliver_free(w->router.outbox);
    epochs_free(w->router.epochs);
    metrics_free(w->all);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&w->loop), 0);
    free(w);
    return 0;
}

/* One that is being restored once more has events whose deliveries are lost, too. */
static void test_what_is_not_settled_is_handled_again(void **state) {
    struct world *w = *state;
    w->parts[0] = (struct partition){.stage = PARTITION_LIVE, .next = 90, .settled = 50};
    w->parts[1] = (struct partition){.stage = PARTITION_RESTORING, .next = 90, .settled = 60};
    w->parts[2] = (struct partition){.stage = PARTITION_FOREIGN, .next = 90, .settled = 70};
    ownership_rewind(&w->ownership);
    assert_int_equal(w->parts[0].next, 50);
    assert_int_equal(w->parts[1].next, 60);
    assert_int_equal(w->parts[2].next, 90);
}

/* A stand-by that has not joined yet, and whose offset the topic does not have, owns nothing that it would have to restore. */
static void test_nothing_is_restored_again_before_the_group_is_joined(void **state) {
    struct world *w = *state;
    assert_null(w->router.ownership);
    ownership_restore_again(w->router.ownership, 1);
    assert_int_equal(w->parts[1].stage, PARTITION_FOREIGN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_is_not_settled_is_handled_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_is_restored_again_before_the_group_is_joined, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
