/* The key of a notice in the topic `notices`, and its id in the API. The same event makes the same key, so a notice that is written
 * twice is one. Keys of one user rise from the newest notice to the oldest. Pure; any thread. */
#pragma once

#include <stdbool.h>

#include "event/codec.h"

enum notice_kind { /* as in the key */
                   NOTICE_OF_FOLLOW = 1,
                   NOTICE_OF_MENTION = 2,
                   NOTICE_OF_REPLY = 3,
                   NOTICE_OF_REQUEST = 4,
                   NOTICE_OF_ACCEPTED = 5,
                   NOTICE_OF_LIKE = 6,
                   NOTICE_OF_APPROACH = 7,
                   NOTICE_OF_ARRIVED = 8,
                   NOTICE_OF_LEFT = 9,
                   NOTICE_KINDS
};
enum { NOTICE_KEY_SIZE = 25, NOTICES_KEPT = 200 /* of a user */ };
extern const char *const NOTICE_WORDS[NOTICE_KINDS + 1]; /* of kinds, from "" of 0 to NULL */
bool notice_is_kind(int64_t kind);                       /* of a key */

struct notice_key {
    int64_t user; /* who is told */
    int64_t time; /* ms since the epoch */
    enum notice_kind kind;
    int64_t number; /* the post that mentions, the comment that mentions or replies; of the last two
                       a hash of the user and the event's number; else the other user */
};

void notice_key_write(uint8_t bytes[NOTICE_KEY_SIZE], const struct notice_key *key);
bool notice_is_newer(const struct notice_key *a,
                     const struct notice_key *b); /* than b: its key is below; of one user */
/* False: it is no such key. */
bool notice_key_read(const void *bytes, size_t size, struct notice_key *key);

/* The id "TIME.KIND.NUMBER". Reading leaves the user alone; false: it is none. */
void notice_id_put(struct buffer *out, const struct notice_key *key);
bool notice_id_read(const char *text, struct notice_key *key);

/* Appends the members "subject", "comment", "time" and, of an approach, "distance_m", of the last two kinds "place" of the JSON of a notice: ',"subject":...'. */
void notice_put_about(struct buffer *out, const struct notice_key *key, const struct notice *notice);

/* Appends its record, in the oldest version that can say it: processes of releases before read those. */
void notice_encode(struct buffer *out, const struct notice *notice);

/* The newest notice that the user has read; but for the user. False: none. */
bool notice_mark(const struct notice_settings *settings, struct notice_key *mark);
/* Appends the members "read": an id or null, and "preferences": {KIND: {live, push}}. */
void notice_settings_put(struct buffer *out, const struct notice_settings *settings);
