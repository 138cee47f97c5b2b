#include "http/head.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

enum { LENGTH_DIGITS = 18 };

static const char BLANKS[] = " \t", VERSION[] = "HTTP/1.";

static int refuse(struct http_fault *fault, unsigned status, const char *code, const char *detail) {
    *fault = (struct http_fault){status, code, detail};
    return -EINVAL;
}

static int malformed(struct http_fault *fault, const char *detail) { return refuse(fault, 400, "bad_request", detail); }

static int line_too_long(struct http_fault *fault) {
    return refuse(fault, 414, "uri_too_long", "the address is longer than this server accepts");
}

static int head_too_large(struct http_fault *fault) {
    return refuse(fault, 431, "head_too_large", "the header fields are more than this server accepts");
}

ssize_t http_head_size(const char *text, size_t size, size_t known) {
    if (size && !http_is_token(text, 1)) return -EINVAL;
    for (size_t at = known; at < size;) {
        const char *found = memchr(text + at, '\n', size - at);
        if (!found) return 0;
        at = (size_t)(found - text);
        if (!at || found[-1] != '\r') return -EINVAL;
        if (at >= 3 && found[-2] == '\n') return (ssize_t)at + 1;
        at++;
    }
    return 0;
}

bool http_head_exceeds(const char *text, size_t size, struct http_fault *fault) {
    if (size <= HTTP_TARGET_MAX) return false;
    if (!memchr(text, '\n', size) && size > HTTP_TARGET_MAX + 64) return line_too_long(fault);
    return size > HTTP_HEAD_MAX && head_too_large(fault);
}

/* Cuts the text before the byte off, and ends it with a NUL; NULL: there is no such byte. */
static char *cut(char **rest, char *end, char byte) {
    char *start = *rest, *found = memchr(start, byte, (size_t)(end - start));
    if (!found) return NULL;
    *found = '\0';
    *rest = found + 1;
    return start;
}

/* ---- the request line ---- */

static bool target_is_plain(const char *target, size_t size) {
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)target[i] <= ' ' || target[i] == 0x7f) return false;
    return size && !memmem(target, size, "%00", 3);
}

/* host, host:port or [v6]:port, as far as it must not be taken for anything else. */
static bool is_authority(const char *text) {
    for (const char *at = text; *at; at++)
        if (*at <= ' ' || *at > '~' || strchr("/?#@\\,\"<>", *at)) return false;
    return true;
}

/* "http://host/path", as proxies are asked: the host goes before the field Host (3.2.2). The target becomes what is behind the host. */
static bool target_is_absolute(struct http_head *head) {
    static const char *const SCHEMES[] = {"http://", "https://"};
    char *authority = NULL;
    for (size_t i = 0; i < sizeof SCHEMES / sizeof *SCHEMES; i++)
        if (!strncasecmp(head->target, SCHEMES[i], strlen(SCHEMES[i]))) authority = head->target + strlen(SCHEMES[i]);
    if (!authority) return false;
    size_t size = strcspn(authority, "/?");
    /* The authority moves to the front, over the scheme, so that there is room for a NUL, and for the slash of a path that has none. */
    memmove(head->target, authority, size);
    char *path = authority + size;
    if (*path != '/') *--path = '/';
    head->target[size] = '\0';
    head->host = head->target;
    head->target = path;
    return size > 0;
}

static int read_line(struct http_head *head, char *line, char *end, struct http_fault *fault) {
    static const char FORM[] = "the request line must be METHOD ADDRESS HTTP/1.1";
    char *rest = line, *method = cut(&rest, end, ' '), *target = method ? cut(&rest, end, ' ') : NULL;
    if (!target || !http_is_token(method, (size_t)(target - 1 - method))) return malformed(fault, FORM);
    head->method = method;
    size_t size = (size_t)(rest - 1 - target);
    if (size > HTTP_TARGET_MAX) return line_too_long(fault);
    if (!target_is_plain(target, size)) return malformed(fault, "the address must not hold a space or a NUL");
    head->target = target;
    if (end - rest != sizeof VERSION || memcmp(rest, VERSION, sizeof VERSION - 1) || end[-1] < '0' || end[-1] > '9')
        return malformed(fault, FORM);
    head->minor = end[-1] - '0';
    if (*target != '/' && strcmp(target, "*") && !target_is_absolute(head))
        return malformed(fault, "the address must be a path, or begin with http://");
    return 0;
}

/* ---- fields ---- */

