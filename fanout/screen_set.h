/* The screens of a process with their products, and each callback for all of them. Loop's thread. */
#pragma once

#include "fanout/screen.h"

enum { SCREENS_MAX = 8 };

struct screen_set { /* filled by edge.c before the first session; all others read it */
    size_t count;
    struct screen_running {
        const struct screen *screen;
        void *product; /* NULL: not started */
    } at[SCREENS_MAX];
};

/* NULL: no screen has that kind. */
const struct screen_running *screens_of_kind(const struct screen_set *set, int32_t kind);

/* As the callbacks of struct screen. Calls before a product was started skip it. */
int screens_check(const struct screen_set *set, const json_t *hello, const char **code, struct error *error);
int screens_message(const struct screen_set *set, struct session *session, const char *type, const json_t *message,
                    const char **code, struct error *error);
int64_t screens_deadline(const struct screen_set *set, const struct session *session); /* the nearest */
void screens_stop(struct screen_set *set);

/* Calls the callback for each screen that was started and has it: SCREENS_CALL(set, due, session). */
#define SCREENS_CALL(set, callback, ...)                                                                               \
    do {                                                                                                               \
        for (size_t i_ = 0; i_ < (set)->count; i_++) {                                                                 \
            const struct screen_running *at_ = &(set)->at[i_];                                                         \
            if (at_->product && at_->screen->callback) at_->screen->callback(at_->product, ##__VA_ARGS__);             \
        }                                                                                                              \
    } while (0)
