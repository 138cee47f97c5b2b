/* The screens of a process with their products, and each callback for all of them. Loop's thread. */
#ifndef FANOUT_SCREEN_SET_H
#define FANOUT_SCREEN_SET_H

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
void screens_hello(const struct screen_set *set, struct session *session, const json_t *hello);
int screens_message(const struct screen_set *set, struct session *session, const char *type, const json_t *message,
                    const char **code, struct error *error);
void screens_produced(const struct screen_set *set, void *opaque, int code, const struct topic *topic);
void screens_sharing(const struct screen_set *set, int64_t user, enum sharing_mode mode);
void screens_profile(const struct screen_set *set, int64_t user);
void screens_muted(const struct screen_set *set, int64_t user, int64_t other, bool muted);
void screens_routes(const struct screen_set *set, int32_t first);
void screens_fetch(const struct screen_set *set, const struct session *session, enum screen_ahead ahead);
int64_t screens_deadline(const struct screen_set *set, const struct session *session); /* the nearest */
void screens_due(const struct screen_set *set, struct session *session);
void screens_expire(const struct screen_set *set);
void screens_routed(const struct screen_set *set, struct session *session);
void screens_leave(const struct screen_set *set, struct session *session);
void screens_closed(const struct screen_set *set, struct session *session);
void screens_free(const struct screen_set *set, struct session *session);
void screens_stop(struct screen_set *set);

#endif
