/* A copy of profiles in a folder of its own, which the test fills itself. The test's thread. */
#pragma once

#include "users/profiles.h"

struct some_profiles {
    char *folder;
    struct profiles *profiles;
};

void some_profiles_open(struct some_profiles *some);
void some_profiles_name(struct some_profiles *some, int64_t user, const char *name);
void some_profiles_close(struct some_profiles *some);
