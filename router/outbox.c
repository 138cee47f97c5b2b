#include "router/outbox.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct route {
    uint8_t *data; /* DELIVERY_HEAD_MAX bytes for the head, then the items, then room for the byte that ends them */
    size_t size;   /* of head room and items */
    size_t capacity;
    uint64_t count;   /* items */
    int64_t received; /* oldest of the items; 0: none */
    int64_t first_us; /* when the first item came */
    bool filled;      /* in the ring of the filled */
};

struct filled {
    int32_t route;
    int64_t since_us; /* no later than its first item came; earlier when it has been sent in between */
};

struct waiting {
    int32_t route;
    uint64_t epoch;
    uint8_t *data;       /* allocation */
    const uint8_t *head; /* where the batch starts in it */
    size_t size;
};

struct outbox {
    struct outbox_options options;
    int64_t stream_time;
    struct route *routes;

    struct filled *filled; /* ring of all routes that hold items, oldest first; each at most once */
    size_t filled_first, filled_count;

    struct waiting *waiting; /* in order, from waiting_first on */
    size_t waiting_first, waiting_count, waiting_room, waiting_bytes;

    uint64_t epoch, settled;
    uint32_t unacknowledged[OUTBOX_EPOCHS]; /* by epoch modulo */

    /* For outbox_put_recipients: */
    uint32_t *tally;  /* by route: how many recipients, then where its next one goes */
    int32_t *touched; /* routes with any */
    int64_t *users;   /* recipients, route by route */
    size_t users_room;
};

enum { ROUTE_BYTES_FIRST = 4096 };

struct outbox *outbox_new(const struct outbox_options *options) {
    size_t routes = (size_t)options->routes;
    struct outbox *outbox = mem_alloc(sizeof *outbox);
    *outbox = (struct outbox){
        .options = *options,
        .stream_time = 0,
        .routes = mem_zero(routes, sizeof *outbox->routes),
        .filled = mem_alloc(routes * sizeof *outbox->filled),
        .epoch = 1,
        .settled = 1,
        .tally = mem_zero(routes, sizeof *outbox->tally),
        .touched = mem_alloc(routes * sizeof *outbox->touched),
    };
    for (size_t i = 0; i < routes; i++) outbox->routes[i].size = DELIVERY_HEAD_MAX;
    return outbox;
}

void outbox_free(struct outbox *outbox) {
    if (!outbox) return;
    for (int32_t i = 0; i < outbox->options.routes; i++) free(outbox->routes[i].data);
    for (size_t i = 0; i < outbox->waiting_count; i++) free(outbox->waiting[outbox->waiting_first + i].data);
    free(outbox->waiting);
    free(outbox->routes);
    free(outbox->filled);
    free(outbox->tally);
    free(outbox->touched);
    free(outbox->users);
    free(outbox);
}

void outbox_set_flush_us(struct outbox *outbox, int64_t flush_us) { outbox->options.flush_us = flush_us; }

void outbox_set_stream_time(struct outbox *outbox, int64_t stream_time) { outbox->stream_time = stream_time; }

/* ---- sending ---- */

static void wait_in_line(struct outbox *outbox, const struct waiting *batch) {
    if (outbox->waiting_first + outbox->waiting_count == outbox->waiting_room) {
        if (outbox->waiting_first)
            memmove(outbox->waiting, outbox->waiting + outbox->waiting_first, outbox->waiting_count * sizeof *batch);
        outbox->waiting_first = 0;
        if (outbox->waiting_count * 2 >= outbox->waiting_room) {
            outbox->waiting_room = outbox->waiting_room ? outbox->waiting_room * 2 : 16;
            outbox->waiting = mem_resize(outbox->waiting, outbox->waiting_room, sizeof *batch);
        }
    }
    outbox->waiting[outbox->waiting_first + outbox->waiting_count++] = *batch;
    outbox->waiting_bytes += batch->size;
}

/* True: the sender took it, or never will. */
static bool offer(struct outbox *outbox, int32_t route, const uint8_t *bytes, size_t size, uint64_t epoch) {
    int code = outbox->options.send(outbox->options.context, route, bytes, size, epoch);
    if (code == -EAGAIN) return false;
    if (code == 0 && epoch >= outbox->settled) outbox->unacknowledged[epoch % OUTBOX_EPOCHS]++;
    return true;
}

static void reserve(struct route *route, size_t extra) {
    size_t wanted = route->size + extra + 1; // the byte that ends the items
    if (wanted <= route->capacity) return;
    size_t capacity = route->capacity ? route->capacity : ROUTE_BYTES_FIRST;
    while (capacity < wanted) capacity *= 2;
    route->data = mem_resize(route->data, capacity, 1);
    route->capacity = capacity;
}

