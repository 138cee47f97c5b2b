#include "ingest/page_copies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"

enum { KEPT_MS = 1000, BUCKETS = 1024 };

struct page_waiter {
    struct page_waiter *next;
    void *context;
    void (*done)(void *context, unsigned status, struct page_copy *copy);
};

struct page_copy {
    struct page_copies *copies;
    struct page_copy *next; /* in the bucket */
    bool listed;            /* is in a bucket: others may find it */
    bool built;
    bool ahead; /* it was begun before anybody asked for it */
    size_t references;
    char *path;
    char subject[SUBJECT_MAX + 1];
    int form;
    void *answer;
    struct made_page made;
    int64_t built_ms;
    struct page_waiter *waiters;
};

struct page_copies {
    struct page_copies_options options;
    struct hot_subjects *hot;
    size_t bytes; /* of listed ones that are built */
    struct page_copy *buckets[BUCKETS];
};

struct page_copies *page_copies_new(const struct page_copies_options *options) {
    struct page_copies *copies = mem_zero(1, sizeof *copies);
    copies->options = *options;
    copies->hot = hot_subjects_new(options->hot_reads);
    return copies;
}

const void *page_copy_answer(const struct page_copy *copy) { return copy->answer; }

void page_copy_give(struct page_copy *copy) {
    if (--copy->references) return;
    copy->copies->options.free(copy->answer);
    free(copy->answer);
    free(copy->path);
    free(copy);
}

/* ---- the table ---- */

static struct page_copy **bucket_of(struct page_copies *copies, const char *path) {
    return &copies->buckets[hash_murmur2(path, strlen(path)) % BUCKETS];
}

/* One path may be shown in several ways: a comment alone, or with those around it. */
static struct page_copy *find(struct page_copies *copies, const struct page_wish *wish) {
    struct page_copy *copy = *bucket_of(copies, wish->path);
    while (copy && (copy->form != wish->form || strcmp(copy->path, wish->path) != 0)) copy = copy->next;
    return copy;
}

/* Nobody finds it any more. */
static void unlist(struct page_copy *copy) {
    struct page_copies *copies = copy->copies;
    struct page_copy **at = bucket_of(copies, copy->path);
    if (!copy->listed) return;
    while (*at != copy) at = &(*at)->next;
    *at = copy->next;
    copy->listed = false;
    if (copy->built) copies->bytes -= copy->made.bytes;
    page_copy_give(copy);
}

static bool too_old(const struct page_copy *copy, int64_t now_ms) {
    return copy->built && now_ms - copy->built_ms >= KEPT_MS;
}

/* Unlists those that the test wants gone. */
static void sweep(struct page_copies *copies, bool (*gone)(const struct page_copy *copy, const void *with),
                  const void *with) {
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct page_copy *copy = copies->buckets[i], *next; copy; copy = next) {
            next = copy->next;
            if (gone(copy, with)) unlist(copy);
        }
    }
}

static bool is_too_old(const struct page_copy *copy, const void *with) { return too_old(copy, *(const int64_t *)with); }

static bool is_of(const struct page_copy *copy, const void *with) { return strcmp(copy->subject, with) == 0; }

static bool always(const struct page_copy *copy, const void *with) { return copy != with; }

void page_copies_free(struct page_copies *copies) {
    if (!copies) return;
    sweep(copies, always, NULL);
    hot_subjects_free(copies->hot);
    free(copies);
}

void page_copies_tick(struct page_copies *copies) {
    int64_t now_ms = copies->options.now_ms();
    if (copies->bytes) sweep(copies, is_too_old, &now_ms);
}

void page_copies_forget(struct page_copies *copies, const char *subject) { sweep(copies, is_of, subject); }

void page_copies_changed(struct page_copies *copies, const char *subject) {
    if (!hot_subjects_is(copies->hot, subject, copies->options.now_ms())) page_copies_forget(copies, subject);
}

/* ---- questions ---- */

static void hand_over(struct page_copy *copy, unsigned status) {
    struct page_waiter *waiters = copy->waiters;
    copy->waiters = NULL;
    while (waiters) {
        struct page_waiter *waiter = waiters;
        waiters = waiter->next;
        if (status == 200) copy->references++;
        waiter->done(waiter->context, status, status == 200 ? copy : NULL);
        free(waiter);
    }
}

