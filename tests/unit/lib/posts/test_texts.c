/* Tests texts.c, texts_kept.c and post_json.c. Texts of posts: that questions are gathered, what is kept and for how long, and what
 * becomes of those without an answer. */
#include "ids/ids.h"
#include "unit/kit/kit.h"
#include "unit/lib/posts/post_owners.h"
#include "posts/texts.h"
#include "unit/lib/users/some_profiles.h"

enum { PARTITIONS = 4, LONG_MS = 600000, MOST = 600, AUTHOR = 7, READER = 9 };

struct asker {
    struct text_wait wait; /* first */
    struct shared_text *text;
    int settled;
};

struct world {
    uv_loop_t loop;
    struct some_profiles profiles;
    struct post_owners owners;
    struct texts *texts;
    struct sights *sights;
    int64_t version; /* that the next ones want */
    struct asker askers[MOST];
    size_t asker_count;
    int answers;
    int64_t get_next; /* an id that the next settled wait asks for; 0: none */
    int32_t lowest[PARTITIONS];
    bool ended;
};

static struct asker *get(struct world *w, int64_t id) {
    struct asker *asker = &w->askers[w->asker_count++];
    *asker = (struct asker){.text = texts_get(w->texts, id, w->version)};
    if (text_state_of(asker->text) == TEXT_ASKED) text_await(asker->text, &asker->wait);
    return asker;
}

static void settled(void *context, struct text_wait *wait) {
    struct world *w = context;
    struct asker *asker = (struct asker *)(void *)wait;
    int64_t next = w->get_next;
    asker->settled++;
    assert_int_not_equal(text_state_of(asker->text), TEXT_ASKED);
    w->get_next = 0;
    if (next) get(w, next);
}

static void answered(void *context) { ((struct world *)context)->answers++; }

static void fetch(void *context, int32_t partition, const char *path, int timeout_ms,
                  void (*done)(void *context, int code, unsigned status, const char *reply, size_t size),
                  void *done_context) {
    struct world *w = context;
    post_owners_fetch(&w->owners, partition, path, timeout_ms, done, done_context);
}

static int64_t now_ms(void) { return 0; }

static const int32_t *lowest(void *context) {
    const struct world *w = context;
    assert_false(w->ended); /* the owners are away */
    return w->lowest;
}

static struct world *begin_with(size_t kept_max, size_t kept_bytes, int64_t kept_ms, int timeout_ms) {
    struct world *w = mem_zero(1, sizeof *w);
    for (int32_t i = 0; i < PARTITIONS; i++) w->lowest[i] = i;
    uv_loop_init(&w->loop);
    some_profiles_open(&w->profiles);
    w->sights = sights_new(&(struct sights_options){.loop = &w->loop,
                                                    .partitions = PARTITIONS,
                                                    .timeout_ms = LONG_MS,
                                                    .context = w,
                                                    .fetch = fetch,
                                                    .now_ms = now_ms});
    w->texts = texts_new(&(struct texts_options){.loop = &w->loop,
                                                 .partitions = PARTITIONS,
                                                 .kept_max = kept_max,
                                                 .kept_bytes = kept_bytes,
                                                 .kept_ms = kept_ms,
                                                 .timeout_ms = timeout_ms,
                                                 .profiles = w->profiles.profiles,
                                                 .sights = w->sights,
                                                 .context = w,
                                                 .lowest = lowest,
                                                 .fetch = fetch,
                                                 .settled = settled,
                                                 .answered = answered});
    return w;
}

static struct world *begin(size_t kept_max, int64_t kept_ms, int timeout_ms) {
    return begin_with(kept_max, SIZE_MAX, kept_ms, timeout_ms);
}

static void end(struct world *w) {
    post_owners_free(&w->owners);
    w->ended = true;
    texts_stop(w->texts);
    for (size_t i = 0; i < w->asker_count; i++) {
        text_await_end(&w->askers[i].wait);
        text_give(w->askers[i].text);
    }
    texts_free(w->texts);
    sights_free(w->sights);
    some_profiles_close(&w->profiles);
    kit_loop_end(&w->loop);
    free(w);
}

