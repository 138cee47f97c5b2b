/* Comments that a search found, as clients see them. Pure but for the names. Loop's thread. */
#pragma once

#include <stdbool.h>

#include "json/json.h"
#include "users/profiles.h"

/* Appends the page {items, next} that a moderation process sent (moderation/searches.h), with the names of the authors. own: the
 * reader's own comments: without the text of hidden ones, and without reports. False: the page cannot be understood, and a part of it was
 * appended. */
bool found_page_put(struct buffer *body, const json_t *page, struct profiles *profiles, bool own);
