/* Comments, posts and people that a search found, as clients see them. Pure but for the names. Loop's thread. */
#pragma once

#include <stdbool.h>

#include "json/json.h"
#include "users/profiles.h"

/* Appends one item that a moderation process sent (moderation/searches.h), with the name of its author: a comment, one of the reader's own (without
 * the text of hidden ones, and without reports), a post, or a person. False: it cannot be understood, and a part of it was appended. */
typedef bool found_put(struct buffer *body, const json_t *item, struct profiles *profiles);
found_put found_comment, found_own_comment, found_post, found_person;

/* Appends the page {items, next} of such items. False as of one. */
bool found_page_put(struct buffer *body, const json_t *page, struct profiles *profiles, found_put *put);
