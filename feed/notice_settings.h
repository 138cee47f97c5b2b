/* What users have read of their notices, and how they are told, of open partitions: the topic `notice-settings`, in a table store of
 * families "notice-settings-P". A row's key is the user. One thread.
 */
#pragma once

#include "event/codec.h"
#include "state/table_store.h"

enum { NOTICE_SETTINGS_KEY_SIZE = 8 };

struct notice_settings_store;

struct notice_settings_store *notice_settings_store_new(struct store *store,
                                                        int32_t partitions); /* the store is longer-lived */
void notice_settings_store_free(struct notice_settings_store *settings); /* what is gathered is lost; NULL is fine */

struct table_store *notice_settings_table(
    struct notice_settings_store *settings); /* takes the records; lives as long */

/* Those of a user, or zeros: nothing is read. 0 or a negative errno code; -EBADMSG: damaged. */
int notice_settings_of(struct notice_settings_store *settings, int32_t partition, int64_t user,
                       struct notice_settings *found, struct error *error);
