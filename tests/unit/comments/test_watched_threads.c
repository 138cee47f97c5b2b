/* Threads that are watched against plain pages: random histories of comments, and phones whose pages were read at any moment, also between
 * a slice's comments and its subject. When all is quiet, each phone must have the thread that a page has. */
#include "comments/watched_threads.h"
#include "unit/kit/kit.h"

enum { HISTORIES = 4000, STEPS = 150, COMMENTS = 30, PHONES = 5, PINS = 3 };

static const struct event_text SUBJECT = {"site:1", 6}, OTHER = {"site:2", 6};

/* A page as its reader sees it. Comment i has the id i + 1. */
struct page {
    int64_t version, total, likes; /* likes: of the subject itself */
    bool closed;
    bool pinned[COMMENTS];
    bool there[COMMENTS];
    struct comment comments[COMMENTS];
};

struct world {
    uint64_t seed, drawn;
    int64_t now_ms, heard; /* heard: the version that edges were told; -1: none */
    struct watched_threads *threads;
    struct watched_thread *thread; /* NULL: nobody watches */
    struct page store;             /* as the records that were read say it */
    struct page next;              /* as the commands have decided it */
    struct subject_state subject;  /* of `next` */
    bool changed[COMMENTS];        /* by the slice that is being decided */
    int64_t text_ms[COMMENTS];     /* when the text is read */
    struct {
        bool there;
        struct page page;
    } phones[PHONES];
    size_t shown, named, told;
};

static size_t draw(struct world *w, size_t of) { return (size_t)(hash_u64(w->seed + ++w->drawn) % of); }

/* ---- phones ---- */

static void read_page(struct world *w, size_t phone) { w->phones[phone].page = w->store; }

static void join(struct world *w) {
    size_t phone = draw(w, PHONES);
    struct page *page = &w->phones[phone].page;
    if (!w->phones[phone].there || draw(w, 3)) read_page(w, phone); // else it watches again with the page that it has
    w->phones[phone].there = true;
    if (page->version < w->heard) read_page(w, phone); // the edge says that it is stale
}

static void gone(struct page *page, size_t at) {
    page->there[at] = false;
    page->pinned[at] = false;
}

static void apply(struct page *page, const struct thread_news *news) {
    for (size_t i = 0; i < news->item_count; i++) {
        size_t at = (size_t)news->items[i].id - 1;
        assert_true(news->items[i].now.state != COMMENT_HELD);
        if (news->items[i].now.state != COMMENT_VISIBLE) gone(page, at);
        page->there[at] = true;
        page->comments[at] = news->items[i].now;
    }
    for (size_t i = 0; i < news->counter_count; i++) {
        struct comment *comment = &page->comments[news->counters[i].id - 1];
        comment->likes = news->counters[i].now.likes;
        comment->replies = news->counters[i].now.replies;
    }
    page->total = news->total;
    page->likes = news->likes;
}

static void tell(struct world *w, size_t phone, const struct thread_news *news) {
    struct page *page = &w->phones[phone].page;
    if (news->is == THREAD_NEWS_SHOW) {
        apply(page, news);
    } else if (news->is == THREAD_NEWS_NAME || page->version < news->since) {
        if (page->version < news->version) read_page(w, phone);
    } else if (page->version < news->version) {
        apply(page, news);
        page->version = news->version;
    }
}

/* ---- the owner ---- */

static int64_t text_size(void *context, const struct watched_thread *thread, const struct thread_change *change) {
    const struct world *w = context;
    assert_ptr_equal(thread, w->thread);
    return w->now_ms >= w->text_ms[change->id - 1] ? 10 : -1;
}

static void look_up(struct world *w) {
    struct subject_state state = w->subject;
    state.structure = w->store.version;
    state.counters = 0;
    state.visible = w->store.total;
    state.likes = w->store.likes;
    state.closed = w->store.closed;
    state.pins = 0;
    for (size_t i = 0; i < COMMENTS; i++)
        if (w->store.pinned[i]) state.pinned[state.pins++] = (int64_t)i + 1;
    watched_thread_known(w->thread, &state);
}

static void turn(struct world *w) {
    struct watched_thread *thread;
    while ((thread = watched_threads_due(w->threads, w->now_ms))) {
        if (watched_thread_is_anew(thread)) look_up(w);
        struct thread_news news = watched_thread_news(w->threads, thread, w->now_ms, text_size, w);
        if (news.is == THREAD_NEWS_NONE) continue;
        w->shown += news.is == THREAD_NEWS_SHOW;
        w->named += news.is == THREAD_NEWS_NAME;
        w->told += news.is == THREAD_NEWS_CHANGE;
        if (news.is == THREAD_NEWS_CHANGE) assert_int_equal(news.since, w->heard);
        if (news.is != THREAD_NEWS_SHOW) w->heard = news.version;
        for (size_t i = 0; i < PHONES; i++)
            if (w->phones[i].there) tell(w, i, &news);
    }
}

