#include "fanout/screen_set.h"

#include <errno.h>

/* Runs the statement for each screen that was started and has the callback. */
#define FOR_EACH(set, callback, statement)                                                                             \
    for (size_t i_ = 0; i_ < (set)->count; i_++) {                                                                     \
        const struct screen *screen = (set)->at[i_].screen;                                                            \
        void *product = (set)->at[i_].product;                                                                         \
        if (product && screen->callback) statement;                                                                    \
    }

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

void screens_hello(const struct screen_set *set, struct session *session, const json_t *hello) {
    FOR_EACH(set, hello, screen->hello(product, session, hello))
}

void screens_produced(const struct screen_set *set, void *opaque, int code, const struct topic *topic) {
    FOR_EACH(set, produced, screen->produced(product, opaque, code, topic))
}

void screens_sharing(const struct screen_set *set, int64_t user, enum sharing_mode mode) {
    FOR_EACH(set, sharing, screen->sharing(product, user, mode))
}

void screens_profile(const struct screen_set *set, int64_t user) {
    FOR_EACH(set, profile, screen->profile(product, user))
}

void screens_muted(const struct screen_set *set, int64_t user, int64_t other, bool muted) {
    FOR_EACH(set, muted, screen->muted(product, user, other, muted))
}

void screens_routes(const struct screen_set *set, int32_t first) {
    FOR_EACH(set, routes, screen->routes(product, first))
}

void screens_fetch(const struct screen_set *set, const struct session *session, enum screen_ahead ahead) {
    FOR_EACH(set, fetch, screen->fetch(product, session, ahead))
}

void screens_due(const struct screen_set *set, struct session *session) {
    FOR_EACH(set, due, screen->due(product, session))
}

void screens_expire(const struct screen_set *set) { FOR_EACH(set, expire, screen->expire(product)) }

void screens_routed(const struct screen_set *set, struct session *session) {
    FOR_EACH(set, routed, screen->routed(product, session))
}

void screens_leave(const struct screen_set *set, struct session *session) {
    FOR_EACH(set, leave, screen->leave(product, session))
}

void screens_closed(const struct screen_set *set, struct session *session) {
    FOR_EACH(set, closed, screen->closed(product, session))
}

void screens_free(const struct screen_set *set, struct session *session) {
    FOR_EACH(set, free, screen->free(product, session))
}

void screens_stop(struct screen_set *set) {
    for (size_t i = 0; i < set->count; i++) {
        set->at[i].screen->stop(set->at[i].product);
        set->at[i].product = NULL;
    }
}
