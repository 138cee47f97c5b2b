#include "router/consents.h"

#include <stdlib.h>

#include "base/maps.h"
#include "base/mem.h"
#include "users/ends.h"

enum {
    USERS_BITS = 8, /* of the parts of a partition's users */
    ENDED_FIRST = 16
};

struct consents_part {
    struct maps *users; /* user -> offset * 4 + mode; NULL: not attached */
    struct ends *ends;  /* of modes that are not OFF yet */
    struct consents_end *ended;
    size_t ended_count, ended_capacity;
    uint32_t attachment;
    int64_t told; /* committed: opt-outs before it need no LEAVE */
    int64_t next; /* behind the last record */
    size_t under_way;
    bool lost;
};

struct consents {
    int32_t partitions;
    int64_t keep_ms;
    int64_t soonest; /* no end is before it */
    struct consents_part *parts;
};

struct consents *consents_new(int32_t partitions, int64_t keep_ms) {
    struct consents *consents = mem_alloc(sizeof *consents);
    *consents = (struct consents){.partitions = partitions,
                                  .keep_ms = keep_ms,
                                  .soonest = INT64_MAX,
                                  .parts = mem_zero((size_t)partitions, sizeof *consents->parts)};
    return consents;
}

/* The part is not attached afterwards. */
static void empty(struct consents_part *part) {
    maps_free(part->users);
    ends_free(part->ends);
    free(part->ended);
    *part = (struct consents_part){.attachment = part->attachment + 1};
}

static void fill(struct consents_part *part) {
    part->users = maps_new(USERS_BITS);
    part->ends = ends_new();
}

void consents_free(struct consents *consents) {
    if (!consents) return;
    for (int32_t p = 0; p < consents->partitions; p++) empty(&consents->parts[p]);
    free(consents->parts);
    free(consents);
}

void consents_attach(struct consents *consents, int32_t partition, int64_t told) {
    struct consents_part *part = &consents->parts[partition];
    empty(part);
    fill(part);
    part->told = told < 0 ? 0 : told;
}

void consents_detach(struct consents *consents, int32_t partition) { empty(&consents->parts[partition]); }

void consents_watch(struct consents *consents, int32_t partition) {
    struct consents_part *part = &consents->parts[partition];
    if (!part->users) fill(part);
    part->attachment++;
    part->told = INT64_MAX;
    part->under_way = 0;
    part->lost = false;
}

bool consents_resume(struct consents *consents, int32_t partition, int64_t told, int64_t *from) {
    struct consents_part *part = &consents->parts[partition];
    part->told = told < 0 ? 0 : told;
    if (part->next <= part->told) return false;
    part->next = *from = part->told;
    return true;
}

static void keep_end(struct consents_part *part, struct consents_end end) {
    if (part->ended_count == part->ended_capacity) {
        part->ended_capacity = part->ended_capacity ? 2 * part->ended_capacity : ENDED_FIRST;
        part->ended = mem_resize(part->ended, part->ended_capacity, sizeof *part->ended);
    }
    part->ended[part->ended_count++] = end;
}

bool consents_record(struct consents *consents, int32_t partition, int64_t user, const struct sharing *sharing,
                     int64_t offset, int64_t now) {
    struct consents_part *part = &consents->parts[partition];
    if (!part->users) return false;
    bool ends = sharing->mode != SHARING_OFF && sharing->until;
    bool ended = ends && sharing->until <= now;
    enum sharing_mode mode = ended ? SHARING_OFF : sharing->mode;
    *maps_put(part->users, (uint64_t)user, NULL) = (uint64_t)offset << 2 | (uint64_t)mode;
    ends_set(part->ends, user, ends && !ended ? sharing->until : 0);
    if (ends && sharing->until < consents->soonest) consents->soonest = sharing->until;
    if (ended && now - sharing->until < consents->keep_ms)
        keep_end(part, (struct consents_end){.user = user, .offset = offset, .time = sharing->until});
    part->next = offset + 1;
    return sharing->mode == SHARING_OFF && offset >= part->told;
}

int64_t consents_soonest(const struct consents *consents) { return consents->soonest; }

