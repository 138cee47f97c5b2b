#include "service/http_parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

enum { METHOD_MAX = 32, OVERHEAD_MAX = 8 * 1024, SIZE_DIGITS_MAX = 15 };

static int refuse(struct http_fault *fault, unsigned status, const char *code, const char *detail) {
    *fault = (struct http_fault){status, code, detail};
    return -EINVAL;
}

static int malformed(struct http_fault *fault, const char *detail) { return refuse(fault, 400, "bad_request", detail); }

/* ---- where the head ends ---- */

static int too_large(bool in_first_line, struct http_fault *fault) {
    return in_first_line ? refuse(fault, 414, "uri_too_long", "the request line is longer than this server accepts")
                         : refuse(fault, 431, "head_too_large", "the header fields are more than this server accepts");
}

int http_head_end(const char *text, size_t size, size_t *seen, struct http_fault *fault) {
    const char *end;
    while ((end = memchr(text + *seen, '\n', size - *seen))) {
        size_t at = (size_t)(end - text);
        if (at == 0 || text[at - 1] != '\r') return malformed(fault, "a line must end in CR LF");
        const char *line = memrchr(text, '\n', at);
        if (!line && at > HTTP_LINE_MAX) return too_large(true, fault);
        if (at + 1 > HTTP_HEAD_MAX) return too_large(false, fault);
        *seen = at + 1;
        if (line && line + 2 == end) return (int)*seen;
    }
    bool first = !memchr(text, '\n', size);
    *seen = size;
    return size > (first ? HTTP_LINE_MAX : HTTP_HEAD_MAX) ? too_large(first, fault) : 0;
}

/* ---- the head ---- */

static bool is_token(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Decodes %XX (and, in a query, + as a space) in place. A NUL would end the text for us, and not for others. */
static int unescape(char *text, bool query, struct http_fault *fault) {
    char *to = text;
    for (const char *at = text; *at; at++) {
        char c = *at;
        if (c == '%') {
            int high = hex_digit(at[1]), low = high < 0 ? -1 : hex_digit(at[2]);
            if (low < 0) return malformed(fault, "a % in the address must be followed by two hexadecimal digits");
            c = (char)(high << 4 | low);
            if (!c) return malformed(fault, "the address must not hold a NUL");
            at += 2;
        } else if (c == '+' && query)
            c = ' ';
        *to++ = c;
    }
    *to = '\0';
    return 0;
}

static int parse_query(char *query, struct http_head *head, struct http_fault *fault) {
    for (char *at = query; at; at = query) {
        query = strchr(at, '&');
        if (query) *query++ = '\0';
        if (!*at) continue;
        if (head->parameter_count == HTTP_FIELDS_MAX)
            return refuse(fault, 414, "uri_too_long", "the query has more parameters than this server accepts");
        char *value = strchr(at, '=');
        if (value) *value++ = '\0';
        int code = unescape(at, true, fault);
        if (!code && value) code = unescape(value, true, fault);
        if (code) return code;
        if (!head->parameters) head->parameters = mem_zero(HTTP_FIELDS_MAX, sizeof *head->parameters);
        head->parameters[head->parameter_count++] = (struct http_field){at, value ? value : ""};
    }
    return 0;
}

/* "http://host/path" is what clients send to a proxy, and servers must take: the path is behind the host. */
static char *origin_form(char *target) {
    if (*target == '/') return target;
    size_t scheme = strncasecmp(target, "http://", 7) == 0 ? 7 : strncasecmp(target, "https://", 8) == 0 ? 8 : 0;
    if (!scheme) return NULL;
    char *path = target + scheme + strcspn(target + scheme, "/?");
    if (path == target + scheme || *path == '?') return NULL;
    return *path ? path : strcpy(path - 1, "/");
}

static int parse_target(char *target, struct http_head *head, struct http_fault *fault) {
    for (const char *at = target; *at; at++)
        if (*at <= ' ' || *at > '~' || *at == '#') return malformed(fault, "the address holds what must be escaped");
    if (!strcmp(target, "*") && !strcmp(head->method, "OPTIONS")) {
        head->path = target;
        return 0;
    }
    char *path = origin_form(target);
    if (!path) return malformed(fault, "the address must begin with a slash");
    char *query = strchr(path, '?');
    if (query) *query++ = '\0';
    head->path = path;
    int code = unescape(path, false, fault);
    return code || !query ? code : parse_query(query, head, fault);
}

static int parse_version(const char *version, struct http_head *head, struct http_fault *fault) {
    if (strncmp(version, "HTTP/", 5) || version[5] < '0' || version[5] > '9' || version[6] != '.' || version[7] < '0' ||
        version[7] > '9' || version[8])
        return malformed(fault, "the request line must be METHOD ADDRESS HTTP/1.1");
    if (version[5] != '1') return refuse(fault, 505, "bad_version", "this server speaks HTTP/1.1");
    head->http_1_0 = version[7] == '0';
    return 0;
}

static int parse_request_line(char *line, struct http_head *head, struct http_fault *fault) {
    size_t method = 0;
    while (is_token(line[method])) method++;
    char *target = line + method + 1, *version = line[method] == ' ' ? strchr(target, ' ') : NULL;
    if (!method || method > METHOD_MAX || !version)
        return malformed(fault, "the request line must be METHOD ADDRESS HTTP/1.1");
    line[method] = '\0';
    *version++ = '\0';
    head->method = line;
    int code = parse_version(version, head, fault);
    return code ? code : parse_target(target, head, fault);
}

/* name:value, with the spaces around the value cut off. */
static int parse_field(char *line, struct http_head *head, struct http_fault *fault) {
    size_t name = 0;
    while (is_token(line[name])) name++;
    if (!name || line[name] != ':') return malformed(fault, "a header field must be NAME: VALUE in one line");
    line[name] = '\0';
    char *value = line + name + 1;
    value += strspn(value, " \t");
    size_t size = strlen(value);
    while (size && (value[size - 1] == ' ' || value[size - 1] == '\t')) size--;
    value[size] = '\0';
    for (const char *at = value; *at; at++)
        if (((unsigned char)*at < ' ' && *at != '\t') || *at == 0x7f)
            return malformed(fault, "a header field holds a control character");
    if (head->field_count == HTTP_FIELDS_MAX) return too_large(false, fault);
    head->fields[head->field_count++] = (struct http_field){line, value};
    return 0;
}

const char *http_head_field(const struct http_head *head, const char *name) {
    for (size_t i = 0; i < head->field_count; i++)
        if (!strcasecmp(head->fields[i].name, name)) return head->fields[i].value;
    return NULL;
}

static size_t field_times(const struct http_head *head, const char *name) {
    size_t times = 0;
    for (size_t i = 0; i < head->field_count; i++) times += !strcasecmp(head->fields[i].name, name);
    return times;
}

/* Does a comma-separated list hold the word? */
static bool list_holds(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; at && *at; at = strchr(at, ',')) {
        at += strspn(at, ", \t");
        size_t here = strcspn(at, ", \t");
        if (here == length && !strncasecmp(at, word, length)) return true;
    }
    return false;
}

