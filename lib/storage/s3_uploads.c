#include "storage/s3_uploads.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { PAGES = 20 };

int s3_abort_upload(struct s3_server *server, const char *key, const char *upload, struct error *error) {
    struct buffer query = {.data = NULL};
    struct s3_answer answer;
    buffer_string(&query, "uploadId=");
    s3_encode(&query, upload, false);
    int code = s3_send_for(server, &(struct s3_call){.method = "DELETE", .key = key, .query = buffer_cstring(&query)},
                           204, 404, &answer, error);
    if (code == 0) buffer_free(&answer.body);
    buffer_free(&query);
    return code;
}

struct upload_sweeping {
    struct s3_server *server;
    bool (*ours)(void *context, const char *name);
    void *context;
    char *key_marker, *upload_marker; /* where the next page begins; NULL at the end */
};

static int sweep_upload(const struct upload_sweeping *sweeping, const char *xml, const char *end, struct error *error) {
    const char *part = xml, *slash;
    char *key = s3_xml_text(&part, end, "Key"), *upload = (part = xml, s3_xml_text(&part, end, "UploadId"));
    int code = 0;
    slash = key ? strrchr(key, '/') : NULL;
    if (key && upload && sweeping->ours(sweeping->context, slash ? slash + 1 : key))
        code = s3_abort_upload(sweeping->server, key, upload, error);
    free(key);
    free(upload);
    return code;
}

static char *uploads_query(struct upload_sweeping *sweeping, const char *prefix) {
    struct buffer query = {.data = NULL};
    if (sweeping->key_marker) buffer_string(&query, "key-marker=");
    if (sweeping->key_marker) s3_encode(&query, sweeping->key_marker, false);
    buffer_string(&query, sweeping->key_marker ? "&prefix=" : "prefix=");
    s3_encode(&query, prefix, false);
    if (sweeping->upload_marker) buffer_string(&query, "&upload-id-marker=");
    if (sweeping->upload_marker) s3_encode(&query, sweeping->upload_marker, false);
    buffer_string(&query, "&uploads=");
    char *text = mem_string(buffer_cstring(&query));
    buffer_free(&query);
    return text;
}

static int sweep_page(struct upload_sweeping *sweeping, const char *prefix, struct error *error) {
    struct s3_answer answer;
    char *query = uploads_query(sweeping, prefix), *text;
    int code =
        s3_send_for(sweeping->server, &(struct s3_call){.method = "GET", .query = query}, 200, 200, &answer, error);
    free(query);
    if (code) return code;
    const char *xml = buffer_cstring(&answer.body), *at = xml, *end = xml + answer.body.size;
    while (code == 0 && (text = s3_xml_text(&at, end, "Upload"))) {
        code = sweep_upload(sweeping, text, text + strlen(text), error);
        free(text);
    }
    char *more = (at = xml, s3_xml_text(&at, end, "IsTruncated"));
    bool last = !more || strcmp(more, "true") != 0;
    free(more);
    free(sweeping->key_marker);
    free(sweeping->upload_marker);
    sweeping->key_marker = last ? NULL : (at = xml, s3_xml_text(&at, end, "NextKeyMarker"));
    sweeping->upload_marker = last ? NULL : (at = xml, s3_xml_text(&at, end, "NextUploadIdMarker"));
    buffer_free(&answer.body);
    return code;
}

int s3_sweep_uploads(struct s3_server *server, const char *prefix, bool (*ours)(void *context, const char *name),
                     void *context, struct error *error) {
    struct upload_sweeping sweeping = {
        .server = server, .ours = ours, .context = context, .key_marker = NULL, .upload_marker = NULL};
    int code = sweep_page(&sweeping, prefix, error);
    for (int i = 1; i < PAGES && code == 0 && sweeping.key_marker; i++) code = sweep_page(&sweeping, prefix, error);
    free(sweeping.key_marker);
    free(sweeping.upload_marker);
    return code;
}