/* Sends what the route holds, even nothing. */
static void send_route(struct outbox *outbox, int32_t number) {
    struct route *route = &outbox->routes[number];
    reserve(route, 0);
    route->data[route->size] = 0;
    const uint8_t *head =
        delivery_head_write_before(route->data + DELIVERY_HEAD_MAX, outbox->stream_time, route->received, route->count);
    size_t size = (size_t)(route->data + route->size + 1 - head);
    // In order: nothing may overtake what waits.
    if (outbox->waiting_count || !offer(outbox, number, head, size, outbox->epoch)) {
        wait_in_line(outbox,
                     &(struct waiting){
                         .route = number, .epoch = outbox->epoch, .data = route->data, .head = head, .size = size});
        route->data = NULL;
        route->capacity = 0;
    }
    route->size = DELIVERY_HEAD_MAX;
    route->count = 0;
    route->received = 0;
}

static int32_t take_filled(struct outbox *outbox) {
    int32_t number = outbox->filled[outbox->filled_first].route;
    outbox->filled_first = (outbox->filled_first + 1) % (size_t)outbox->options.routes;
    outbox->filled_count--;
    outbox->routes[number].filled = false;
    return number;
}

static void add_filled(struct outbox *outbox, int32_t number) {
    struct route *route = &outbox->routes[number];
    size_t at = (outbox->filled_first + outbox->filled_count++) % (size_t)outbox->options.routes;
    outbox->filled[at] = (struct filled){.route = number, .since_us = route->first_us};
    route->filled = true;
}

void outbox_flush_old(struct outbox *outbox, int64_t now_us) {
    while (outbox->filled_count) {
        if (now_us - outbox->filled[outbox->filled_first].since_us < outbox->options.flush_us) return;
        int32_t number = take_filled(outbox);
        // It may have been sent because it was full, and have filled again: then it stands behind the others.
        if (now_us - outbox->routes[number].first_us < outbox->options.flush_us)
            add_filled(outbox, number);
        else
            send_route(outbox, number);
    }
}

void outbox_flush(struct outbox *outbox) {
    while (outbox->filled_count) send_route(outbox, take_filled(outbox));
}

void outbox_beat(struct outbox *outbox) {
    outbox_flush(outbox);
    for (int32_t i = 0; i < outbox->options.routes; i++) send_route(outbox, i);
}

static bool epoch_waits(const struct outbox *outbox, uint64_t epoch) {
    // Batches wait in the order of their epochs.
    return outbox->waiting_count && outbox->waiting[outbox->waiting_first].epoch <= epoch;
}

static void settle(struct outbox *outbox) {
    while (outbox->settled < outbox->epoch && !outbox->unacknowledged[outbox->settled % OUTBOX_EPOCHS] &&
           !epoch_waits(outbox, outbox->settled))
        outbox->settled++;
}

bool outbox_retry(struct outbox *outbox) {
    while (outbox->waiting_count) {
        struct waiting *batch = &outbox->waiting[outbox->waiting_first];
        if (!offer(outbox, batch->route, batch->head, batch->size, batch->epoch)) return false;
        outbox->waiting_bytes -= batch->size;
        free(batch->data);
        outbox->waiting_first++;
        outbox->waiting_count--;
    }
    outbox->waiting_first = 0;
    settle(outbox);
    return true;
}

bool outbox_blocked(const struct outbox *outbox) { return outbox->waiting_count > 0; }

size_t outbox_bytes(const struct outbox *outbox) {
    size_t bytes = outbox->waiting_bytes;
    for (int32_t i = 0; i < outbox->options.routes; i++) bytes += outbox->routes[i].capacity;
    return bytes;
}

/* ---- items ---- */

/* Room for one more item of at most that many bytes; returns where it goes. */
static uint8_t *item_begin(struct outbox *outbox, int32_t number, size_t most, int64_t now_us) {
    struct route *route = &outbox->routes[number];
    if (route->count && route->size - DELIVERY_HEAD_MAX + most > outbox->options.flush_bytes)
        send_route(outbox, number);
    reserve(route, most);
    if (!route->count) route->first_us = now_us;
    return route->data + route->size;
}

static void item_end(struct outbox *outbox, int32_t number, const uint8_t *end, int64_t received) {
    struct route *route = &outbox->routes[number];
    route->size = (size_t)(end - route->data);
    route->count++;
    if (received && (!route->received || received < route->received)) route->received = received;
    if (!route->filled) add_filled(outbox, number);
}

void outbox_put(struct outbox *outbox, int32_t number, const struct delivery_item *item, int64_t received,
                int64_t now_us) {
    if (number < 0 || number >= outbox->options.routes) return;
    uint8_t *at = item_begin(outbox, number, delivery_item_size_max(item), now_us);
    item_end(outbox, number, delivery_item_write(at, item), received);
}

