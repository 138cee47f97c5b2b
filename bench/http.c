/* HTTP for `./dev bench feed`, `comments` and `ingest`: who reads pages or posts something, and a bare libmicrohttpd that answers. What
 * tools/load/home_api.h asks by libcurl would cost more than the answer.
 *
 *     bench-http read HOST PORT PATH TOKENS CONNECTIONS RATE SECONDS
 *     bench-http post HOST PORT PATH TOKENS CONNECTIONS RATE SECONDS BODY TYPE
 *     bench-http once HOST PORT PATH TOKENS CONNECTIONS
 *     bench-http answer PORT BYTES
 *
 * read: GETs the path over kept-alive connections, each with one request under way, each with the next token of the file TOKENS (one a
 * line). PATH may be @FILE: the next path of a file, one a line. RATE a second, evenly; a request's time counts from when it was due. 0: as
 * many as are answered. Prints how many were answered 200, 201 or 204, their mean size, the quantiles of their times in ms, and this program's CPU.
 * post: the same with POST, the file BODY each time, and its Content-Type.
 * once: all connections are opened first, and "connected" is printed; after a line from the standard input each asks once, all at the same
 * time. Ends when all are answered; prints the same.
 * answer: answers everything with BYTES bytes, until it is ended by a signal.
 */
#define _GNU_SOURCE // strcasestr
#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/mem.h"
#include "bench/machine.h"

enum {
    LINE = 4096,
    ANSWER = 1 << 20,
    ANSWER_ONCE = 1 << 17,
    EVENTS = 256,
    CONNECTIONS_MAX = 12000,
    BODY_MAX = 1 << 20
};

/* ---- the reader ---- */

struct connection {
    int socket;
    bool busy;
    int64_t due_us;
    char *answer;
    size_t size, room;
};

/* They are taken in turn. */
struct lines {
    char **lines;
    size_t count, next;
};

struct reader {
    struct connection connections[CONNECTIONS_MAX];
    int count, next, poll;
    struct sockaddr_in address;
    const char *host;
    struct lines paths, tokens;
    char *rest; /* of each request: its body, and the fields about it */
    size_t rest_size;
    double *times_ms;
    size_t answered, room, bytes, bad;
};

static void add_line(struct lines *lines, const char *line) {
    lines->lines = mem_resize(lines->lines, lines->count + 1, sizeof *lines->lines);
    lines->lines[lines->count++] = mem_string(line);
}

static void load_lines(struct lines *lines, const char *path) {
    char line[LINE];
    FILE *file = fopen(path, "r");
    if (!file) bench_fail(path);
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        add_line(lines, line);
    }
    fclose(file);
    if (!lines->count) bench_fail("a file is empty");
}

static const char *next_line(struct lines *lines) { return lines->lines[lines->next++ % lines->count]; }

static void connect_one(struct reader *reader, struct connection *connection, size_t room) {
    int on = 1;
    connection->socket = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(connection->socket, (struct sockaddr *)&reader->address, sizeof reader->address))
        bench_fail("connecting");
    setsockopt(connection->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connection->answer = mem_alloc(room);
    connection->room = room;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    epoll_ctl(reader->poll, EPOLL_CTL_ADD, connection->socket, &event);
}

static void ask(struct reader *reader, struct connection *connection, int64_t due_us) {
    char text[LINE];
    const char *path = next_line(&reader->paths), *token = next_line(&reader->tokens);
    int size = snprintf(text, sizeof text, "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n",
                        reader->rest ? "POST" : "GET", path, reader->host, token);
    const char *rest = reader->rest ? reader->rest : "\r\n";
    size_t rest_size = reader->rest ? reader->rest_size : 2;
    connection->busy = true;
    connection->due_us = due_us;
    connection->size = 0;
    if (send(connection->socket, text, (size_t)size, MSG_MORE) != size ||
        send(connection->socket, rest, rest_size, 0) != (ssize_t)rest_size)
        bench_fail("sending");
}

static bool has_status(const struct connection *connection, const char *status) {
    return strncmp(connection->answer, "HTTP/1.1 ", 9) == 0 && strncmp(connection->answer + 9, status, 3) == 0;
}

/* The whole answer is here. */
static bool complete(const struct connection *connection) {
    char *body = strstr(connection->answer, "\r\n\r\n"), *length = strcasestr(connection->answer, "content-length:");
    if (body && has_status(connection, "204")) return true;
    return body && length && length < body &&
           connection->size >= (size_t)(body + 4 - connection->answer) + (size_t)atoll(length + 15);
}

static void note(struct reader *reader, const struct connection *connection) {
    if (!has_status(connection, "200") && !has_status(connection, "201") && !has_status(connection, "204")) {
        reader->bad++;
        return;
    }
    if (reader->answered == reader->room) {
        reader->room = reader->room ? 2 * reader->room : 1024;
        reader->times_ms = mem_resize(reader->times_ms, reader->room, sizeof *reader->times_ms);
    }
    reader->times_ms[reader->answered++] = (double)(clock_monotonic_us() - connection->due_us) / 1000;
    reader->bytes += connection->size;
}

static void receive(struct reader *reader, struct connection *connection) {
    ssize_t got =
        recv(connection->socket, connection->answer + connection->size, connection->room - 1 - connection->size, 0);
    if (got <= 0) bench_fail("a connection was closed");
    connection->size += (size_t)got;
    connection->answer[connection->size] = '\0';
    if (!complete(connection)) return;
    connection->busy = false;
    note(reader, connection);
}

