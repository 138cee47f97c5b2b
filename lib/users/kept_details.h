/* What phones said beside the place, of a bounded number of users: a user's newest, and of those who came last. One thread. */
#pragma once

#include <stddef.h>

#include "json/details.h"

struct user_details { /* of the report of that time */
    int64_t user, time;
    int32_t accuracy; /* metres; -1: not said */
    bool shown;       /* to friends, as the user chose */
    struct report_details said;
};

struct kept_details;

struct kept_details *kept_details_new(size_t most);
void kept_details_free(struct kept_details *kept); /* NULL is fine */

/* False: they are what is kept already, or older. */
bool kept_details_put(struct kept_details *kept, const struct user_details *details);

/* NULL: none of that user. Valid until the next put. */
struct user_details *kept_details_find(const struct kept_details *kept, int64_t user);

/* Appends ,"accuracy":12,"battery":0.57 and so on, of what is shown and of the report of that time. */
void kept_details_put_json(const struct kept_details *kept, int64_t user, int64_t time, struct buffer *out);
