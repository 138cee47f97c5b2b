#include "router/cap.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

struct cap {
    struct cap_options options;
    struct excess *excess;
    struct id_list friends; /* of that user, while one partition is looked at */
    int64_t user;           /* -1: none */
};

struct cap *cap_new(const struct cap_options *options) {
    struct cap *cap = mem_alloc(sizeof *cap);
    *cap = (struct cap){.options = *options, .excess = excess_new()};
    return cap;
}

void cap_free(struct cap *cap) {
    if (!cap) return;
    excess_free(cap->excess);
    id_list_free(&cap->friends);
    free(cap);
}

void cap_notice(struct cap *cap, int32_t partition, int64_t user, int64_t other, int64_t since, int64_t offset) {
    excess_notice(cap->excess, partition, user, other, since, offset);
}

/* Whether the friendship is still there, on a list that is too long by more than is gone already. */
static int is_excess(struct cap *cap, int32_t partition, const struct excess_item *item, size_t gone,
                     struct error *error) {
    size_t at;
    int code = 0;
    if (cap->user != item->user) code = graph_friends(cap->options.graph, partition, item->user, &cap->friends, error);
    cap->user = code ? -1 : item->user;
    if (code) return code;
    return id_list_find(&cap->friends, item->other, &at) && cap->friends.count > cap->options.friends + gone;
}

static void release(struct cap *cap, int32_t partition) {
    adjacency_release(graph_lists(cap->options.graph), partition, excess_hold(cap->excess, partition));
}

int cap_remove(struct cap *cap, int32_t partition, struct error *error) {
    struct excess_item item;
    cap->user = -1; // its list may have changed
    while (excess_next(cap->excess, partition, &item)) {
        int found = is_excess(cap, partition, &item, excess_on_the_way(cap->excess, item.user), error);
        if (found < 0) return found;
        if (!found) {
            excess_drop(cap->excess, item.ticket);
            continue;
        }
        if (sending_remove(cap->options.sending, &item)) break; // tried again each second
        excess_sent(cap->excess, item.ticket);
        cap->options.metrics->excess->value++;
        log_info(cap->options.log, "a friendship beyond the cap is removed", LOG_INT("user", item.user),
                 LOG_INT("friend", item.other));
    }
    release(cap, partition);
    return 0;
}

int cap_prune(struct cap *cap, int32_t partition, struct error *error) {
    struct excess_item item;
    cap->user = -1; // its list may have changed
    while (excess_next(cap->excess, partition, &item)) {
        int found = is_excess(cap, partition, &item, 0, error);
        if (found < 0) return found;
        if (found) break;
        excess_drop(cap->excess, item.ticket);
    }
    release(cap, partition);
    return 0;
}

void cap_acknowledge(struct cap *cap, uint64_t ticket, bool stored) {
    excess_acknowledge(cap->excess, ticket, stored, clock_wall_ms());
}

void cap_parted(struct cap *cap, int64_t user, int64_t other) { excess_parted(cap->excess, user, other); }

void cap_second(struct cap *cap, int64_t now_ms) { excess_expire(cap->excess, now_ms); }

void cap_silence(struct cap *cap, int32_t partition) { excess_renotice(cap->excess, partition); }

void cap_detach(struct cap *cap, int32_t partition) { excess_detach(cap->excess, partition); }