static int read_field(struct http_head *head, char *line, char *end, struct http_fault *fault) {
    static const char FORM[] = "a header field must be NAME: VALUE in one line";
    char *value = line, *name = cut(&value, end, ':');
    if (!name || !http_is_token(name, (size_t)(value - 1 - name))) return malformed(fault, FORM);
    if (!http_is_value(value, (size_t)(end - value)))
        return malformed(fault, "a header field holds a control character");
    while (value < end && strchr(BLANKS, *value)) value++;
    while (end > value && strchr(BLANKS, end[-1])) end--;
    *end = '\0';
    if (head->field_count == HTTP_FIELDS_MAX) return head_too_large(fault);
    head->fields[head->field_count++] = (struct http_field){name, value};
    return 0;
}

/* How the body is delimited: the one thing on which all servers on the way must agree. */
struct framing {
    const char *length, *coding, *host, *expectation;
    bool twice; /* any of them but the expectation, or one of different kinds */
    unsigned codings;
};

static void once(struct framing *framing, const char **field, const char *value) {
    framing->twice |= *field != NULL;
    *field = value;
}

static int read_length(struct http_head *head, const char *digits, struct http_fault *fault) {
    size_t size = strlen(digits);
    if (!size || size > LENGTH_DIGITS || strspn(digits, "0123456789") != size)
        return malformed(fault, "Content-Length must be a number");
    for (; *digits; digits++) head->length = head->length * 10 + (*digits - '0');
    return 0;
}

static int check_framing(struct http_head *head, struct framing *framing, struct http_fault *fault) {
    if (framing->twice) return malformed(fault, "there must be one Host and at most one Content-Length");
    if (framing->length && framing->codings)
        return malformed(fault, "a request has Content-Length or Transfer-Encoding, not both");
    if (framing->codings && !head->minor) return malformed(fault, "HTTP/1.0 knows no Transfer-Encoding");
    if (framing->codings > 1 || (framing->codings && strcasecmp(framing->coding, "chunked")))
        return refuse(fault, 501, "bad_coding", "chunked is the only Transfer-Encoding that this server knows");
    head->chunked = framing->codings;
    if ((!framing->host && head->minor) || (framing->host && !is_authority(framing->host)) ||
        (head->host && !is_authority(head->host)))
        return malformed(fault, "a request has one Host");
    if (!head->host) head->host = framing->host;
    if (framing->expectation && strcasecmp(framing->expectation, "100-continue"))
        return refuse(fault, 417, "bad_expectation", "this server meets no expectation but 100-continue");
    head->expects_continue = framing->expectation && head->minor;
    return framing->length ? read_length(head, framing->length, fault) : 0;
}

static int check_fields(struct http_head *head, struct http_fault *fault) {
    struct framing framing = {.length = NULL};
    head->closes = !head->minor;
    for (size_t i = 0; i < head->field_count; i++) {
        const char *name = head->fields[i].name, *value = head->fields[i].value;
        if (!strcasecmp(name, "Content-Length")) once(&framing, &framing.length, value);
        if (!strcasecmp(name, "Host")) once(&framing, &framing.host, value);
        if (!strcasecmp(name, "Expect")) framing.expectation = value;
        if (!strcasecmp(name, "Connection")) head->closes |= http_lists(value, "close", 5, true);
        if (strcasecmp(name, "Transfer-Encoding")) continue;
        framing.codings++;
        framing.coding = value;
    }
    return check_framing(head, &framing, fault);
}

int http_head_read(char *text, size_t size, struct http_head *head, struct http_fault *fault) {
    static char NONE[] = "";
    char *rest = text, *end = text + size, *line = cut(&rest, end, '\n');
    head->method = head->target = NONE;
    head->host = NULL;
    head->minor = 1;
    head->field_count = 0;
    head->chunked = head->expects_continue = head->closes = false;
    head->length = 0;
    if (size > HTTP_HEAD_MAX) return head_too_large(fault);
    int code = line ? read_line(head, line, rest - 2, fault) : malformed(fault, "no request");
    while (code == 0 && (line = cut(&rest, end, '\n')) && rest - line > 2)
        code = read_field(head, line, rest - 2, fault);
    return code ? code : check_fields(head, fault);
}

const char *http_field_find(const struct http_field *fields, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (!strcasecmp(fields[i].name, name)) return fields[i].value;
    return NULL;
}

size_t http_field_gather(const struct http_field *fields, size_t count, const char *name, struct buffer *values) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        if (strcasecmp(fields[i].name, name)) continue;
        if (found++) buffer_byte(values, ',');
        buffer_string(values, fields[i].value);
    }
    return found;
}

void http_put_field(struct buffer *fields, const char *name, const char *value) {
    buffer_string(fields, name);
    buffer_append(fields, ": ", 2);
    buffer_string(fields, value);
    buffer_append(fields, "\r\n", 2);
}