static int64_t id_of(int32_t partition, int64_t number) {
    return ids_make((number + 1) << IDS_FRACTION_BITS, partition);
}

static void until_asked(struct world *w, size_t questions) {
    while (w->owners.count < questions) uv_run(&w->loop, UV_RUN_NOWAIT);
}

static void until_settled(struct world *w, const struct asker *asker) {
    while (!asker->settled) uv_run(&w->loop, UV_RUN_NOWAIT);
}

static void assert_shows(struct world *w, struct asker *asker, const char *expected) {
    FREED_BUFFER out = {.size = 0};
    assert_int_equal(text_state_of(asker->text), TEXT_THERE);
    assert_true(text_put(w->texts, asker->text, READER, true, &out));
    assert_string_equal(buffer_cstring(&out), expected);
}

TEST(one_question_a_partition_for_all_who_ask) {
    struct world *w = begin(100, LONG_MS, LONG_MS);
    int64_t a = id_of(1, 1), b = id_of(1, 2), c = id_of(3, 3);
    struct asker *first = get(w, a), *second = get(w, b), *third = get(w, c), *fourth = get(w, a);
    assert_ptr_equal(first->text, fourth->text);
    until_asked(w, 2);
    assert_int_equal(w->owners.questions[0].partition, 1);
    assert_int_equal(w->owners.questions[1].partition, 3);
    /* One that comes while the question is under way asks no second one. */
    struct asker *late = get(w, b);
    get(w, id_of(0, 9));
    until_asked(w, 3);
    assert_int_equal(post_owners_asked(&w->owners, a), 1);
    assert_int_equal(post_owners_asked(&w->owners, b), 1);
    post_owners_answer(&w->owners, 0);
    assert_int_equal(w->answers, 1);
    assert_int_equal(first->settled + second->settled + fourth->settled + late->settled, 4);
    assert_int_equal(third->settled, 0);
    post_owners_answer(&w->owners, 1);
    assert_int_equal(third->settled, 1);
    assert_int_equal(texts_stats_of(w->texts).kept, 3);
    assert_int_equal(text_state_of(get(w, c)->text), TEXT_THERE);
    end(w);
}

TEST(questions_have_a_bounded_size) {
    struct world *w = begin(1000, LONG_MS, LONG_MS);
    for (int64_t i = 0; i < 2 * TEXTS_QUESTION + 1; i++) get(w, id_of(2, i));
    until_asked(w, 3);
    assert_int_equal(w->owners.count, 3);
    post_owners_answer_all(&w->owners);
    for (size_t i = 0; i < w->asker_count; i++) assert_int_equal(text_state_of(w->askers[i].text), TEXT_THERE);
    end(w);
}

TEST(names_are_those_of_now) {
    struct world *w = begin(100, LONG_MS, LONG_MS);
    int64_t id = id_of(1, 0);
    struct asker *asker = get(w, id);
    until_asked(w, 1);
    post_owners_answer(&w->owners, 0);
    FREED char *nobody =
        mem_format("{\"id\":\"%lld\",\"user\":7,\"name\":null,\"avatar_url\":null,\"text\":\"text of %lld\","
                   "\"media\":[],\"time\":%lld,\"version\":1,\"edited\":null}",
                   (long long)id, (long long)id, (long long)ids_time_ms(id));
    FREED char *ada =
        mem_format("{\"id\":\"%lld\",\"user\":7,\"name\":\"Ada\",\"avatar_url\":\"\",\"text\":\"text of %lld\","
                   "\"media\":[],\"time\":%lld,\"version\":1,\"edited\":null}",
                   (long long)id, (long long)id, (long long)ids_time_ms(id));
    assert_shows(w, asker, nobody);
    some_profiles_name(&w->profiles, 7, "Ada");
    texts_profile_changed(w->texts, 7);
    assert_shows(w, asker, ada);
    end(w);
}

