/* Gateways and edges know every user's sharing mode, profile and muted friends from these copies of the topics `sharing` and `nearby-mutes`
 * (in memory) and `profiles` (on disk), which one consumer reads. Loop's thread. */
#pragma once

#include "users/mutes.h"
#include "users/profiles.h"
#include "users/sharing_modes.h"

struct user_copies;

struct user_copies_options {
    uv_loop_t *loop;
    const struct kafka_settings *settings;
    const char *data_dir; /* profiles lie in its folder "profiles" */
    int partitions;
    struct log *log;
    struct metrics *metrics;
    struct kafka_producer *dead_letters; /* borrowed */
    void *context;
    int64_t (*now)(void *context);   /* ms, by which sharing ends; NULL: there is no such clock here */
    void (*on_ready)(void *context); /* once; NULL: not wanted */
    /* After that; also when sharing ends by itself. NULL: not wanted. */
    void (*on_sharing)(void *context, int64_t user, enum sharing_mode mode, int64_t offset);
    void (*on_profile)(void *context, int64_t user);
    void (*on_mute)(void *context, int64_t user, int64_t other, bool muted);
};

/* *copies is set also when this fails: half-built, to be freed. */
int user_copies_new(const struct user_copies_options *options, struct user_copies **copies, struct error *error);
void user_copies_free(struct user_copies *copies); /* NULL is fine */

bool user_copies_ready(const struct user_copies *copies);
struct sharing_modes *user_copies_modes(struct user_copies *copies); /* lives as long */
struct profiles *user_copies_profiles(struct user_copies *copies);   /* lives as long */
struct mutes *user_copies_mutes(struct user_copies *copies);         /* lives as long */
