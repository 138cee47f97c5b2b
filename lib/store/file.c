#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/private.h"

struct store_file {
    rocksdb_envoptions_t *env;
    const rocksdb_options_t *options;
    rocksdb_sstfilewriter_t *writer; /* of the last piece; NULL: it is finished */
    size_t table_bytes;
    char *path;
    char **pieces; /* their names */
    size_t count;
};

struct store_file *store_file_new(struct store *store, const char *path) {
    return MEM_NEW(&(struct store_file){
        .env = rocksdb_envoptions_create(),
        .options = store->options,
        .table_bytes = store->table_bytes,
        .path = mem_string(path),
    });
}

void store_file_free(struct store_file *file) {
    if (!file) return;
    if (file->writer) rocksdb_sstfilewriter_destroy(file->writer);
    for (size_t i = 0; i < file->count; i++) {
        unlink(file->pieces[i]);
        free(file->pieces[i]);
    }
    free(file->pieces);
    free(file->path);
    rocksdb_envoptions_destroy(file->env);
    free(file);
}

static int piece_end(struct store_file *file, struct error *error) {
    if (!file->writer) return 0;
    char *failure = NULL;
    rocksdb_sstfilewriter_finish(file->writer, &failure);
    rocksdb_sstfilewriter_destroy(file->writer);
    file->writer = NULL;
    return store_failed(failure, file->path, error);
}

static int piece_begin(struct store_file *file, struct error *error) {
    char *failure = NULL;
    file->pieces = mem_resize(file->pieces, file->count + 1, sizeof *file->pieces);
    file->pieces[file->count] = mem_format("%s-%zu.sst", file->path, file->count);
    file->writer = rocksdb_sstfilewriter_create(file->env, file->options);
    rocksdb_sstfilewriter_open(file->writer, file->pieces[file->count++], &failure);
    return store_failed(failure, file->path, error);
}

int store_file_put(struct store_file *file, const void *key, size_t key_size, const void *value, size_t value_size,
                   struct error *error) {
    uint64_t size = 0;
    if (file->writer) rocksdb_sstfilewriter_file_size(file->writer, &size);
    int code = size > file->table_bytes ? piece_end(file, error) : 0;
    if (!code && !file->writer) code = piece_begin(file, error);
    if (code) return code;
    char *failure = NULL;
    rocksdb_sstfilewriter_put(file->writer, key, key_size, value, value_size, &failure);
    return store_failed(failure, file->path, error);
}

int store_ingest(struct store *store, struct store_family *family, struct store_file *const *files, size_t count,
                 struct error *error) {
    size_t total = 0, at = 0;
    for (size_t i = 0; i < count; i++) {
        int code = piece_end(files[i], error);
        if (code) return code;
        total += files[i]->count;
    }
    if (!total) return 0;
    const char **names = mem_alloc(total * sizeof *names);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < files[i]->count; j++) names[at++] = files[i]->pieces[j];
    char *failure = NULL;
    rocksdb_ingestexternalfileoptions_t *options = rocksdb_ingestexternalfileoptions_create();
    rocksdb_ingestexternalfileoptions_set_move_files(options, 1); // links; it copies where it cannot
    rocksdb_ingest_external_file_cf(store->db, family->handle, names, total, options, &failure);
    rocksdb_ingestexternalfileoptions_destroy(options);
    free(names);
    return store_failed(failure, "taking files into the store", error);
}