TEST(what_is_kept_is_bounded) {
    struct world *w = begin(2, LONG_MS, LONG_MS);
    for (int64_t i = 0; i < 5; i++) get(w, id_of(1, i));
    until_asked(w, 1);
    post_owners_answer(&w->owners, 0);
    assert_int_equal(texts_stats_of(w->texts).kept, 2);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(text_state_of(w->askers[i].text), TEXT_THERE); /* who holds it has it */
    assert_int_equal(text_state_of(get(w, id_of(1, 4))->text), TEXT_THERE);
    assert_int_equal(text_state_of(get(w, id_of(1, 0))->text), TEXT_ASKED);
    end(w);
}

TEST(what_is_old_is_asked_for_again) {
    struct world *w = begin(100, 0, LONG_MS);
    get(w, id_of(1, 0));
    until_asked(w, 1);
    post_owners_answer(&w->owners, 0);
    get(w, id_of(1, 0));
    until_asked(w, 2);
    end(w);
}

TEST(a_post_that_is_not_there) {
    struct world *w = begin(100, LONG_MS, LONG_MS);
    w->owners.deleted[w->owners.deleted_count++] = id_of(1, 0);
    struct asker *asker = get(w, id_of(1, 0)), *other = get(w, id_of(1, 1));
    until_asked(w, 1);
    post_owners_answer(&w->owners, 0);
    assert_int_equal(text_state_of(asker->text), TEXT_NONE);
    assert_int_equal(text_state_of(other->text), TEXT_THERE);
    assert_int_equal(text_state_of(get(w, id_of(1, 0))->text), TEXT_NONE);
    end(w);
}

TEST(no_answer_in_time) {
    struct world *w = begin(100, LONG_MS, 20);
    struct asker *asker = get(w, id_of(1, 0));
    w->get_next = id_of(1, 0); /* it is asked for again as soon as it is given up */
    until_settled(w, asker);
    assert_int_equal(text_state_of(asker->text), TEXT_AWAY);
    assert_int_equal(texts_stats_of(w->texts).kept, 0);
    until_asked(w, 2);
    post_owners_answer(&w->owners, 0); /* too late */
    assert_int_equal(text_state_of(asker->text), TEXT_AWAY);
    assert_int_equal(w->askers[1].settled, 0);
    post_owners_answer(&w->owners, 1);
    assert_int_equal(text_state_of(w->askers[1].text), TEXT_THERE);
    end(w);
}

TEST(answers_that_are_none) {
    const struct {
        int code;
        unsigned status;
        const char *reply;
    } answers[] = {
        {-EHOSTUNREACH, 0, NULL},    {0, 503, "{}"},
        {0, 200, "no JSON"},         {0, 200, "{}"},
        {0, 200, "{\"items\":1}"},   {0, 200, "{\"items\":[]}"},
        {0, 200, "{\"items\":[3]}"}, {0, 200, "{\"items\":[{\"id\":\"1\",\"user\":7,\"text\":\"\",\"time\":1}]}"},
    };
    struct world *w = begin(100, LONG_MS, LONG_MS);
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        struct asker *asker = get(w, id_of(1, 0));
        until_asked(w, i + 1);
        post_owners_say(&w->owners, i, answers[i].code, answers[i].status, answers[i].reply);
        assert_int_equal(text_state_of(asker->text), TEXT_AWAY);
    }
    struct asker *asker = get(w, id_of(2, 1));
    until_asked(w, w->owners.count + 1);
    FREED char *reply = mem_format("{\"items\":[{\"id\":\"%lld\"}]}", (long long)id_of(2, 1));
    post_owners_say(&w->owners, w->owners.count - 1, 0, 200, reply);
    assert_int_equal(text_state_of(asker->text), TEXT_AWAY);
    end(w);
}

