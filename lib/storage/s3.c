/* Objects of a bucket. An object appears whole by itself. A name is given once by the condition If-None-Match: *, of a PUT or of a multipart
 * upload's end. A lost answer is told from another's object by a token that each writer gives its own.
 *
 *     up to PART_SIZE   PUT                                    larger   POST ?uploads, PUT ?partNumber ..., POST ?uploadId
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/mem.h"
#include "storage/kind.h"
#include "storage/s3_call.h"
#include "storage/s3_uploads.h"

enum { PART_SIZE = 8 << 20, READ_SIZE = 1 << 20 };

struct s3 {
    struct storage storage;
    struct s3_server *server;
};

static void s3_close(struct storage *storage) {
    struct s3 *s3 = (struct s3 *)storage;
    s3_server_free(s3->server);
    free(s3);
}

/* ---- listing ---- */

static int64_t time_of(const char *text) {
    struct tm utc = {.tm_year = 0};
    if (!text || !strptime(text, "%Y-%m-%dT%H:%M:%S", &utc)) return 0;
    return (int64_t)timegm(&utc) * 1000;
}

/* The last name of a key or of a folder, which ends with '/'. */
static void tell_entry(char *key, const char *changed, storage_found *found, void *context) {
    size_t size = strlen(key);
    if (size && key[size - 1] == '/') key[size - 1] = 0;
    const char *slash = strrchr(key, '/');
    found(context, &(struct storage_entry){.name = slash ? slash + 1 : key, .changed_ms = time_of(changed)});
}

/* Calls found for a page of a list; *next: how to get the next one, NULL at the end. */
static void list_page(const struct s3_answer *answer, const char *xml, storage_found *found, void *context,
                      char **next) {
    const char *end = xml + answer->body.size, *at = xml, *part;
    char *text, *key;
    while ((text = s3_xml_text(&at, end, "Contents"))) {
        char *changed = (part = text, s3_xml_text(&part, text + strlen(text), "LastModified"));
        key = (part = text, s3_xml_text(&part, text + strlen(text), "Key"));
        if (key) tell_entry(key, changed, found, context);
        free(key);
        free(changed);
        free(text);
    }
    at = xml;
    while ((text = s3_xml_text(&at, end, "CommonPrefixes"))) {
        key = (part = text, s3_xml_text(&part, text + strlen(text), "Prefix"));
        if (key) tell_entry(key, NULL, found, context);
        free(key);
        free(text);
    }
    at = xml;
    *next = s3_xml_text(&at, end, "NextContinuationToken");
}

static char *folder_key(const struct s3_server *server, const char *folder) {
    char *key = s3_key(server, folder), *slashed = *key ? mem_format("%s/", key) : mem_string("");
    free(key);
    return slashed;
}

static int s3_list(struct storage *storage, const char *folder, storage_found *found, void *context,
                   struct error *error) {
    struct s3_server *server = ((struct s3 *)storage)->server;
    char *prefix = folder_key(server, folder), *next = NULL;
    int code;
    do {
        struct buffer query = {.data = NULL};
        struct s3_answer answer;
        if (next) buffer_string(&query, "continuation-token=");
        if (next) s3_encode(&query, next, false);
        buffer_string(&query, next ? "&delimiter=%2F&list-type=2&prefix=" : "delimiter=%2F&list-type=2&prefix=");
        s3_encode(&query, prefix, false);
        free(next);
        next = NULL;
        code = s3_send_for(server, &(struct s3_call){.method = "GET", .query = buffer_cstring(&query)}, 200, 200,
                           &answer, error);
        if (code == 0) {
            list_page(&answer, buffer_cstring(&answer.body), found, context, &next);
            buffer_free(&answer.body);
        }
        buffer_free(&query);
    } while (code == 0 && next);
    free(prefix);
    return code;
}

static int s3_remove(struct storage *storage, const char *path, struct error *error) {
    struct s3_server *server = ((struct s3 *)storage)->server;
    struct s3_answer answer;
    char *key = s3_key(server, path);
    int code = s3_send_for(server, &(struct s3_call){.method = "DELETE", .key = key}, 204, 404, &answer, error);
    if (code == 0) buffer_free(&answer.body);
    free(key);
    return code;
}

static int s3_sweep(struct storage *storage, const char *folder, bool (*ours)(void *context, const char *name),
                    void *context, struct error *error) {
    struct s3_server *server = ((struct s3 *)storage)->server;
    char *prefix = folder_key(server, folder);
    int code = s3_sweep_uploads(server, prefix, ours, context, error);
    free(prefix);
    return code ? code : 1;
}

/* ---- writing ---- */

struct s3_writer {
    struct storage_writer writer;
    struct s3_server *server;
    char *key, *token; /* token: the header with which it is told from others */
    char *upload;      /* NULL: everything is in `part` */
    struct buffer part, etags;
    int parts;
};