static void watch(struct world *w) {
    if (w->thread && draw(w, 4) == 0) {
        watched_threads_remove(w->threads, w->thread);
        w->thread = NULL;
        w->heard = -1;
        for (size_t i = 0; i < PHONES; i++) w->phones[i].there = false;
    } else if (!w->thread) {
        w->thread = watched_threads_put(w->threads, &SUBJECT, 0);
    } else if (draw(w, 4) == 0) {
        watched_threads_anew(w->threads, w->thread);
    }
}

/* ---- commands and records ---- */

static void count(struct world *w) {
    w->next.total = 0;
    for (size_t i = 0; i < COMMENTS; i++)
        w->next.total += w->next.there[i] && w->next.comments[i].state == COMMENT_VISIBLE;
}

static void change(struct world *w) {
    size_t at = draw(w, COMMENTS);
    struct comment *comment = &w->next.comments[at];
    w->next.version++;
    if (draw(w, 10) == 0) {
        w->next.likes++;
        return;
    }
    if (!w->next.there[at]) {
        w->next.there[at] = true;
        *comment = (struct comment){.user = 1, .state = draw(w, 4) ? COMMENT_VISIBLE : COMMENT_HELD, .floor = 1};
        w->text_ms[at] = w->now_ms + (int64_t)draw(w, 3) * 400;
    } else if (draw(w, 3) == 0) {
        static const enum comment_state TO[] = {COMMENT_VISIBLE, COMMENT_HIDDEN, COMMENT_DELETED};
        comment->state = TO[draw(w, 3)];
        if (comment->state != COMMENT_VISIBLE) w->next.pinned[at] = false;
    } else if (draw(w, 6) == 0 && comment->state == COMMENT_VISIBLE) {
        comment->version++;
        w->text_ms[at] = w->now_ms + (int64_t)draw(w, 3) * 400;
    } else if (draw(w, 20) == 0) {
        w->next.closed = !w->next.closed;
        return;
    } else if (draw(w, 20) == 0 && comment->state == COMMENT_VISIBLE) {
        size_t pins = 0;
        for (size_t i = 0; i < COMMENTS; i++) pins += w->next.pinned[i];
        if (pins < PINS || w->next.pinned[at]) w->next.pinned[at] = !w->next.pinned[at];
        return;
    } else {
        comment->likes += draw(w, 2) ? 1 : 0;
        comment->replies += draw(w, 2) ? 1 : 0;
    }
    w->changed[at] = true;
}

static void read_comment(struct world *w, size_t at) {
    watched_threads_passed(w->threads, 0, false);
    if (w->thread)
        watched_threads_comment(w->threads, w->thread, (int64_t)at + 1,
                                w->store.there[at] ? &w->store.comments[at] : NULL, &w->next.comments[at]);
    w->store.there[at] = true;
    w->store.comments[at] = w->next.comments[at];
}

static void read_subject(struct world *w) {
    watched_threads_passed(w->threads, 0, true);
    for (size_t i = 0; i < COMMENTS; i++) w->store.pinned[i] = w->next.pinned[i];
    w->store.version = w->next.version;
    w->store.total = w->next.total;
    w->store.likes = w->next.likes;
    w->store.closed = w->next.closed;
    struct subject_state state = w->subject;
    state.structure = w->next.version;
    state.visible = w->next.total;
    state.likes = w->next.likes;
    state.closed = w->next.closed;
    state.pins = 0;
    for (size_t i = 0; i < COMMENTS; i++)
        if (w->next.pinned[i]) state.pinned[state.pins++] = (int64_t)i + 1;
    if (w->thread) watched_threads_subject(w->threads, w->thread, &state);
}

/* Events that may happen between two records. */
static void between(struct world *w) {
    switch (draw(w, 6)) {
    case 0: join(w); break;
    case 1: watch(w); break;
    case 2: turn(w); break;
    default: break;
    }
}

