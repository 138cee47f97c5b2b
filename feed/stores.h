/* The two databases of a feed process, lists of follows and everything else, and checkpoints of both.
 *
 *     DATA.DIR/follows   relation lists (feed/relations.h)      <--> CHECKPOINT.DIR/follows/checkpoint-...
 *     DATA.DIR/posts     posts, texts, blocks, inboxes, ages    <--> CHECKPOINT.DIR/posts/checkpoint-...
 *
 * Each part of a database says up to which offset it reflects its topic, so the two need not be of the same moment. Loop's thread.
 */
#pragma once

#include "base/log.h"
#include "base/loop.h"
#include "base/metrics.h"
#include "feed/relations.h"

struct stores;

struct stores_options {
    uv_loop_t *loop;
    struct log *log;
    struct metrics *metrics;
    const char *folder; /* of the databases; copied */
    int32_t partitions;
    size_t memory_bytes; /* a quarter for the lists */
    size_t cache_bytes;  /* of relation lists */
    int64_t max_age_ms;
    const char *checkpoint_folder; /* copied; "": none are made or used */
    int64_t checkpoint_every_ms;
    size_t checkpoint_keep;
    void *context;
    void (*lists_failed)(void *context, int32_t partition, int code,
                         const struct error *error);                       /* list_store_options */
    void (*on_opened)(void *context, int code, const struct error *error); /* see stores_open */
};

struct stores *stores_new(const struct stores_options *options);
void stores_free(struct stores *stores); /* closes both; not while busy; NULL is fine */

/* Opens both, once. 0: they are open; 1: a checkpoint is being copied, and on_opened will be called; negative: they cannot be opened. */
int stores_open(struct stores *stores, struct error *error);
void stores_stop(struct stores *stores); /* gives up a copy: on_opened then gets -ECANCELED */
bool stores_busy(const struct stores *stores);
void stores_second(struct stores *stores, bool whole, int64_t now_ms); /* as checkpoints_second */

struct relation_lists *stores_relations(const struct stores *stores);
struct store *stores_posts(const struct stores *stores);
