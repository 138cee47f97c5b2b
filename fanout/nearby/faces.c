#include "fanout/nearby/faces.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/pool.h"
#include "json/json.h"
#include "users/user_json.h"

enum {
    WHERE_MAX = 96, /* ,"lat":-89.1234567,"lng":-179.1234567,"time":-9223372036854775808,"rounded":true,"distance_m": */
    DETAILS_MAX = 160,     /* of the details, of friends who have some */
    DISTANCE_MAX = 16,     /* of the short ones */
    DISTANCE_SHORT = 9999, /* metres: four digits, when it is rounded, too */
    LINE = 64,
    POOLS = 16, /* for faces of so many lines at most; others are on the heap */
    ASKED = 4   /* lines, of a face of the usual size */
};

/* The next number below a half: a whole half would lift what is just under it, too, when the sum is rounded. */
static const double HALF = 0.49999999999999994;

/*   table   user -> face                ring   [ face | face | face | ... ]   in no order
 *                                                       ^ hand: the next to go, unless it was used since the last round */
struct face {
    int64_t user, time;
    struct geo_point at;
    uint32_t place;        /* in the ring */
    uint32_t who_size;     /* of the text: what the profile says */
    uint32_t size;         /* all of it; equal to who_size until a position was asked for */
    uint32_t lines : 29;   /* of memory, head and text */
    uint32_t detailed : 1; /* it has room for details */
    uint32_t rounded : 1;
    uint32_t used : 1;
    char text[];
};

struct faces {
    struct profiles *profiles;
    struct map *table;
    struct face **ring;
    struct pool *pools[POOLS]; /* by lines, less one */
    size_t count, ring_room, hand;
    size_t bytes, bytes_max;
    uint64_t changes;
    struct kept_details *details;
    struct buffer scratch;
};

struct faces *faces_new(struct profiles *profiles, size_t bytes) {
    return MEM_NEW(&(struct faces){
        .profiles = profiles, .table = map_new(), .details = kept_details_new(FACES_DETAILED), .bytes_max = bytes});
}

static struct face *face_new(struct faces *faces, uint32_t lines) {
    if (lines > POOLS) return mem_alloc((size_t)lines * LINE);
    struct pool **pool = &faces->pools[lines - 1];
    if (!*pool) *pool = pool_new((size_t)lines * LINE);
    return pool_take(*pool);
}

static void face_free(struct faces *faces, struct face *face) {
    if (face->lines > POOLS)
        free(face);
    else
        pool_give(faces->pools[face->lines - 1], face);
}

void faces_free(struct faces *faces) {
    if (!faces) return;
    for (size_t i = 0; i < faces->count; i++) face_free(faces, faces->ring[i]);
    for (size_t i = 0; i < POOLS; i++) pool_free(faces->pools[i]);
    free(faces->ring);
    map_free(faces->table);
    kept_details_free(faces->details);
    buffer_free(&faces->scratch);
    free(faces);
}

/* With its place in the ring; the table is counted by itself. */
static size_t cost(uint32_t lines) { return (size_t)lines * LINE + sizeof(struct face *); }

static void remove_face(struct faces *faces, struct face *face) {
    struct face *last = faces->ring[--faces->count];
    faces->changes++;
    faces->ring[face->place] = last;
    last->place = face->place;
    faces->bytes -= cost(face->lines);
    map_remove(faces->table, (uint64_t)face->user, NULL);
    face_free(faces, face);
}

static void make_room(struct faces *faces, size_t bytes) {
    while (faces->count && faces->bytes + bytes + map_bytes(faces->table) > faces->bytes_max) {
        if (faces->hand >= faces->count) faces->hand = 0;
        struct face *face = faces->ring[faces->hand];
        if (face->used) {
            face->used = 0;
            faces->hand++;
        } else {
            remove_face(faces, face);
        }
    }
}

static struct face *add_face(struct faces *faces, int64_t user) {
    struct buffer *text = &faces->scratch;
    buffer_clear(text);
    buffer_byte(text, '{');
    user_json_find_texts(text, user, faces->profiles);

    bool detailed = kept_details_find(faces->details, user);
    size_t room = text->size + WHERE_MAX + (detailed ? DETAILS_MAX : 0);
    uint32_t lines = (uint32_t)((sizeof(struct face) + room + LINE - 1) / LINE);
    make_room(faces, cost(lines));
    struct face *face = face_new(faces, lines);
    *face = (struct face){.user = user,
                          .place = (uint32_t)faces->count,
                          .who_size = (uint32_t)text->size,
                          .size = (uint32_t)text->size,
                          .lines = lines & INT32_MAX >> 2,
                          .detailed = detailed};
    memcpy(face->text, text->data, text->size);
    MEM_ROOM(faces->ring, faces->count, faces->ring_room);
    faces->ring[faces->count++] = face;
    faces->bytes += cost(lines);
    *map_put(faces->table, (uint64_t)user, NULL) = (uint64_t)(uintptr_t)face;
    return face;
}

