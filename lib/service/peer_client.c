#include "service/peer_client.h"

#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/mem.h"
#include "service/listen.h"
#include "service/peer_answer.h"

enum { IDLE_MAX = 32, READ_BYTES = 16 * 1024, KEPT_BYTES = 64 * 1024 };

struct peer_question {
    struct buffer request;
    int64_t deadline_us;
    unsigned number; /* of the address's that is tried, if its host has several */
    void (*done)(void *context, int code, unsigned status, const char *reply, size_t size);
    void *context;
};

/* A connection. It is busy from the question until the answer, and then idle. Its memory is given back when libuv has closed it. */
struct peer_link {
    struct peer_client *client;
    char *address;
    uv_tcp_t tcp;
    uv_getaddrinfo_t looking;
    uv_connect_t connecting;
    uv_write_t writing;
    struct loop_timer *timeout;
    bool busy, used, resolving, closed; /* used: it has brought an answer; resolving: libuv has `looking` */
    bool more;                          /* the address's host has further ones */
    bool refused;                       /* there was no address to connect to */
    struct peer_question question;      /* while it is busy */
    struct peer_answer answer;
    struct buffer in;
    struct peer_link *previous, *next; /* of all, or of those that are idle */
};

struct peer_client {
    uv_loop_t *loop;
    char *token;
    struct peer_link *busy, *idle; /* idle: the last that was busy comes first */
    size_t idle_count, links;      /* links: that libuv has not closed yet, too */
    bool closing;
};

/* ---- lists ---- */

static struct peer_link **list_of(struct peer_link *link) {
    return link->busy ? &link->client->busy : &link->client->idle;
}

static void list_in(struct peer_link *link, bool busy) {
    link->busy = busy;
    link->client->idle_count += !busy;
    link->previous = NULL;
    link->next = *list_of(link);
    if (link->next) link->next->previous = link;
    *list_of(link) = link;
}

static void list_out(struct peer_link *link) {
    link->client->idle_count -= !link->busy;
    if (link->next) link->next->previous = link->previous;
    *(link->previous ? &link->previous->next : list_of(link)) = link->next;
}

/* ---- the end of a connection ---- */

/* One holder less. The last one frees a client that is closing. */
static void client_let_go(struct peer_client *client) {
    if (--client->links || !client->closing) return;
    free(client->token);
    free(client);
}

static void link_free(struct peer_link *link) {
    struct peer_client *client = link->client;
    free(link->address);
    buffer_free(&link->question.request);
    buffer_free(&link->in);
    free(link);
    client_let_go(client);
}

static void tcp_closed(uv_handle_t *handle) {
    struct peer_link *link = handle->data;
    link->closed = true;
    if (!link->resolving) link_free(link);
}

static void link_close(struct peer_link *link) {
    list_out(link);
    loop_timer_free(link->timeout);
    if (link->resolving) uv_cancel((uv_req_t *)&link->looking);
    uv_close((uv_handle_t *)&link->tcp, tcp_closed);
}

/* ---- answers ---- */

static void tell(struct peer_question question, int code, unsigned status, const char *reply, size_t size) {
    question.done(question.context, code, status, reply, size);
}

static void link_fail(struct peer_link *link, int code) {
    struct peer_question question = link->question;
    link_close(link);
    tell(question, code, 0, NULL, 0);
}

static void ask_anew(struct peer_client *client, const char *address, struct peer_question question);

/* The link's question goes to a new connection. */
static void ask_again(struct peer_link *link, unsigned number) {
    struct peer_question question = link->question;
    question.number = number;
    link->question.request = (struct buffer){.size = 0};
    link_close(link);
    ask_anew(link->client, link->address, question);
}

/* The peer has closed the connection, or it is broken. */
static void link_lost(struct peer_link *link) {
    if (!link->busy) {
        link_close(link);
    } else if (link->used && !link->in.size) { // it was idle for too long, perhaps
        ask_again(link, 0);
    } else {
        link_fail(link, -EIO);
    }
}

