/* Between the files of tests/unit/comments. */
#pragma once

#include "base/hash.h"
#include "comments/decisions.h"
#include "unit/comments/model.h"
#include "unit/comments/world.h"

enum { WORLD_PARTITIONS = 2, WORLD_PROCESSES = 3, WORLD_COMMANDS_MAX = 600 };

struct world_record {
    const struct topic *topic;
    uint8_t *bytes; /* key, then value */
    size_t key_size, value_size;
    bool tombstone;
    int64_t time_ms;
};

struct world_log {
    struct world_record *items;
    size_t count, capacity;
};

/* The newest record of a comment in comments-wide. */
struct world_wide {
    int64_t id;
    enum comment_wide_state state;
    size_t text_size;
    int reports, level;
};

struct world_process {
    struct store *store;
    struct threads *threads;
    struct overlay *overlays[THREADS_STATES];
    struct decisions *decisions;
    struct comments_world *world;
    int generation[WORLD_PARTITIONS]; /* in which it became the owner; -1: it is none, as far as it knows */
    int64_t next[WORLD_PARTITIONS];   /* the command to decide */
    size_t restore[WORLD_PARTITIONS][THREADS_STATES]; /* the ends that it must have read before it decides */
};

struct comments_world {
    struct world_process processes[WORLD_PROCESSES];
    char *folder;
    uint64_t random;
    enum comments_rule without;
    int64_t now_ms;
    char name[48];                                                 /* that was last asked for */
    struct world_log logs[THREADS_STATES][WORLD_PARTITIONS], open; /* open: of the transaction that is being written */
    int open_partition[8192];
    struct model_command commands[WORLD_COMMANDS_MAX]; /* in the order of the topic, over both partitions */
    struct comment_item items[WORLD_COMMANDS_MAX];
    size_t command_count;
    size_t of_partition[WORLD_PARTITIONS][WORLD_COMMANDS_MAX], partition_count[WORLD_PARTITIONS];
    int64_t committed[WORLD_PARTITIONS];
    int generation[WORLD_PARTITIONS], owner[WORLD_PARTITIONS];
    char keys[WORLD_COMMANDS_MAX][16];
    struct world_wide wide[4 * WORLD_COMMANDS_MAX];
    size_t wide_count;
    struct model_notice notices[MODEL_NOTICES_MAX]; /* as their records say */
    size_t notice_count;
    struct codec *codec;
    struct model model;
    struct comments_history history;
};

extern const struct event_text WORLD_SUBJECTS[MODEL_SUBJECTS];

uint64_t world_chance(struct comments_world *world, uint64_t below);
struct world_wide *world_wide(struct comments_world *world, int64_t id); /* NULL: there is none */
void world_draw(struct comments_world *world);                           /* writes a random command */

/* Notes the first difference. */
void world_wrong(struct comments_world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
void world_compare_notices(struct comments_world *world);
/* Reads pages as clients do: they have what the process's store has, which may be behind the model. */
void world_read_pages(struct comments_world *world, struct world_process *process, int32_t partition);
void world_compare(struct comments_world *world, struct world_process *process, int32_t partition);
