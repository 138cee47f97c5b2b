/* The lists of whom users follow and mute, and of their followers: the content of the topic `follows`, of attached partitions, in
 * lib/adjacency's lists. Both halves of a follow are here if both users' partitions are. The time of a half's record is kept for a day
 * or two: no list shows it, but an old block must not end a new follow (feed/rules.h). One thread.
 *
 *     list of a user      FOLLOWING: whom the user follows      FOLLOWERS: who follows the user      MUTED: whom the user mutes
 *                         REQUESTED: who has asked to follow the user                  REQUESTING: whom the user has asked
 *
 * Functions return the codes of lib/adjacency.
 */
#pragma once

#include "adjacency/adjacency.h"
#include "event/codec.h"
#include "feed/recent.h"
#include "state/list_store.h"
#include "users/relation.h"

struct relation_lists;

struct relation_lists_options {
    const char *path; /* of its database */
    int32_t partitions;
    size_t memory_bytes; /* as adjacency_options */
    size_t chunk;        /* 0: ADJACENCY_CHUNK */
    int64_t max_age_ms;  /* a partition that was last written longer ago has missed tombstones, and is read anew */
    size_t
        cache_bytes; /* of lists of follows and mutes that were read lately, beside RocksDB's cache (feed/recent.h); 0: none */
    void *context;
    void (*failed)(void *context, int32_t partition, int code, const struct error *error); /* as list_store_options */
};

int relation_lists_open(const struct relation_lists_options *options, struct relation_lists **lists,
                        struct error *error);
void relation_lists_close(struct relation_lists *lists); /* NULL is fine */

/* All ids of a list, sorted. Lists of follows and mutes that were read lately are in memory. */
int relation_lists_all(struct relation_lists *lists, int32_t partition, int64_t user, enum relation relation,
                       struct id_list *ids, struct error *error);
/* The next ids above `after` that lie together; empty at the end. Begins with -1. */
int relation_lists_slice(struct relation_lists *lists, int32_t partition, int64_t user, enum relation relation,
                         int64_t after, struct id_list *ids, struct error *error);
int relation_lists_count(struct relation_lists *lists, int32_t partition, int64_t user, enum relation relation,
                         size_t *count, struct error *error);
/* *count: as relation_lists_count; may be NULL. */
int relation_lists_has(struct relation_lists *lists, int32_t partition, const struct relation_half *half, bool *has,
                       size_t *count, struct error *error);

/* *since: the time of the half's record in Kafka (ms); 0: there is no half, or its time is no longer kept. */
int relation_lists_since(struct relation_lists *lists, int32_t partition, const struct relation_half *half, bool *has,
                         int64_t *since, struct error *error);

struct recent_usage relation_lists_cached(const struct relation_lists *lists);

/* Both live as long. The store is of LIST_STORE_KIND. */
struct adjacency *relation_lists_adjacency(struct relation_lists *lists);
struct list_store *relation_lists_store(struct relation_lists *lists);
/* The half of a record of that time, as the store takes it. */
struct list_entry relation_entry(int32_t partition, const struct relation_half *half, int64_t time_ms, bool set);