TEST(a_deleted_post_is_forgotten) {
    struct world *w = begin(100, LONG_MS, LONG_MS);
    int64_t id = id_of(1, 0);
    struct asker *asker = get(w, id);
    until_asked(w, 1);
    texts_forget(w->texts, id); /* while it is asked for: its owner may have answered before it heard of the deletion */
    struct asker *later = get(w, id);
    until_asked(w, 2);
    post_owners_answer(&w->owners, 0);
    assert_int_equal(asker->settled, 1);
    assert_int_equal(later->settled, 0);
    assert_int_equal(texts_stats_of(w->texts).kept, 0);
    post_owners_answer(&w->owners, 1);
    assert_int_equal(texts_stats_of(w->texts).kept, 1);
    texts_forget(w->texts, id);
    texts_forget(w->texts, id_of(1, 77)); /* unknown */
    assert_int_equal(texts_stats_of(w->texts).kept, 0);
    assert_int_equal(text_state_of(get(w, id)->text), TEXT_ASKED);
    end(w);
}

TEST(an_edited_post_is_asked_for_again) {
    struct world *w = begin(100, LONG_MS, LONG_MS);
    int64_t id = id_of(1, 0);
    FREED_BUFFER shown = {.size = 0};
    get(w, id);
    until_asked(w, 1);
    post_owners_answer(&w->owners, 0);
    assert_int_equal(text_state_of(get(w, id)->text), TEXT_THERE);
    w->version = 2;
    struct asker *asker = get(w, id);
    assert_int_equal(text_state_of(asker->text), TEXT_ASKED);
    until_asked(w, 2);
    FREED char *reply = mem_format("{\"items\":[{\"id\":\"%lld\",\"user\":7,\"text\":\"new\",\"media\":[],\"time\":5,"
                                   "\"version\":2,\"edited\":6}]}",
                                   (long long)id);
    post_owners_say(&w->owners, 1, 0, 200, reply);
    assert_true(text_put(w->texts, asker->text, READER, true, &shown));
    assert_non_null(
        strstr(buffer_cstring(&shown), "\"text\":\"new\",\"media\":[],\"time\":5,\"version\":2,\"edited\":6}"));
    w->version = 1; // whoever has not heard of the edit gets it all the same
    assert_int_equal(text_state_of(get(w, id)->text), TEXT_THERE);
    end(w);
}

TEST(a_former_text_that_is_under_way_is_not_kept) {
    struct world *w = begin(100, LONG_MS, LONG_MS);
    int64_t id = id_of(1, 0);
    struct asker *before = get(w, id);
    until_asked(w, 1);
    w->version = 2;
    struct asker *after = get(w, id);
    post_owners_answer(&w->owners, 0);
    assert_int_equal(before->settled + after->settled, 2);
    assert_int_equal(texts_stats_of(w->texts).kept, 0);
    assert_int_equal(text_state_of(get(w, id)->text), TEXT_ASKED);
    end(w);
}

TEST(nobody_has_that_partition) {
    struct world *w = begin(100, LONG_MS, LONG_MS);
    assert_int_equal(text_state_of(get(w, id_of(PARTITIONS, 0))->text), TEXT_AWAY);
    end(w);
}

TEST(owners_that_answer_at_once) {
    struct world *w = begin(100, LONG_MS, LONG_MS);
    w->owners.at_once = true;
    w->get_next = id_of(2, 0);
    struct asker *first = get(w, id_of(1, 0));
    until_settled(w, first);
    until_settled(w, &w->askers[1]);
    assert_int_equal(text_state_of(w->askers[1].text), TEXT_THERE);
    end(w);
}

TEST(who_waits_no_more_is_not_told) {
    struct world *w = begin(100, LONG_MS, LONG_MS);
    struct asker *first = get(w, id_of(1, 0)), *second = get(w, id_of(1, 0)), *third = get(w, id_of(1, 0));
    until_asked(w, 1);
    text_await_end(&second->wait);
    post_owners_answer(&w->owners, 0);
    assert_int_equal(first->settled, 1);
    assert_int_equal(second->settled, 0);
    assert_int_equal(third->settled, 1);
    end(w);
}

