#include "ws/handshake.h"

#include <libwebsockets.h>
#include <string.h>
#include <strings.h>

#include "base/header.h"
#include "base/mem.h"
#include "ws/packer.h"

enum { KEY_SIZE = 24, DIGEST_SIZE = 20, ACCEPT_ROOM = 28 + 2 /* lws_b64_encode_string wants one to spare */ };

/* A stretch of the request. */
struct words {
    const char *text;
    size_t size;
};

struct head_request {
    struct words method, target, version;
    struct words host, key, socket_version, origin;
    struct buffer upgrade, connection, subprotocols, extensions; /* lists, which may stand in several headers */
    bool malformed;
};

static const char SPACE[] = " \t";
static const char REFUSAL_UPGRADE[] =
    "HTTP/1.1 426 Upgrade Required\r\nUpgrade: websocket\r\nConnection: close, upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nContent-Length: 0\r\n\r\n";

static bool is(struct words words, const char *text) {
    return words.size == strlen(text) && !strncasecmp(words.text, text, words.size);
}

static bool is_token(struct words words) { return header_is_token(words.text, words.size); }

static bool is_visible(struct words words) {
    for (size_t i = 0; i < words.size; i++)
        if (words.text[i] <= ' ' || words.text[i] > '~') return false;
    return words.size > 0;
}

static struct words trimmed(struct words words) {
    while (words.size && strchr(SPACE, words.text[0])) words.text++, words.size--;
    while (words.size && strchr(SPACE, words.text[words.size - 1])) words.size--;
    return words;
}

/* Cuts off what stands before the byte, and the byte; false: there is none. */
static bool cut(struct words *rest, char byte, struct words *before) {
    const char *found = memchr(rest->text, byte, rest->size);
    if (!found) return false;
    *before = (struct words){rest->text, (size_t)(found - rest->text)};
    rest->size -= before->size + 1;
    rest->text = found + 1;
    return true;
}

static void once(struct head_request *request, struct words *header, struct words value) {
    if (header->text) request->malformed = true;
    *header = value;
}

static void also(struct buffer *list, struct words value) {
    if (list->size) buffer_string(list, ", ");
    buffer_append(list, value.text, value.size);
}

static void header_read(struct head_request *request, struct words line) {
    struct words name, value = line;
    if (!cut(&value, ':', &name) || !is_token(name) || !header_is_value(value.text, value.size)) {
        request->malformed = true;
        return;
    }
    value = trimmed(value);
    if (is(name, "host")) once(request, &request->host, value);
    if (is(name, "sec-websocket-key")) once(request, &request->key, value);
    if (is(name, "sec-websocket-version")) once(request, &request->socket_version, value);
    if (is(name, "origin")) once(request, &request->origin, value);
    if (is(name, "upgrade")) also(&request->upgrade, value);
    if (is(name, "connection")) also(&request->connection, value);
    if (is(name, "sec-websocket-protocol")) also(&request->subprotocols, value);
    if (is(name, "sec-websocket-extensions")) also(&request->extensions, value);
}

/* A line ends with CR LF; without them here. */
static bool line_cut(struct words *rest, struct words *line) {
    if (!cut(rest, '\n', line) || !line->size || line->text[line->size - 1] != '\r') return false;
    line->size--;
    return true;
}

static void request_read(struct head_request *request, struct words rest) {
    struct words line;
    if (!line_cut(&rest, &line) || !cut(&line, ' ', &request->method) || !cut(&line, ' ', &request->target)) {
        request->malformed = true;
        return;
    }
    request->version = line;
    request->malformed = !is_token(request->method) || !is_visible(request->target) || !is_visible(line);
    while (!request->malformed && rest.size) {
        if (!line_cut(&rest, &line))
            request->malformed = true;
        else if (line.size)
            header_read(request, line);
        else
            break;
    }
}

/* Walks along a list; false: there is no item any more. */
static bool item_next(struct words *rest, struct words *item) {
    if (!rest->size) return false;
    if (!cut(rest, ',', item)) {
        *item = *rest;
        rest->size = 0;
    }
    *item = trimmed(*item);
    return true;
}

static bool lists(struct words list, struct words wanted, bool any_case) {
    for (struct words item; item_next(&list, &item);)
        if (item.size == wanted.size && !(any_case ? strncasecmp(item.text, wanted.text, wanted.size)
                                                   : memcmp(item.text, wanted.text, wanted.size)))
            return true;
    return false;
}

static struct words words_of(const char *text) { return (struct words){text, strlen(text)}; }

static struct words words_in(const struct buffer *buffer) {
    return (struct words){(const char *)buffer->data, buffer->size};
}

/* 16 bytes in base64. */
static bool is_key(struct words key) {
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (key.size != KEY_SIZE || memcmp(key.text + KEY_SIZE - 2, "==", 2)) return false;
    for (size_t i = 0; i < KEY_SIZE - 2; i++)
        if (!memchr(DIGITS, key.text[i], sizeof DIGITS - 1)) return false;
    return true;
}