static void writer_free(struct s3_writer *writer) {
    free(writer->key);
    free(writer->token);
    free(writer->upload);
    buffer_free(&writer->part);
    buffer_free(&writer->etags);
    free(writer);
}

static int s3_create(struct storage *storage, const char *path, struct storage_writer **out, struct error *error) {
    struct s3_server *server = ((struct s3 *)storage)->server;
    uint64_t unique;
    if (getrandom(&unique, sizeof unique, 0) != sizeof unique) abort(); // never short for eight bytes
    struct s3_writer *writer = mem_alloc(sizeof *writer);
    *writer = (struct s3_writer){
        .writer = {.kind = storage->kind, .written = 0},
        .server = server,
        .key = s3_key(server, path),
        .token = mem_format("x-amz-meta-starling-writer: %016" PRIx64, unique),
        .part = {.data = NULL},
        .etags = {.data = NULL},
    };
    *out = &writer->writer;
    return 0;
}

static int begin_upload(struct s3_writer *writer, struct error *error) {
    struct s3_answer answer;
    int code = s3_send_for(
        writer->server,
        &(struct s3_call){.method = "POST", .key = writer->key, .query = "uploads=", .headers = {writer->token}}, 200,
        200, &answer, error);
    if (code) return code;
    const char *at = buffer_cstring(&answer.body);
    writer->upload = s3_xml_text(&at, at + answer.body.size, "UploadId");
    buffer_free(&answer.body);
    return writer->upload ? 0 : error_set(error, -EIO, "%s: the server gave no upload id", writer->key);
}

/* Is the upload gone, and not the bucket? */
static bool upload_gone(const struct s3_answer *answer) {
    static const char CODE[] = "<Code>NoSuchUpload</Code>";
    return answer->status == 404 && answer->body.size &&
           memmem(answer->body.data, answer->body.size, CODE, sizeof CODE - 1);
}

static int send_part(struct s3_writer *writer, struct error *error) {
    struct buffer query = {.data = NULL};
    struct s3_answer answer;
    int code = writer->upload ? 0 : begin_upload(writer, error);
    if (code) return code;
    buffer_format(&query, "partNumber=%d&uploadId=", ++writer->parts);
    s3_encode(&query, writer->upload, false);
    const struct s3_call call = {.method = "PUT",
                                 .key = writer->key,
                                 .query = buffer_cstring(&query),
                                 .body = writer->part.data,
                                 .size = writer->part.size};
    code = s3_send(writer->server, &call, &answer, error);
    if (code == 0) {
        if (upload_gone(&answer)) // nobody but a sweep ends an upload whose parts are still being sent
            code = error_set(error, -EEXIST, "%s: its upload was ended by others", writer->key);
        else if (answer.status != 200)
            code = s3_refused(&call, &answer, error);
        else
            buffer_format(&writer->etags, "<Part><PartNumber>%d</PartNumber><ETag>%s</ETag></Part>", writer->parts,
                          answer.etag);
        buffer_free(&answer.body);
    }
    buffer_free(&query);
    if (code == 0) buffer_clear(&writer->part);
    return code;
}

static int s3_write(struct storage_writer *storage_writer, const void *bytes, size_t size, struct error *error) {
    struct s3_writer *writer = (struct s3_writer *)storage_writer;
    buffer_append(&writer->part, bytes, size);
    return writer->part.size >= PART_SIZE ? send_part(writer, error) : 0;
}

static void s3_abandon(struct storage_writer *storage_writer) {
    struct s3_writer *writer = (struct s3_writer *)storage_writer;
    struct error ignored; // the next sweep finds it
    if (writer->upload) s3_abort_upload(writer->server, writer->key, writer->upload, &ignored);
    writer_free(writer);
}

/* The name is taken, or the upload is gone: by our own call, whose answer was lost, or by another's? */
static int whose(const struct s3_writer *writer, struct error *error) {
    struct s3_answer answer;
    int code = s3_send(writer->server, &(struct s3_call){.method = "HEAD", .key = writer->key}, &answer, error);
    if (code) return code;
    const char *mine = strchr(writer->token, ' ') + 1;
    bool is_mine = answer.status == 200 && strcmp(answer.token, mine) == 0;
    buffer_free(&answer.body);
    return is_mine ? 0 : error_set(error, -EEXIST, "%s: exists", writer->key);
}