/* Partitions 0, 1 and 2 are of one process, as the gateway believes. */
TEST(one_question_a_process) {
    struct world *w = begin(100, LONG_MS, LONG_MS);
    w->lowest[1] = w->lowest[2] = 0;
    w->owners.elsewhere = 2;
    for (int32_t partition = 0; partition < PARTITIONS; partition++) get(w, id_of(partition, 1));
    until_asked(w, 2);
    assert_int_equal(w->owners.count, 2);
    assert_int_equal(w->owners.questions[0].partition, 0);
    assert_int_equal(w->owners.questions[1].partition, 3);
    post_owners_answer(&w->owners, 0);
    assert_int_equal(text_state_of(w->askers[1].text), TEXT_THERE);
    assert_int_equal(text_state_of(w->askers[2].text), TEXT_ASKED); /* it has another owner by now, which is asked */
    until_asked(w, 3);
    assert_int_equal(w->owners.questions[2].partition, 2);
    post_owners_say(&w->owners, 2, 0, 200, "{\"items\":[false]}"); /* nobody is asked for ever */
    assert_int_equal(text_state_of(w->askers[2].text), TEXT_AWAY);
    struct asker *again = get(w, id_of(2, 1));
    until_asked(w, 4);
    post_owners_answer(&w->owners, 3);
    until_asked(w, 5);
    post_owners_answer(&w->owners, 4);
    assert_int_equal(text_state_of(again->text), TEXT_THERE);
    end(w);
}

TEST(an_answer_that_is_full_is_gone_on_with) {
    struct world *w = begin(100, LONG_MS, LONG_MS);
    w->owners.most = 2;
    for (int64_t i = 0; i < 5; i++) get(w, id_of(1, i));
    for (size_t question = 0; question < 3; question++) {
        until_asked(w, question + 1);
        post_owners_answer(&w->owners, question);
    }
    for (size_t i = 0; i < 5; i++) assert_int_equal(text_state_of(w->askers[i].text), TEXT_THERE);
    end(w);
}

TEST(the_memory_of_what_is_kept_is_bounded) {
    enum { BYTES = 2000 };
    struct world *w = begin_with(SIZE_MAX, BYTES, LONG_MS, LONG_MS);
    for (int64_t i = 0; i < 50; i++) get(w, id_of(1, i));
    until_asked(w, 1);
    post_owners_answer(&w->owners, 0);
    struct texts_stats stats = texts_stats_of(w->texts);
    assert_true(stats.kept > 2 && stats.kept < 20 && stats.kept_bytes <= BYTES && stats.kept_bytes > BYTES / 2);
    some_profiles_name(&w->profiles, 7, "Ada, whose name is long, so that the JSON becomes longer, and is shown anew");
    texts_profile_changed(w->texts, 7);
    FREED_BUFFER out = {.size = 0};
    for (size_t i = 0; i < 50; i++) text_put(w->texts, w->askers[i].text, READER, true, &out);
    assert_true(texts_stats_of(w->texts).kept_bytes > stats.kept_bytes);
    get(w, id_of(2, 1)); /* the next answer makes room again */
    until_asked(w, 2);
    post_owners_answer(&w->owners, 1);
    assert_true(texts_stats_of(w->texts).kept_bytes <= BYTES);
    end(w);
}

TEST(an_end_settles_what_is_not_asked_for) {
    struct world *w = begin(100, LONG_MS, LONG_MS);
    struct asker *asker = get(w, id_of(1, 0));
    w->ended = true;
    texts_stop(w->texts);
    assert_int_equal(asker->settled, 1);
    assert_int_equal(text_state_of(asker->text), TEXT_AWAY);
    assert_int_equal(w->owners.count, 0);
    end(w);
}

/* ---- at random: what is kept is what was answered last and not forgotten ---- */

enum { IDS = 30, KEPT = 8, STEPS = 200 };

struct model {
    int64_t kept[IDS + 1]; /* oldest first */
    size_t count;
    bool forgotten[STEPS][IDS]; /* by question: while it was open */
};

