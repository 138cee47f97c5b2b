/* What permessage-deflate would cost an edge: CPU and bytes of a frame, and memory of a connection, by zlib alone.
 *
 *     bench-edge_deflate [--json FILE]
 *
 * Update frames as the edge writes them. With context takeover the window of 32 KiB is kept from frame to frame, which is what
 * makes small frames small, and what each connection then takes; without, each frame begins anew.
 */
#include <inttypes.h>
#include <zlib.h>

#include "base/buffer.h"
#include "bench/machine.h"
#include "bench/people.h"

enum { FRAMES = 2000, LEVEL = 1, MEMORY_LEVEL = 8, WINDOW_BITS = 15 };

static size_t allocated;

static void *take(void *context, unsigned count, unsigned size) {
    (void)context;
    allocated += (size_t)count * size;
    return mem_zero(count, size);
}

static void give(void *context, void *memory) {
    (void)context;
    free(memory);
}

static void put_frame(struct buffer *frame, size_t entries, uint64_t step) {
    buffer_clear(frame);
    buffer_string(frame, "{\"type\":\"update\",\"near\":[");
    for (size_t i = 0; i < entries; i++) {
        size_t index = (size_t)(hash_u64(step * 1000 + i) % 400); /* of one person's friends */
        struct geo_point at = people_place(index, step);
        buffer_format(frame,
                      "%s{\"user\":%" PRId64
                      ",\"name\":\"Person Number %zu\",\"avatar_url\":\"https://img.example.org/%" PRId64
                      ".jpg\",\"lat\":%.7f,\"lng\":%.7f,\"time\":%" PRId64 ",\"distance_m\":%.1f}",
                      i ? "," : "", people_user(index), index, people_user(index), at.lat / 1e7, at.lng / 1e7,
                      (int64_t)(1790000000000 + step * 997), geo_distance(PEOPLE_CENTRE, at));
    }
    buffer_string(frame, "],\"gone\":[]}");
}

struct cost {
    double us, bytes_in, bytes_out;
};

static struct cost measure(size_t entries, bool takeover) {
    struct cost cost = {0, 0, 0};
    struct buffer frame = {0};
    z_stream stream = {.zalloc = take, .zfree = give};
    allocated = 0;
    if (deflateInit2(&stream, LEVEL, Z_DEFLATED, -WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) abort();
    size_t room = entries * 400 + 1000;
    uint8_t *out = mem_alloc(room);
    for (uint64_t step = 0; step < FRAMES; step++) {
        put_frame(&frame, entries, step);
        stream.next_in = frame.data;
        stream.avail_in = (unsigned)frame.size;
        stream.next_out = out;
        stream.avail_out = (unsigned)room;
        int64_t before = clock_monotonic_us();
        if (!takeover) deflateReset(&stream);
        if (deflate(&stream, Z_SYNC_FLUSH) != Z_OK) abort();
        cost.us += (double)(clock_monotonic_us() - before) / FRAMES;
        cost.bytes_in += (double)frame.size / FRAMES;
        cost.bytes_out += (double)(room - stream.avail_out - 4) / FRAMES; /* the last four are not sent (RFC 7692) */
    }
    deflateEnd(&stream);
    buffer_free(&frame);
    free(out);
    return cost;
}

int main(int argc, char **argv) {
    static const size_t ENTRIES[] = {1, 7, 13, 67};
    FILE *json = argc == 3 && !strcmp(argv[1], "--json") ? fopen(argv[2], "w") : NULL;
    if (json) fputc('{', json);
    bench_print_machine(stdout, json, "edge-deflate");
    if (json) fputs("\"rows\":[", json);
    printf("%8s %10s %8s %8s %8s %10s\n", "entries", "takeover", "bytes", "become", "us", "KiB/conn.");
    for (size_t i = 0; i < 8; i++) {
        bool takeover = i % 2;
        struct cost cost = measure(ENTRIES[i / 2], takeover);
        printf("%8zu %10s %8.0f %8.0f %8.1f %10.0f\n", ENTRIES[i / 2], takeover ? "yes" : "no", cost.bytes_in,
               cost.bytes_out, cost.us, takeover ? (double)allocated / 1024 : 0);
        if (json)
            fprintf(json,
                    "%s{\"entries\":%zu,\"takeover\":%s,\"bytes\":%.0f,\"become\":%.0f,\"us\":%.2f,\"memory\":%zu}",
                    i ? "," : "", ENTRIES[i / 2], takeover ? "true" : "false", cost.bytes_in, cost.bytes_out, cost.us,
                    takeover ? allocated : 0);
    }
    if (json) {
        fputs("]}\n", json);
        fclose(json);
    }
    return 0;
}
