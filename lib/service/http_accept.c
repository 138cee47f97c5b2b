#include "service/http_accept.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

enum { Q_MAX = 1000, SPECIFIC_ALL = 1, SPECIFIC_TYPE, SPECIFIC_WHOLE };

static const char *skip_blanks(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    return at;
}

/* Thousandths of "0", "0.5", "1.000"; -1: malformed. */
static int read_q(const char *at, const char *end) {
    if (at >= end || (*at != '0' && *at != '1')) return -1;
    int q = (*at++ - '0') * Q_MAX, digit = 100;
    if (at < end && *at == '.')
        for (at++; at < end && isdigit((unsigned char)*at) && digit; at++, digit /= 10) q += (*at - '0') * digit;
    return skip_blanks(at, end) == end && q <= Q_MAX ? q : -1;
}

/* The q among the parameters ";a=b;q=0.5"; -1: malformed. */
static int find_q(const char *at, const char *end) {
    int q = Q_MAX;
    while (at < end) {
        at = skip_blanks(at + 1, end); // behind the semicolon
        const char *next = memchr(at, ';', (size_t)(end - at));
        if (!next) next = end;
        if (next - at >= 2 && tolower((unsigned char)at[0]) == 'q' && at[1] == '=') q = read_q(at + 2, next);
        at = next;
    }
    return q;
}

/* How closely a range names a type; 0: not at all. */
static int specific(const char *range, size_t size, const char *type) {
    size_t main_size = strcspn(type, "/") + 1;
    if (size == strlen(type) && !strncasecmp(range, type, size)) return SPECIFIC_WHOLE;
    if (size == 3 && !memcmp(range, "*/*", 3)) return SPECIFIC_ALL;
    bool of_type = size == main_size + 1 && range[size - 1] == '*' && !strncasecmp(range, type, main_size);
    return of_type ? SPECIFIC_TYPE : 0;
}

/* The q that a header gives a type; 0: it is not accepted. */
static int q_of(const char *header, const char *type) {
    int best = 0, result = 0;
    for (const char *at = header; *at;) {
        const char *end = at + strcspn(at, ","), *next = *end ? end + 1 : end;
        at = skip_blanks(at, end);
        const char *rest = memchr(at, ';', (size_t)(end - at));
        if (!rest) rest = end;
        const char *last = rest;
        while (last > at && (last[-1] == ' ' || last[-1] == '\t')) last--;
        int how = specific(at, (size_t)(last - at), type), q = find_q(rest, end);
        if (q >= 0 && how > best) {
            best = how;
            result = q;
        }
        at = next;
    }
    return result;
}

int http_accept(const char *header, const char *const *offered, size_t count) {
    int best = -1, best_q = 0;
    if (!header || !header[strspn(header, " \t")]) return 0;
    for (size_t i = 0; i < count; i++) {
        int q = q_of(header, offered[i]);
        if (q <= best_q) continue;
        best = (int)i;
        best_q = q;
    }
    return best;
}
