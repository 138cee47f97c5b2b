#include "cli/screen.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "cli/terminal.h"

enum { NAME_COLUMNS = 24, ROWS_MIN = 4 };

struct screen_entry {
    struct screen_friend who; /* owns the name */
    bool old;                 /* shown by the session before, and not yet by this one */
};

struct watch_screen {
    struct watch_screen_options options;
    struct geo_point at;
    struct map *friends; /* user -> struct screen_entry, ours */
    struct screen_friend *sorted;
};

struct watch_screen *screen_new(const struct watch_screen_options *options) {
    return MEM_NEW(&(struct watch_screen){
        .options = *options,
        .at = {.lat = 0, .lng = 0},
        .friends = map_new(),
    });
}

static struct screen_entry *entry_of(uint64_t value) { return (struct screen_entry *)(uintptr_t)value; }

static void entry_free(struct screen_entry *entry) {
    free((char *)(uintptr_t)entry->who.name);
    free(entry);
}

void screen_free(struct watch_screen *screen) {
    if (!screen) return;
    size_t cursor = 0;
    uint64_t key, value;
    while (map_next(screen->friends, &cursor, &key, &value)) entry_free(entry_of(value));
    map_free(screen->friends);
    free(screen->sorted);
    free(screen);
}

void screen_place(struct watch_screen *screen, struct geo_point at) {
    screen->at = at;
    size_t cursor = 0;
    uint64_t key, value;
    while (map_next(screen->friends, &cursor, &key, &value)) {
        struct screen_friend *who = &entry_of(value)->who;
        who->distance_m = geo_distance(at, who->at);
    }
}

void screen_begin(struct watch_screen *screen) {
    size_t cursor = 0;
    uint64_t key, value;
    while (map_next(screen->friends, &cursor, &key, &value)) entry_of(value)->old = true;
}

static void tell(const struct watch_screen *screen, enum screen_change change, const struct screen_friend *who) {
    if (screen->options.on_change) screen->options.on_change(screen->options.context, change, who);
}

static void hide(struct watch_screen *screen, int64_t user) {
    uint64_t value;
    if (!map_remove(screen->friends, (uint64_t)user, &value)) return;
    tell(screen, SCREEN_LEFT, &entry_of(value)->who);
    entry_free(entry_of(value));
}

static int show(struct watch_screen *screen, const json_t *item) {
    struct screen_friend seen = {.user = 0};
    const char *name = "";
    if (json_want_int(item, "user", 0, INT64_MAX, &seen.user, NULL) ||
        json_want_lat_lng(item, &seen.at.lat, &seen.at.lng, NULL) ||
        json_want_int(item, "time", INT64_MIN, INT64_MAX, &seen.time, NULL) ||
        (json_given(item, "name") && json_want_text(item, "name", &name, NULL))) {
        return -EBADMSG;
    }
    bool created;
    uint64_t *value = map_put(screen->friends, (uint64_t)seen.user, &created);
    struct screen_entry *entry = created ? mem_zero(1, sizeof *entry) : entry_of(*value);
    if (created) *value = (uint64_t)(uintptr_t)entry;
    struct screen_friend *who = &entry->who;
    bool news = created || who->time != seen.time || who->at.lat != seen.at.lat || who->at.lng != seen.at.lng;
    free((char *)(uintptr_t)who->name);
    seen.name = mem_string(name);
    seen.distance_m = geo_distance(screen->at, seen.at);
    *entry = (struct screen_entry){.who = seen, .old = false};
    if (news) tell(screen, created ? SCREEN_CAME : SCREEN_MOVED, who);
    return 0;
}

static int show_all(struct watch_screen *screen, const json_t *items) {
    if (!json_is_array(items)) return -EBADMSG;
    int code = 0;
    for (size_t i = 0; !code && i < json_array_size(items); i++) code = show(screen, json_array_get(items, i));
    return code;
}

