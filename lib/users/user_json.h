/* A user as clients see one: the members user, name and avatar_url of an object, without its braces. Pure but for the profiles' read;
 * their thread.
 *
 *     "user":7,"name":"Ada","avatar_url":"https://example.org/ada.png"
 */
#pragma once

#include "base/buffer.h"
#include "users/profiles.h"

/* Appends the user with that profile; NULL: there is none, and name and avatar_url are null. */
void user_json_put(struct buffer *body, int64_t user, const struct profile *profile);

/* The same with the profile that the copy has. */
void user_json_find(struct buffer *body, int64_t user, struct profiles *profiles);

/* The same with the members bio and url, for who looks at one user. */
void user_json_put_whole(struct buffer *body, int64_t user, const struct profile *profile);
void user_json_find_whole(struct buffer *body, int64_t user, struct profiles *profiles);

/* The same, but name and avatar_url are "" where there is no profile: lists of places never have null there. */
void user_json_find_texts(struct buffer *body, int64_t user, struct profiles *profiles);
