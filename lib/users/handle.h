/* Handles, the names by which users are found: 3 to 30 of a-z, 0-9 and _; a capital letter counts as the small one. Each belongs to at
 * most one user. This header also has the keys of the topics `names` and `name-commands`, which are about a user or a handle:
 *
 *     user      8 bytes big-endian, the first of them below 0x80     in the partition of the user
 *     handle    0x80, the handle                                     in the partition of the handle's own bytes
 *
 * Pure; any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HANDLE_MIN = 3, HANDLE_MAX = 30, HANDLE_SIZE = HANDLE_MAX + 1 };

/* Reads a handle as a person writes it; ends it with a NUL. False: it is none. */
bool handle_read(const char *text, size_t size, char handle[HANDLE_SIZE]);

int32_t handle_partition(const char *handle, int32_t partitions);

enum { NAME_KEY_MAX = 1 + HANDLE_MAX };

/* Return the key's size. */
size_t name_key_of_user(uint8_t key[NAME_KEY_MAX], int64_t user);
size_t name_key_of_handle(uint8_t key[NAME_KEY_MAX], const char *handle);

/* *user is then a user, or -1 with a handle. False: it is no such key. */
bool name_key_read(const void *key, size_t size, int64_t *user, char handle[HANDLE_SIZE]);
