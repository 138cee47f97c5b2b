/* Many comments at once, which is cheaper than one by one: the store finds keys together. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "comments/threads_private.h"

static int by_id(const void *a, const void *b) {
    const struct threads_row *x = *(struct threads_row *const *)a, *y = *(struct threads_row *const *)b;
    return (x->id > y->id) - (x->id < y->id);
}

/* ---- comments ---- */

/* Finds the index's record of each. */
static int find_comments(struct threads *threads, const struct threads_part *part, const struct event_text *subject,
                         struct threads_row *const *rows, size_t count, struct error *error) {
    uint8_t keys[STORE_MANY * THREADS_KEY_MAX];
    struct store_pin pins[STORE_MANY];
    struct threads_key key;
    for (size_t i = 0; i < count; i++) {
        threads_key_start(&key, KIND_COMMENT, subject);
        threads_key_number(&key, rows[i]->id);
        memcpy(keys + i * key.size, key.bytes, key.size);
    }
    int code = store_get_many(threads->store, part->index, keys, key.size, count, pins, error);
    if (code) return code;
    for (size_t i = 0; i < count; i++) {
        rows[i]->there = pins[i].handle;
        if (!code && pins[i].handle &&
            event_decode_comment(threads->codec, pins[i].data, pins[i].size, &rows[i]->comment, error))
            code = threads_damaged(error, "a comment");
        store_pin_release(&pins[i]);
    }
    return code;
}

/* Keeps what was found, unless a text is missing. text: size 0: there is none. */
static void keep(struct threads *threads, const struct event_text *subject, struct threads_row *row,
                 const struct event_text *text) {
    if (row->comment.state == COMMENT_VISIBLE && !text->size) return;
    row->kept = threads_rows_put(threads->rows, subject, row->id, &row->comment, text);
    row->text = (struct event_text){row->kept->text, row->kept->size};
}

/* Finds the texts of those that are visible. */
static int find_texts(struct threads *threads, const struct threads_part *part, const struct event_text *subject,
                      struct threads_row *const *rows, size_t count, struct error *error) {
    static const struct event_text NO_TEXT = {"", 0};
    uint8_t keys[STORE_MANY * SUBJECT_KEY_MAX];
    struct store_pin pins[STORE_MANY];
    struct threads_row *visible[STORE_MANY];
    struct comment_text text;
    size_t size = 0, wanted = 0;
    for (size_t i = 0; i < count; i++) {
        const struct subject_key parts = {
            .subject = subject->data, .size = subject->size, .numbers = 1, .comment = rows[i]->id};
        uint8_t key[SUBJECT_KEY_MAX];
        if (!rows[i]->there) continue;
        if (rows[i]->comment.state != COMMENT_VISIBLE) {
            keep(threads, subject, rows[i], &NO_TEXT);
            continue;
        }
        size = subject_key_write(key, &parts);
        memcpy(keys + wanted * size, key, size);
        visible[wanted++] = rows[i];
    }
    int code = wanted ? store_get_many(threads->store, part->texts, keys, size, wanted, pins, error) : 0;
    if (code) return code;
    for (size_t i = 0; i < wanted; i++) {
        if (!code && pins[i].handle &&
            event_decode_comment_text(threads->codec, pins[i].data, pins[i].size, &text, error))
            code = threads_damaged(error, "a text");
        else if (!code && pins[i].handle && text.version >= visible[i]->comment.version)
            keep(threads, subject, visible[i], &text.text);
        store_pin_release(&pins[i]);
    }
    return code;
}

/* Takes the comment from those that are kept. False: it must be found. */
static bool is_kept(struct threads *threads, const struct event_text *subject, struct threads_row *row) {
    row->kept = threads_rows_get(threads->rows, subject, row->id);
    if (!row->kept) return false;
    row->there = true;
    row->comment = row->kept->comment;
    row->text = (struct event_text){row->kept->text, row->kept->size};
    return true;
}

