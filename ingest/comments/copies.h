/* Answers about threads, asked of their owners: each is built once however many ask for it at the same time, and those of hot subjects
 * are kept for a second. Loop's thread.
 *
 *     asked --> under way already: wait with the others        hot, and younger than a second: the copy
 *           \-> else a question to the owner --> rendered, to all who wait --> kept if the subject is hot --> the next page, too
 */
#pragma once

#include "ingest/comments/comment_json.h"
#include "ingest/comments/hot.h"

struct page_copies;
struct page_copy;

typedef void page_answered(void *context, int code, unsigned status, const char *reply, size_t size);

struct page_copies_options {
    struct comment_names names;
    int64_t hot_reads; /* of hot_subjects_new */
    size_t max_bytes;  /* of copies that are kept */
    struct metric *built, *from_copies;
    void *context;
    /* Asks the subject's owner, as peers_fetch does; calls answered(answered_context, ...) later, once. */
    void (*fetch)(void *context, const char *subject, const char *path, page_answered *answered,
                  void *answered_context);
    int64_t (*now_ms)(void); /* that never falls */
};

struct page_copies *page_copies_new(const struct page_copies_options *options);
void page_copies_free(
    struct page_copies *copies); /* when no question is under way and all copies are given back; NULL is fine */

struct page_wish {
    const char *subject,
        *path; /* copied. The path has all that the answer depends on; its parameter `after`, if any, is the last one */
    bool (*show)(struct shown_comments *shown, struct json_bytes reply, const struct comment_names *names);
    void *context;
    /* Once, perhaps at once. Status 200 with a copy, which the callee gives back; or 400, 404, or 503 without. */
    void (*done)(void *context, unsigned status, struct page_copy *copy);
};

void page_copies_ask(struct page_copies *copies, const struct page_wish *wish);

const struct shown_comments *page_copy_shown(const struct page_copy *copy);
void page_copy_give(struct page_copy *copy);

/* Somebody has changed the subject here, and will read it now: answers under way are too old for them. Copies of a hot subject stay. */
void page_copies_changed(struct page_copies *copies, const char *subject);

/* Drops copies that are too old; once a second. */
void page_copies_tick(struct page_copies *copies);
