#include "ws/packer.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#define ZLIB_CONST
#include <zlib.h>

#include "base/mem.h"
#include "ws/ws.h"

enum {
    WINDOW_BITS = -15, /* without zlib's own head */
    MEMORY_LEVEL = 8,
    LEAST = 128,        /* bytes worth packing */
    TRAILER_SIZE = 4,   /* of an empty block that ends a flush; not sent (RFC 7692, 7.2.1) */
    ENDED_BY_ITSELF = 5 /* left behind a last block: that, and the block that a client appends to it (7.2.3.4) */
};

static const uint8_t TRAILER[TRAILER_SIZE] = {0, 0, 0xff, 0xff};

struct packer {
    z_stream pack, unpack;
    struct buffer packed;
    uint8_t *unpacked;
    size_t max_message;
};

struct packer *packer_new(size_t max_message) {
    struct packer *packer = mem_zero(1, sizeof *packer);
    packer->max_message = max_message;
    packer->unpacked = mem_alloc(max_message + 1);
    if (deflateInit2(&packer->pack, Z_BEST_SPEED, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK ||
        inflateInit2(&packer->unpack, WINDOW_BITS) != Z_OK)
        abort(); /* no memory */
    return packer;
}

void packer_free(struct packer *packer) {
    if (!packer) return;
    deflateEnd(&packer->pack);
    inflateEnd(&packer->unpack);
    buffer_free(&packer->packed);
    free(packer->unpacked);
    free(packer);
}

static bool parameter_fits(const char *name, size_t size) {
    static const char *const KNOWN[] = {"server_no_context_takeover", "client_no_context_takeover",
                                        "client_max_window_bits"};
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++)
        if (strlen(KNOWN[i]) == size && !memcmp(KNOWN[i], name, size)) return true;
    return false;
}

bool packer_offered(const char *list) {
    static const char SPACE[] = " \t";
    bool fits = false, first = true;
    for (const char *at = list; *at;) {
        at += strspn(at, SPACE);
        size_t size = strcspn(at, " \t;,="), whole = strcspn(at, ";,");
        if (first)
            fits = size == strlen(PACKER_NAME) && !memcmp(at, PACKER_NAME, size);
        else
            fits = fits && parameter_fits(at, size);
        at += whole;
        first = *at == ',';
        if (fits && (first || !*at)) return true;
        at += *at != '\0';
    }
    return false;
}

uint8_t *packer_pack(struct packer *packer, const uint8_t *text, size_t size, size_t *packed_size) {
    if (size < LEAST) return NULL;
    z_stream *stream = &packer->pack;
    deflateReset(stream);
    buffer_clear(&packer->packed);
    /* No more than what it is to be shorter than: what does not fit is not worth it. */
    uint8_t *to = buffer_reserve(&packer->packed, WS_HEADROOM + size + TRAILER_SIZE) + WS_HEADROOM;
    stream->next_in = text;
    stream->avail_in = (uInt)size;
    stream->next_out = to;
    stream->avail_out = (uInt)(size + TRAILER_SIZE - 1);
    if (deflate(stream, Z_SYNC_FLUSH) != Z_OK || stream->avail_in || !stream->avail_out) return NULL;
    size_t written = (size_t)(stream->next_out - to);
    assert(written > TRAILER_SIZE && !memcmp(to + written - TRAILER_SIZE, TRAILER, TRAILER_SIZE));
    *packed_size = written - TRAILER_SIZE;
    return to;
}

/* Feeds it; Z_OK: all of it was taken. */
static int feed(z_stream *stream, const uint8_t *bytes, size_t size) {
    stream->next_in = bytes;
    stream->avail_in = (uInt)size;
    int code = inflate(stream, Z_SYNC_FLUSH);
    return code == Z_BUF_ERROR && !stream->avail_in ? Z_OK : code;
}

int packer_unpack(struct packer *packer, const uint8_t *packed, size_t packed_size, const char **text, size_t *size) {
    z_stream *stream = &packer->unpack;
    inflateReset(stream);
    stream->next_out = packer->unpacked;
    stream->avail_out = (uInt)packer->max_message + 1;
    int code = feed(stream, packed, packed_size);
    if (code == Z_OK && stream->avail_out) code = feed(stream, TRAILER, sizeof TRAILER);
    if (!stream->avail_out) return -EMSGSIZE;
    if (code == Z_STREAM_END ? stream->avail_in > ENDED_BY_ITSELF : code != Z_OK) return -EBADMSG;
    *text = (const char *)packer->unpacked;
    *size = (size_t)(stream->next_out - packer->unpacked);
    return 0;
}