static void slice(struct world *w) {
    memset(w->changed, 0, sizeof w->changed);
    size_t changes = draw(w, 8) ? 1 + draw(w, 4) : 15;
    for (size_t i = 0; i < changes; i++) change(w);
    count(w);
    for (size_t i = 0; i < COMMENTS; i++) {
        if (!w->changed[i]) continue;
        read_comment(w, i);
        between(w);
    }
    if (draw(w, 4) == 0) watched_threads_passed(w->threads, 0, true); // another subject's
    read_subject(w);
}

/* ---- histories ---- */

static bool same_page(const struct page *phone, const struct page *store) {
    bool same = phone->total == store->total && phone->likes == store->likes && phone->closed == store->closed;
    for (size_t i = 0; i < COMMENTS; i++) {
        const struct comment *a = &phone->comments[i], *b = &store->comments[i];
        if (!store->there[i] || b->state == COMMENT_HELD) continue;
        same = same && phone->there[i] && a->state == b->state && a->version == b->version && a->likes == b->likes &&
               a->replies == b->replies && phone->pinned[i] == store->pinned[i];
    }
    return same;
}

static void run(uint64_t seed, size_t *shown, size_t *told) {
    struct world w = {.seed = hash_u64(seed), .now_ms = 20000, .heard = -1};
    w.threads = watched_threads_new(1, draw(&w, 2) ? 10 : 1000);
    watched_threads_begin(w.threads, 0, draw(&w, 2));
    for (int step = 0; step < STEPS; step++) {
        w.now_ms += (int64_t)draw(&w, 3) * 40 + (draw(&w, 10) ? 0 : 1500);
        if (draw(&w, 2)) slice(&w);
        between(&w);
        turn(&w);
    }
    for (int64_t end = w.now_ms + 60000; w.now_ms < end; w.now_ms += 100) turn(&w);
    for (size_t i = 0; i < PHONES; i++)
        if (w.phones[i].there && w.thread && !same_page(&w.phones[i].page, &w.store))
            fail_msg("seed %llu: phone %zu differs", (unsigned long long)seed, i);
    *shown += w.shown;
    *told += w.told;
    watched_threads_free(w.threads);
}

TEST(test_every_phone_has_the_right_thread_in_the_end) {
    size_t shown = 0, told = 0;
    for (uint64_t seed = 1; seed <= HISTORIES; seed++) run(seed, &shown, &told);
    assert_true(shown > HISTORIES && told > HISTORIES);
}

/* ---- single rules ---- */

static int64_t short_text(void *context, const struct watched_thread *thread, const struct thread_change *change) {
    return 10;
}

/* A thread that edges know, at version 1. */
static struct watched_thread *known_thread(struct watched_threads *threads, const struct event_text *subject) {
    const struct subject_state state = {.structure = 1};
    watched_threads_begin(threads, 0, true);
    struct watched_thread *thread = watched_threads_put(threads, subject, 0);
    assert_ptr_equal(watched_threads_due(threads, 0), thread);
    watched_thread_known(thread, &state);
    assert_int_equal(watched_thread_news(threads, thread, 0, short_text, NULL).is, THREAD_NEWS_NAME);
    watched_threads_passed(threads, 0, true);
    watched_threads_passed(threads, 0, false);
    return thread;
}

static struct thread_news news_at(struct watched_threads *threads, struct watched_thread *thread, int64_t now_ms) {
    struct watched_thread *due = watched_threads_due(threads, now_ms);
    if (!due) return (struct thread_news){.is = THREAD_NEWS_NONE};
    assert_ptr_equal(due, thread);
    return watched_thread_news(threads, thread, now_ms, short_text, NULL);
}

TEST(test_a_fire_is_sampled_and_what_is_gone_or_edited_is_always_told) {
    struct watched_threads *threads = watched_threads_new(1, 100);
    struct watched_thread *thread = known_thread(threads, &SUBJECT);
    const struct comment visible = {.state = COMMENT_VISIBLE}, hidden = {.state = COMMENT_HIDDEN},
                         liked = {.state = COMMENT_VISIBLE, .likes = 1},
                         edited = {.state = COMMENT_VISIBLE, .version = 2};
    struct subject_state subject = {.structure = 1000, .visible = 300};
    for (int64_t id = 1; id <= 300; id++) watched_threads_comment(threads, thread, id, NULL, &visible);
    for (int64_t id = 501; id <= 700; id++) watched_threads_comment(threads, thread, id, &visible, &liked);
    watched_threads_comment(threads, thread, 400, &visible, &hidden);
    watched_threads_comment(threads, thread, 450, &visible, &edited);
    watched_threads_subject(threads, thread, &subject);
    struct thread_news news = news_at(threads, thread, 1000);
    assert_int_equal(news.is, THREAD_NEWS_SHOW);
    assert_int_equal(news.total, 300);
    assert_int_equal(news.item_count, 52); // half of what is allowed, the newest, and those that are gone or edited
    assert_int_equal(news.items[0].id, 251);
    assert_int_equal(news.items[50].id, 400);
    assert_int_equal(news.items[51].id, 450);
    assert_int_equal(news.counter_count, 50);
    // The other counters wait, and are told as far as is allowed. Then pages are read again.
    size_t counters = news.counter_count;
    int64_t now_ms = 1000;
    do {
        now_ms += 100;
        news = news_at(threads, thread, now_ms);
        counters += news.counter_count;
    } while (news.is != THREAD_NEWS_NAME && now_ms < 20000);
    assert_int_equal(counters, 200);
    assert_int_equal(news.version, 1000);
    assert_true(now_ms < 15000);
    watched_threads_free(threads);
}

