/* The feed processes, as screens ask them: for the texts of posts, and who may see them (posts/sights.h). Loop's thread. */
#pragma once

#include "fanout/screen.h"
#include "posts/sights.h"
#include "service/peers.h"

struct authors;

/* group: of the feed processes. */
int authors_new(const struct screen_options *options, const char *group, struct authors **authors, struct error *error);
/* Questions under way end, and those who wait hear so. NULL is fine. */
void authors_stop(struct authors *authors);
void authors_free(struct authors *authors); /* after the former; NULL is fine */

struct peers *authors_peers(const struct authors *authors); /* until authors_stop */
struct sights *authors_sights(const struct authors *authors);
