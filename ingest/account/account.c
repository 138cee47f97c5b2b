#include "ingest/products.h"

#include <stdlib.h>

#include "base/mem.h"
#include "event/topics.h"
#include "ingest/account/erasing.h"
#include "ingest/account/parts.h"
#include "ingest/owners.h"

static bool ready(const void *of) { return user_copies_ready(((const struct account_gateway *)of)->copies); }

/* Questions under way end, and their requests are answered. */
static void account_stop(void *state) {
    struct account_gateway *account = state;
    if (!account) return;
    erasing_stop(account->erasing);
    for (size_t i = 0; i < BELONGING_OWNERS; i++) {
        peers_free(account->owners[i]);
        account->owners[i] = NULL;
    }
}

static void account_free(void *state) {
    struct account_gateway *account = state;
    if (!account) return;
    erasing_free(account->erasing);
    free(account);
}

static int start_owners(struct account_gateway *account, const struct product_options *options, struct error *error) {
    const struct product_groups *groups = &options->groups;
    const struct {
        const char *group;
        const struct topic *topic;
    } owners[BELONGING_OWNERS] = {
        [BELONGS_TO_ROUTERS] = {groups->routers, &TOPIC_LOCATIONS},
        [BELONGS_TO_FEEDS] = {groups->feeds, &TOPIC_POST_COMMANDS},
        [BELONGS_TO_MODERATION] = {groups->moderators, &TOPIC_COMMENTS_WIDE},
        [BELONGS_TO_COMMENTS] = {groups->comments, &TOPIC_COMMENT_COMMANDS},
        [BELONGS_TO_SINKS] = {groups->sinks, &TOPIC_LOCATIONS},
        [BELONGS_TO_PLACES] = {groups->places, &TOPIC_PLACE_COMMANDS},
    };
    int code = 0;
    for (size_t i = 0; !code && i < BELONGING_OWNERS; i++)
        code = owners_new(options, owners[i].group, owners[i].topic, &account->owners[i], error);
    return code;
}

static int account_start(const struct product_options *options, void **state, struct error *error) {
    struct account_gateway *account = MEM_NEW(&(struct account_gateway){
        .copies = options->copies,
        .writer = options->writer,
        .subjects = options->shape->partitions[TOPIC_SPACE_SUBJECTS],
        .chance = chance_new(),
    });
    int code = seal_of(service_settings(options->service)->peer_token, "cursors of exports", &account->cursors)
                   ? start_owners(account, options, error)
                   : error_set(error, -EIO, "no key can be made of peer.token");
    if (code) {
        account_stop(account);
        account_free(account);
        return code;
    }
    account->erasing = erasing_new(account, options);
    endpoints_add(options->endpoints, &EXPORT_ENDPOINTS, account, ready, account);
    endpoints_add(options->endpoints, &DEVICES_ENDPOINTS, account, ready, account);
    endpoints_add(options->endpoints, &ERASING_ENDPOINTS, account->erasing, ready, account);
    *state = account;
    return 0;
}

const struct product ACCOUNT_PRODUCT = {.start = account_start, .stop = account_stop, .free = account_free};
