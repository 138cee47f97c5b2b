#include "ingest/state_wish.h"

#include "base/text.h"
#include "ingest/client_text.h"

enum { REASON_POINTS_MAX = 1000 };

bool state_wish_read(const struct call *call, struct state_wish *wish) {
    static const char *const STATES[] = {"visible", "hidden", "deleted", NULL}; // of enum state_wanted
    const char *wanted = "";
    struct error error;
    wish->object = call_body(call);
    if (!wish->object) return false;
    json_want_text(wish->object, "state", &wanted, NULL);
    int state = text_word(wanted, STATES);
    wish->state = (enum state_wanted)state;
    if (state < 0)
        http_problem(call->request, 400, "bad_state", "\"state\" must be visible, hidden or deleted", 0);
    else if (client_text_read(wish->object, "reason", REASON_POINTS_MAX, &wish->reason, &error))
        return true;
    else
        http_problem(call->request, 400, "bad_reason", error.text, 0);
    json_decref(wish->object);
    return false;
}
