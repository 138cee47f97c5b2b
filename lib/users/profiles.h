/* Profiles of users, and how they are written: a copy of the topic `profiles` on this machine's disk. One thread. */
#pragma once

#include "base/log.h"
#include "copies/copies.h"
#include "event/codec.h"

struct profiles;

/* Appends the value of a user's record: of version 1, which the last release reads, if there is neither a bio nor a URL. */
void profile_encode(struct buffer *out, const struct profile *profile);

struct profiles_options {
    const char *data_dir; /* the copy lies in its folder "profiles" */
    int partitions;       /* of the topic */
    struct log *log;
    void *context;
    void (*on_change)(void *context, int64_t user); /* after the copies are ready; NULL: not wanted */
};

/* Fails as copy_disk_open does. */
int profiles_open(const struct profiles_options *options, struct profiles **profiles, struct error *error);
void profiles_close(struct profiles *profiles); /* after the copies; NULL is fine */

/* The table entry for copies_new. */
struct copy_definition profiles_copy(struct profiles *profiles);

/* The user's profile, its texts valid until the next call. false: the user has none, or it cannot be read now; callers go on without
 * it. */
bool profiles_find(struct profiles *profiles, int64_t user, struct profile *profile);
