/* The friends that two users have in common, found in the answers of both owners where they lie. Pure; any thread. */
#pragma once

#include "json/json.h"
#include "json/scan.h"

/* A page of the ids above `after` that are in both answers to ASK_FRIEND_IDS, for user_list_show_page; total: how many there are on all
 * pages. NULL: one of the two is no such answer. */
json_t *mutual_page(const struct json_bytes answers[2], int64_t after, size_t limit);
