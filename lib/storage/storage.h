/* A tree of files that several processes write: a local directory (or NFS), or a bucket of an S3 server. Files appear whole or not at all,
 * and one name is given once.
 *
 *     storage_create --> storage_write ... --+--> storage_publish   visible, whole and durable; -EEXIST: another one has the name
 *        (hidden)                            +--> storage_replace   the same, in the place of what had the name
 *                                            +--> storage_abandon   nothing is left
 *
 * Paths are relative to the root, with '/' between names; folders come and go with the files in them. Hidden files of a process
 * that was killed stay until storage_sweep.
 *
 * All calls block. Each thread opens a storage of its own; several, in several processes, may stand for the same tree. Functions
 * return 0 or a negative errno code with the reason.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct storage;
struct storage_writer;
struct storage_reader;

struct storage_options {
    const char *place;       /* a directory, or s3://bucket/prefix */
    const char *s3_endpoint; /* https://host[:port]; the rest is for s3:// only, too */
    const char *s3_region, *s3_access_key, *s3_secret_key;
};

/* Touches nothing yet. Copies the options. */
int storage_open(const struct storage_options *options, struct storage **storage, struct error *error);
void storage_close(struct storage *storage); /* NULL is fine */

/* Makes the directory, if it is one, where there is none: for a daemon's start. */
int storage_prepare(const char *place, struct error *error);

/* Something right in a folder. Hidden files are not told. */
struct storage_entry {
    const char *name;   /* valid during the call */
    int64_t changed_ms; /* when it was published, by the clock of the storage; of a folder it means nothing */
};
typedef void storage_found(void *context, const struct storage_entry *entry);

/* Everything in a folder ("" is the root), in no order. A folder that is not there is empty; the root must be there (-ENOENT), so that
 * a disk that is not mounted does not look like a storage without files. */
int storage_list(struct storage *storage, const char *folder, storage_found *found, void *context, struct error *error);

/* Removes the file, and the folders that are empty without it. 0 as well if it is gone. */
int storage_remove(struct storage *storage, const char *path, struct error *error);

/* Removes what is hidden in a folder: `ours` says of each file's name (the one that it was to get) whether it goes. Its writer, if there is
 * one after all, fails to write or to publish with -EEXIST. 1: that was done in all folders below, too, as in a bucket, where a folder
 * without a file that is whole is not listed; 0: there was only this one. */
int storage_sweep(struct storage *storage, const char *folder, bool (*ours)(void *context, const char *name),
                  void *context, struct error *error);

int storage_create(struct storage *storage, const char *path, struct storage_writer **writer, struct error *error);
int storage_write(struct storage_writer *writer, const void *bytes, size_t size,
                  struct error *error);                       /* -EEXIST: was swept */
int64_t storage_written(const struct storage_writer *writer); /* bytes */
/* These free the writer, whatever they return; after a failure nothing of it is left. */
int storage_publish(struct storage_writer *writer, struct error *error);
int storage_replace(struct storage_writer *writer, struct error *error);
void storage_abandon(struct storage_writer *writer); /* NULL is fine */

/* A published file from its beginning; -ENOENT: there is none. A file that is removed or replaced meanwhile is read to its end, or fails. */
int storage_read_open(struct storage *storage, const char *path, struct storage_reader **reader, struct error *error);
ssize_t storage_read(struct storage_reader *reader, void *bytes, size_t size, struct error *error); /* 0: its end */
void storage_read_close(struct storage_reader *reader);                                             /* NULL is fine */
