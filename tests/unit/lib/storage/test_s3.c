/* Tests s3.c and s3_uploads.c. Objects of a bucket against a server that says what the test wants: uploads that others end, and those
 * that killed processes left. */
#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>

#include "storage/storage.h"
#include "unit/kit/kit.h"

struct exchange {
    const char *begins; /* what the request's first line begins with */
    int status;
    const char *body;
};

/* Answers as it is told, one connection a request, and ends with the last one. */
struct server {
    const struct exchange *exchanges;
    size_t count, asked;
    bool unexpected;
    int socket;
    pthread_t thread;
    char endpoint[64];
};

static size_t body_size(const char *head) {
    const char *at = strcasestr(head, "\r\ncontent-length:");
    return at ? strtoull(at + strlen("\r\ncontent-length:"), NULL, 10) : 0;
}

/* The head of a request; its body is read, too. */
static char *take_request(int connection) {
    FREED_BUFFER bytes = {.size = 0};
    const char *end = NULL;
    char piece[65536], *head = NULL;
    ssize_t size = 1;
    while (size > 0 && (!end || bytes.size < (size_t)(end - buffer_cstring(&bytes)) + 4 + body_size(head))) {
        size = read(connection, piece, sizeof piece);
        if (size > 0) buffer_append(&bytes, piece, (size_t)size);
        end = strstr(buffer_cstring(&bytes), "\r\n\r\n");
        if (end && !head) head = mem_stringn(buffer_cstring(&bytes), (size_t)(end - buffer_cstring(&bytes)));
    }
    return head;
}

static void answer(struct server *server, int connection) {
    const struct exchange *exchange = &server->exchanges[server->asked];
    FREED char *head = take_request(connection);
    if (!head || strncmp(head, exchange->begins, strlen(exchange->begins)) != 0) {
        server->unexpected = true;
        fprintf(stderr, "wanted: %s\nasked: %s\n", exchange->begins, head ? head : "");
    }
    FREED char *text = mem_format("HTTP/1.1 %d X\r\nETag: \"e\"\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s",
                                  exchange->status, strlen(exchange->body), exchange->body);
    if (write(connection, text, strlen(text)) < 0) server->unexpected = true;
}

static void *serve(void *context) {
    struct server *server = context;
    for (; server->asked < server->count; server->asked++) {
        int connection = accept(server->socket, NULL, NULL);
        if (connection < 0) break;
        answer(server, connection);
        close(connection);
    }
    return NULL;
}