/* All pages of a new session have come: removes friends who were on none of them. */
static void drop_old(struct watch_screen *screen) {
    size_t found = 0, cursor = 0;
    uint64_t key, value;
    int64_t *old = mem_alloc((map_count(screen->friends) + 1) * sizeof *old);
    while (map_next(screen->friends, &cursor, &key, &value))
        if (entry_of(value)->old) old[found++] = (int64_t)key;
    for (size_t i = 0; i < found; i++) hide(screen, old[i]);
    free(old);
}

int screen_nearby(struct watch_screen *screen, const json_t *frame, const char **next) {
    const json_t *items = json_object_get(frame, "items");
    const char *cursor = NULL;
    if (!json_is_array(items) || (json_given(frame, "next") && json_want_text(frame, "next", &cursor, NULL)))
        return -EBADMSG;
    int code = show_all(screen, items);
    if (code) return code;
    if (!cursor) drop_old(screen);
    *next = cursor;
    return 0;
}

int screen_update(struct watch_screen *screen, const json_t *frame) {
    const json_t *gone = json_object_get(frame, "gone");
    int code = show_all(screen, json_object_get(frame, "near"));
    if (!code && !json_is_array(gone)) code = -EBADMSG;
    for (size_t i = 0; !code && i < json_array_size(gone); i++) {
        if (!json_is_integer(json_array_get(gone, i))) return -EBADMSG;
        hide(screen, json_integer_value(json_array_get(gone, i)));
    }
    return code;
}

static int nearer(const void *left, const void *right) {
    const struct screen_friend *a = left, *b = right;
    if (a->distance_m < b->distance_m) return -1;
    if (a->distance_m > b->distance_m) return 1;
    return a->user < b->user ? -1 : a->user > b->user;
}

const struct screen_friend *screen_sorted(struct watch_screen *screen, size_t *count) {
    size_t cursor = 0, found = 0;
    uint64_t key, value;
    screen->sorted = mem_resize(screen->sorted, map_count(screen->friends) + 1, sizeof *screen->sorted);
    while (map_next(screen->friends, &cursor, &key, &value)) screen->sorted[found++] = entry_of(value)->who;
    if (found) qsort(screen->sorted, found, sizeof *screen->sorted, nearer);
    *count = found;
    return screen->sorted;
}

void screen_put_distance(struct buffer *out, double metres) { buffer_format(out, "%.1f m", metres); }

void screen_put_age(struct buffer *out, int64_t age_ms) {
    int64_t seconds = age_ms / 1000;
    if (seconds < 1)
        buffer_string(out, "now");
    else if (seconds < 120)
        buffer_format(out, "%" PRId64 " s ago", seconds);
    else
        buffer_format(out, "%" PRId64 " min ago", seconds / 60);
}

static void draw_friend(struct buffer *out, const struct screen_friend *who, int64_t now_ms) {
    size_t start = out->size;
    terminal_put_text(out, *who->name ? who->name : "(no name)");
    terminal_fit(out, start, NAME_COLUMNS);
    buffer_format(out, " %20" PRId64 "  ", who->user);
    start = out->size;
    screen_put_distance(out, who->distance_m);
    terminal_fit(out, start, 12);
    screen_put_age(out, now_ms - who->time);
    buffer_byte(out, '\n');
}

void screen_draw(struct watch_screen *screen, struct buffer *out, const char *heading, int64_t now_ms, int rows) {
    size_t count;
    const struct screen_friend *friends = screen_sorted(screen, &count);
    size_t room = (size_t)(rows > ROWS_MIN ? rows : ROWS_MIN) - 3; /* heading, blank line, "and more" */
    size_t shown = count < room ? count : room;
    buffer_string(out, heading);
    buffer_string(out, "\n\n");
    for (size_t i = 0; i < shown; i++) draw_friend(out, &friends[i], now_ms);
    if (shown < count) buffer_format(out, "and %zu more", count - shown);
}
