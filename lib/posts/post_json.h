/* Posts as clients see them: what the author's owner says, with the author's name. Whoever puts a text into an answer says for which reader,
 * who may see it (posts/sights.h), or nothing is put. Loop's thread. */
#pragma once

#include "json/json.h"
#include "json/scan.h"
#include "posts/sights.h"
#include "users/profiles.h"

/* Appends the post as an object. False: nothing is appended, as the owner's answer is no post, or the reader may not see it now. sights NULL: for a moderator's
 * answer, who needs to ask nobody. A post that is held or hidden says so ("state"). */
bool post_put(struct buffer *body, const json_t *post, const struct sights *sights, int64_t reader,
              struct profiles *profiles);

/* A post that an owner has sent, and where its author's name lies in it as clients see it. */
struct post_shown {
    int64_t id, user, version;
    size_t user_at, user_end; /* of what user_json_find appended; from the post's first byte on */
};

/* Appends the post as post_put does, from its bytes, to be kept: text_put asks for whom (posts/texts.h). False: they are no post. */
bool post_put_bytes(struct buffer *body, struct json_bytes post, struct profiles *profiles, struct post_shown *shown);

void post_put_media(struct buffer *body, const json_t *media); /* appends ,"media":[url, ...] */

/* The id in an owner's post; 0: it is none. */
int64_t post_id(const json_t *post);

/* Appends a post that cannot be read now. */
void post_put_unavailable(struct buffer *body, int64_t id, int64_t user);
