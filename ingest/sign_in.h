/* What the gateway says about signing in: who the caller is, and the numbers of users whom a sign-in provider knows by texts. */
#pragma once

#include "ingest/endpoints.h"

extern const struct endpoint_list SIGN_IN_ENDPOINTS; /* their state is a struct sign_ins; NULL: user ids are numbers */
