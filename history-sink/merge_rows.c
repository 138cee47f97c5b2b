#include "history-sink/merge_rows.h"

#include <errno.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/mem.h"

struct merge_input {
    struct segment_reader *reader;
    struct history_row row; /* the next one */
};

/* Inputs that have a row. */
struct merge_heap {
    struct merge_input **inputs;
    size_t count;
};

static bool input_before(const struct merge_input *a, const struct merge_input *b) {
    return segment_row_order(&a->row, &b->row) < 0;
}

/* The next row of the first input; the heap is one again afterwards. */
static int heap_next(struct merge_heap *heap, struct error *error) {
    struct merge_input *first = heap->inputs[0];
    struct history_row before = first->row;
    int code = segment_reader_next(first->reader, &first->row, error);
    if (code < 0) return code;
    if (code == 0)
        heap->inputs[0] = heap->inputs[--heap->count];
    else if (segment_row_order(&before, &first->row) >= 0)
        return error_set(error, -EBADMSG, "a file of partition %d is not sorted by user and time", before.partition);
    if (heap->count) HEAP_SINK(heap->inputs, heap->count, 0, input_before);
    return 0;
}

static int inputs_open(const struct merge_source *sources, size_t count, int32_t partition, struct merge_input *inputs,
                       struct merge_heap *heap, struct error *error) {
    int code = 0;
    for (size_t i = 0; i < count && code >= 0; i++) {
        struct merge_input *input = &inputs[i];
        code = segment_reader_open(sources[i].storage, partition, sources[i].file, &input->reader, error);
        if (code == -ENOENT && sources[i].ours) code = -EIO;
        if (code == 0) code = segment_reader_next(input->reader, &input->row, error);
        if (code > 0) heap->inputs[heap->count++] = input;
    }
    for (size_t i = heap->count; i-- > 0;) HEAP_SINK(heap->inputs, heap->count, i, input_before);
    return code < 0 ? code : 0;
}

int merge_rows(const struct merge_source *sources, size_t count, int32_t partition, const atomic_bool *stop,
               struct segment_writer *writer, int64_t *rows, struct error *error) {
    struct merge_input *inputs = mem_zero(count + 1, sizeof *inputs);
    struct merge_heap heap = {.inputs = mem_zero(count + 1, sizeof(struct merge_input *)), .count = 0};
    int code = inputs_open(sources, count, partition, inputs, &heap, error);
    while (code == 0 && heap.count) {
        code = segment_writer_append(writer, &heap.inputs[0]->row, error);
        if (code == 0) code = heap_next(&heap, error);
        if (code == 0 && atomic_load_explicit(stop, memory_order_relaxed))
            code = error_set(error, -ECANCELED, "merging was stopped");
        ++*rows;
    }
    for (size_t i = 0; i < count; i++) segment_reader_free(inputs[i].reader);
    free(heap.inputs);
    free(inputs);
    return code;
}

int merge_sort_rows(const struct merge_source *source, int32_t partition, struct segment_writer *writer, int64_t *end,
                    struct error *error) {
    struct segment_reader *reader;
    struct history_row *rows = NULL;
    size_t count = 0, room = 0;
    int code = segment_reader_open(source->storage, partition, source->file, &reader, error);
    if (code) return code;
    do {
        MEM_ROOM(rows, count, room);
        code = segment_reader_next(reader, &rows[count], error);
        count += code > 0;
    } while (code > 0);
    *end = segment_reader_end(reader);
    segment_reader_free(reader);
    if (code == 0 && count) qsort(rows, count, sizeof *rows, segment_row_order);
    for (size_t i = 0; code == 0 && i < count; i++) code = segment_writer_append(writer, &rows[i], error);
    free(rows);
    return code;
}
