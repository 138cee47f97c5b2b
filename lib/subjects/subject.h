/* Subjects of comments: anything that may have comments, named by a type and an id, such as "post:123". And the keys of records about
 * a subject and what lies in it, which topics and stores share:
 *
 *     subject                        p o s t : 1 2 3
 *     comment                        p o s t : 1 2 3 NUL [comment, 8 bytes]
 *     reaction, moderation entry     p o s t : 1 2 3 NUL [comment, 8 bytes] [user or offset, 8 bytes]       numbers are big-endian
 *
 * A type is 1 to 32 of a-z, 0-9, - and _; an id is 1 to 128 of A-Z, a-z, 0-9, -, _, . and ~ (characters that paths need not escape).
 * The partition of a subject is that of its text: hash_partition. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

enum {
    SUBJECT_TYPE_MAX = 32,
    SUBJECT_ID_MAX = 128,
    SUBJECT_MAX = SUBJECT_TYPE_MAX + 1 + SUBJECT_ID_MAX,
    SUBJECT_KEY_MAX = SUBJECT_MAX + 1 + 8 + 8
};

/* Limits of a comment. */
enum {
    COMMENT_TEXT_POINTS_MAX = 10000,
    COMMENT_REASON_POINTS_MAX = 1000,
    COMMENT_CLIENT_KEY_MAX = 64, /* bytes */
    COMMENT_MENTIONS_MAX = 10,
    COMMENT_PINS_MAX = 10 /* of a subject */
};

bool subject_valid(const char *text, size_t size);

/* Reads "TYPE/ID" at the beginning of a path, and moves *path behind it: to a slash or the end. `subject` gets "TYPE:ID" and a NUL.
 * False: there is no subject. */
bool subject_of_path(const char **path, char subject[SUBJECT_MAX + 1]);
void subject_put_path(struct buffer *path, const char *subject); /* appends "TYPE/ID" */

/* A key in its parts. */
struct subject_key {
    const char *subject; /* not NUL-terminated; points into the bytes that were read */
    size_t size;
    int numbers; /* 0: the subject; 1: a comment; 2: a comment and a user or an offset */
    int64_t comment, second;
};
size_t subject_key_write(uint8_t key[SUBJECT_KEY_MAX], const struct subject_key *parts); /* returns its size */
bool subject_key_read(const void *key, size_t size, struct subject_key *parts);          /* false: it is no such key */
