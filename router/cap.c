#include "router/cap.h"

#include <stdlib.h>

#include "base/mem.h"
#include "router/router_private.h"

struct cap {
    struct router *router;
    struct id_list friends; /* of that user, while one partition is looked at */
    int64_t user;           /* -1: none */
};

struct cap *cap_new(struct router *router) {
    return MEM_NEW(&(struct cap){.router = router});
}

void cap_free(struct cap *cap) {
    if (!cap) return;
    id_list_free(&cap->friends);
    free(cap);
}

/* 1: the friendship is still there, on a list that is too long by more than is gone already. */
static int is_excess(struct cap *cap, int32_t partition, const struct excess_item *item, size_t gone,
                     struct error *error) {
    size_t at;
    int code = 0;
    if (cap->user != item->user) code = graph_friends(cap->router->graph, partition, item->user, &cap->friends, error);
    cap->user = code ? -1 : item->user;
    if (code) return code;
    return id_list_find(&cap->friends, item->other, &at) &&
           cap->friends.count > (size_t)cap->router->settings->friends_cap + gone;
}

static void release(struct cap *cap, int32_t partition) {
    adjacency_release(graph_lists(cap->router->graph), partition, excess_hold(cap->router->excess, partition));
}

int cap_remove(struct cap *cap, int32_t partition, struct error *error) {
    struct excess *excess = cap->router->excess;
    struct excess_item item;
    cap->user = -1; // its list may have changed
    while (excess_next(excess, partition, &item)) {
        int found = is_excess(cap, partition, &item, excess_on_the_way(excess, item.user), error);
        if (found < 0) return found;
        if (!found) {
            excess_drop(excess, item.ticket);
            continue;
        }
        if (record_collector_remove(cap->router->collector, &item)) break; // tried again each second
        excess_sent(excess, item.ticket);
        cap->router->metrics.excess->value++;
        log_info(service_log(cap->router->service), "a friendship beyond the cap is removed",
                 LOG_INT("user", item.user), LOG_INT("friend", item.other));
    }
    release(cap, partition);
    return 0;
}

int cap_prune(struct cap *cap, int32_t partition, struct error *error) {
    struct excess_item item;
    cap->user = -1; // its list may have changed
    while (excess_next(cap->router->excess, partition, &item)) {
        int found = is_excess(cap, partition, &item, 0, error);
        if (found < 0) return found;
        if (found) break;
        excess_drop(cap->router->excess, item.ticket);
    }
    release(cap, partition);
    return 0;
}
