/* One half of a relation between two users, as the key of a record of the topic `follows` says it: who the user is, what the other one
 * is to this user, and who the other one is. Pure; any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum relation { /* as in the key of `follows` */
                RELATION_FOLLOWING = 1,
                RELATION_FOLLOWER = 2,
                RELATION_MUTED = 3,
                RELATION_REQUESTED = 4, /* the other one has asked to follow the user */
                RELATION_REQUESTING = 5 /* the mirror: the user has asked to follow the other one */
};
enum { RELATION_KEY_SIZE = 17 };

struct relation_half {
    int64_t user, other;
    enum relation relation;
};

void relation_key_write(uint8_t key[RELATION_KEY_SIZE], const struct relation_half *half);
/* False: it is no such key. */
bool relation_key_read(const void *key, size_t size, struct relation_half *half);
