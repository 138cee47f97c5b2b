/* Places of users: what they may be, and the keys of the topics `places` and `place-events`. Pure; any thread.
 *
 *     places          user (8 bytes big-endian), id of the place
 *     place-events    user, number: 8 bytes big-endian each
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PLACES_MAX = 50,            /* of a user */
    PLACE_RADIUS_MIN_M = 50,    /* metres */
    PLACE_RADIUS_MAX_M = 50000, /* metres */
    PLACE_TOLD_MAX = 50,        /* users who are told of one place */
    PLACE_ID_MAX = 32,          /* bytes, of [A-Za-z0-9_-] */
    PLACE_NAME_MAX = 200,       /* bytes of UTF-8 */
    PLACE_EVENTS_KEPT = 10000,  /* of a user: the newest */
    PLACE_KEY_MAX = 8 + PLACE_ID_MAX,
    PLACE_EVENT_KEY_SIZE = 16
};

bool place_id_is(const char *id, size_t size);

/* The order of ids, which is that of the keys of one user's places: below 0, 0 or above, as memcmp. */
int place_id_compare(const char *id, size_t size, const char *other, size_t other_size);

struct place_key {
    int64_t user;
    const char *id; /* lent */
    size_t id_size;
};

/* Returns the key's size. */
size_t place_key_write(uint8_t bytes[PLACE_KEY_MAX], const struct place_key *key);
bool place_key_read(const void *bytes, size_t size, struct place_key *key); /* false: it is no such key */

struct place_event_key {
    int64_t user, number;
};

void place_event_key_write(uint8_t bytes[PLACE_EVENT_KEY_SIZE], const struct place_event_key *key);
bool place_event_key_read(const void *bytes, size_t size, struct place_event_key *key);
