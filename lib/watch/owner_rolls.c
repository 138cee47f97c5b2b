/* Roll calls, as the owner reads them: whether it holds the watcher's watches, and which versions the watcher has not heard. */
#include "watch/owner_private.h"

static void settle(struct watching *watching) {
    watching->pending = watching->due_known = false;
    watch_link_move(&watching->watcher->settled, &watching->by_watcher);
}

/* The watcher says what it has heard last of a thing. */
static void acknowledge(struct watching *watching, const struct watch_ack *ack) {
    const struct thing *thing = watching->thing;
    if (!thing->known) return;
    if (ack->known && watch_version_same(ack->version, thing->version)) {
        settle(watching);
    } else if (!watching->pending) {
        // It acknowledged the version before, and then heard an older one; or it has forgotten what it heard.
        watch_owner_pend(watching);
        watching->due_known = !ack->known;
        watching->due = thing->version;
    } else if (ack->known && watching->due_known) {
        bool reached = watch_version_same(ack->version, watching->due) || ack->version.number > watching->due.number;
        if (reached) watching->due_known = false; // The newer versions were told since, and are due at the next one.
    }
}

void watch_owner_roll_call(struct watch_owner *owner, struct watch_owner_part *part, uint64_t number,
                           struct watch_roll *roll) {
    struct watcher *watcher = watch_owner_watcher(owner, part, number);
    watcher->silent = 0;
    bool gap = watcher->roll_calls > 0 && roll->number > watcher->roll_calls + 1;
    watcher->missed = watcher->missed || gap;
    watcher->roll_calls = roll->number;
    if (!part->live) return;
    if (roll->count != watcher->count || roll->hash != watcher->hash) {
        watch_owner_watcher_drop(owner, part, watcher, false);
        watch_owner_ask_again(owner, part, number, roll->route);
        return;
    }
    struct watch_ack ack;
    while (watch_roll_next(roll, &ack)) {
        struct watching *watching = watch_owner_watching_acked(part, ack.what_hash, number);
        if (watching) acknowledge(watching, &ack);
    }
    if (roll->more || !watch_list_empty(&watcher->checked)) return;
    watch_list_splice(&watcher->checked, &watcher->pending);
    if (watcher->missed) watch_list_splice(&watcher->checked, &watcher->settled);
    watcher->checked_all = watcher->missed;
    watcher->missed = false;
    if (!watch_list_empty(&watcher->checked)) watch_link_move(&part->work, &watcher->in_work);
}

/* Names the version again if it was due at the roll call before, or if a roll call was lost, which may have said anything. The
 * next roll call is to acknowledge what is due now. */
static void check(struct watch_owner *owner, struct watch_owner_part *part, struct watching *watching) {
    watch_link_move(&watching->watcher->pending, &watching->by_watcher);
    watching->pending = true;
    bool overdue = watching->due_known || watching->watcher->checked_all;
    if (overdue || !watching->thing->known) {
        owner->stats.named_again += overdue;
        watch_owner_name_one(owner, part, watching);
    }
    watching->due_known = watching->thing->known;
    watching->due = watching->thing->version;
}

void watch_owner_check(struct watch_owner *owner, struct watch_owner_part *part, size_t *budget) {
    while (*budget > 0 && !watch_list_empty(&part->work)) {
        struct watcher *watcher = watch_item(part->work.next, struct watcher, in_work);
        for (; *budget > 0 && !watch_list_empty(&watcher->checked); --*budget)
            check(owner, part, watch_item(watcher->checked.next, struct watching, by_watcher));
        if (watch_list_empty(&watcher->checked)) watch_link_out(&watcher->in_work);
    }
}

void watch_owner_tick(struct watch_owner *owner, struct watch_owner_part *part, int64_t now_ms) {
    // However long the process slept, that is one tick: roll calls may wait to be read.
    part->tick_ms = now_ms + OWNER_TICK_MS;
    for (struct watch_link *link = part->heard.next, *next; link != &part->heard; link = next) {
        next = link->next;
        struct watcher *watcher = watch_item(link, struct watcher, in_part);
        if (++watcher->silent <= OWNER_SILENT_TICKS) continue;
        owner->stats.silent++;
        watch_owner_watcher_drop(owner, part, watcher, true);
    }
}
