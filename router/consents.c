#include "router/consents.h"

#include <stdlib.h>

#include "base/maps.h"
#include "base/mem.h"

enum { USERS_BITS = 8 }; /* of the parts of a partition's users */

struct consents_part {
    struct maps *users; /* user -> offset * 4 + mode; NULL: not attached */
    uint32_t attachment;
    int64_t told; /* committed: opt-outs before it need no LEAVE */
    int64_t next; /* behind the last record */
    size_t under_way;
    bool lost;
};

struct consents {
    int32_t partitions;
    struct consents_part *parts;
};

struct consents *consents_new(int32_t partitions) {
    struct consents *consents = mem_alloc(sizeof *consents);
    *consents =
        (struct consents){.partitions = partitions, .parts = mem_zero((size_t)partitions, sizeof *consents->parts)};
    return consents;
}

void consents_free(struct consents *consents) {
    if (!consents) return;
    for (int32_t p = 0; p < consents->partitions; p++) maps_free(consents->parts[p].users);
    free(consents->parts);
    free(consents);
}

void consents_attach(struct consents *consents, int32_t partition, int64_t told) {
    struct consents_part *part = &consents->parts[partition];
    maps_free(part->users);
    *part = (struct consents_part){
        .users = maps_new(USERS_BITS), .attachment = part->attachment + 1, .told = told < 0 ? 0 : told};
}

void consents_detach(struct consents *consents, int32_t partition) {
    struct consents_part *part = &consents->parts[partition];
    maps_free(part->users);
    *part = (struct consents_part){.users = NULL, .attachment = part->attachment + 1};
}

void consents_watch(struct consents *consents, int32_t partition) {
    struct consents_part *part = &consents->parts[partition];
    *part = (struct consents_part){.users = part->users ? part->users : maps_new(USERS_BITS),
                                   .attachment = part->attachment + 1,
                                   .told = INT64_MAX,
                                   .next = part->next};
}

bool consents_resume(struct consents *consents, int32_t partition, int64_t told, int64_t *from) {
    struct consents_part *part = &consents->parts[partition];
    part->told = told < 0 ? 0 : told;
    if (part->next <= part->told) return false;
    part->next = *from = part->told;
    return true;
}

bool consents_record(struct consents *consents, int32_t partition, int64_t user, enum sharing_mode mode,
                     int64_t offset) {
    struct consents_part *part = &consents->parts[partition];
    if (!part->users) return false;
    *maps_put(part->users, (uint64_t)user, NULL) = (uint64_t)offset << 2 | (uint64_t)mode;
    part->next = offset + 1;
    return mode == SHARING_OFF && offset >= part->told;
}

void consents_pass(struct consents *consents, int32_t partition, int64_t offset) {
    consents->parts[partition].next = offset + 1;
}

bool consents_refuses(const struct consents *consents, int32_t partition, int64_t user, int64_t opted,
                      int64_t *offset) {
    const struct consents_part *part = &consents->parts[partition];
    const uint64_t *value = part->users ? maps_find(part->users, (uint64_t)user) : NULL;
    *offset = value ? (int64_t)(*value >> 2) : -1;
    bool off = !value || (*value & 3) == SHARING_OFF;
    return off && opted <= *offset;
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
