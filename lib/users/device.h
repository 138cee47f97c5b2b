/* The sessions of a user, as their devices: names that a hello may say, and the keys of the topic `devices`:
 *
 *     row     user, run, session: 8 bytes big-endian each     in the user's partition
 *     beat    0x80, run                                       in each partition
 *
 * A run is a random number of an edge's process, and a session has a number; no two of either are the same. Pure; any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DEVICE_NAME_MAX = 64, /* bytes */
    DEVICE_KEY_MAX = 24,
    DEVICES_SHOWN = 16, /* of a user: the newest */
    DEVICE_BEAT_MARK = 0x80
};

struct device_key {
    int64_t user; /* -1: a beat, of the run alone */
    int64_t run;  /* from 0, as all of these */
    int64_t session;
};

/* Returns the key's size. */
size_t device_key_write(uint8_t bytes[DEVICE_KEY_MAX], const struct device_key *key);
bool device_key_read(const void *bytes, size_t size, struct device_key *key); /* false: it is no such key */

/* Whether a device may have that name: 1 to DEVICE_NAME_MAX bytes of valid UTF-8 without control characters. */
bool device_name_is(const char *name, size_t size);
