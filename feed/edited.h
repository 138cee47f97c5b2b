/* Posts that were edited lately, and to which version: every feed process hears of the edits of all authors (`hot-posts`). Whoever keeps texts
 * of posts for a while, such as a gateway, is told the version with the post's id, and so does not show a former text. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    EDITED_KEPT_MS = 3600000 /* no less than gateways and edges may keep texts: feed.texts.s and edge.feed.texts.s */
};

struct edited;

struct edited *edited_new(void);
void edited_free(struct edited *edited); /* NULL is fine */

/* Edits may come twice and in any order. time_ms: when it was; now_ms never falls. False: it is known, or was long ago. */
bool edited_put(struct edited *edited, int64_t id, int64_t version, int64_t time_ms, int64_t now_ms);
/* The version of the post's text; 1: it was not edited lately. */
int64_t edited_version(const struct edited *edited, int64_t id);
size_t edited_count(const struct edited *edited);
