/* The audience of an author's posts: everybody, or the author's followers, and nobody across a block (feed/rules.h). Asked at the author's
 * owner, of what is read there; the answer is as old as owner_age_ms says. Functions return 0 or a negative errno code. Loop's thread. */
#pragma once

#include "feed/blocks.h"
#include "feed/relations.h"
#include "feed/visibility.h"

struct audience {
    struct store *store; /* of blocks and visibility */
    struct relation_lists *relations;
    struct table_store *blocks;
    struct visibility_store *visibility;
};

int audience_may_see(const struct audience *audience, int32_t partition, int64_t author, int64_t reader, bool *may,
                     struct error *error);

/* *open: everybody may but these, rising; false: readers are to be asked about one by one, because only followers may, or because there are
 * more than AUDIENCE_BUT_MAX blocks. */
enum { AUDIENCE_BUT_MAX = 1000 };
int audience_is_open(const struct audience *audience, int32_t partition, int64_t author, bool *open,
                     struct id_list *but, struct error *error);