static void on_timeout(void *context) {
    struct peer_link *link = context;
    link_fail(link, link->refused ? -ECONNREFUSED : -ETIMEDOUT);
}

/* The question fails in a later turn of the loop, as whoever asks may not expect an answer yet. */
static void refuse_soon(struct peer_link *link) {
    link->refused = true;
    loop_timer_again(link->timeout, 0, 0);
}

static void answered(struct peer_link *link) {
    struct peer_client *client = link->client;
    const char *text = buffer_cstring(&link->in);
    const struct peer_answer answer = link->answer;
    loop_timer_stop(link->timeout);
    list_out(link); // so that a done that frees the client does not cancel it
    tell(link->question, 0, answer.status, text + answer.head, answer.body);
    list_in(link, false);
    link->used = true;
    if (link->in.capacity > KEPT_BYTES)
        buffer_free(&link->in);
    else
        buffer_clear(&link->in);
    bool whole = uv_stream_get_write_queue_size((uv_stream_t *)&link->tcp) == 0;
    if (answer.last || !whole || client->closing || client->idle_count > IDLE_MAX) link_close(link);
}

static void give_room(uv_handle_t *handle, size_t suggested, uv_buf_t *room) {
    struct peer_link *link = handle->data;
    (void)suggested;
    *room = uv_buf_init((char *)buffer_reserve(&link->in, READ_BYTES), READ_BYTES);
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *room) {
    struct peer_link *link = stream->data;
    (void)room;
    if (got < 0 || (got && !link->busy)) {
        link_lost(link);
        return;
    }
    buffer_commit(&link->in, (size_t)got);
    int code = got ? peer_answer_read(&link->answer, (const char *)link->in.data, link->in.size) : 0;
    if (code < 0)
        link_fail(link, code);
    else if (code)
        answered(link);
}

/* ---- questions ---- */

static void written(uv_write_t *write, int status) {
    (void)write, (void)status; // a failure ends the reading, too
}

/* Most requests fit into the socket's buffer at once. */
static void send_request(struct peer_link *link) {
    struct buffer *request = &link->question.request;
    uv_buf_t bytes = uv_buf_init((char *)request->data, (unsigned)request->size);
    int sent = uv_try_write((uv_stream_t *)&link->tcp, &bytes, 1);
    if (sent == (int)request->size) return;
    if (sent > 0) bytes = uv_buf_init(bytes.base + sent, bytes.len - (unsigned)sent);
    uv_write(&link->writing, (uv_stream_t *)&link->tcp, &bytes, 1, written);
}

static void not_connected(struct peer_link *link) {
    if (link->more)
        ask_again(link, link->question.number + 1);
    else
        link_fail(link, -ECONNREFUSED);
}

static void on_connect(uv_connect_t *connect, int status) {
    struct peer_link *link = connect->data;
    if (status == UV_ECANCELED) return; // it is being closed
    if (status) {
        not_connected(link);
        return;
    }
    uv_tcp_nodelay(&link->tcp, 1);
    uv_read_start((uv_stream_t *)&link->tcp, give_room, on_read);
    send_request(link);
}

static void connect_to(struct peer_link *link, const struct addrinfo *found) {
    for (unsigned i = 0; found && i < link->question.number; i++) found = found->ai_next;
    link->more = found && found->ai_next;
    if (!found || uv_tcp_connect(&link->connecting, &link->tcp, found->ai_addr, on_connect)) not_connected(link);
}

static void on_address(uv_getaddrinfo_t *looking, int status, struct addrinfo *found) {
    struct peer_link *link = looking->data;
    (void)status; // nothing was found, then
    link->resolving = false;
    if (!uv_is_closing((uv_handle_t *)&link->tcp)) connect_to(link, found);
    uv_freeaddrinfo(found);
    if (link->closed) link_free(link);
}

