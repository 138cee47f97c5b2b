#include "ws/handshake.h"

#include <libwebsockets.h>
#include <string.h>
#include <strings.h>

#include "http/head.h"

enum { KEY_SIZE = 24, DIGEST_SIZE = 20, ACCEPT_ROOM = 28 + 2 /* lws_b64_encode_string wants one to spare */ };

/* The parts of a head that an upgrade needs. */
struct upgrade {
    struct http_head head;
    const char *key, *socket_version, *origin; /* NULL: absent */
    bool malformed;
};

static const char REFUSAL_UPGRADE[] =
    "HTTP/1.1 426 Upgrade Required\r\nUpgrade: websocket\r\nConnection: close, upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nContent-Length: 0\r\n\r\n";

/* The value of a field that may stand there once. */
static const char *once(struct upgrade *upgrade, const char *name) {
    const struct http_head *head = &upgrade->head;
    const char *value = http_field_find(head->fields, head->field_count, name);
    for (size_t i = 0, found = 0; i < head->field_count; i++)
        if (!strcasecmp(head->fields[i].name, name) && found++) upgrade->malformed = true;
    return value;
}

static void upgrade_read(struct upgrade *upgrade, char *request, size_t size) {
    struct http_fault fault;
    upgrade->malformed = http_head_read(request, size, &upgrade->head, &fault) != 0;
    upgrade->key = once(upgrade, "Sec-WebSocket-Key");
    upgrade->socket_version = once(upgrade, "Sec-WebSocket-Version");
    upgrade->origin = once(upgrade, "Origin");
}

/* The word is in a list that may stand in several fields. */
static bool lists(const struct http_head *head, const char *name, const char *word, bool any_case) {
    for (size_t i = 0; i < head->field_count; i++)
        if (!strcasecmp(head->fields[i].name, name) && http_lists(head->fields[i].value, word, strlen(word), any_case))
            return true;
    return false;
}

/* 16 bytes in base64. */
static bool is_key(const char *key) {
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    return key && strlen(key) == KEY_SIZE && strspn(key, DIGITS) == KEY_SIZE - 2 && !strcmp(key + KEY_SIZE - 2, "==");
}

static void refuse(struct buffer *answer, const char *status, const char *more, const char *reason) {
    buffer_format(answer,
                  "HTTP/1.1 %s\r\n%sConnection: close\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n\r\n%s.\n",
                  status, more, strlen(reason) + 2, reason);
}

static bool asks_for_upgrade(const struct upgrade *upgrade) {
    return lists(&upgrade->head, "Upgrade", "websocket", true) &&
           lists(&upgrade->head, "Connection", "upgrade", true) && upgrade->socket_version &&
           !strcmp(upgrade->socket_version, "13");
}

/* Refuses a request that lacks something which an upgrade needs (RFC 6455, 4.2.1). True: it is refused. */
static bool refused(const struct upgrade *upgrade, const struct handshake_rules *rules, struct buffer *answer) {
    static const char BAD[] = "400 Bad Request";
    const struct http_head *head = &upgrade->head;
    if (upgrade->malformed)
        refuse(answer, BAD, "", "no HTTP request");
    else if (!asks_for_upgrade(upgrade))
        buffer_string(answer, REFUSAL_UPGRADE);
    else if (strcmp(head->method, "GET"))
        refuse(answer, "405 Method Not Allowed", "Allow: GET\r\n", "an upgrade begins with GET");
    else if (!head->minor)
        refuse(answer, BAD, "", "an upgrade needs HTTP/1.1");
    else if (!head->host || !*head->host)
        refuse(answer, BAD, "", "no Host");
    else if (!is_key(upgrade->key))
        refuse(answer, BAD, "", "Sec-WebSocket-Key is not 16 bytes in base64");
    else if (!lists(head, "Sec-WebSocket-Protocol", rules->subprotocol, false))
        refuse(answer, BAD, "", "unknown subprotocol");
    else
        return false;
    return true;
}

/* Browsers say whose page wants the connection; an app says nothing, and could say anything. */
static bool origin_allowed(const struct upgrade *upgrade, const struct handshake_rules *rules) {
    const char *origin = upgrade->origin;
    return !rules->origins || !origin || !*origin || http_lists(rules->origins, origin, strlen(origin), true);
}

/* Base64 of the SHA-1 of the key and a fixed text (RFC 6455, 4.2.2). */
static void accept_write(const char *key, char accept[ACCEPT_ROOM]) {
    static const char FIXED[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    char text[KEY_SIZE + sizeof FIXED];
    unsigned char digest[DIGEST_SIZE];
    memcpy(text, key, KEY_SIZE);
    memcpy(text + KEY_SIZE, FIXED, sizeof FIXED);
    lws_SHA1((const unsigned char *)text, KEY_SIZE + sizeof FIXED - 1, digest);
    lws_b64_encode_string((const char *)digest, DIGEST_SIZE, accept, ACCEPT_ROOM);
}

enum handshake_result handshake_answer(char *request, size_t size, const struct handshake_rules *rules,
                                       struct buffer *out, struct buffer *forwarded) {
    struct upgrade upgrade;
    char accept[ACCEPT_ROOM];
    upgrade_read(&upgrade, request, size);
    if (refused(&upgrade, rules, out)) return HANDSHAKE_REFUSED;
    if (!origin_allowed(&upgrade, rules)) {
        refuse(out, "403 Forbidden", "", "origin not allowed");
        return HANDSHAKE_ORIGIN;
    }
    http_field_gather(upgrade.head.fields, upgrade.head.field_count, "X-Forwarded-For", forwarded);
    accept_write(upgrade.key, accept);
    buffer_format(out,
                  "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                  "Sec-WebSocket-Accept: %s\r\nSec-WebSocket-Protocol: %s\r\n\r\n",
                  accept, rules->subprotocol);
    return HANDSHAKE_TAKEN;
}

size_t handshake_size(const char *text, size_t size, size_t known) {
    ssize_t whole = http_head_size(text, size, known);
    return whole < 0 ? size : (size_t)whole; /* to be refused */
}

void handshake_too_long(struct buffer *answer) {
    refuse(answer, "431 Request Header Fields Too Large", "", "too long");
}
