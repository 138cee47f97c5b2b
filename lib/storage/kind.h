/* A kind of storage: what stands behind storage/storage.h, as a table of functions. The contracts are those of the functions of the same
 * names there. Each kind has structs of its own, with these as their first members. Private to lib/storage. */
#pragma once

#include "storage/storage.h"

struct storage_kind {
    void (*close)(struct storage *storage);
    int (*list)(struct storage *storage, const char *folder, storage_found *found, void *context, struct error *error);
    int (*remove)(struct storage *storage, const char *path, struct error *error);
    int (*sweep)(struct storage *storage, const char *folder, bool (*ours)(void *context, const char *name),
                 void *context, struct error *error);
    int (*create)(struct storage *storage, const char *path, struct storage_writer **writer, struct error *error);
    int (*write)(struct storage_writer *writer, const void *bytes, size_t size, struct error *error);
    int (*finish)(struct storage_writer *writer, bool replace, struct error *error); /* publish, or replace */
    void (*abandon)(struct storage_writer *writer);
    int (*read_open)(struct storage *storage, const char *path, struct storage_reader **reader, struct error *error);
    ssize_t (*read)(struct storage_reader *reader, void *bytes, size_t size, struct error *error);
    void (*read_close)(struct storage_reader *reader);
};

struct storage {
    const struct storage_kind *kind;
};

struct storage_writer {
    const struct storage_kind *kind;
    int64_t written; /* bytes */
};

struct storage_reader {
    const struct storage_kind *kind;
};

int storage_local_open(const struct storage_options *options, struct storage **storage, struct error *error);
int storage_s3_open(const struct storage_options *options, struct storage **storage, struct error *error);