/* An answer that lacks texts is not for others. */
static void keep(struct page_copy *copy) {
    struct page_copies *copies = copy->copies;
    copy->built = true;
    copy->built_ms = copies->options.now_ms();
    if (!copy->listed) return;
    copies->bytes += copy->made.bytes;
    if (!copy->made.complete || copies->bytes > copies->options.max_bytes ||
        !hot_subjects_is(copies->hot, copy->subject, copy->built_ms))
        unlist(copy);
}

static void copied_ahead(void *context, unsigned status, struct page_copy *copy) {
    (void)context;
    (void)status;
    if (copy) page_copy_give(copy);
}

/* ahead: before anybody has asked; alone: nobody else gets the answer. */
static void ask_for(struct page_copies *copies, const struct page_wish *wish, bool ahead, bool alone);

/* A reader of the page will soon want the next one. */
static void read_ahead(const struct page_copy *copy) {
    static const char AFTER[] = "&after=";
    const char *after = strstr(copy->path, AFTER);
    struct buffer path = {0};
    buffer_append(&path, copy->path, after ? (size_t)(after - copy->path) : strlen(copy->path));
    buffer_string(&path, AFTER);
    text_escape(&path, copy->made.next);
    ask_for(copy->copies,
            &(struct page_wish){
                .subject = copy->subject, .path = buffer_cstring(&path), .form = copy->form, .done = copied_ahead},
            true, false);
    buffer_free(&path);
}

static void answered(void *context, int code, unsigned status, const char *text, size_t size) {
    struct page_copy *copy = context;
    const struct page_copies_options *options = &copy->copies->options;
    bool good = code == 0 && status == 200 &&
                options->make(options->context, copy->form, (struct json_bytes){text, size}, copy->answer, &copy->made);
    options->built->value++;
    if (good) {
        keep(copy);
        hand_over(copy, 200);
        if (copy->listed && copy->made.next && !copy->ahead) read_ahead(copy);
    } else {
        unlist(copy);
        hand_over(copy, code == 0 && (status == 400 || status == 404) ? status : 503);
    }
    page_copy_give(copy);
}

static struct page_copy *copy_new(struct page_copies *copies, const struct page_wish *wish) {
    struct page_copy *copy = mem_alloc(sizeof *copy), **bucket = bucket_of(copies, wish->path);
    *copy = (struct page_copy){
        .copies = copies,
        .next = *bucket,
        .listed = true,
        .references = 2, // the table's, and the question's
        .path = mem_string(wish->path),
        .form = wish->form,
        .answer = mem_zero(1, copies->options.size),
    };
    snprintf(copy->subject, sizeof copy->subject, "%s", wish->subject);
    *bucket = copy;
    return copy;
}

static void wait_for(struct page_copy *copy, const struct page_wish *wish) {
    struct page_waiter *waiter =
        MEM_NEW(&(struct page_waiter){.next = copy->waiters, .context = wish->context, .done = wish->done});
    copy->waiters = waiter;
}

static void ask_for(struct page_copies *copies, const struct page_wish *wish, bool ahead, bool alone) {
    const struct page_copies_options *options = &copies->options;
    int64_t now_ms = options->now_ms();
    struct page_copy *copy = alone ? NULL : find(copies, wish);
    if (copy && too_old(copy, now_ms)) {
        unlist(copy);
        copy = NULL;
    }
    if (copy && !ahead) options->from_copies->value++;
    if (copy && copy->built) {
        copy->references++;
        wish->done(wish->context, 200, copy);
        return;
    }
    if (copy) {
        wait_for(copy, wish);
        return;
    }
    copy = copy_new(copies, wish);
    if (alone) unlist(copy);
    copy->ahead = ahead;
    wait_for(copy, wish);
    options->fetch(options->context, copy->subject, copy->path, answered, copy);
}

void page_copies_ask(struct page_copies *copies, const struct page_wish *wish) {
    bool hot = hot_subjects_read(copies->hot, wish->subject, copies->options.now_ms());
    ask_for(copies, wish, false, wish->hot_only && !hot);
}
