/* The handles of attached partitions: the records of the topic `names` on disk (state/table_store.h), read into the structs of the rules
 * (feed/names_rules.h). One thread.
 *
 * Functions return 0 or a negative errno code. -EBADMSG: a value is damaged; table_store_reset and reading the topic from its beginning mend
 * it.
 */
#pragma once

#include "feed/names_rules.h"
#include "state/table_store.h"

struct names;

struct names *names_new(struct store *store, int32_t partitions); /* the store is longer-lived */
void names_free(struct names *names);                             /* what is gathered is lost; NULL is fine */

struct table_store *names_table(struct names *names); /* open partitions and take records there; lives as long */

table_store_take names_complaint; /* of a record of the topic; context: the names */

int names_of_user(struct names *names, int32_t partition, int64_t user, struct name_of_user *name, struct error *error);
int names_of_handle(struct names *names, int32_t partition, const char *handle, struct name_of_handle *name,
                    struct error *error);
