#include "storage/s3_call.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/mem.h"

enum {
    ATTEMPTS = 8,
    PAUSE_MS = 100, /* doubled by each attempt, and up to half of it by chance */
    PAUSE_MAX_MS = 5000,
    CONNECT_S = 10,
    SLOW_S = 30, /* without a byte */
    TOLD_MAX = 200
};

struct s3_server {
    CURL *curl;
    char *base; /* endpoint and bucket */
    char *prefix;
    char *user, *signing;
    unsigned chance;
};

void s3_server_free(struct s3_server *server) {
    if (!server) return;
    curl_easy_cleanup(server->curl);
    free(server->base);
    free(server->prefix);
    free(server->user);
    free(server->signing);
    free(server);
}

int s3_server_new(const struct storage_options *options, struct s3_server **out, struct error *error) {
    const char *bucket = options->place + strlen("s3://"), *slash = strchr(bucket, '/');
    const char *prefix = slash ? slash + 1 : "";
    size_t size = slash ? (size_t)(slash - bucket) : strlen(bucket), prefix_size = strlen(prefix);
    while (prefix_size && prefix[prefix_size - 1] == '/') prefix_size--;
    if (!size) return error_set(error, -EINVAL, "%s: names no bucket: s3://BUCKET/PREFIX", options->place);
    if (!options->s3_endpoint || !*options->s3_endpoint || !options->s3_access_key || !*options->s3_access_key)
        return error_set(error, -EINVAL, "%s: needs history.s3.endpoint, .access.key and .secret.key", options->place);
    if (curl_global_init(CURL_GLOBAL_DEFAULT)) abort(); // out of memory, which base/mem.h cannot see here
    struct s3_server *server = MEM_NEW(&(struct s3_server){
        .curl = curl_easy_init(),
        .base = mem_format("%s/%.*s", options->s3_endpoint, (int)size, bucket),
        .prefix = mem_stringn(prefix, prefix_size),
        .user = mem_format("%s:%s", options->s3_access_key, options->s3_secret_key),
        .signing = mem_format("aws:amz:%s:s3", options->s3_region),
        .chance = (unsigned)time(NULL),
    });
    if (!server->curl) abort();
    *out = server;
    return 0;
}

char *s3_key(const struct s3_server *server, const char *path) {
    return mem_format("%s%s%s", server->prefix, *server->prefix && *path ? "/" : "", path);
}

void s3_encode(struct buffer *text, const char *value, bool slashes) {
    static const char HEX[] = "0123456789ABCDEF";
    for (; *value; value++) {
        uint8_t c = (uint8_t)*value;
        bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || strchr("-._~", c);
        if (plain || (slashes && c == '/')) {
            buffer_byte(text, c);
        } else {
            buffer_byte(text, '%');
            buffer_byte(text, (uint8_t)HEX[c >> 4]);
            buffer_byte(text, (uint8_t)HEX[c & 15]);
        }
    }
}

char *s3_xml_text(const char **at, const char *end, const char *name) {
    char *open = mem_format("<%s>", name), *close = mem_format("</%s>", name), *text = NULL;
    const char *from = memmem(*at, (size_t)(end - *at), open, strlen(open));
    if (from) from += strlen(open);
    const char *to = from ? memmem(from, (size_t)(end - from), close, strlen(close)) : NULL;
    if (to) {
        text = mem_stringn(from, (size_t)(to - from));
        *at = to + strlen(close);
    }
    free(open);
    free(close);
    return text;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *context) {
    buffer_append(context, bytes, size * count);
    return size * count;
}

static void take_value(const char *line, size_t size, const char *name, char *value, size_t room) {
    size_t length = strlen(name);
    if (size <= length || strncasecmp(line, name, length) != 0) return;
    for (line += length, size -= length; size && (*line == ' ' || *line == '\t');) line++, size--;
    while (size && (line[size - 1] == '\r' || line[size - 1] == '\n')) size--;
    if (size >= room) return;
    memcpy(value, line, size);
    value[size] = 0;
}