static int64_t no_text(void *context, const struct watched_thread *thread, const struct thread_change *change) {
    return -1;
}

static enum thread_news_is news_without_texts(struct watched_threads *threads, int64_t now_ms) {
    struct watched_thread *due = watched_threads_due(threads, now_ms);
    assert_non_null(due);
    return watched_thread_news(threads, due, now_ms, no_text, NULL).is;
}

TEST(test_a_text_is_waited_for_from_when_it_is_missed) {
    struct watched_threads *threads = watched_threads_new(1, 100);
    struct watched_thread *thread = known_thread(threads, &SUBJECT);
    const struct comment visible = {.state = COMMENT_VISIBLE};
    struct subject_state subject = {.structure = 1};
    for (int64_t id = 1; id <= 3; id++) {
        int64_t now_ms = 10000 * id;
        watched_threads_comment(threads, thread, id, NULL, &visible);
        subject.structure++;
        watched_threads_subject(threads, thread, &subject);
        assert_int_equal(news_without_texts(threads, now_ms), THREAD_NEWS_NONE);
        if (id == 1) { // the version is named for another reason meanwhile
            subject.closed = true;
            watched_threads_subject(threads, thread, &subject);
            assert_int_equal(news_without_texts(threads, now_ms + 1000), THREAD_NEWS_NAME);
        } else if (id == 2) { // pages are read again meanwhile
            watched_threads_anew(threads, thread);
            assert_ptr_equal(watched_threads_due(threads, now_ms + 1000), thread);
            watched_thread_known(thread, &subject);
            assert_int_equal(watched_thread_news(threads, thread, now_ms + 1000, no_text, NULL).is, THREAD_NEWS_NAME);
            watched_threads_passed(threads, 0, true);
            watched_threads_passed(threads, 0, false);
        } else {
            assert_int_equal(news_without_texts(threads, now_ms + WATCHED_THREAD_TEXT_MS - 1), THREAD_NEWS_NONE);
            assert_int_equal(news_without_texts(threads, now_ms + WATCHED_THREAD_TEXT_MS + 9), THREAD_NEWS_NAME);
        }
    }
    watched_threads_free(threads);
}

TEST(test_what_the_next_version_left_out_outlives_a_named_version) {
    struct watched_threads *threads = watched_threads_new(1, 4 * WATCHED_THREAD_CHANGES);
    struct watched_thread *thread = known_thread(threads, &SUBJECT);
    const struct comment visible = {.state = COMMENT_VISIBLE};
    struct subject_state subject = {.structure = 2, .closed = true};
    watched_threads_subject(threads, thread, &subject);
    for (int64_t id = 1; id <= WATCHED_THREAD_CHANGES + 1; id++)
        watched_threads_comment(threads, thread, id, NULL, &visible); // one has no room
    struct thread_news news = news_at(threads, thread, 1000);
    assert_true(news.is == THREAD_NEWS_NAME && news.version == 2);
    subject.structure = 3;
    watched_threads_subject(threads, thread, &subject);
    news = news_at(threads, thread, 2000);
    assert_int_equal(news.item_count, WATCHED_THREAD_CHANGES);
    assert_int_equal(news.is, THREAD_NEWS_SHOW);
    watched_threads_free(threads);
}

