#include "ingest/feed/older.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "base/mem.h"

struct placed_author {
    int32_t partition;
    int64_t user;
};

static int by_partition(const void *a, const void *b) {
    const struct placed_author *x = a, *y = b;
    return (x->partition > y->partition) - (x->partition < y->partition);
}

static struct placed_author *place(const json_t *authors, int32_t partitions, size_t *count) {
    size_t most = json_array_size(authors);
    struct placed_author *placed = mem_alloc((most + 1) * sizeof *placed);
    *count = 0;
    for (size_t i = 0; i < most; i++) {
        const json_t *author = json_array_get(authors, i);
        int64_t user = json_is_integer(author) ? json_integer_value(author) : -1;
        if (user < 0) continue;
        placed[(*count)++] = (struct placed_author){.partition = hash_user_partition(user, partitions), .user = user};
    }
    qsort(placed, *count, sizeof *placed, by_partition);
    return placed;
}

/* How many of the authors, which all lie behind each other by partition, the next question is about. */
static size_t next_run(const struct placed_author *placed, size_t count) {
    size_t run = 1;
    while (run < count && run < OLDER_AUTHORS_MAX && placed[run].partition == placed[0].partition) run++;
    return run;
}

static char *list_of(const struct placed_author *placed, size_t count) {
    struct buffer list = {0};
    for (size_t i = 0; i < count; i++) buffer_format(&list, "%s%" PRId64, i ? "," : "", placed[i].user);
    char *text = mem_string(buffer_cstring(&list));
    buffer_free(&list);
    return text;
}

void older_questions_new(struct older_questions *questions, const json_t *authors, int32_t partitions) {
    size_t count, run;
    struct placed_author *placed = place(authors, partitions, &count);
    *questions = (struct older_questions){.items = mem_alloc((count + 1) * sizeof *questions->items)};
    for (size_t at = 0; at < count; at += run) {
        run = next_run(placed + at, count - at);
        questions->items[questions->count++] =
            (struct older_question){.partition = placed[at].partition, .authors = list_of(placed + at, run)};
    }
    free(placed);
}

void older_questions_free(struct older_questions *questions) {
    for (size_t i = 0; i < questions->count; i++) free(questions->items[i].authors);
    free(questions->items);
}