static struct storage *begin(struct server *server, const struct exchange *exchanges, size_t count) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    struct storage *storage;
    *server = (struct server){.exchanges = exchanges, .count = count, .socket = socket(AF_INET, SOCK_STREAM, 0)};
    assert_int_equal(bind(server->socket, (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(server->socket, (struct sockaddr *)&address, &size), 0);
    assert_int_equal(listen(server->socket, 8), 0);
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
    snprintf(server->endpoint, sizeof server->endpoint, "http://127.0.0.1:%d", ntohs(address.sin_port));
    assert_int_equal(storage_open(&(struct storage_options){.place = "s3://b/p",
                                                            .s3_endpoint = server->endpoint,
                                                            .s3_region = "r",
                                                            .s3_access_key = "k",
                                                            .s3_secret_key = "s"},
                                  &storage, NULL),
                     0);
    return storage;
}

static void end(struct server *server, struct storage *storage) {
    shutdown(server->socket, SHUT_RDWR); // what it waits for did not come
    pthread_join(server->thread, NULL);
    close(server->socket);
    storage_close(storage);
    assert_false(server->unexpected);
    assert_int_equal(server->asked, server->count);
}

#define BEGIN(server, exchanges) begin(server, exchanges, sizeof(exchanges) / sizeof *(exchanges))

static const char BEGUN[] = "<R><UploadId>u</UploadId></R>";
static const char NO_UPLOAD[] = "<Error><Code>NoSuchUpload</Code></Error>";

static int write_much(struct storage *storage, struct storage_writer **writer, struct error *error) {
    enum { SIZE = 9 << 20 }; // more than a part
    FREED void *bytes = mem_zero(1, SIZE);
    assert_int_equal(storage_create(storage, "f", writer, NULL), 0);
    return storage_write(*writer, bytes, SIZE, error);
}

/* A new owner of the partition ends the uploads of the one before. */
TEST(test_an_upload_that_others_end) {
    const struct exchange exchanges[] = {
        {"POST /b/p/f?uploads=", 200, BEGUN},
        {"PUT /b/p/f?partNumber=1&uploadId=u", 404, NO_UPLOAD},
        {"DELETE /b/p/f?uploadId=u", 404, NO_UPLOAD},
    };
    struct server server;
    struct storage *storage = BEGIN(&server, exchanges);
    struct storage_writer *writer;
    assert_int_equal(write_much(storage, &writer, &failure), -EEXIST);
    storage_abandon(writer);
    end(&server, storage);
}

TEST(test_a_bucket_that_is_gone) {
    const struct exchange exchanges[] = {
        {"POST /b/p/f?uploads=", 200, BEGUN},
        {"PUT /b/p/f?partNumber=1&uploadId=u", 404, "<Error><Code>NoSuchBucket</Code></Error>"},
        {"DELETE /b/p/f?uploadId=u", 404, ""},
    };
    struct server server;
    struct storage *storage = BEGIN(&server, exchanges);
    struct storage_writer *writer;
    assert_int_equal(write_much(storage, &writer, &failure), -ENOENT);
    storage_abandon(writer);
    end(&server, storage);
}

TEST(test_an_upload_that_is_gone_at_its_end) {
    const struct exchange exchanges[] = {
        {"POST /b/p/f?uploads=", 200, BEGUN},
        {"PUT /b/p/f?partNumber=1&uploadId=u", 200, ""},
        {"POST /b/p/f?uploadId=u", 404, "<Error><Code>NoSuchBucket</Code></Error>"},
        {"DELETE /b/p/f?uploadId=u", 404, ""},
    };
    struct server server;
    struct storage *storage = BEGIN(&server, exchanges);
    struct storage_writer *writer;
    assert_int_equal(write_much(storage, &writer, &failure), 0);
    assert_int_equal(storage_publish(writer, &failure), -ENOENT);
    end(&server, storage);
}

static bool is_three(void *context, const char *name) { return strncmp(name, "00003-", 6) == 0; }

/* All uploads below the folder, page by page, also where no file is whole. */
TEST(test_all_uploads_are_swept) {
    static const char ONE[] = "<R><IsTruncated>true</IsTruncated><NextKeyMarker>p/h=2/00004-1.avro</NextKeyMarker>"
                              "<NextUploadIdMarker>v</NextUploadIdMarker>"
                              "<Upload><Key>p/h=1/00003-1.avro</Key><UploadId>u</UploadId></Upload>"
                              "<Upload><Key>p/h=2/00004-1.avro</Key><UploadId>v</UploadId></Upload></R>";
    static const char TWO[] = "<R><IsTruncated>false</IsTruncated><NextKeyMarker/><NextUploadIdMarker/>"
                              "<Upload><Key>p/h=3/00003-2.avro</Key><UploadId>w</UploadId></Upload></R>";
    const struct exchange exchanges[] = {
        {"GET /b?prefix=p%2F&uploads= ", 200, ONE},
        {"DELETE /b/p/h%3D1/00003-1.avro?uploadId=u", 204, ""},
        {"GET /b?key-marker=p%2Fh%3D2%2F00004-1.avro&prefix=p%2F&upload-id-marker=v&uploads= ", 200, TWO},
        {"DELETE /b/p/h%3D3/00003-2.avro?uploadId=w", 404, ""},
    };
    struct server server;
    struct storage *storage = BEGIN(&server, exchanges);
    assert_int_equal(storage_sweep(storage, "", is_three, NULL, NULL), 1);
    end(&server, storage);
}
