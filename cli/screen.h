/* One user's list, kept up to date by the server's frames, and its picture in a terminal. One thread. */
#pragma once

#include "geo/geo.h"
#include "json/json.h"

struct watch_screen;

struct screen_friend {
    int64_t user;
    struct geo_point at;
    int64_t time; /* of the friend's last report, ms */
    const char *name;
    double distance_m;
};

enum screen_change { SCREEN_CAME, SCREEN_MOVED, SCREEN_LEFT };

struct watch_screen_options {
    void *context;
    void (*on_change)(void *context, enum screen_change change, const struct screen_friend *who);
};

struct watch_screen *screen_new(const struct watch_screen_options *options);
void screen_free(struct watch_screen *screen); /* NULL is fine */

void screen_place(struct watch_screen *screen, struct geo_point at); /* where the user is: distances are from there */

/* A session begins: when its last page has come, friends who were on none of its pages are removed. */
void screen_begin(struct watch_screen *screen);

/* A frame of type nearby or update; -EBADMSG when it cannot be understood. *next: cursor of the page to ask for, borrowed from
 * the frame, or NULL. */
int screen_nearby(struct watch_screen *screen, const json_t *frame, const char **next);
int screen_update(struct watch_screen *screen, const json_t *frame);

/* The friends, nearest first; valid until the next call of anything. */
const struct screen_friend *screen_sorted(struct watch_screen *screen, size_t *count);

/* "1240.5 m": metres with one decimal, as the API has them. */
void screen_put_distance(struct buffer *out, double metres);
/* "now", "12 s ago", "3 min ago". */
void screen_put_age(struct buffer *out, int64_t age_ms);

/* A full picture, `rows` lines at most (heading included), separated by '\n'. */
void screen_draw(struct watch_screen *screen, struct buffer *out, const char *heading, int64_t now_ms, int rows);
