/* The state that all endpoints of accounts share, and the processes that they ask. Loop's thread. */
#ifndef INGEST_ACCOUNT_PARTS_H
#define INGEST_ACCOUNT_PARTS_H

#include "base/chance.h"
#include "service/peers.h"
#include "service/seal.h"
#include "users/belongings.h"
#include "users/user_copies.h"

struct account_gateway {
    struct user_copies *copies;
    struct peers *owners[BELONGING_OWNERS];
    int32_t subjects; /* partitions of subjects */
    struct erasing *erasing;
    struct chance chance;
    struct seal cursors; /* of exports: places among the rows of all users */
};

#endif
