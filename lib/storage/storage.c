#include "storage/storage.h"

#include <string.h>

#include "base/folders.h"
#include "storage/kind.h"

static bool is_bucket(const char *place) { return strncmp(place, "s3://", 5) == 0; }

int storage_prepare(const char *place, struct error *error) {
    return is_bucket(place) ? 0 : folders_make(place, error);
}

int storage_open(const struct storage_options *options, struct storage **storage, struct error *error) {
    return is_bucket(options->place) ? storage_s3_open(options, storage, error)
                                     : storage_local_open(options, storage, error);
}

void storage_close(struct storage *storage) {
    if (storage) storage->kind->close(storage);
}

int storage_list(struct storage *storage, const char *folder, storage_found *found, void *context,
                 struct error *error) {
    return storage->kind->list(storage, folder, found, context, error);
}

int storage_remove(struct storage *storage, const char *path, struct error *error) {
    return storage->kind->remove(storage, path, error);
}

int storage_sweep(struct storage *storage, const char *folder, bool (*ours)(void *context, const char *name),
                  void *context, struct error *error) {
    return storage->kind->sweep(storage, folder, ours, context, error);
}

int storage_create(struct storage *storage, const char *path, struct storage_writer **writer, struct error *error) {
    return storage->kind->create(storage, path, writer, error);
}

int storage_write(struct storage_writer *writer, const void *bytes, size_t size, struct error *error) {
    int code = writer->kind->write(writer, bytes, size, error);
    if (code == 0) writer->written += (int64_t)size;
    return code;
}

int64_t storage_written(const struct storage_writer *writer) { return writer->written; }

int storage_publish(struct storage_writer *writer, struct error *error) {
    return writer->kind->finish(writer, false, error);
}

int storage_replace(struct storage_writer *writer, struct error *error) {
    return writer->kind->finish(writer, true, error);
}

void storage_abandon(struct storage_writer *writer) {
    if (writer) writer->kind->abandon(writer);
}

int storage_read_open(struct storage *storage, const char *path, struct storage_reader **reader, struct error *error) {
    return storage->kind->read_open(storage, path, reader, error);
}

ssize_t storage_read(struct storage_reader *reader, void *bytes, size_t size, struct error *error) {
    return reader->kind->read(reader, bytes, size, error);
}

void storage_read_close(struct storage_reader *reader) {
    if (reader) reader->kind->read_close(reader);
}
