#include "service/http_gzip.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#define ZLIB_CONST
#include <zlib.h>

#include "base/mem.h"

enum {
    WITH_HEAD = 16,         // gzip's own head and tail
    WINDOW_BITS = 15,       // of the stream that all answers share: 256 KiB
    MEMORY_LEVEL = 8,       //
    STEPS_WINDOW_BITS = 12, // of an answer's own, which packs about a tenth worse: 32 KiB
    STEPS_MEMORY_LEVEL = 5, //
    CONSTANTS = 4
};

/* A constant body, packed. */
struct constant {
    const void *body;
    unsigned char *packed;
    size_t size;
};

struct http_gzip {
    size_t least;
    z_stream stream; // for answers that are packed at once
    struct constant constants[CONSTANTS];
    size_t constant_count;
};

/* An answer that is packed as it is sent. */
struct http_packing {
    z_stream stream;
    size_t room; // of body
    size_t left; // bytes of the body that the stream has not been given
    int fd;      // of the file that has them, of which body holds one step; -1: body has them all
    unsigned char body[];
};

static void stream_open(z_stream *stream, int window_bits, int memory_level) {
    *stream = (z_stream){.next_in = NULL};
    if (deflateInit2(stream, Z_BEST_SPEED, Z_DEFLATED, window_bits + WITH_HEAD, memory_level, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        abort(); // out of memory, which base/mem.h cannot see here
}

struct http_gzip *http_gzip_new(size_t least) {
    struct http_gzip *gzip = MEM_NEW(&(struct http_gzip){.least = least, .constant_count = 0});
    stream_open(&gzip->stream, WINDOW_BITS, MEMORY_LEVEL);
    return gzip;
}

void http_gzip_free(struct http_gzip *gzip) {
    if (!gzip) return;
    deflateEnd(&gzip->stream);
    for (size_t i = 0; i < gzip->constant_count; i++) free(gzip->constants[i].packed);
    free(gzip);
}

bool http_gzip_varies(const struct http_gzip *gzip, const char *content_type, size_t size) {
    static const char *const TYPES[] = {"application/json",     "application/problem+json",
                                        "application/yaml",     "application/vnd.schemaregistry.v1+json",
                                        "application/geo+json", "application/manifest+json",
                                        "image/svg+xml"};
    if (!gzip || !content_type || size < gzip->least) return false;
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (!strcmp(content_type, TYPES[i])) return true;
    return !strncmp(content_type, "text/", 5);
}

/* The weight of a coding with those parameters is 0. */
static bool refused(const char *parameters, const char *end) {
    for (const char *at = parameters; at < end; at++) {
        if (*at != 'q' && *at != 'Q') continue;
        at += 1 + strspn(at + 1, " \t");
        if (at >= end || *at != '=') return false;
        at += 1 + strspn(at + 1, " \t");
        at += strspn(at, "0.");
        return at >= end || *at < '1' || *at > '9';
    }
    return false;
}

bool http_coding_accepted(const char *accept, const char *coding) {
    bool any = false;
    for (const char *at = accept; at && *at;) {
        at += strspn(at, " \t,");
        size_t size = strcspn(at, " \t;,");
        const char *end = at + strcspn(at, ",");
        bool wanted = !refused(at + size, end);
        size_t old = size > 2 && !strncasecmp(at, "x-", 2) ? 2 : 0; // x-gzip
        // A word on the coding itself goes before a word on all others.
        if (size - old == strlen(coding) && !strncasecmp(at + old, coding, size - old)) return wanted;
        if (size == 1 && *at == '*') any = wanted;
        at = end;
    }
    return any;
}

bool http_gzip_accepted(const char *accept) { return http_coding_accepted(accept, "gzip"); }

/* The caller frees it. */
static unsigned char *pack(z_stream *stream, const void *body, size_t size, size_t *packed_size) {
    // A stream that has ended would leave out gzip's head and tail in what it says.
    deflateReset(stream);
    size_t room = deflateBound(stream, size);
    unsigned char *packed = mem_alloc(room);
    stream->next_in = body;
    stream->avail_in = (uInt)size;
    stream->next_out = packed;
    stream->avail_out = (uInt)room;
    if (deflate(stream, Z_FINISH) != Z_STREAM_END) abort(); // the room is enough for any body
    *packed_size = room - stream->avail_out;
    return mem_resize(packed, *packed_size, 1); // it is kept while the client takes its time
}

static struct http_body pack_at_once(z_stream *stream, const void *bytes, size_t size) {
    size_t packed_size;
    void *packed = pack(stream, bytes, size, &packed_size);
    return (struct http_body){.bytes = packed, .left = packed_size, .owned = packed};
}

/* Gives the stream the next step of the body. A file that is cut at this moment is sent as far as it goes. */
static void take_step(struct http_packing *packing) {
    size_t size = packing->left < HTTP_GZIP_STEP ? packing->left : HTTP_GZIP_STEP, have = 0;
    for (ssize_t got = 1; packing->fd >= 0 && have < size && got > 0; have += got > 0 ? (size_t)got : 0)
        got = read(packing->fd, packing->body + have, size - have);
    if (packing->fd >= 0) packing->stream.next_in = packing->body;
    packing->stream.avail_in = (uInt)(packing->fd >= 0 ? have : size);
    packing->left -= packing->fd >= 0 && have < size ? packing->left : size;
}

/* Each step ends with a flush, so that each call gives some. */
size_t http_packing_next(struct http_packing *packing, char *out, size_t room) {
    z_stream *stream = &packing->stream;
    stream->next_out = (unsigned char *)out;
    stream->avail_out = (uInt)room;
    if (!stream->avail_in && packing->left) take_step(packing);
    deflate(stream, packing->left ? Z_SYNC_FLUSH : Z_FINISH);
    return room - stream->avail_out;
}

size_t http_packing_bytes(const struct http_packing *packing) { return packing->room + HTTP_GZIP_STATE; }

void http_packing_free(struct http_packing *packing) {
    if (!packing) return;
    deflateEnd(&packing->stream);
    if (packing->fd >= 0) close(packing->fd);
    free(packing);
}

/* room: of its body. */
static struct http_packing *packing_new(size_t room, size_t size, int fd) {
    struct http_packing *packing = mem_alloc(sizeof *packing + room);
    packing->room = room;
    packing->left = size;
    packing->fd = fd;
    stream_open(&packing->stream, STEPS_WINDOW_BITS, STEPS_MEMORY_LEVEL);
    packing->stream.next_in = packing->body;
    return packing;
}

struct http_body http_gzip_body(struct http_gzip *gzip, const void *bytes, size_t size) {
    if (size <= HTTP_GZIP_STEP) return pack_at_once(&gzip->stream, bytes, size);
    struct http_packing *packing = packing_new(size, size, -1);
    memcpy(packing->body, bytes, size);
    return (struct http_body){.packing = packing};
}

struct http_body http_gzip_file(int fd, size_t size) {
    return (struct http_body){.packing = packing_new(HTTP_GZIP_STEP, size, fd)};
}

struct http_body http_gzip_constant(struct http_gzip *gzip, const void *bytes, size_t size) {
    size_t at = 0;
    while (at < gzip->constant_count && gzip->constants[at].body != bytes) at++;
    if (at == CONSTANTS) return http_gzip_body(gzip, bytes, size);
    struct constant *constant = &gzip->constants[at];
    if (at == gzip->constant_count) {
        gzip->constant_count++;
        constant->body = bytes;
        constant->packed = pack(&gzip->stream, bytes, size, &constant->size);
    }
    return (struct http_body){.bytes = (const char *)constant->packed, .left = constant->size};
}
