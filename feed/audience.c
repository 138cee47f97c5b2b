#include "feed/audience.h"

#include "feed/rules.h"

int audience_may_see(const struct audience *audience, int32_t partition, int64_t author, int64_t reader, bool *may,
                     struct error *error) {
    const struct relation_half half = {author, reader, RELATION_FOLLOWER};
    struct sight_now now = {.own = author == reader};
    int code = 0;
    if (!now.own) code = blocks_has(audience->blocks, partition, author, reader, &now.blocked, error);
    if (!code) code = visibility_is_for_followers(audience->visibility, partition, author, &now.for_followers, error);
    if (!code && now.for_followers)
        code = relation_lists_has(audience->relations, partition, &half, &now.follows, NULL, error);
    if (!code) *may = sight_decide(&now);
    return code;
}

int audience_is_open(const struct audience *audience, int32_t partition, int64_t author, bool *open,
                     struct id_list *but, struct error *error) {
    bool for_followers, all = true;
    int code = visibility_is_for_followers(audience->visibility, partition, author, &for_followers, error);
    if (!code && !for_followers)
        code = blocks_of(audience->store, audience->blocks, partition, author, AUDIENCE_BUT_MAX, but, &all, error);
    if (!code) *open = !for_followers && all;
    return code;
}
