/* Who opts out is taken off the screens of all others at once, before the routers' Left says so. Every edge reads of everybody in the
 * system who does, and only looking into each list says whether one of its sessions shows them. So they are gathered, and looked
 * for together, in slices between which the loop turns:
 *
 *     opted out ----> waiting ----> users     a pass:  session -> session -> session -> session -> NULL
 *                            (it begins)                                      ^ next
 *
 * Who has opted out is shown to nobody from then on (deliveries.c), so a list needs one look, and a session that came after the
 * pass began needs none. Who has opted in again is looked for no more: what a list holds may be of the new JOIN by now, and what is
 * older the routers take off with the Left of the opt-out, or correct with the JOIN's Moves, if it comes before. That is what
 * they do when an edge reads both records at once, too. */
#include "fanout/edge.h"

enum {
    PASS_EVERY_MS = 200,
    SLICE_LOOKS = 16384, /* in one turn: for users in lists, or list entries among the users */
    SESSION_LOOKS = 32   /* what coming to a session costs, in looks */
};

void optouts_start(struct edge *edge) {
    edge->optouts = (struct optouts){
        .waiting = map_new(),
        .users = map_new(),
        .began_ms = edge_clock() - PASS_EVERY_MS,
    };
}

void optouts_end(struct edge *edge) {
    map_free(edge->optouts.waiting);
    map_free(edge->optouts.users);
}

void optouts_add(struct edge *edge, int64_t user) { map_put(edge->optouts.waiting, (uint64_t)user, NULL); }

void optouts_remove(struct edge *edge, int64_t user) {
    map_remove(edge->optouts.waiting, (uint64_t)user, NULL);
    map_remove(edge->optouts.users, (uint64_t)user, NULL);
}

void optouts_forget(struct edge *edge, const struct session *session) {
    if (edge->optouts.next == session) edge->optouts.next = session->next;
}

bool optouts_begin(struct edge *edge) {
    struct optouts *optouts = &edge->optouts;
    int64_t now = edge_clock();
    if (optouts->next || !map_count(optouts->waiting) || now - optouts->began_ms < PASS_EVERY_MS) return false;
    map_free(optouts->users);
    optouts->users = optouts->waiting;
    optouts->waiting = map_new();
    optouts->began_ms = now;
    optouts->next = edge->sessions;
    lists_void(edge->lists, optouts->users);
    return true;
}

bool optouts_slice(struct edge *edge) {
    struct optouts *optouts = &edge->optouts;
    size_t users = map_count(optouts->users);
    if (!users) optouts->next = NULL; /* all of them are in again */
    for (size_t looks = 0; optouts->next && looks < SLICE_LOOKS;) {
        struct session *session = optouts->next;
        optouts->next = session->next;
        uint32_t slots = session->nearby.capacity;
        looks += SESSION_LOOKS + (users < slots ? users : slots);
        if (nearby_remove_all(&session->nearby, optouts->users)) session_changed(edge, session);
    }
    return optouts->next != NULL;
}