/* So many comments are hidden at once; pages are to be read again, or not. Each of them is told once. */
static void hide_many(bool closed) {
    enum { MANY = 2 * WATCHED_THREAD_GONE + 100 };
    struct watched_threads *threads = watched_threads_new(1, 100);
    struct watched_thread *thread = known_thread(threads, &SUBJECT);
    const struct comment visible = {.state = COMMENT_VISIBLE}, hidden = {.state = COMMENT_HIDDEN};
    struct subject_state subject = {.structure = 2, .closed = closed};
    bool told[MANY + 1] = {false};
    size_t count = 0, named = 0;
    for (int64_t id = 1; id <= MANY; id++) watched_threads_comment(threads, thread, id, &visible, &hidden);
    watched_threads_subject(threads, thread, &subject);
    for (int64_t now_ms = 1000; now_ms < 20000; now_ms += 100) {
        struct thread_news news = news_at(threads, thread, now_ms);
        if (news.is == THREAD_NEWS_NONE) continue;
        assert_int_equal(news.is, count < MANY ? THREAD_NEWS_SHOW : THREAD_NEWS_NAME);
        assert_true(news.item_count <= WATCHED_THREAD_GONE);
        for (size_t i = 0; i < news.item_count; i++) {
            assert_false(told[news.items[i].id]);
            told[news.items[i].id] = true;
        }
        count += news.item_count;
        named += news.is == THREAD_NEWS_NAME;
    }
    assert_int_equal(count, MANY);
    assert_int_equal(named, 1);
    watched_threads_free(threads);
}

TEST(test_not_too_many_that_are_gone_are_told_at_once) {
    hide_many(false);
    hide_many(true);
}

TEST(test_pages_are_read_again_while_a_fire_goes_on) {
    struct watched_threads *threads = watched_threads_new(1, 10);
    struct watched_thread *thread = known_thread(threads, &SUBJECT);
    const struct comment visible = {.state = COMMENT_VISIBLE};
    struct subject_state subject = {.structure = 1};
    int64_t id = 0, named_ms = 1000;
    size_t named = 0;
    for (int64_t now_ms = 1000; now_ms < 200000; now_ms += 100) {
        for (int i = 0; i < 3; i++) watched_threads_comment(threads, thread, ++id, NULL, &visible);
        subject.structure += 3;
        subject.visible += 3;
        watched_threads_subject(threads, thread, &subject);
        struct thread_news news = news_at(threads, thread, now_ms);
        if (news.is != THREAD_NEWS_NAME) continue;
        assert_int_equal(news.version, subject.structure);
        assert_in_range(now_ms - named_ms, WATCHED_THREAD_SAMPLED_MS, WATCHED_THREAD_SAMPLED_MS + 2000);
        named_ms = now_ms;
        named++;
    }
    assert_int_equal(named, 3);
    watched_threads_free(threads);
}

TEST(test_changes_are_gathered_and_the_first_goes_at_once) {
    struct watched_threads *threads = watched_threads_new(1, 100);
    struct watched_thread *thread = known_thread(threads, &OTHER);
    const struct comment visible = {.state = COMMENT_VISIBLE}, liked = {.state = COMMENT_VISIBLE, .likes = 1};
    struct subject_state subject = {.structure = 2, .visible = 1};
    watched_threads_comment(threads, thread, 7, NULL, &visible);
    assert_int_equal(news_at(threads, thread, 1000).is, THREAD_NEWS_NONE); // its subject's record is to come
    watched_threads_subject(threads, thread, &subject);
    struct thread_news news = news_at(threads, thread, 1000);
    assert_int_equal(news.is, THREAD_NEWS_CHANGE);
    assert_true(news.since == 1 && news.version == 2 && news.item_count == 1);
    watched_threads_comment(threads, thread, 7, &visible, &liked);
    subject.counters++;
    watched_threads_subject(threads, thread, &subject);
    assert_int_equal(news_at(threads, thread, 1000 + WATCHED_THREAD_GATHER_MS - 1).is, THREAD_NEWS_NONE);
    news = news_at(threads, thread, 1000 + WATCHED_THREAD_GATHER_MS);
    assert_true(news.is == THREAD_NEWS_CHANGE && news.counter_count == 1 && news.item_count == 0 && news.version == 3);
    // A lost pin follows from the comment that is gone; a new one makes pages be read again.
    subject.structure++;
    subject.pins = 1;
    subject.pinned[0] = 7;
    watched_threads_subject(threads, thread, &subject);
    assert_int_equal(news_at(threads, thread, 5000).is, THREAD_NEWS_NAME);
    const struct comment hidden = {.state = COMMENT_HIDDEN};
    watched_threads_comment(threads, thread, 7, &liked, &hidden);
    subject.structure++;
    subject.pins = 0;
    watched_threads_subject(threads, thread, &subject);
    assert_int_equal(news_at(threads, thread, 6000).is, THREAD_NEWS_CHANGE);
    watched_threads_free(threads);
}