int threads_many(struct threads *threads, int32_t partition, const struct event_text *subject, struct threads_row *rows,
                 size_t count, struct error *error) {
    const struct threads_part *part = &threads->parts[partition];
    struct threads_row **sorted = mem_alloc((count + 1) * sizeof *sorted);
    size_t left = 0;
    int code = 0;
    for (size_t i = 0; i < count; i++) {
        rows[i] = (struct threads_row){.id = rows[i].id};
        if (!is_kept(threads, subject, &rows[i])) sorted[left++] = &rows[i];
    }
    if (left) qsort(sorted, left, sizeof *sorted, by_id);
    for (size_t at = 0; !code && at < left; at += STORE_MANY) {
        size_t some = left - at < STORE_MANY ? left - at : STORE_MANY;
        code = find_comments(threads, part, subject, sorted + at, some, error);
        if (!code) code = find_texts(threads, part, subject, sorted + at, some, error);
    }
    free(sorted);
    if (code) threads_many_release(rows, count);
    return code;
}

void threads_many_release(struct threads_row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        threads_rows_give(rows[i].kept);
        rows[i].kept = NULL;
    }
}

/* ---- first replies ---- */

/* The replies of one root that are looked for. */
struct wanted_reply {
    struct threads_row *root;
    int32_t floor;
};

static int by_root(const void *a, const void *b) {
    const struct wanted_reply *x = a, *y = b;
    if (x->root->id != y->root->id) return x->root->id < y->root->id ? -1 : 1;
    return (x->floor > y->floor) - (x->floor < y->floor);
}

/* Appends those that are there to their roots' lists, which are in the order of `replies`. */
static int find_replies(struct threads *threads, const struct threads_part *part, const struct event_text *subject,
                        const struct wanted_reply *wanted, size_t count, struct threads_row *replies, size_t *found,
                        struct error *error) {
    uint8_t keys[STORE_MANY * THREADS_KEY_MAX];
    struct store_pin pins[STORE_MANY];
    struct threads_key key;
    for (size_t i = 0; i < count; i++) {
        threads_key_start(&key, KIND_FLOOR, subject);
        threads_key_number(&key, wanted[i].root->id);
        threads_key_floor(&key, wanted[i].floor);
        memcpy(keys + i * key.size, key.bytes, key.size);
    }
    int code = store_get_many(threads->store, part->index, keys, key.size, count, pins, error);
    if (code) return code;
    for (size_t i = 0; i < count; i++) {
        struct threads_row *root = wanted[i].root;
        if (!code && pins[i].handle && pins[i].size != 8) code = threads_damaged(error, "an index of comments");
        if (!code && pins[i].handle) {
            if (!root->reply_count++) root->replies = *found;
            replies[(*found)++].id = (int64_t)bytes_get_be64(pins[i].data);
        }
        store_pin_release(&pins[i]);
    }
    return code;
}

int threads_first_replies(struct threads *threads, int32_t partition, const struct event_text *subject,
                          struct threads_row *roots, size_t count, size_t first, struct threads_row *replies,
                          size_t *found, struct error *error) {
    const struct threads_part *part = &threads->parts[partition];
    struct wanted_reply *wanted = mem_alloc((count * first + 1) * sizeof *wanted);
    size_t many = 0;
    int code = 0;
    *found = 0;
    for (size_t i = 0; i < count; i++)
        for (int32_t floor = 1; roots[i].there && floor <= roots[i].comment.floors && (size_t)floor <= first; floor++)
            wanted[many++] = (struct wanted_reply){.root = &roots[i], .floor = floor};
    qsort(wanted, many, sizeof *wanted, by_root);
    for (size_t at = 0; !code && at < many; at += STORE_MANY) {
        size_t some = many - at < STORE_MANY ? many - at : STORE_MANY;
        code = find_replies(threads, part, subject, wanted + at, some, replies, found, error);
    }
    free(wanted);
    return code;
}