static size_t take_header(char *line, size_t size, size_t count, void *context) {
    struct s3_answer *answer = context;
    take_value(line, size * count, "etag:", answer->etag, sizeof answer->etag);
    take_value(line, size * count, "x-amz-meta-starling-writer:", answer->token, sizeof answer->token);
    return size * count;
}

static CURLcode attempt(struct s3_server *server, const struct s3_call *call, const char *url,
                        struct curl_slist *headers, struct s3_answer *answer) {
    CURL *curl = server->curl;
    curl_easy_reset(curl); // keeps its connections
    buffer_clear(&answer->body);
    answer->etag[0] = answer->token[0] = 0;
    answer->status = 0;
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, server->signing);
    curl_easy_setopt(curl, CURLOPT_USERPWD, server->user);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)SLOW_S);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer->body);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, answer);
    if (strcmp(call->method, "HEAD") == 0) {
        curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    } else if (strcmp(call->method, "GET") != 0) { // as fields, so that the signature covers them
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->size);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, call->body ? call->body : "");
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, call->method);
    }
    CURLcode code = curl_easy_perform(curl);
    if (code == CURLE_OK) curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer->status);
    return code;
}

static void pause_before(struct s3_server *server, int attempts) {
    int64_t ms = (int64_t)PAUSE_MS << (attempts - 1);
    if (ms > PAUSE_MAX_MS) ms = PAUSE_MAX_MS;
    ms -= rand_r(&server->chance) % (ms / 2 + 1);
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* 409: another conditional write of the same key is under way. 200 may hold an error where the server began to answer early. */
static bool is_passing(const struct s3_answer *answer) {
    bool late =
        answer->status == 200 && answer->body.size && memmem(answer->body.data, answer->body.size, "<Error>", 7);
    return answer->status >= 500 || answer->status == 429 || answer->status == 409 || late;
}

int s3_send(struct s3_server *server, const struct s3_call *call, struct s3_answer *answer, struct error *error) {
    struct buffer url = {.data = NULL};
    struct curl_slist *headers = curl_slist_append(NULL, "Expect:");
    *answer = (struct s3_answer){.body = {.data = NULL}};
    headers = curl_slist_append(headers, "Content-Type: application/octet-stream");
    for (size_t i = 0; i < S3_HEADERS_MAX && call->headers[i]; i++)
        headers = curl_slist_append(headers, call->headers[i]);
    buffer_string(&url, server->base);
    if (call->key) buffer_byte(&url, '/');
    if (call->key) s3_encode(&url, call->key, true);
    if (call->query && *call->query) buffer_format(&url, "?%s", call->query);
    CURLcode code = CURLE_OK;
    bool again = true;
    for (int i = 0; i < ATTEMPTS && again; i++) {
        if (i) pause_before(server, i);
        code = attempt(server, call, buffer_cstring(&url), headers, answer);
        again = code != CURLE_OK || is_passing(answer);
    }
    int failed = 0;
    if (code != CURLE_OK)
        failed = error_set(error, -EIO, "%s %s: %s", call->method, buffer_cstring(&url), curl_easy_strerror(code));
    else if (again)
        failed = s3_refused(call, answer, error);
    if (failed) buffer_free(&answer->body);
    curl_slist_free_all(headers);
    buffer_free(&url);
    return failed;
}

int s3_refused(const struct s3_call *call, struct s3_answer *answer, struct error *error) {
    int code = answer->status == 404 ? -ENOENT : answer->status == 403 ? -EACCES : -EIO;
    const char *at = buffer_cstring(&answer->body), *end = at + answer->body.size;
    char *told = s3_xml_text(&at, end, "Code");
    error_set(error, code, "%s %s: status %ld %.*s", call->method, call->key ? call->key : "", answer->status, TOLD_MAX,
              told ? told : "");
    free(told);
    return code;
}

int s3_send_for(struct s3_server *server, const struct s3_call *call, long status, long or_status,
                struct s3_answer *answer, struct error *error) {
    int code = s3_send(server, call, answer, error);
    if (code || answer->status == status || answer->status == or_status) return code;
    code = s3_refused(call, answer, error);
    buffer_free(&answer->body);
    return code;
}