/* In turn: a server closes connections that are idle for long. */
static struct connection *idle_one(struct reader *reader) {
    for (int i = 0; i < reader->count; i++, reader->next = (reader->next + 1) % reader->count)
        if (!reader->connections[reader->next].busy) return &reader->connections[reader->next];
    return NULL;
}

static void receive_some(struct reader *reader) {
    struct epoll_event events[EVENTS];
    int ready = epoll_wait(reader->poll, events, EVENTS, 1);
    for (int i = 0; i < ready; i++) receive(reader, events[i].data.ptr);
}

static struct reader *reader_of(char **words, size_t room) {
    struct reader *reader = mem_zero(1, sizeof *reader);
    reader->host = words[0];
    reader->address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(words[1]))};
    if (inet_pton(AF_INET, words[0], &reader->address.sin_addr) != 1) bench_fail("the host must be an address");
    if (words[2][0] == '@')
        load_lines(&reader->paths, words[2] + 1);
    else
        add_line(&reader->paths, words[2]);
    load_lines(&reader->tokens, words[3]);
    reader->poll = epoll_create1(0);
    reader->count = atoi(words[4]);
    if (reader->count < 1 || reader->count > CONNECTIONS_MAX) bench_fail("too many connections, or none");
    for (int i = 0; i < reader->count; i++) connect_one(reader, &reader->connections[i], room);
    return reader;
}

static void print(struct reader *reader, double seconds, double cpu) {
    bench_sort(reader->times_ms, reader->answered);
    printf(
        "{\"answered\":%zu,\"bad\":%zu,\"bytes\":%.0f,\"per_s\":%.1f,\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"cpu_s\":%.3f}\n",
        reader->answered, reader->bad, reader->answered ? (double)reader->bytes / (double)reader->answered : 0,
        (double)reader->answered / seconds, bench_quantile(reader->times_ms, reader->answered, 0.5),
        bench_quantile(reader->times_ms, reader->answered, 0.99), bench_cpu_s() - cpu);
} // the process ends, and all that it has with it

/* The file, behind the end of a request's head. */
static void load_body(struct reader *reader, const char *path, const char *type) {
    char *body = mem_alloc(BODY_MAX), *head;
    FILE *file = fopen(path, "r");
    if (!file) bench_fail(path);
    size_t size = fread(body, 1, BODY_MAX, file);
    fclose(file);
    head = mem_format("Content-Type: %s\r\nContent-Length: %zu\r\n\r\n", type, size);
    reader->rest_size = strlen(head) + size;
    reader->rest = mem_resize(head, reader->rest_size + 1, 1);
    memcpy(reader->rest + reader->rest_size - size, body, size);
    free(body);
}

static int read_pages(char **words, const char *body, const char *type) {
    struct reader *reader = reader_of(words, ANSWER);
    if (body) load_body(reader, body, type);
    double rate = atof(words[5]), cpu = bench_cpu_s();
    int64_t begin = clock_monotonic_us(), end = begin + (int64_t)(atof(words[6]) * 1e6), asked = 0, now = begin;
    while ((now = clock_monotonic_us()) < end) {
        struct connection *idle;
        while ((idle = idle_one(reader)) != NULL) {
            int64_t due = rate > 0 ? begin + (int64_t)((double)asked * 1e6 / rate) : now;
            if (due > now) break;
            ask(reader, idle, due);
            reader->next = (reader->next + 1) % reader->count;
            asked++;
        }
        receive_some(reader);
    }
    print(reader, (double)(now - begin) / 1e6, cpu);
    return 0;
}

static int read_once(char **words) {
    struct reader *reader = reader_of(words, ANSWER_ONCE);
    double cpu = bench_cpu_s();
    puts("connected");
    fflush(stdout);
    if (getchar() == EOF) bench_fail("nobody has said when to ask");
    int64_t begin = clock_monotonic_us();
    for (int i = 0; i < reader->count; i++) ask(reader, &reader->connections[i], begin);
    while (reader->answered + reader->bad < (size_t)reader->count) receive_some(reader);
    print(reader, (double)(clock_monotonic_us() - begin) / 1e6, cpu);
    return 0;
}

/* ---- the answerer ---- */

static enum MHD_Result on_access(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                                 const char *version, const char *data, size_t *size, void **state) {
    (void)url, (void)method, (void)version, (void)data;
    if (!*state) { // the head alone
        *state = context;
        return MHD_YES;
    }
    if (*size) { // a part of the body: libmicrohttpd takes the answer after the last one
        *size = 0;
        return MHD_YES;
    }
    return MHD_queue_response(connection, MHD_HTTP_OK, context);
}

static int answer(char **words) {
    size_t size = (size_t)atoll(words[1]);
    char *body = mem_alloc(size);
    memset(body, 'x', size);
    struct MHD_Response *response = MHD_create_response_from_buffer(size, body, MHD_RESPMEM_PERSISTENT);
    MHD_add_response_header(response, "Content-Type", "application/json");
    if (!MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, (uint16_t)atoi(words[0]), NULL, NULL, on_access, response,
                          MHD_OPTION_END))
        bench_fail("libmicrohttpd does not start");
    pause();
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 9 && strcmp(argv[1], "read") == 0) return read_pages(argv + 2, NULL, NULL);
    if (argc == 11 && strcmp(argv[1], "post") == 0) return read_pages(argv + 2, argv[9], argv[10]);
    if (argc == 7 && strcmp(argv[1], "once") == 0) return read_once(argv + 2);
    if (argc == 4 && strcmp(argv[1], "answer") == 0) return answer(argv + 2);
    bench_fail("its head says which arguments there are");
}
