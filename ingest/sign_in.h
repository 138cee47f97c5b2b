/* Signing in at the gateway: who the caller is, and the numbers of users whom a sign-in provider knows by texts. */
#pragma once

#include "ingest/endpoints.h"

struct sign_ins;

/* Finds the numbers of the caller, if `caller`, and of users whom the call's path names by texts, one after the other, and calls go_on, perhaps
 * at once. Else the request is answered: 404 no_user, or 503. The call lives as long as its request. */
void sign_in_settle(struct sign_ins *sign_ins, struct call *call, bool caller,
                    void (*go_on)(struct http_request *request));

extern const struct endpoint_list SIGN_IN_ENDPOINTS; /* their state is a struct sign_ins; NULL: user ids are numbers */