static int s3_finish(struct storage_writer *storage_writer, bool replace, struct error *error) {
    struct s3_writer *writer = (struct s3_writer *)storage_writer;
    struct buffer query = {.data = NULL}, body = {.data = NULL};
    struct s3_answer answer;
    int code = writer->upload && writer->part.size ? send_part(writer, error) : 0;
    struct s3_call call = {.method = "PUT",
                           .key = writer->key,
                           .body = writer->part.data,
                           .size = writer->part.size,
                           .headers = {writer->token, replace ? NULL : "If-None-Match: *"}};
    if (writer->upload) {
        buffer_format(&body, "<CompleteMultipartUpload>%s</CompleteMultipartUpload>", buffer_cstring(&writer->etags));
        buffer_string(&query, "uploadId=");
        s3_encode(&query, writer->upload, false);
        call = (struct s3_call){.method = "POST",
                                .key = writer->key,
                                .query = buffer_cstring(&query),
                                .body = body.data,
                                .size = body.size,
                                .headers = {replace ? NULL : "If-None-Match: *"}};
    }
    if (code == 0) code = s3_send(writer->server, &call, &answer, error);
    if (code == 0) {
        bool unclear = answer.status == 412 || (writer->upload && upload_gone(&answer));
        if (unclear)
            code = whose(writer, error);
        else if (answer.status != 200)
            code = s3_refused(&call, &answer, error);
        buffer_free(&answer.body);
    }
    buffer_free(&query);
    buffer_free(&body);
    if (code)
        s3_abandon(storage_writer);
    else
        writer_free(writer);
    return code;
}

/* ---- reading ---- */

struct s3_reader {
    struct storage_reader reader;
    struct s3_server *server;
    char *key;
    char etag[S3_ETAG_SIZE]; /* of the object that was opened */
    struct buffer bytes;     /* a piece of it, used up to `used` */
    size_t used;
    int64_t at; /* where the next piece begins */
    bool ended;
};

static void s3_read_close(struct storage_reader *storage_reader) {
    struct s3_reader *reader = (struct s3_reader *)storage_reader;
    buffer_free(&reader->bytes);
    free(reader->key);
    free(reader);
}

/* The next piece; it is empty at the end. */
static int next_piece(struct s3_reader *reader, struct error *error) {
    struct s3_answer answer;
    char range[64], match[S3_ETAG_SIZE + 16];
    snprintf(range, sizeof range, "Range: bytes=%" PRId64 "-%" PRId64, reader->at, reader->at + READ_SIZE - 1);
    snprintf(match, sizeof match, "If-Match: %s", reader->etag);
    const struct s3_call call = {.method = "GET", .key = reader->key, .headers = {range, *reader->etag ? match : NULL}};
    int code = s3_send(reader->server, &call, &answer, error);
    if (code) return code;
    reader->used = 0;
    buffer_clear(&reader->bytes);
    if (answer.status == 206) {
        buffer_append(&reader->bytes, answer.body.data, answer.body.size);
        reader->at += (int64_t)answer.body.size;
        reader->ended = answer.body.size < READ_SIZE;
        memcpy(reader->etag, answer.etag, sizeof reader->etag);
    } else if (answer.status == 416) { // it ended where the last piece did
        reader->ended = true;
    } else if (answer.status == 412) {
        code = error_set(error, -ESTALE, "%s: was replaced while it was read", reader->key);
    } else {
        code = s3_refused(&call, &answer, error);
    }
    buffer_free(&answer.body);
    return code;
}

static int s3_read_open(struct storage *storage, const char *path, struct storage_reader **out, struct error *error) {
    struct s3_server *server = ((struct s3 *)storage)->server;
    struct s3_reader *reader = MEM_NEW(&(struct s3_reader){.reader = {.kind = storage->kind},
                                                           .server = server,
                                                           .key = s3_key(server, path),
                                                           .etag = "",
                                                           .bytes = {.data = NULL},
                                                           .ended = false});
    int code = next_piece(reader, error);
    if (code)
        s3_read_close(&reader->reader);
    else
        *out = &reader->reader;
    return code;
}

static ssize_t s3_read(struct storage_reader *storage_reader, void *bytes, size_t size, struct error *error) {
    struct s3_reader *reader = (struct s3_reader *)storage_reader;
    if (reader->used == reader->bytes.size && !reader->ended) {
        int code = next_piece(reader, error);
        if (code) return code;
    }
    size_t left = reader->bytes.size - reader->used;
    if (size > left) size = left;
    if (size) memcpy(bytes, reader->bytes.data + reader->used, size);
    reader->used += size;
    return (ssize_t)size;
}

static const struct storage_kind S3 = {
    .close = s3_close,
    .list = s3_list,
    .remove = s3_remove,
    .sweep = s3_sweep,
    .create = s3_create,
    .write = s3_write,
    .finish = s3_finish,
    .abandon = s3_abandon,
    .read_open = s3_read_open,
    .read = s3_read,
    .read_close = s3_read_close,
};

int storage_s3_open(const struct storage_options *options, struct storage **storage, struct error *error) {
    struct s3_server *server;
    int code = s3_server_new(options, &server, error);
    if (code) return code;
    struct s3 *s3 = MEM_NEW(&(struct s3){.storage = {.kind = &S3}, .server = server});
    *storage = &s3->storage;
    return 0;
}
