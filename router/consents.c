#include "router/consents.h"

#include <stdlib.h>

#include "base/maps.h"
#include "base/mem.h"
#include "users/ends.h"

enum {
    USERS_BITS = 8, /* of the parts of a partition's users */
    ENDED = 3       /* beside the modes: one that has ended by itself */
};
#define TICKET_OF_END (UINT32_C(1) << 31) /* beside the partition; an epoch a second does not come that far */

struct kept_end {
    struct consents_end end;
    uint32_t sent; /* the sending in which its LEAVE went out; 0: in none */
};

struct consents_part {
    struct maps *users;     /* user -> offset * 4 + mode, or ENDED; NULL: not attached */
    struct map *returned;   /* user -> offset of the last OFF that was followed by another mode */
    struct ends *ends;      /* of modes that are not OFF yet */
    struct kept_end *ended; /* in no order */
    size_t ended_count, ended_capacity;
    size_t at;        /* the next one of the round */
    uint32_t sending; /* of LEAVEs of ends, from 1: another one begins when one of them is lost */
    int64_t next;     /* behind the last record */
};

struct consents {
    int32_t partitions;
    int64_t keep_ms;
    int64_t soonest; /* no end is before it */
    int32_t round;   /* the partition where it is; `partitions`: it is over */
    struct consents_part *parts;
};

struct consents *consents_new(int32_t partitions, int64_t keep_ms) {
    struct consents *consents =
        MEM_NEW(&(struct consents){.partitions = partitions,
                                   .keep_ms = keep_ms,
                                   .soonest = INT64_MAX,
                                   .round = partitions,
                                   .parts = mem_zero((size_t)partitions, sizeof *consents->parts)});
    return consents;
}

/* The part is not attached afterwards. */
static void empty(struct consents_part *part) {
    maps_free(part->users);
    map_free(part->returned);
    ends_free(part->ends);
    free(part->ended);
    *part = (struct consents_part){.sending = part->sending + 1};
}

void consents_free(struct consents *consents) {
    if (!consents) return;
    for (int32_t p = 0; p < consents->partitions; p++) empty(&consents->parts[p]);
    free(consents->parts);
    free(consents);
}

void consents_attach(struct consents *consents, int32_t partition) {
    struct consents_part *part = &consents->parts[partition];
    empty(part);
    part->users = maps_new(USERS_BITS);
    part->returned = map_new();
    part->ends = ends_new();
}

void consents_detach(struct consents *consents, int32_t partition) { empty(&consents->parts[partition]); }

static void keep_end(struct consents_part *part, struct kept_end end) {
    MEM_ROOM(part->ended, part->ended_count, part->ended_capacity);
    part->ended[part->ended_count++] = end;
}

void consents_record(struct consents *consents, int32_t partition, int64_t user, const struct sharing *sharing,
                     int64_t offset, int64_t now) {
    struct consents_part *part = &consents->parts[partition];
    if (!part->users) return;
    bool ends = sharing->mode != SHARING_OFF && sharing->until;
    bool ended = ends && sharing->until <= now;
    uint64_t mode = ended ? ENDED : (uint64_t)sharing->mode;
    *maps_put(part->users, (uint64_t)user, NULL) = (uint64_t)offset << 2 | mode;
    ends_set(part->ends, user, ends && !ended ? sharing->until : 0);
    if (ends && sharing->until < consents->soonest) consents->soonest = sharing->until;
    if (ended && now - sharing->until < consents->keep_ms)
        keep_end(part, (struct kept_end){.end = {.user = user, .offset = offset, .time = sharing->until}});
    part->next = offset + 1;
}

int64_t consents_soonest(const struct consents *consents) { return consents->soonest; }

/* ---- ends ---- */

/* False: the end need not be kept. */
static bool look_at(struct consents_part *part, int32_t partition, struct kept_end *kept, void *context,
                    consents_look *look) {
    enum consents_fate fate = look(context, partition, &kept->end, kept->sent == part->sending);
    if (fate == CONSENTS_SENT) kept->sent = part->sending;
    return fate != CONSENTS_DONE;
}