static int64_t number_of(int64_t id) { return (id >> (IDS_FRACTION_BITS + IDS_PARTITION_BITS)) - 1; }

static bool model_has(const struct model *model, int64_t id) {
    for (size_t i = 0; i < model->count; i++)
        if (model->kept[i] == id) return true;
    return false;
}

static void model_drop(struct model *model, int64_t id) {
    size_t left = 0;
    for (size_t i = 0; i < model->count; i++)
        if (model->kept[i] != id) model->kept[left++] = model->kept[i];
    model->count = left;
}

static void model_keep(struct model *model, int64_t id) {
    model->kept[model->count++] = id;
    if (model->count > KEPT) model_drop(model, model->kept[0]);
}

/* The ids of a question, in their order. */
static size_t ids_of(const struct world *w, size_t question, int64_t ids[IDS]) {
    size_t count = 0;
    char *behind;
    for (const char *at = strchr(w->owners.questions[question].path, '='); at; at = *behind ? behind : NULL)
        ids[count++] = strtoll(at + 1, &behind, 10);
    return count;
}

/* Notes what an answer settles. */
static void model_answer(struct model *model, const struct world *w, size_t question) {
    int64_t ids[IDS];
    size_t count = ids_of(w, question, ids);
    for (size_t i = 0; i < count; i++)
        if (!model->forgotten[question][number_of(ids[i])]) model_keep(model, ids[i]);
}

/* Whether a question is open whose answer will be kept; forget: it will not be any more. */
static bool model_asked(struct model *model, const struct world *w, int64_t id, bool forget) {
    bool asked = false;
    for (size_t question = 0; question < w->owners.count; question++) {
        int64_t ids[IDS];
        size_t count = w->owners.questions[question].open ? ids_of(w, question, ids) : 0;
        bool *forgotten = &model->forgotten[question][number_of(id)];
        for (size_t i = 0; i < count; i++) {
            if (ids[i] != id || *forgotten) continue;
            asked = true;
            *forgotten = forget;
        }
    }
    return asked;
}

TEST(what_is_kept_is_as_the_model_says) {
    for (unsigned seed = 0; seed < 5; seed++) {
        struct world *w = begin(KEPT, LONG_MS, LONG_MS);
        struct model model = {.count = 0};
        srand(seed);
        for (int step = 0; step < STEPS; step++) {
            int64_t number = rand() % IDS, id = id_of((int32_t)(number % PARTITIONS), number);
            if (rand() % 10 == 0) {
                texts_forget(w->texts, id);
                model_asked(&model, w, id, true);
                model_drop(&model, id);
            } else if (rand() % 2) {
                struct shared_text *text = texts_get(w->texts, id, 1);
                assert_int_equal(text_state_of(text) == TEXT_THERE, model_has(&model, id));
                text_give(text);
                while (!model_has(&model, id) && !model_asked(&model, w, id, false)) uv_run(&w->loop, UV_RUN_NOWAIT);
            } else if (w->owners.open) {
                size_t question = w->owners.count - 1;
                while (!w->owners.questions[question].open) question--;
                model_answer(&model, w, question);
                post_owners_answer(&w->owners, question);
            }
            assert_int_equal(texts_stats_of(w->texts).kept, model.count);
        }
        end(w);
    }
}

/* A text is kept for whomever, and given to those who may see it. */
TEST(a_text_is_for_those_who_may_see_it) {
    struct world *w = begin(100, LONG_MS, LONG_MS);
    struct asker *asker = get(w, id_of(1, 1));
    FREED_BUFFER out = {.size = 0};
    until_asked(w, 1);
    post_owners_answer(&w->owners, 0);
    assert_false(text_put(w->texts, asker->text, READER, false, &out));
    assert_false(text_put(w->texts, asker->text, -1, false, &out));
    assert_int_equal(out.size, 0);
    assert_true(text_put(w->texts, asker->text, AUTHOR, false, &out));
    assert_true(text_put(w->texts, asker->text, READER, true, &out));
    end(w);
}
