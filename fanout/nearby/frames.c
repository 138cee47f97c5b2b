#include "fanout/nearby/frames.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fanout/nearby/request.h"
#include "json/json.h"
#include "ws/ws.h"

enum { SOME = 16 };

static struct face_place place_of(const struct nearby_friend *friend) {
    return (struct face_place){.at = friend->at, .time = friend->time, .rounded = friend->flags & NEARBY_ROUNDED};
}

size_t frame_nearby(struct buffer *frame, struct nearby *nearby, struct nearby_cursor after, struct faces *faces) {
    struct nearby_place places[FRAMES_PAGE];
    bool more;
    size_t count = nearby_page(nearby, after, places, FRAMES_PAGE, &more);

    ws_frame_start(frame);
    json_member_int(frame, "{\"type\":\"nearby\",\"total\":", nearby_shown(nearby));
    buffer_string(frame, ",\"items\":[");
    for (size_t i = 0; i < count; i++) {
        if (i) buffer_byte(frame, ',');
        const struct nearby_friend *friend = places[i].friend;
        const struct face_place place = place_of(friend);
        faces_put(faces, frame, friend->user, &place, places[i].distance_m);
    }
    buffer_string(frame, "],\"next\":");
    if (more) {
        char cursor[CURSOR_TEXT_MAX];
        cursor_format((struct nearby_cursor){places[count - 1].distance_m, places[count - 1].friend->user}, cursor);
        json_put_text(frame, cursor, strlen(cursor));
    } else {
        buffer_string(frame, "null");
    }
    buffer_byte(frame, '}');
    return count;
}

/* A few of what is to be told next, with their faces on their way from memory. */
struct some {
    struct nearby_told told[SOME];
    struct face *faces[SOME]; /* NULL: not known */
    size_t count;
    uint64_t changes;
};

/* Most of the time the face is known that somebody else's frame has found already. */
static bool take_some(struct nearby *nearby, struct nearby_walk *walk, struct faces *faces, struct some *some) {
    some->count = nearby_tell(nearby, walk, some->told, SOME);
    some->changes = faces_changes(faces);
    for (size_t i = 0; i < some->count; i++) {
        const struct lists_move *move = some->told[i].move;
        some->faces[i] = move && move->face && move->face_changes == some->changes ? move->face : NULL;
        if (some->faces[i])
            faces_fetch(some->faces[i]);
        else
            faces_prefetch(faces, some->told[i].friend.user);
    }
    for (size_t i = 0; i < some->count; i++) {
        if (some->faces[i]) continue;
        struct lists_move *move = some->told[i].move;
        some->faces[i] = faces_ask(faces, some->told[i].friend.user);
        if (!move) continue;
        move->face = some->faces[i];
        move->face_changes = some->changes;
    }
    return some->count > 0;
}

static void put_one(struct buffer *frame, struct faces *faces, const struct some *some, size_t which) {
    const struct nearby_friend *friend = &some->told[which].friend;
    struct face *face = some->changes == faces_changes(faces) ? some->faces[which] : NULL;
    const struct face_place place = place_of(friend);
    if (face)
        faces_put_face(faces, face, frame, &place, some->told[which].distance_m);
    else
        faces_put(faces, frame, friend->user, &place, some->told[which].distance_m);
}

size_t frame_update(struct buffer *frame, struct nearby *nearby, struct faces *faces) {
    struct some some;
    struct nearby_walk walk;
    nearby_walk_start(nearby, &walk);
    uint32_t dirty = nearby->dirty;
    size_t near = 0, gone = 0;
    int64_t *left = NULL;

    ws_frame_start(frame);
    buffer_string(frame, "{\"type\":\"update\",\"near\":[");
    while (take_some(nearby, &walk, faces, &some)) {
        for (size_t i = 0; i < some.count; i++) {
            if (!(some.told[i].friend.flags & NEARBY_HELD)) {
                if (!left) left = mem_alloc(dirty * sizeof *left);
                left[gone++] = some.told[i].friend.user;
                continue;
            }
            if (near++) buffer_byte(frame, ',');
            put_one(frame, faces, &some, i);
        }
    }
    buffer_string(frame, "],\"gone\":[");
    for (size_t i = 0; i < gone; i++) {
        if (i) buffer_byte(frame, ',');
        json_put_int(frame, left[i]);
    }
    buffer_string(frame, "]}");
    free(left);
    if (near + gone == 0) ws_frame_start(frame);
    return near + gone;
}
