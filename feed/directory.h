/* The numbers of users whom a sign-in provider knows by texts (service/external_id.h), of open partitions: the topic `directory`, in a table
 * store of families "directory-P". A row's key is the number with the place 0; the row has the texts by place.
 *
 *     a gateway or edge asks --> no row has the text --> directory-commands --decide--> directory --> answer
 *
 * The owner writes the command itself, and answers from what was read back, so that nobody hears a number that is not decided. One thread.
 */
#pragma once

#include "event/codec.h"
#include "service/external_id.h"
#include "state/table_store.h"

enum { DIRECTORY_KEY_SIZE = 8 };

struct directory_row {
    size_t count;
    char externals[EXTERNAL_ID_PLACES][EXTERNAL_ID_SIZE]; /* "": forgotten; its place is not given again */
};

struct directory_store;

struct directory_store *directory_store_new(struct store *store, int32_t partitions); /* the store is longer-lived */
void directory_store_free(struct directory_store *directory); /* what is gathered is lost; NULL is fine */

struct table_store *directory_table(struct directory_store *directory); /* takes the records; lives as long */

/* The row of a number, whatever its place. 0 or a negative errno code; -EBADMSG: damaged. */
int directory_row_of(struct directory_store *directory, int32_t partition, int64_t user, struct directory_row *row,
                     struct error *error);

/* The number of a text in its row; -1: it has none. */
int64_t directory_number(const struct directory_row *row, const char *external);

/* The rules. False: the row stays as it is; also if all places are taken. */
bool directory_sign_in(struct directory_row *row, const char *external);
bool directory_forget(struct directory_row *row, int64_t user);

/* NULL, or the reason why the command is a dead letter. */
const char *directory_complaint(const struct directory_command *command);