void consents_end_due(struct consents *consents, int64_t now, size_t *budget, void *context, consents_look *look) {
    int64_t soonest = INT64_MAX;
    if (!*budget || now < consents->soonest) return;
    for (int32_t p = 0; p < consents->partitions; p++) {
        struct consents_part *part = &consents->parts[p];
        struct kept_end kept = {.sent = 0};
        if (!part->users) continue;
        while (*budget && ends_take(part->ends, now, &kept.end.user, &kept.end.time)) {
            uint64_t *value = maps_find(part->users, (uint64_t)kept.end.user);
            --*budget;
            kept.sent = 0;
            kept.end.offset = (int64_t)(*value >> 2);
            *value = (uint64_t)kept.end.offset << 2 | ENDED;
            if (now - kept.end.time < consents->keep_ms && look_at(part, p, &kept, context, look)) keep_end(part, kept);
        }
        if (ends_soonest(part->ends) < soonest) soonest = ends_soonest(part->ends);
    }
    consents->soonest = soonest;
}

void consents_begin_round(struct consents *consents) {
    if (consents->round == consents->partitions) consents->round = 0;
}

void consents_go_round(struct consents *consents, int64_t now, size_t *budget, void *context, consents_look *look) {
    while (*budget && consents->round < consents->partitions) {
        struct consents_part *part = &consents->parts[consents->round];
        if (part->at >= part->ended_count) {
            part->at = 0;
            consents->round++;
            continue;
        }
        struct kept_end *kept = &part->ended[part->at];
        --*budget;
        // A newer record has taken its place: else a user who sets an end again and again would fill the list.
        bool counts = *maps_find(part->users, (uint64_t)kept->end.user) >> 2 == (uint64_t)kept->end.offset &&
                      now - kept->end.time < consents->keep_ms;
        if (counts && look_at(part, consents->round, kept, context, look))
            part->at++;
        else
            *kept = part->ended[--part->ended_count];
    }
}

void consents_pass(struct consents *consents, int32_t partition, int64_t offset) {
    consents->parts[partition].next = offset + 1;
}

bool consents_refuses(const struct consents *consents, int32_t partition, int64_t user, int64_t opted, int64_t now,
                      int64_t *offset) {
    const struct consents_part *part = &consents->parts[partition];
    const uint64_t *value = part->users ? maps_find(part->users, (uint64_t)user) : NULL;
    *offset = value ? (int64_t)(*value >> 2) : -1;
    return consents_mode(consents, partition, user, now) == SHARING_OFF && opted <= *offset;
}

enum sharing_mode consents_mode(const struct consents *consents, int32_t partition, int64_t user, int64_t now) {
    const struct consents_part *part = &consents->parts[partition];
    const uint64_t *value = part->users ? maps_find(part->users, (uint64_t)user) : NULL;
    if (!value) return SHARING_OFF;
    if (now >= consents->soonest) { // ends are due that were not worked off
        int64_t end = ends_of(part->ends, user);
        if (end && end <= now) return SHARING_OFF;
    }
    return (*value & 3) == ENDED ? SHARING_OFF : (enum sharing_mode)(*value & 3);
}

int64_t consents_off(const struct consents *consents, int32_t partition, int64_t user) {
    const struct consents_part *part = &consents->parts[partition];
    const uint64_t *value = part->users ? maps_find(part->users, (uint64_t)user) : NULL;
    return value && (*value & 3) == SHARING_OFF ? (int64_t)(*value >> 2) : -1;
}

void consents_note_return(struct consents *consents, int32_t partition, int64_t user, int64_t off) {
    struct map *returned = consents->parts[partition].returned;
    if (returned) *map_put(returned, (uint64_t)user, NULL) = (uint64_t)off;
}

int64_t consents_returned(const struct consents *consents, int32_t partition, int64_t user) {
    const struct map *returned = consents->parts[partition].returned;
    const uint64_t *off = returned ? map_find(returned, (uint64_t)user) : NULL;
    return off ? (int64_t)*off : -1;
}

uint64_t consents_sent_end(const struct consents *consents, int32_t partition) {
    return (uint64_t)consents->parts[partition].sending << 32 | TICKET_OF_END | (uint32_t)partition;
}

bool consents_acknowledge(struct consents *consents, uint64_t ticket, bool stored) {
    if (!((uint32_t)ticket & TICKET_OF_END)) return false;
    struct consents_part *part = &consents->parts[(uint32_t)ticket & ~TICKET_OF_END];
    if (!stored && part->sending == (uint32_t)(ticket >> 32)) part->sending++;
    return true;
}

int64_t consents_next(const struct consents *consents, int32_t partition) { return consents->parts[partition].next; }

size_t consents_count(const struct consents *consents) {
    size_t count = 0;
    for (int32_t p = 0; p < consents->partitions; p++)
        if (consents->parts[p].users) count += maps_count(consents->parts[p].users);
    return count;
}