bool consents_take_end(struct consents *consents, int64_t now, int32_t *partition, struct consents_end *end) {
    int64_t soonest = INT64_MAX;
    for (int32_t p = 0; p < consents->partitions; p++) {
        struct consents_part *part = &consents->parts[p];
        if (!part->users) continue;
        if (ends_take(part->ends, now, &end->user, &end->time)) {
            uint64_t *value = maps_find(part->users, (uint64_t)end->user);
            end->offset = (int64_t)(*value >> 2);
            *value = (uint64_t)end->offset << 2 | SHARING_OFF;
            if (now - end->time < consents->keep_ms) keep_end(part, *end);
            *partition = p;
            return true;
        }
        if (ends_soonest(part->ends) < soonest) soonest = ends_soonest(part->ends);
    }
    consents->soonest = soonest;
    return false;
}

void consents_look(struct consents *consents, int32_t partition, int64_t now, void *context,
                   bool (*look)(void *context, const struct consents_end *end)) {
    struct consents_part *part = &consents->parts[partition];
    size_t kept = 0;
    for (size_t i = 0; i < part->ended_count; i++) {
        struct consents_end end = part->ended[i];
        // A newer record has taken its place: else who sets an end again and again would fill the list.
        if (*maps_find(part->users, (uint64_t)end.user) >> 2 != (uint64_t)end.offset) continue;
        if (now - end.time < consents->keep_ms && look(context, &end)) part->ended[kept++] = end;
    }
    part->ended_count = kept;
}

void consents_pass(struct consents *consents, int32_t partition, int64_t offset) {
    consents->parts[partition].next = offset + 1;
}

bool consents_refuses(const struct consents *consents, int32_t partition, int64_t user, int64_t opted,
                      int64_t *offset) {
    const struct consents_part *part = &consents->parts[partition];
    const uint64_t *value = part->users ? maps_find(part->users, (uint64_t)user) : NULL;
    *offset = value ? (int64_t)(*value >> 2) : -1;
    return consents_mode(consents, partition, user) == SHARING_OFF && opted <= *offset;
}

enum sharing_mode consents_mode(const struct consents *consents, int32_t partition, int64_t user) {
    const struct consents_part *part = &consents->parts[partition];
    const uint64_t *value = part->users ? maps_find(part->users, (uint64_t)user) : NULL;
    return value ? (enum sharing_mode)(*value & 3) : SHARING_OFF;
}

uint64_t consents_sent(struct consents *consents, int32_t partition) {
    struct consents_part *part = &consents->parts[partition];
    part->under_way++;
    return (uint64_t)part->attachment << 32 | (uint32_t)partition;
}

void consents_acknowledge(struct consents *consents, uint64_t ticket, bool stored) {
    struct consents_part *part = &consents->parts[(uint32_t)ticket];
    if (part->attachment != (uint32_t)(ticket >> 32) || !part->users) return; // of an ownership that is over
    part->under_way--;
    if (!stored) part->lost = true;
}

void consents_failed(struct consents *consents, int32_t partition) { consents->parts[partition].lost = true; }

bool consents_committable(struct consents *consents, int32_t partition, int64_t *told) {
    const struct consents_part *part = &consents->parts[partition];
    if (!part->users || part->under_way || part->lost || part->next <= part->told) return false;
    *told = part->next;
    return true;
}

void consents_committed(struct consents *consents, int32_t partition, int64_t told) {
    consents->parts[partition].told = told;
}

bool consents_restart(struct consents *consents, int32_t partition, int64_t *told) {
    struct consents_part *part = &consents->parts[partition];
    if (!part->lost || part->under_way) return false;
    part->lost = false;
    part->next = 0;
    *told = part->told;
    return true;
}

int64_t consents_told(const struct consents *consents, int32_t partition) { return consents->parts[partition].told; }

size_t consents_count(const struct consents *consents) {
    size_t count = 0;
    for (int32_t p = 0; p < consents->partitions; p++) {
        if (consents->parts[p].users) count += maps_count(consents->parts[p].users);
    }
    return count;
}
