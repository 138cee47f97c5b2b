/* Reads pages of home timelines and holds them against brute force. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tools/load/social_private.h"

enum { WHOLE_PAGE = 200 };

/* A timeline while it is read, page by page. */
struct page_look {
    struct social *social;
    struct citizen *citizen;
    bool whole; /* at the end; else one page in passing */
    int64_t asked_us, next;
    bool complete;
    struct checked_item *items;
    size_t count;
};

static void look_free(struct page_look *look) {
    free(look->items);
    free(look);
}

/* ---- the API's answer ---- */

static bool read_page(struct page_look *look, const char *reply, size_t size) {
    json_t *page = json_parse(reply, size, NULL);
    const json_t *items = json_object_get(page, "items");
    bool complete, good = json_is_array(items) && json_want_bool(page, "complete", &complete, NULL) == 0;
    if (good) {
        look->complete = look->complete && complete;
        look->next = 0;
        if (json_given(page, "next")) good = social_read_id(page, "next", &look->next);
        look->items = mem_resize(look->items, look->count + json_array_size(items) + 1, sizeof *look->items);
    }
    for (size_t i = 0; good && i < json_array_size(items); i++) {
        const json_t *post = json_array_get(items, i);
        struct checked_item item = {.flags = json_object_get(post, "unavailable") ? CHECKED_UNAVAILABLE : 0};
        good =
            social_read_id(post, "id", &item.id) && json_want_int(post, "user", 0, INT64_MAX, &item.author, NULL) == 0;
        if (good) look->items[look->count++] = item;
    }
    json_decref(page);
    return good;
}

/* ---- judging ---- */

static void say_wrong(struct social *social, int64_t user) {
    if (++social->counts.wrong > SOCIAL_SHOWN_WRONG_MAX) return;
    fprintf(stderr, "simulate: user %" PRId64 "'s page is wrong:\n%s", user, buffer_cstring(&social->why));
}

static bool wrong(struct page_look *look) {
    struct social *social = look->social;
    const struct checked_page page = {
        .reader = look->citizen->user,
        .asked_us = look->asked_us,
        .items = look->items,
        .count = look->count,
        .next = look->next,
    };
    buffer_clear(&social->why);
    return page_check_wrong(social->check, &page, &social->why);
}

static void judge_in_passing(struct page_look *look) {
    struct social *social = look->social;
    social->counts.read++;
    if (!look->complete)
        social->counts.incomplete++;
    else if (social->options.check && wrong(look))
        say_wrong(social, look->citizen->user);
}

static void keep_newest(struct page_look *look) {
    struct citizen *citizen = look->citizen;
    citizen->newest_count = look->count < SOCIAL_PAGE ? look->count : SOCIAL_PAGE;
    for (size_t i = 0; i < citizen->newest_count; i++) citizen->newest[i] = look->items[i].id;
}

static void judge_at_the_end(struct page_look *look) {
    struct social *social = look->social;
    bool bad;
    social->counts.read++;
    if (!look->complete) {
        bad = true;
        buffer_clear(&social->why);
        buffer_string(&social->why, "  it is not complete\n");
    } else {
        bad = social->options.check && wrong(look);
    }
    look->citizen->open = bad;
    if (!bad)
        keep_newest(look);
    else if (social->last_turn)
        say_wrong(social, look->citizen->user);
}

/* ---- asking ---- */

static void ask(struct page_look *look);

static void on_page(void *context, unsigned status, const char *reply, size_t size) {
    struct page_look *look = context;
    struct social *social = look->social;
    if (status != 200 || !read_page(look, reply, size)) {
        social->counts.unanswered++;
        if (!social->closing && (status == 200 || (status >= 400 && status < 500)))
            social_refused(social, "a page", look->citizen->user, status, reply);
    } else if (!look->whole) {
        judge_in_passing(look);
    } else if (social->options.check && look->next > page_check_first(social->check) && !social->closing) {
        ask(look); // the rest of it
        return;
    } else {
        judge_at_the_end(look);
    }
    look_free(look);
}

static void ask(struct page_look *look) {
    char after[40] = "";
    if (look->next) snprintf(after, sizeof after, "&after=%" PRId64, look->next);
    char *path =
        mem_format("/v1/feed?limit=%d%s", look->whole && look->social->options.check ? WHOLE_PAGE : SOCIAL_PAGE, after);
    home_api_get(look->social->api, look->citizen->user, path, false, on_page, look);
    free(path);
}

static void begin(struct social *social, struct citizen *citizen, bool whole) {
    ask(MEM_NEW(&(struct page_look){
        .social = social,
        .citizen = citizen,
        .whole = whole,
        .complete = true,
        .asked_us = whole ? INT64_MAX : clock_monotonic_us(),
    }));
}

void social_read(struct social *social, struct citizen *citizen) { begin(social, citizen, false); }

void social_read_all(struct social *social, struct citizen *citizen) { begin(social, citizen, true); }
