#include "users/kept_details.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"

struct kept_details {
    struct map *places; /* user -> place in `rows` */
    struct user_details *rows;
    size_t count, room, most;
    size_t next; /* goes when all are taken */
};

struct kept_details *kept_details_new(size_t most) {
    return MEM_NEW(&(struct kept_details){.places = map_new(), .most = most});
}

void kept_details_free(struct kept_details *kept) {
    if (!kept) return;
    map_free(kept->places);
    free(kept->rows);
    free(kept);
}

struct user_details *kept_details_find(const struct kept_details *kept, int64_t user) {
    const uint64_t *place = map_find(kept->places, (uint64_t)user);
    return place ? &kept->rows[*place] : NULL;
}

static struct user_details *add(struct kept_details *kept, int64_t user) {
    size_t place;
    if (kept->count < kept->most) {
        MEM_ROOM(kept->rows, kept->count, kept->room);
        place = kept->count++;
    } else {
        place = kept->next++ % kept->most;
        map_remove(kept->places, (uint64_t)kept->rows[place].user, NULL);
    }
    *map_put(kept->places, (uint64_t)user, NULL) = place;
    return &kept->rows[place];
}

static bool is_same(const struct user_details *a, const struct user_details *b) {
    if (a->time != b->time || a->accuracy != b->accuracy || a->shown != b->shown) return false;
    return details_same(&a->said, &b->said);
}

bool kept_details_put(struct kept_details *kept, const struct user_details *details) {
    struct user_details *row = kept_details_find(kept, details->user);
    if (row && (row->time > details->time || is_same(row, details))) return false;
    if (!row) row = add(kept, details->user);
    *row = *details;
    return true;
}

void kept_details_put_json(const struct kept_details *kept, int64_t user, int64_t time, struct buffer *out) {
    const struct user_details *row = kept_details_find(kept, user);
    if (!row || !row->shown || row->time != time) return;
    if (row->accuracy >= 0) json_member_int(out, ",\"accuracy\":", row->accuracy);
    json_member_details(out, &row->said);
}