/* A host in digits is connected to at once: few names are looked up at a time, and one whose server is silent would hold it up. */
static bool connect_to_digits(struct peer_link *link, const struct address *address) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } place;
    int port = (int)strtol(address->port, NULL, 10);
    if (uv_ip4_addr(address->host, port, &place.v4) && uv_ip6_addr(address->host, port, &place.v6)) return false;
    if (uv_tcp_connect(&link->connecting, &link->tcp, &place.any, on_connect)) refuse_soon(link);
    return true;
}

/* A wrong address fails as one that nobody listens on. */
static void look_up(struct peer_link *link) {
    static const struct addrinfo HINTS = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct address address;
    struct error error;
    if (address_parse(link->address, &address, &error)) {
        refuse_soon(link);
        return;
    }
    if (connect_to_digits(link, &address)) return;
    link->resolving =
        !uv_getaddrinfo(link->client->loop, &link->looking, on_address, address.host, address.port, &HINTS);
    if (!link->resolving) refuse_soon(link); // the host's bytes are no name
}

static void set_deadline(struct peer_link *link) {
    int64_t left_ms = (link->question.deadline_us - clock_monotonic_us()) / 1000;
    loop_timer_again(link->timeout, left_ms > 0 ? (uint64_t)left_ms : 0, 0);
}

/* Asks over a new connection, which takes over the question. */
static void ask_anew(struct peer_client *client, const char *address, struct peer_question question) {
    struct peer_link *link = mem_zero(1, sizeof *link);
    link->client = client;
    link->address = mem_string(address);
    link->question = question;
    link->timeout = loop_timer_new(client->loop, 1, 0, on_timeout, link);
    uv_tcp_init(client->loop, &link->tcp);
    link->tcp.data = link->looking.data = link->connecting.data = link;
    client->links++;
    list_in(link, true);
    set_deadline(link);
    look_up(link);
}

static struct peer_link *find_idle(struct peer_client *client, const char *address) {
    struct peer_link *link = client->idle;
    while (link && strcmp(link->address, address) != 0) link = link->next;
    return link;
}

static void put_request(struct buffer *request, const struct peer_client *client, const char *address,
                        const char *path) {
    buffer_clear(request);
    buffer_string(request, "GET ");
    buffer_string(request, path);
    buffer_string(request, " HTTP/1.1\r\nHost: ");
    buffer_string(request, address);
    if (client->token) {
        buffer_string(request, "\r\nAuthorization: Bearer ");
        buffer_string(request, client->token);
    }
    buffer_string(request, "\r\n\r\n");
}

void peer_client_get(struct peer_client *client, const char *address, const char *path, int timeout_ms,
                     void (*done)(void *context, int code, unsigned status, const char *reply, size_t size),
                     void *context) {
    if (client->closing) {
        done(context, -ECANCELED, 0, NULL, 0);
        return;
    }
    struct peer_link *link = find_idle(client, address);
    struct peer_question question = {
        .deadline_us = clock_monotonic_us() + (int64_t)timeout_ms * 1000, .done = done, .context = context};
    if (link) question.request = link->question.request; // its memory
    put_request(&question.request, client, address, path);
    if (!link) {
        ask_anew(client, address, question);
        return;
    }
    list_out(link);
    link->question = question;
    link->answer = (struct peer_answer){.head = 0};
    list_in(link, true);
    set_deadline(link);
    send_request(link);
}

struct peer_client *peer_client_new(uv_loop_t *loop, const char *token) {
    struct peer_client *client =
        MEM_NEW(&(struct peer_client){.loop = loop, .token = token && *token ? mem_string(token) : NULL});
    return client;
}

void peer_client_free(struct peer_client *client) {
    if (!client) return;
    client->closing = true;
    client->links++; // one for this call: a done must not be the last to hold the client
    while (client->busy) link_fail(client->busy, -ECANCELED);
    while (client->idle) link_close(client->idle);
    client_let_go(client);
}