static int parse_length(const char *text, struct http_head *head, struct http_fault *fault) {
    size_t digits = strspn(text, "0123456789");
    if (!digits || text[digits]) return malformed(fault, "Content-Length must be a whole number");
    errno = 0;
    head->length = strtoull(text, NULL, 10);
    return errno ? refuse(fault, 413, "body_too_large", "the request's body is larger than this server accepts") : 0;
}

/* How the body is delimited: the one thing on which all servers on the way must agree. */
static int parse_framing(struct http_head *head, struct http_fault *fault) {
    size_t lengths = field_times(head, "Content-Length"), codings = field_times(head, "Transfer-Encoding");
    if (lengths > 1) return malformed(fault, "there must be one Content-Length");
    if (lengths && codings) return malformed(fault, "a request has Content-Length or Transfer-Encoding, not both");
    if (lengths) return parse_length(http_head_field(head, "Content-Length"), head, fault);
    if (!codings) return 0;
    if (head->http_1_0) return malformed(fault, "HTTP/1.0 knows no Transfer-Encoding");
    if (codings > 1 || strcasecmp(http_head_field(head, "Transfer-Encoding"), "chunked"))
        return refuse(fault, 501, "bad_coding", "chunked is the only Transfer-Encoding that this server knows");
    head->chunked = true;
    return 0;
}

static int parse_connection(struct http_head *head, struct http_fault *fault) {
    size_t hosts = field_times(head, "Host");
    if (hosts > 1 || (!hosts && !head->http_1_0)) return malformed(fault, "a request has one Host");
    head->keep_alive = !head->http_1_0;
    for (size_t i = 0; i < head->field_count; i++) {
        const struct http_field *field = &head->fields[i];
        if (strcasecmp(field->name, "Connection")) continue;
        if (list_holds(field->value, "keep-alive")) head->keep_alive = true;
    }
    for (size_t i = 0; i < head->field_count; i++)
        if (!strcasecmp(head->fields[i].name, "Connection") && list_holds(head->fields[i].value, "close"))
            head->keep_alive = false;
    const char *expect = http_head_field(head, "Expect");
    if (expect && strcasecmp(expect, "100-continue"))
        return refuse(fault, 417, "bad_expectation", "this server meets no expectation but 100-continue");
    head->expects_continue = expect && !head->http_1_0;
    return 0;
}

