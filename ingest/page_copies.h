/* Answers about subjects (threads; users and posts), asked of their owners: each is built once however many ask for it at the same time, and
 * those of hot subjects are kept for a second. Loop's thread.
 *
 *     asked --> under way already: wait with the others        hot, and younger than a second: the copy
 *           \-> else a question to the owner --> rendered, to all who wait --> kept if the subject is hot --> the next page, too
 */
#pragma once

#include "base/metrics.h"
#include "ingest/hot.h"
#include "json/scan.h"
#include "subjects/subject.h"

struct page_copies;
struct page_copy;

typedef void page_answered(void *context, int code, unsigned status, const char *reply, size_t size);

/* An answer that is made of an owner's. */
struct made_page {
    size_t bytes;     /* of memory */
    const char *next; /* the cursor of the list's next page; NULL: this is the last one, or there is no list */
    bool complete;    /* false: it is not for others */
};

struct page_copies_options {
    size_t size; /* of an answer; all zeros: empty and valid */
    /* form: the wish's. False: the reply is no such answer. */
    bool (*make)(void *context, int form, struct json_bytes reply, void *answer, struct made_page *made);
    void (*free)(void *answer); /* what it points to */
    int64_t hot_reads;          /* of hot_subjects_new */
    size_t max_bytes;           /* of copies that are kept */
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
    int form;  /* what is made of the owner's answer */
    bool hot_only; /* answers about others are not shared with anybody */
    void *context;
    /* Once, perhaps at once. Status 200 with a copy, which the callee gives back; or 400, 404, or 503 without. */
    void (*done)(void *context, unsigned status, struct page_copy *copy);
};

void page_copies_ask(struct page_copies *copies, const struct page_wish *wish);

const void *page_copy_answer(const struct page_copy *copy);
void page_copy_give(struct page_copy *copy);

/* Somebody has changed the subject here, and will read it now: answers under way are too old for them. Copies of a hot subject stay. */
void page_copies_changed(struct page_copies *copies, const char *subject);
/* The same, and of a hot one, too: its changes must be rare. */
void page_copies_forget(struct page_copies *copies, const char *subject);

/* Drops copies that are too old; once a second. */
void page_copies_tick(struct page_copies *copies);
