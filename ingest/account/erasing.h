/* Forgets users: finds what the owners keep of a user and writes the commands that remove it, which the owners decide as any others.
 *
 *     pass:  account -> friends -> follows -> posts -> comments and likes -> notices -> devices -> history        page by page, each command's outcome awaited
 *     passes follow each other until one has found nothing: then the user is forgotten
 *
 * Nothing of this is kept: an erasure that breaks off (the gateway dies) is asked for again, at any gateway, and goes on with what is
 * left; two at once do no harm. Memory is bounded by a page for each erasure, and by how many there are. Loop's thread. */
#pragma once

#include "ingest/account/parts.h"
#include "ingest/endpoints.h"
#include "ingest/product.h"

enum erased_kind {
    ERASED_PROFILE,
    ERASED_SHARING,
    ERASED_HANDLE,
    ERASED_FRIENDS, /* with requests, invitations, and blocks of the user's own */
    ERASED_FOLLOWING,
    ERASED_FOLLOWERS,
    ERASED_REQUESTS, /* to follow, both ways */
    ERASED_MUTED,
    ERASED_POSTS,
    ERASED_COMMENTS,
    ERASED_LIKES,
    ERASED_NOTICES,
    ERASED_PLACES,
    ERASED_DEVICES, /* names of open sessions, and since when */
    ERASED_HISTORY, /* rows */
    ERASED_KINDS
};
extern const char *const ERASED_NAMES[ERASED_KINDS];

struct erasing;

/* The account outlives it. */
struct erasing *erasing_new(struct account_gateway *account, const struct product_options *options);
void erasing_stop(
    struct erasing *erasing); /* requests that wait are answered; before the peers are freed. NULL is fine */
void erasing_free(struct erasing *erasing); /* after the peers were freed. NULL is fine */

extern const struct endpoint_list ERASING_ENDPOINTS; /* state: a struct erasing */