void outbox_put_recipients(struct outbox *outbox, const struct delivery_item *item,
                           const struct join_recipient *recipients, size_t count, int64_t received, int64_t now_us) {
    uint8_t lead[DELIVERY_LEAD_MAX];
    size_t lead_size = (size_t)(delivery_lead_write(lead, item) - lead), touched = 0;
    if (count > outbox->users_room) {
        outbox->users_room = count * 2;
        outbox->users = mem_resize(outbox->users, outbox->users_room, sizeof *outbox->users);
    }
    for (size_t i = 0; i < count; i++) {
        int32_t route = recipients[i].route;
        if (route < 0 || route >= outbox->options.routes) continue;
        if (outbox->tally[route]++ == 0) outbox->touched[touched++] = route;
    }
    uint32_t at = 0;
    for (size_t i = 0; i < touched; i++) {
        uint32_t here = outbox->tally[outbox->touched[i]];
        outbox->tally[outbox->touched[i]] = at;
        at += here;
    }
    for (size_t i = 0; i < count; i++) {
        int32_t route = recipients[i].route;
        if (route < 0 || route >= outbox->options.routes) continue;
        outbox->users[outbox->tally[route]++] = recipients[i].user;
    }
    uint32_t from = 0; // each tally is now where the next route's recipients begin
    for (size_t i = 0; i < touched; i++) {
        int32_t route = outbox->touched[i];
        uint32_t to = outbox->tally[route];
        uint8_t *place = item_begin(outbox, route, lead_size + delivery_recipients_max(to - from), now_us);
        memcpy(place, lead, lead_size);
        item_end(outbox, route, delivery_recipients_write(place + lead_size, outbox->users + from, to - from),
                 received);
        from = to;
        outbox->tally[route] = 0;
    }
}

static void put_superseded(struct outbox *outbox, int32_t route, int64_t user, int64_t session, int64_t received,
                           int64_t now_us) {
    if (route == PRESENCE_ROUTE_NONE) return;
    struct delivery_item item = {.kind = DELIVERY_ITEM_SUPERSEDED, .superseded = {.user = user, .session = session}};
    outbox_put(outbox, route, &item, received, now_us);
}

size_t outbox_put_result(struct outbox *outbox, const struct join_result *r, int64_t received, int64_t now_us) {
    struct delivery_item item;
    put_superseded(outbox, r->beaten_route, r->user, r->beaten_by, received, now_us);
    put_superseded(outbox, r->older_route, r->user, r->session, received, now_us);
    if (r->recipient_count) {
        if (r->left)
            item = (struct delivery_item){.kind = DELIVERY_ITEM_LEFT, .left = {.user = r->user}};
        else
            item =
                (struct delivery_item){.kind = DELIVERY_ITEM_MOVE,
                                       .move = {.user = r->user, .lat = r->at.lat, .lng = r->at.lng, .time = r->time}};
        outbox_put_recipients(outbox, &item, r->recipients, r->recipient_count, received, now_us);
    }
    if (r->self) {
        item = (struct delivery_item){
            .kind = DELIVERY_ITEM_SELF,
            .self = {.recipient = r->user, .session = r->session, .lat = r->at.lat, .lng = r->at.lng, .time = r->time}};
        outbox_put(outbox, r->route, &item, received, now_us);
    }
    if (r->roster) {
        item = (struct delivery_item){.kind = DELIVERY_ITEM_ROSTER,
                                      .roster = {.recipient = r->user,
                                                 .session = r->session,
                                                 .complete = r->complete,
                                                 .friends = {.items = r->roster_friends, .count = r->roster_count}}};
        outbox_put(outbox, r->route, &item, received, now_us);
    }
    if (r->digest) {
        item = (struct delivery_item){.kind = DELIVERY_ITEM_DIGEST,
                                      .digest = {.recipient = r->user,
                                                 .session = r->session,
                                                 .time = r->time,
                                                 .count = r->digest_count,
                                                 .hash = (int64_t)r->digest_hash}};
        outbox_put(outbox, r->route, &item, received, now_us);
    }
    return r->recipient_count + r->roster_count;
}

/* ---- epochs ---- */

uint64_t outbox_epoch(const struct outbox *outbox) { return outbox->epoch; }
uint64_t outbox_settled(const struct outbox *outbox) { return outbox->settled; }

bool outbox_close_epoch(struct outbox *outbox) {
    if (outbox->epoch - outbox->settled + 1 >= OUTBOX_EPOCHS) return false;
    outbox_flush(outbox);
    outbox->epoch++;
    settle(outbox);
    return true;
}

void outbox_acknowledge(struct outbox *outbox, uint64_t epoch) {
    if (epoch < outbox->settled || epoch > outbox->epoch) return;
    assert(outbox->unacknowledged[epoch % OUTBOX_EPOCHS] > 0);
    outbox->unacknowledged[epoch % OUTBOX_EPOCHS]--;
    settle(outbox);
}

void outbox_forget(struct outbox *outbox) {
    outbox->epoch++;
    outbox->settled = outbox->epoch;
    memset(outbox->unacknowledged, 0, sizeof outbox->unacknowledged);
}
