#include "users/handle.h"

#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"

enum { USER_BYTES = 8, OF_HANDLE = 0x80 };

static char fold(char c) { return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); }

static bool fits(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

bool handle_read(const char *text, size_t size, char handle[HANDLE_SIZE]) {
    if (size < HANDLE_MIN || size > HANDLE_MAX) return false;
    for (size_t i = 0; i < size; i++)
        if (!fits(fold(text[i]))) return false;
    for (size_t i = 0; i < size; i++) handle[i] = fold(text[i]);
    handle[size] = '\0';
    return true;
}

int32_t handle_partition(const char *handle, int32_t partitions) {
    return hash_partition(handle, strlen(handle), partitions);
}

size_t name_key_of_user(uint8_t key[NAME_KEY_MAX], int64_t user) {
    bytes_put_be64(key, (uint64_t)user);
    return USER_BYTES;
}

size_t name_key_of_handle(uint8_t key[NAME_KEY_MAX], const char *handle) {
    size_t size = strlen(handle);
    key[0] = OF_HANDLE;
    memcpy(key + 1, handle, size);
    return 1 + size;
}

/* A handle in a key is written in small letters only. */
static bool is_handle(const char *text, size_t size, char handle[HANDLE_SIZE]) {
    char read[HANDLE_SIZE];
    if (!handle_read(text, size, read) || memcmp(read, text, size) != 0) return false;
    memcpy(handle, read, sizeof read);
    return true;
}

bool name_key_read(const void *key, size_t size, int64_t *user, char handle[HANDLE_SIZE]) {
    const uint8_t *at = key;
    if (!key || !size) return false;
    if (at[0] == OF_HANDLE) {
        if (!is_handle((const char *)at + 1, size - 1, handle)) return false;
        *user = -1;
        return true;
    }
    if (size != USER_BYTES || at[0] > OF_HANDLE) return false;
    *user = (int64_t)bytes_get_be64(at);
    return true;
}