static void refuse(struct buffer *answer, const char *status, const char *more, const char *reason) {
    buffer_format(answer,
                  "HTTP/1.1 %s\r\n%sConnection: close\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n\r\n%s.\n",
                  status, more, strlen(reason) + 2, reason);
}

static bool version_fits(struct words version) {
    return version.size == strlen("HTTP/1.1") && !memcmp(version.text, "HTTP/1.", 7) && version.text[7] >= '1' &&
           version.text[7] <= '9';
}

static bool asks_for_upgrade(const struct head_request *request) {
    return lists(words_in(&request->upgrade), words_of("websocket"), true) &&
           lists(words_in(&request->connection), words_of("upgrade"), true) && is(request->socket_version, "13");
}

/* Refuses a request that lacks something which an upgrade needs (RFC 6455, 4.2.1). True: it is refused. */
static bool refused(const struct head_request *request, const struct handshake_rules *rules, struct buffer *answer) {
    static const char BAD[] = "400 Bad Request";
    if (request->malformed)
        refuse(answer, BAD, "", "no HTTP request");
    else if (!asks_for_upgrade(request))
        buffer_string(answer, REFUSAL_UPGRADE);
    else if (request->method.size != 3 || memcmp(request->method.text, "GET", 3))
        refuse(answer, "405 Method Not Allowed", "Allow: GET\r\n", "an upgrade begins with GET");
    else if (!version_fits(request->version))
        refuse(answer, BAD, "", "an upgrade needs HTTP/1.1");
    else if (!request->host.size)
        refuse(answer, BAD, "", "no Host");
    else if (!is_key(request->key))
        refuse(answer, BAD, "", "Sec-WebSocket-Key is not 16 bytes in base64");
    else if (!lists(words_in(&request->subprotocols), words_of(rules->subprotocol), false))
        refuse(answer, BAD, "", "unknown subprotocol");
    else
        return false;
    return true;
}

/* Browsers say whose page wants the connection; an app says nothing, and could say anything. */
static bool origin_allowed(const struct head_request *request, const struct handshake_rules *rules) {
    return !rules->origins || !request->origin.size || lists(words_of(rules->origins), request->origin, true);
}

/* Base64 of the SHA-1 of the key and a fixed text (RFC 6455, 4.2.2). */
static void accept_write(struct words key, char accept[ACCEPT_ROOM]) {
    static const char FIXED[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    char text[KEY_SIZE + sizeof FIXED];
    unsigned char digest[DIGEST_SIZE];
    memcpy(text, key.text, KEY_SIZE);
    memcpy(text + KEY_SIZE, FIXED, sizeof FIXED);
    lws_SHA1((const unsigned char *)text, KEY_SIZE + sizeof FIXED - 1, digest);
    lws_b64_encode_string((const char *)digest, DIGEST_SIZE, accept, ACCEPT_ROOM);
}

static enum handshake_result answer(struct head_request *request, const struct handshake_rules *rules,
                                    struct buffer *out, bool *packs) {
    char accept[ACCEPT_ROOM];
    if (refused(request, rules, out)) return HANDSHAKE_REFUSED;
    if (!origin_allowed(request, rules)) {
        refuse(out, "403 Forbidden", "", "origin not allowed");
        return HANDSHAKE_ORIGIN;
    }
    accept_write(request->key, accept);
    *packs = rules->deflate && packer_offered(buffer_cstring(&request->extensions));
    buffer_format(out,
                  "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                  "Sec-WebSocket-Accept: %s\r\nSec-WebSocket-Protocol: %s\r\n%s\r\n",
                  accept, rules->subprotocol,
                  *packs ? "Sec-WebSocket-Extensions: " PACKER_NAME PACKER_ANSWER "\r\n" : "");
    return HANDSHAKE_TAKEN;
}

bool handshake_begins(const char *text) { return header_is_token(text, 1); }

size_t handshake_size(const char *text, size_t size, size_t known) {
    static const char END[] = "\r\n\r\n";
    size_t from = known < 3 ? 0 : known - 3;
    const char *found = memmem(text + from, size - from, END, 4);
    return found ? (size_t)(found - text) + 4 : 0;
}

enum handshake_result handshake_answer(const char *request, size_t size, const struct handshake_rules *rules,
                                       struct buffer *out, bool *packs) {
    struct head_request read = {.malformed = false};
    request_read(&read, (struct words){request, size});
    enum handshake_result result = answer(&read, rules, out, packs);
    buffer_free(&read.upgrade);
    buffer_free(&read.connection);
    buffer_free(&read.subprotocols);
    buffer_free(&read.extensions);
    return result;
}

void handshake_too_long(struct buffer *answer) {
    refuse(answer, "431 Request Header Fields Too Large", "", "too long");
}
