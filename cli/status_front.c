#include "cli/status_front.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct status_front status_front_of(const struct daemon_view *const *views, size_t count, bool configured) {
    struct status_front front = {.known = configured && count, .complete = configured};
    for (size_t i = 0; i < count; i++) {
        const struct daemon_view *view = views[i];
        bool ready = view->state == DAEMON_READY;
        if (view->state == DAEMON_UNKNOWN || view->state == DAEMON_AWAY) {
            front.silent++;
            continue;
        }
        front.known = true;
        if (!strcmp(view->name, "ingest")) {
            front.gateways++;
            front.gateways_ready += ready;
        } else if (!strcmp(view->name, "fanout")) {
            front.edges++;
            front.edges_ready += ready;
            if (!isnan(view->numbers.sessions)) front.sessions += (int64_t)view->numbers.sessions;
        }
    }
    return front;
}

void status_front_summary(struct buffer *out, const struct status_front *front) {
    buffer_format(out, "gateways %zu of %zu, edges %zu of %zu, %" PRId64 " session%s", front->gateways_ready,
                  front->gateways, front->edges_ready, front->edges, front->sessions, front->sessions == 1 ? "" : "s");
}

void status_front_text(struct buffer *out, const struct status_front *front) {
    if (!front->known) {
        buffer_string(out, "\ngateways and edges: not known, as no daemon answers at ops.addresses\n");
        return;
    }
    buffer_format(out, "\ngateways: %zu of %zu ready\nedges: %zu of %zu ready, %" PRId64 " session%s\n",
                  front->gateways_ready, front->gateways, front->edges_ready, front->edges, front->sessions,
                  front->sessions == 1 ? "" : "s");
    if (front->silent) buffer_format(out, "  at %zu of ops.addresses no daemon answers\n", front->silent);
}

void status_front_json(struct buffer *out, const struct status_front *front) {
    if (front->known)
        buffer_format(
            out,
            "\"gateways\":{\"ready\":%zu,\"count\":%zu},\"edges\":{\"ready\":%zu,\"count\":%zu,\"sessions\":%" PRId64
            "}",
            front->gateways_ready, front->gateways, front->edges_ready, front->edges, front->sessions);
    else
        buffer_string(out, "\"gateways\":null,\"edges\":null");
    buffer_format(out, ",\"silent\":%zu", front->silent);
}
