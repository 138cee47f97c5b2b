#include "fanout/screen_set.h"

#include <errno.h>

const struct screen_running *screens_of_kind(const struct screen_set *set, int32_t kind) {
    for (size_t i = 0; i < set->count; i++)
        if ((int32_t)set->at[i].screen->kind == kind && set->at[i].screen->delivery) return &set->at[i];
    return NULL;
}

int screens_check(const struct screen_set *set, const json_t *hello, const char **code, struct error *error) {
    int result = 0;
    for (size_t i = 0; i < set->count && !result; i++) {
        const struct screen *screen = set->at[i].screen;
        if (screen->check) result = screen->check(hello, code, error);
    }
    return result;
}

int screens_message(const struct screen_set *set, struct session *session, const char *type, const json_t *message,
                    const char **code, struct error *error) {
    int result = -ENOENT;
    for (size_t i = 0; i < set->count && result == -ENOENT; i++) {
        const struct screen_running *at = &set->at[i];
        if (at->screen->message) result = at->screen->message(at->product, session, type, message, code, error);
    }
    return result;
}

int64_t screens_deadline(const struct screen_set *set, const struct session *session) {
    int64_t nearest = INT64_MAX;
    for (size_t i = 0; i < set->count; i++) {
        const struct screen_running *at = &set->at[i];
        int64_t due = at->screen->deadline ? at->screen->deadline(at->product, session) : INT64_MAX;
        if (due < nearest) nearest = due;
    }
    return nearest;
}

void screens_stop(struct screen_set *set) {
    for (size_t i = 0; i < set->count; i++) {
        set->at[i].screen->stop(set->at[i].product);
        set->at[i].product = NULL;
    }
}