static void place_face(struct faces *faces, struct face *face, const struct face_place *place) {
    struct buffer *text = &faces->scratch;
    buffer_clear(text);
    json_member_place(text, place->at.lat, place->at.lng);
    json_member_int(text, ",\"time\":", place->time);
    if (place->rounded) buffer_string(text, ",\"rounded\":true");
    if (face->detailed && !place->rounded) kept_details_put_json(faces->details, face->user, place->time, text);
    buffer_string(text, ",\"distance_m\":");
    memcpy(face->text + face->who_size, text->data, text->size);
    face->size = face->who_size + (uint32_t)text->size;
    face->at = place->at;
    face->time = place->time;
    face->rounded = place->rounded;
}

/* Two digits, the first one in the lower byte. */
static uint32_t two_digits(uint32_t value) { return value / 10 | value % 10 << 8; }

/* Writes the same as json_put_fixed1. Without loops or branches: the number of digits is different each time. */
static uint8_t *put_tenths(uint8_t *at, uint32_t tenths) {
    uint32_t whole = tenths / 10, digits = 1 + (whole >= 10) + (whole >= 100) + (whole >= 1000);
    uint32_t four = (two_digits(whole / 100) | two_digits(whole % 100) << 16) + 0x30303030;
    bytes_put_le32(at, four >> 8 * (4 - digits));
    at[digits] = '.';
    at[digits + 1] = (uint8_t)('0' + tenths % 10);
    return at + digits + 2;
}

static bool is_at(const struct face *face, const struct face_place *place) {
    return face->size > face->who_size && face->time == place->time && face->at.lat == place->at.lat &&
           face->at.lng == place->at.lng && face->rounded == place->rounded;
}

void faces_put_face(struct faces *faces, struct face *face, struct buffer *frame, const struct face_place *place,
                    double distance_m) {
    face->used = 1;
    if (!is_at(face, place)) place_face(faces, face, place);
    uint8_t *text = buffer_reserve(frame, face->size + DISTANCE_MAX), *end = text + face->size;
    memcpy(text, face->text, face->size);
    if (distance_m >= 0 && distance_m < DISTANCE_SHORT) {
        end = put_tenths(end, (uint32_t)(distance_m * 10 + HALF));
        *end++ = '}';
        buffer_commit(frame, (size_t)(end - text));
    } else {
        buffer_commit(frame, face->size);
        json_put_fixed1(frame, distance_m);
        buffer_byte(frame, '}');
    }
}

void faces_put(struct faces *faces, struct buffer *frame, int64_t user, const struct face_place *place,
               double distance_m) {
    struct face *face = map_pointer(faces->table, (uint64_t)user);
    faces_put_face(faces, face ? face : add_face(faces, user), frame, place, distance_m);
}

void faces_prefetch(const struct faces *faces, int64_t user) { map_prefetch(faces->table, (uint64_t)user); }

void faces_fetch(const struct face *face) {
    for (int i = 0; i < ASKED; i++) __builtin_prefetch((const char *)face + i * LINE);
}

struct face *faces_ask(const struct faces *faces, int64_t user) {
    struct face *face = map_pointer(faces->table, (uint64_t)user);
    if (face) faces_fetch(face);
    return face;
}

/* The entry is written anew when it is asked for. */
static void renew(struct faces *faces, int64_t user) {
    struct face *face = map_pointer(faces->table, (uint64_t)user);
    if (face && face->detailed)
        face->size = face->who_size;
    else if (face)
        remove_face(faces, face);
}

bool faces_tell(struct faces *faces, const struct user_details *details) {
    if (!kept_details_put(faces->details, details)) return false;
    renew(faces, details->user);
    return details->shown;
}

bool faces_show(struct faces *faces, int64_t user, bool shown) {
    struct user_details *details = kept_details_find(faces->details, user);
    const struct face *face = map_pointer(faces->table, (uint64_t)user);
    bool changes =
        details ? details->shown != shown : !shown && face && face->detailed; /* what it says may be kept no more */
    if (details) details->shown = shown;
    if (changes) renew(faces, user);
    return changes;
}

uint64_t faces_changes(const struct faces *faces) { return faces->changes; }

void faces_forget(struct faces *faces, int64_t user) {
    struct face *face = map_pointer(faces->table, (uint64_t)user);
    if (face) remove_face(faces, face);
}

size_t faces_bytes(const struct faces *faces) { return faces->bytes + map_bytes(faces->table); }

size_t faces_count(const struct faces *faces) { return faces->count; }
