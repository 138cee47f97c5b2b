#include "cli/home_reading.h"

#include <stdio.h>

#include "base/clock.h"

enum {
    SPARE = 5,           /* posts more than wanted, as some may be deleted meanwhile */
    PATIENCE_MS = 10000, /* for the reader's owner */
    BEGUN_MS = 5000,     /* for an inbox that began with the first question */
    AGAIN_MS = 300,
    AUTHORS_PATIENCE_MS = 2000, /* for each owner of authors */
};

static const char AUTHORS_POSTS[] = "some of these authors' posts";

/* An inbox that nobody has read begins with the question, and is complete a moment later. */
static int ask_ids(struct asking *asking, int64_t user, size_t limit, struct home_page *page, struct error *error) {
    struct buffer reply = {.data = NULL};
    int64_t until_us = clock_monotonic_us() + BEGUN_MS * 1000LL;
    int code;
    for (;;) {
        code = asking_ask(asking, &ASK_FEED, RPC_VALUES(RPC_INT(USER, user), RPC_INT(LIMIT, (int64_t)limit + SPARE)),
                          PATIENCE_MS, "this user's timeline", &reply, error);
        if (!code) code = home_page_read(page, buffer_cstring(&reply), reply.size, error);
        if (code || page->complete || clock_monotonic_us() >= until_us) break;
        home_page_free(page);
        uv_sleep(AGAIN_MS);
    }
    buffer_free(&reply);
    return code;
}

/* Tells the first reason why an owner of authors does not answer. */
static void tell(int code, const struct error *error, bool *told) {
    if (code && !*told) fprintf(stderr, "starling feed: %s\n", error->text);
    *told = *told || code;
}

/* Posts at and below the horizon are asked of their authors' owners. */
static void ask_older(struct asking *asking, struct home_page *page, size_t wanted, bool *told) {
    struct buffer authors = {.data = NULL}, reply = {.data = NULL};
    int32_t partition;
    while (home_page_ask_older(page, asking_partitions(asking), &partition, &authors)) {
        struct error error = {.text = ""};
        int code = asking_ask(asking, &ASK_OLDER,
                              RPC_VALUES(RPC_INT(PARTITION, partition), RPC_INT(BEFORE, page->horizon + 1),
                                         RPC_INT(LIMIT, (int64_t)wanted), RPC_TEXT(AUTHORS, buffer_cstring(&authors))),
                              AUTHORS_PATIENCE_MS, AUTHORS_POSTS, &reply, &error);
        if (!code) code = home_page_add(page, buffer_cstring(&reply), reply.size, &error);
        if (code) page->complete = false;
        tell(code, &error, told);
    }
    home_page_sort(page, wanted);
    buffer_free(&authors);
    buffer_free(&reply);
}

/* The posts of authors whose owner does not answer stay without text. */
static void ask_posts(struct asking *asking, struct home_page *page, bool *told) {
    struct buffer ids = {.data = NULL}, reply = {.data = NULL};
    int32_t partition;
    while (home_page_ask(page, &partition, &ids)) {
        struct error error = {.text = ""};
        if (partition >= asking_partitions(asking)) continue;
        int code = asking_ask(asking, &ASK_POSTS,
                              RPC_VALUES(RPC_INT(PARTITION, partition), RPC_TEXT(IDS, buffer_cstring(&ids))),
                              AUTHORS_PATIENCE_MS, AUTHORS_POSTS, &reply, &error);
        if (!code) code = home_page_answer(page, buffer_cstring(&reply), reply.size, &error);
        tell(code, &error, told);
    }
    buffer_free(&ids);
    buffer_free(&reply);
}

int home_read(struct asking *asking, int64_t user, size_t limit, struct home_page *page, struct error *error) {
    bool told = false;
    int code = ask_ids(asking, user, limit, page, error);
    if (code) return code;
    if (page->complete) ask_older(asking, page, limit + SPARE, &told);
    ask_posts(asking, page, &told);
    return 0;
}
