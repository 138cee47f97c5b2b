/* Friends' entries in frames, kept ready as text: an update names the same friend at the same place to all who are near, and only
 * the distance differs.
 *
 *     {"user":7,"name":"Ada","avatar_url":"...","lat":39.98,"lng":116.31,"time":1790000000000,"distance_m":
 *     `------- from the profile ------------' `--- from the place last asked for -------------------------'
 *
 * A cache of bounded size over the local copy of the profiles. It drops the entry that was not used for longest (roughly: a
 * second-chance round). One thread.
 */
#pragma once

#include "base/buffer.h"
#include "geo/geo.h"
#include "users/kept_details.h"
#include "users/profiles.h"

struct faces;

/* The entry of a friend has what the phone said beside the place wherever it has the place of that time, not rounded. That is kept of
 * the FACES_DETAILED friends who came last, also while it is not shown: a record of the choice may come behind the first report that
 * follows it. True: entries on screens are others now. */
enum { FACES_DETAILED = 1 << 16 };
bool faces_tell(struct faces *faces, const struct user_details *details);
bool faces_show(struct faces *faces, int64_t user, bool shown);

/* profiles: borrowed. bytes: 0 for a cache of one. */
struct faces *faces_new(struct profiles *profiles, size_t bytes);
void faces_free(struct faces *faces); /* NULL is fine */

struct face_place {
    struct geo_point at;
    int64_t time;
    bool rounded; /* the entry says so */
};

/* Appends the friend's entry, whole. A profile that is not there is empty names, never a delay. */
void faces_put(struct faces *faces, struct buffer *frame, int64_t user, const struct face_place *place,
               double distance_m);

/* For many friends one after the other, whose faces are in memory that the processor has not at hand: ask for them all first,
 * in two rounds, and put them then. */
struct face;
void faces_prefetch(const struct faces *faces, int64_t user);
struct face *faces_ask(const struct faces *faces, int64_t user); /* NULL: not there; good until the next put of one
                                                                          that was not there */
void faces_fetch(const struct face *face);                       /* has the processor fetch it */
uint64_t faces_changes(const struct faces *faces);               /* rises whenever what faces_ask gave may be gone */
void faces_put_face(struct faces *faces, struct face *face, struct buffer *frame, const struct face_place *place,
                    double distance_m);

void faces_forget(struct faces *faces, int64_t user); /* the profile has changed */
size_t faces_bytes(const struct faces *faces);        /* memory in use */
size_t faces_count(const struct faces *faces);
