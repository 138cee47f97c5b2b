/* Ids of users that are texts of a sign-in provider (auth.user.ids=directory), such as auth0|5f7c8ec7, and the numbers that they have here.
 *
 * A number is 2^52, 50 bits of the text's SHA-256, and a place, of which there are four: two texts of the same hash have different places.
 * The owner of the number with the place 0 decides which text has which place, for good (feed/directory.h); a hash that comes twice among
 * a hundred million users is expected for four pairs of them. So a number is known before anybody is asked, but not that it is right.
 * Pure; any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXTERNAL_ID_MAX = 255 /* bytes: OpenID Connect has no longer ones */, EXTERNAL_ID_SIZE = EXTERNAL_ID_MAX + 1 };
enum { EXTERNAL_ID_PLACES = 4 };

/* Printable characters of ASCII, without blanks. */
bool external_id_is(const char *text, size_t size);
int64_t external_id_number(const char *text); /* with the place 0 */

/* The number with the place 0 of the same hash. */
static inline int64_t external_id_base(int64_t user) { return user - user % EXTERNAL_ID_PLACES; }

/* Whether a number may be a text's. */
static inline bool external_id_is_number(int64_t user) { return user >> 52 == 1; }
