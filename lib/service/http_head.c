#include "service/http_head.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "http/field.h"

/* The checks need this of all header fields. */
struct fields {
    unsigned lengths, codings, hosts;
    bool chunked;             // the coding is "chunked"
    const char *expectation;  // NULL: none
    bool bad_name, bad_value; // any of them
};

static int refuse(struct http_fault *fault, unsigned status, const char *code, const char *detail) {
    *fault = (struct http_fault){status, code, detail};
    return -EINVAL;
}

static int malformed(struct http_fault *fault, const char *detail) { return refuse(fault, 400, "bad_request", detail); }

static enum MHD_Result see_field(void *context, enum MHD_ValueKind kind, const char *name, size_t name_size,
                                 const char *value, size_t value_size) {
    struct fields *fields = context;
    // "Content-Length : 5" is no length for libmicrohttpd, and one for others.
    fields->bad_name |= !http_is_token(name, name_size);
    fields->bad_value |= !http_is_value(value, value_size);
    if (!strcasecmp(name, "Content-Length")) fields->lengths++;
    if (!strcasecmp(name, "Host")) fields->hosts++;
    if (!strcasecmp(name, "Expect")) fields->expectation = value;
    if (!strcasecmp(name, "Transfer-Encoding")) {
        fields->codings++;
        fields->chunked = !strcasecmp(value, "chunked");
    }
    return MHD_YES;
}

static int check_size(const struct http_head *head, struct MHD_Connection *connection, struct http_fault *fault) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    if (head->address_size > HTTP_ADDRESS_MAX)
        return refuse(fault, 414, "uri_too_long", "the address is longer than this server accepts");
    if (info && info->header_size > HTTP_HEAD_MAX)
        return refuse(fault, 431, "head_too_large", "the header fields are more than this server accepts");
    return 0;
}

void http_head_address(struct http_head *head, const char *address) {
    head->address_size = strlen(address);
    head->bad_address = strchr(address, ' ') || strstr(address, "%00");
}

/* A NUL would end the address for this server, but not for others. libmicrohttpd cuts the request line into texts in place: each text
 * begins right behind the one before, unless a NUL has ended that one too early. */
static int check_request_line(const struct http_head *head, struct http_fault *fault) {
    if (head->path != head->method + strlen(head->method) + 1 || head->version != head->path + head->address_size + 1)
        return malformed(fault, "the request line must be METHOD ADDRESS HTTP/1.1");
    if (head->bad_address) return malformed(fault, "the address must not hold a space or a NUL");
    return 0;
}

/* How the body is delimited: the one thing on which all servers on the way must agree. */
static int check_framing(const struct http_head *head, const struct fields *fields, struct http_fault *fault) {
    if (fields->lengths > 1) return malformed(fault, "there must be one Content-Length");
    if (fields->lengths && fields->codings)
        return malformed(fault, "a request has Content-Length or Transfer-Encoding, not both");
    if (fields->codings && !strcmp(head->version, "HTTP/1.0"))
        return malformed(fault, "HTTP/1.0 knows no Transfer-Encoding");
    if (fields->codings > 1 || (fields->codings && !fields->chunked))
        return refuse(fault, 501, "bad_coding", "chunked is the only Transfer-Encoding that this server knows");
    return 0;
}

int http_head_check(const struct http_head *head, struct MHD_Connection *connection, struct http_fault *fault) {
    struct fields fields = {0};
    int code = check_size(head, connection, fault);
    if (!code) code = check_request_line(head, fault);
    if (code) return code;
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, see_field, &fields);
    if (fields.bad_name) return malformed(fault, "a header field must be NAME: VALUE in one line");
    if (fields.bad_value) return malformed(fault, "a header field holds a control character");
    code = check_framing(head, &fields, fault);
    if (code) return code;
    if (fields.hosts > 1 || (!fields.hosts && strcmp(head->version, "HTTP/1.0")))
        return malformed(fault, "a request has one Host");
    if (fields.expectation && strcasecmp(fields.expectation, "100-continue"))
        return refuse(fault, 417, "bad_expectation", "this server meets no expectation but 100-continue");
    return 0;
}
