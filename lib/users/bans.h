/* Users who may not post, comment or like: a copy of the topic `bans` in memory, whole, in every process that decides these. Loop's thread. */
#pragma once

#include "copies/copies.h"

struct bans;

struct bans *bans_new(void);
void bans_free(struct bans *bans); /* NULL is fine */

struct copy_definition bans_copy(struct bans *bans);
bool bans_has(const struct bans *bans, int64_t user, int64_t now_ms);
