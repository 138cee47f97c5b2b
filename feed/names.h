/* Who has which handle, in attached partitions: the records of the topic `names`, as the rules have them (feed/names_rules.h). One thread.
 *
 *     family "names-P"    user (8), or 0x80 handle    UserName or HandleUser, as it came
 *                         0xff                        next offset of `names`
 *
 * Functions return 0 or a negative errno code. -EBADMSG: a value is damaged; names_reset and reading the topic from its beginning mend
 * it.
 */
#ifndef FEED_NAMES_H
#define FEED_NAMES_H

#include "feed/names_rules.h"
#include "store/store.h"

struct names;

struct names *names_new(struct store *store, int32_t partitions); /* the store is longer-lived */
void names_free(struct names *names);                             /* what is gathered is lost; NULL is fine */

/* Opens a partition. *next: -1: nothing was read. */
int names_attach(struct names *names, int32_t partition, int64_t *next, struct error *error);
int names_reset(struct names *names, int32_t partition, struct error *error); /* forgets an attached one */

/* NULL: the record is one of the topic. Else why it is none; the text may be in error. */
const char *names_complaint(struct names *names, int32_t partition, const void *key, size_t key_size, const void *value,
                            size_t size, struct error *error);

/* Gathers such a record of an attached partition; value NULL is a tombstone. names_write writes all that is gathered. Records before the
 * stored offset are passed by. */
void names_take(struct names *names, int32_t partition, int64_t offset, const void *key, size_t key_size,
                const void *value, size_t size);
int names_write(struct names *names, struct error *error);
int64_t names_next(const struct names *names, int32_t partition);

int names_of_user(struct names *names, int32_t partition, int64_t user, struct name_of_user *name, struct error *error);
int names_of_handle(struct names *names, int32_t partition, const char *handle, struct name_of_handle *name,
                    struct error *error);

#endif
