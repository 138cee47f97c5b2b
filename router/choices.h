/* What users everywhere have chosen about being seen: copies of `sharing` and `nearby-mutes`, which are read once somebody needs them.
 * Loop's thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct choices;
struct router;

struct choices *choices_new(const struct router *router);
void choices_free(struct choices *choices); /* NULL is fine */

/* Begins to read them, if that was not begun. */
int choices_read(struct choices *choices, struct error *error);
bool choices_ready(const struct choices *choices); /* they are read; until then nobody is seen */

/* Whether the user may be told where the friend is: both share, and the user does not mute the friend. */
bool choices_sees(struct choices *choices, int64_t user, int64_t friend);