int http_head_parse(const char *text, size_t size, struct http_head *head, struct http_fault *fault) {
    *head = (struct http_head){.text = mem_stringn(text, size), .method = "", .path = ""};
    if (memchr(text, '\0', size)) return malformed(fault, "the request's head holds a NUL");
    head->fields = mem_zero(HTTP_FIELDS_MAX, sizeof *head->fields);
    int code = 0;
    for (char *line = head->text, *end; !code && (end = strstr(line, "\r\n")) != line; line = end + 2) {
        *end = '\0';
        if (strchr(line, '\r')) return malformed(fault, "a line must end in CR LF");
        code = line == head->text ? parse_request_line(line, head, fault) : parse_field(line, head, fault);
    }
    if (!code) code = parse_framing(head, fault);
    return code ? code : parse_connection(head, fault);
}

void http_head_free(struct http_head *head) {
    free(head->text);
    free(head->fields);
    free(head->parameters);
    *head = (struct http_head){.text = NULL};
}

/* ---- chunks ---- */

/*     SIZE --;--> EXTENSION --CR--> SIZE_LF --+-- size > 0 --> DATA --> DATA_CR --> DATA_LF --> SIZE
 *        +---------------------CR-----^       +-- size = 0 --> TRAILER (a line begins) --CR--> END_LF --> done
 *                                                                 ^--LF-- TRAILER_LF <--CR-- TRAILER_LINE
 */
enum { SIZE, EXTENSION, SIZE_LF, DATA, DATA_CR, DATA_LF, TRAILER, TRAILER_LINE, TRAILER_LF, END_LF };

static int want(struct http_chunks *chunks, char c, char wanted, int next) {
    if (c != wanted) return -EINVAL;
    chunks->state = next;
    return 0;
}

static int read_size(struct http_chunks *chunks, char c) {
    int digit = hex_digit(c);
    if (digit >= 0) {
        if (++chunks->digits > SIZE_DIGITS_MAX) return -EINVAL;
        chunks->left = chunks->left << 4 | (uint64_t)digit;
        return 0;
    }
    if (!chunks->digits || (c != ';' && c != '\r')) return -EINVAL;
    chunks->state = c == ';' ? EXTENSION : SIZE_LF;
    return 0;
}

/* Text that does not count, up to the end of its line. */
static int skip(struct http_chunks *chunks, char c, int next) {
    if (++chunks->overhead > OVERHEAD_MAX || c == '\n' || c == '\0') return -EINVAL;
    if (c == '\r') chunks->state = next;
    return 0;
}

/* One byte that is no content. */
static int step(struct http_chunks *chunks, char c) {
    switch (chunks->state) {
    case SIZE: return read_size(chunks, c);
    case EXTENSION: return skip(chunks, c, SIZE_LF);
    case SIZE_LF: return want(chunks, c, '\n', chunks->left ? DATA : TRAILER);
    case DATA_CR: return want(chunks, c, '\r', DATA_LF);
    case DATA_LF: chunks->digits = 0; return want(chunks, c, '\n', SIZE);
    case TRAILER: chunks->state = TRAILER_LINE; return skip(chunks, c, END_LF);
    case TRAILER_LINE: return skip(chunks, c, TRAILER_LF);
    case TRAILER_LF: return want(chunks, c, '\n', TRAILER);
    default: return c == '\n' ? 1 : -EINVAL;
    }
}

int http_chunks_read(struct http_chunks *chunks, const char *data, size_t size, size_t *used, struct buffer *body,
                     size_t room, uint64_t *excess) {
    size_t at = 0;
    int code = 0;
    while (at < size && !code) {
        if (chunks->state != DATA) {
            code = step(chunks, data[at++]);
            continue;
        }
        size_t here = size - at < chunks->left ? size - at : (size_t)chunks->left;
        size_t free_room = body->size < room ? room - body->size : 0, taken = here < free_room ? here : free_room;
        if (taken) buffer_append(body, data + at, taken);
        *excess += here - taken;
        at += here;
        chunks->left -= here;
        if (!chunks->left) chunks->state = DATA_CR;
    }
    *used = at;
    return code;
}
