/* A moderator's decision about a comment or a post, as clients write it. Loop's thread. */
#pragma once

#include "event/types.h"
#include "ingest/call.h"

enum state_wanted { STATE_VISIBLE, STATE_HIDDEN, STATE_DELETED };

struct state_wish {
    json_t *object; /* into which the reason points; the caller's, to be given back by json_decref */
    enum state_wanted state;
    struct event_text reason;
};

/* Reads the body {state, reason}. False: the request is answered. */
bool state_wish_read(const struct call *call, struct state_wish *wish);
