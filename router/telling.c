#include "router/telling.h"

#include "event/delivery.h"
#include "json/details.h"

/* The envelope of an item, without recipients. Its payload is the outbox's until the next one. */
static struct deliver_envelope envelope_of(struct deliver *outbox, const struct nearby_item *item) {
    uint8_t *payload = deliver_payload(outbox, nearby_item_size_max(item));
    return (struct deliver_envelope){
        .kind = DELIVERY_NEARBY,
        .payload = payload,
        .payload_size = (size_t)(nearby_item_write(payload, item) - payload),
    };
}

void telling_put(struct deliver *outbox, int32_t route, int64_t recipient, const struct nearby_item *item,
                 int64_t received, int64_t now_us) {
    struct deliver_envelope envelope = envelope_of(outbox, item);
    envelope.recipients = &recipient;
    envelope.recipient_count = 1;
    deliver_put(outbox, route, &envelope, received, now_us);
}

void telling_put_many(struct deliver *outbox, const struct nearby_item *item,
                      const struct deliver_recipient *recipients, size_t count, int64_t received, int64_t now_us) {
    struct deliver_envelope envelope = envelope_of(outbox, item);
    deliver_put_many(outbox, &envelope, recipients, count, received, now_us);
}

static void put_moves(struct deliver *outbox, const struct join_result *r, int64_t received, int64_t now_us) {
    struct nearby_item item;
    if (r->recipient_count) {
        if (r->left)
            item = (struct nearby_item){.kind = NEARBY_ITEM_LEFT, .left = {.user = r->user}};
        else if (r->details)
            item = (struct nearby_item){.kind = NEARBY_ITEM_DETAILED_MOVE,
                                        .detailed_move = {.user = r->user,
                                                          .lat = r->at.lat,
                                                          .lng = r->at.lng,
                                                          .time = r->time,
                                                          .accuracy = r->details->accuracy,
                                                          DETAILS_OF(r->details)}};
        else
            item = (struct nearby_item){.kind = NEARBY_ITEM_MOVE,
                                        .move = {.user = r->user, .lat = r->at.lat, .lng = r->at.lng, .time = r->time}};
        telling_put_many(outbox, &item, r->recipients, r->recipient_count, received, now_us);
    }
    if (!r->rounded_recipient_count) return;
    item = (struct nearby_item){
        .kind = NEARBY_ITEM_ROUNDED_MOVE,
        .rounded_move = {.user = r->user, .lat = r->rounded_at.lat, .lng = r->rounded_at.lng, .time = r->time}};
    telling_put_many(outbox, &item, r->rounded_recipients, r->rounded_recipient_count, received, now_us);
}

static struct nearby_item roster_of(const struct join_result *r, int64_t session) {
    const struct roster_friends friends = {.items = r->roster_friends, .count = r->roster_count};
    if (!r->roster_rounded_count)
        return (struct nearby_item){.kind = NEARBY_ITEM_ROSTER,
                                    .roster = {.session = session, .complete = r->complete, .friends = friends}};
    return (struct nearby_item){
        .kind = NEARBY_ITEM_ROUNDED_ROSTER,
        .rounded_roster = {.session = session,
                           .complete = r->complete,
                           .friends = friends,
                           .rounded = {.items = r->roster_rounded, .count = r->roster_rounded_count}}};
}

static void put_answer(struct deliver *outbox, const struct join_result *r, const struct join_answer *to,
                       int64_t received, int64_t now_us) {
    struct nearby_item item;
    if (to->self) {
        item =
            (struct nearby_item){.kind = NEARBY_ITEM_SELF,
                                 .self = {.session = to->session, .lat = r->at.lat, .lng = r->at.lng, .time = r->time}};
        telling_put(outbox, to->route, r->user, &item, received, now_us);
    }
    if (r->roster) {
        item = roster_of(r, to->session);
        telling_put(outbox, to->route, r->user, &item, received, now_us);
    }
    if (r->digest) {
        item = (struct nearby_item){
            .kind = NEARBY_ITEM_DIGEST,
            .digest = {
                .session = to->session, .time = r->time, .count = r->digest_count, .hash = (int64_t)r->digest_hash}};
        telling_put(outbox, to->route, r->user, &item, received, now_us);
    }
}

size_t telling_result(struct deliver *outbox, const struct join_result *r, int64_t received, int64_t now_us) {
    put_moves(outbox, r, received, now_us);
    for (size_t i = 0; i < r->answer_count; i++) put_answer(outbox, r, &r->answers[i], received, now_us);
    return r->recipient_count + r->rounded_recipient_count + r->roster_count;
}

void telling_parted(struct deliver *outbox, const int32_t *routes, size_t count, int64_t user, int64_t friend,
                    int64_t now_us) {
    struct nearby_item item = {.kind = NEARBY_ITEM_PARTED, .parted = {.friend = friend}};
    for (size_t i = 0; i < count; i++) telling_put(outbox, routes[i], user, &item, 0, now_us);
}
