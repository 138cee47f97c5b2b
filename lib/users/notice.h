/* The key of a notice in the topic `notices`, and its id in the API. The same event makes the same key, so a notice that is written
 * twice is one. Keys of one user rise from the newest notice to the oldest. Pure; any thread. */
#pragma once

#include <stdbool.h>

#include "base/buffer.h"

enum notice_kind { NOTICE_OF_FOLLOW = 1, NOTICE_OF_MENTION = 2, NOTICE_OF_REPLY = 3 }; /* as in the key */
enum { NOTICE_KEY_SIZE = 25 };

struct notice_key {
    int64_t user; /* who is told */
    int64_t time; /* ms since the epoch */
    enum notice_kind kind;
    int64_t number; /* the follower, the post that mentions, or the comment */
};

void notice_key_write(uint8_t bytes[NOTICE_KEY_SIZE], const struct notice_key *key);
/* False: it is no such key. */
bool notice_key_read(const void *bytes, size_t size, struct notice_key *key);

/* The id "TIME.KIND.NUMBER". Reading leaves the user alone; false: it is none. */
void notice_id_put(struct buffer *out, const struct notice_key *key);
bool notice_id_read(const char *text, struct notice_key *key);
