/* People talk under posts: they comment, reply, like and delete. Now and then a post catches fire: everybody talks there, ten times as
 * much. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tools/load/social_private.h"

enum { TRIES = 8, TALKS_MAX = 64, NEW_SHARE = 16, FIRE_TIMES = 10, FIRE_US = 20000000, PAGE = 20, WHOLE_PAGE = 50 };

/* ---- what somebody does ---- */

enum words_kind { WORDS_COMMENT, WORDS_REPLY, WORDS_LIKE, WORDS_UNLIKE, WORDS_DELETE };

struct said {
    struct social *social;
    struct citizen *citizen;
    struct talk_thread *talk;
    enum words_kind kind;
    struct talk_comment *about; /* NULL: a new root */
    struct talk_comment *root;  /* of a reply */
    uint64_t text;
};

static bool want_id(const json_t *object, const char *key, int64_t *id) {
    *id = 0;
    return !json_given(object, key) || social_read_id(object, key, id);
}

static bool read_item(const json_t *object, struct talk_item *item) {
    const char *state, *text = json_string_value(json_object_get(object, "text"));
    *item = (struct talk_item){.id = 0};
    bool good = want_id(object, "id", &item->id) && want_id(object, "root", &item->root) &&
                want_id(object, "reply_to", &item->answers) && json_want_text(object, "state", &state, NULL) == 0 &&
                json_want_int(object, "user", 0, INT64_MAX, &item->user, NULL) == 0 &&
                json_want_int(object, "floor", 1, INT64_MAX, &item->floor, NULL) == 0 &&
                json_want_int(object, "likes", 0, INT64_MAX, &item->likes, NULL) == 0 &&
                json_want_int(object, "reply_count", 0, INT64_MAX, &item->reply_count, NULL) == 0;
    if (!good) return false;
    item->deleted = strcmp(state, "deleted") == 0;
    item->text = text ? talk_hash(text) : 0;
    return true;
}

static void commented(const struct said *said, unsigned status, const char *reply, size_t size) {
    struct social *social = said->social;
    json_t *object = status == 201 ? json_parse(reply, size, NULL) : NULL;
    struct talk_item item;
    if (object && read_item(object, &item)) {
        social->counts.commented++;
        talk_add(said->talk, &(struct talk_comment){.id = item.id,
                                                    .user = said->citizen->user,
                                                    .root = item.root,
                                                    .answers = item.answers,
                                                    .floor = item.floor,
                                                    .text = said->text,
                                                    .known_us = clock_monotonic_us()});
    } else {
        if (said->root) said->root->replies--;
        // Nobody can answer a comment that is being deleted.
        if (!said->about || !said->about->deleting)
            social_refused(social, "a comment", said->citizen->user, status, reply);
    }
    json_decref(object);
}

static void liked(const struct said *said, unsigned status, const char *reply) {
    if (status == 200) {
        said->social->counts.liked++;
        talk_like(said->about, said->citizen->user, said->kind == WORDS_LIKE);
    } else if (!said->about->deleting) {
        social_refused(said->social, "a like", said->citizen->user, status, reply);
    }
}

static void on_said(void *context, unsigned status, const char *reply, size_t size) {
    struct said *said = context;
    said->citizen->busy = false;
    if (said->social->closing) {
        free(said);
        return;
    }
    if (said->kind == WORDS_COMMENT || said->kind == WORDS_REPLY) {
        commented(said, status, reply, size);
    } else if (said->kind == WORDS_DELETE) {
        if (status == 204)
            said->about->deleted_us = clock_monotonic_us();
        else
            social_refused(said->social, "a deletion", said->citizen->user, status, reply);
    } else {
        liked(said, status, reply);
    }
    free(said);
}

static void write_comment(struct said *said) {
    struct social *social = said->social;
    char *path = mem_format("/v1/comments/post/%" PRId64, talk_post(said->talk));
    said->text = social_write(social, said->about ? said->about->id : 0);
    social_act(social, said->citizen, "POST", path, &social->scratch, on_said, said);
    free(path);
}

static void act_on(struct said *said) {
    bool deletes = said->kind == WORDS_DELETE;
    char *path = mem_format("/v1/comments/post/%" PRId64 "/%" PRId64 "%s", talk_post(said->talk), said->about->id,
                            deletes ? "" : "/like");
    if (deletes) said->about->deleting = true;
    social_act(said->social, said->citizen, said->kind == WORDS_LIKE ? "PUT" : "DELETE", path, NULL, on_said, said);
    free(path);
}

/* ---- who does what, and where ---- */

/* A post under which nobody has talked yet. Its author does not delete it any more. */
static struct talk_thread *new_talk(struct social *social) {
    struct citizen *author = &social->citizens[social_draw(social) % social->count];
    if (!author->latest_count || social->talk_count == TALKS_MAX) return NULL;
    social->talks = mem_resize(social->talks, social->talk_count + 1, sizeof(struct talk_thread *));
    struct talk_thread *talk = talk_new(author->latest[--author->latest_count]);
    social->talks[social->talk_count++] = talk;
    return talk;
}

static struct talk_thread *some_talk(struct social *social) {
    struct talk_thread *talk = NULL;
    if (social->burning) return social->burning;
    if (!social->talk_count || social_draw(social) % NEW_SHARE == 0) talk = new_talk(social);
    return talk || !social->talk_count ? talk : social->talks[social_draw(social) % social->talk_count];
}

/* A comment that is there; own: of the citizen. NULL: none was found. */
static struct talk_comment *some_comment(struct social *social, const struct talk_thread *talk,
                                         const struct citizen *own) {
    for (int i = 0; talk_count(talk) && i < TRIES; i++) {
        struct talk_comment *comment = talk_at(talk, social_draw(social) % talk_count(talk));
        if (!comment->deleting && (!own || comment->user == own->user)) return comment;
    }
    return NULL;
}

static bool choose(struct said *said, unsigned drawn) {
    struct social *social = said->social;
    if (drawn < 4) { // a comment
        said->kind = WORDS_COMMENT;
        return true;
    }
    said->about = some_comment(social, said->talk, drawn == 15 ? said->citizen : NULL);
    if (!said->about) return false;
    if (drawn == 15) {
        said->kind = WORDS_DELETE;
    } else if (drawn < 7) {
        said->kind = WORDS_REPLY;
        said->root = said->about->root ? talk_find(said->talk, said->about->root) : said->about;
        if (said->root->replies == TALK_REPLIES_MAX) return false;
        said->root->replies++;
    } else {
        said->kind = talk_likes(said->about, said->citizen->user) ? WORDS_UNLIKE : WORDS_LIKE;
    }
    return true;
}

void social_talks(struct social *social) {
    struct citizen *citizen = social_somebody(social, social->count);
    struct talk_thread *talk = citizen ? some_talk(social) : NULL;
    if (!talk) return;
    struct said *said = MEM_NEW(&(struct said){.social = social, .citizen = citizen, .talk = talk});
    if (!choose(said, social_draw(social) % 16)) {
        free(said);
        return;
    }
    if (said->kind == WORDS_COMMENT || said->kind == WORDS_REPLY)
        write_comment(said);
    else
        act_on(said);
}

void social_fire(struct social *social) {
    int64_t now = clock_monotonic_us(), every = social->options.fire_us;
    int64_t burns = every / 2 < FIRE_US ? every / 2 : FIRE_US;
    if (!every) return;
    if (!social->fire_us) social->fire_us = now;
    if (social->burning && now - social->fire_us >= burns) {
        social->burning = NULL;
        social->talking.a_second = social->options.comments;
    }
    if (now - social->fire_us < every || !social->talk_count) return;
    social->fire_us = now;
    social->burning = social->talks[social_draw(social) % social->talk_count];
    social->talking.a_second = social->options.comments * FIRE_TIMES;
    social->counts.fires++;
    fprintf(stderr, "simulate: post %" PRId64 " is on fire\n", talk_post(social->burning));
}

/* ---- pages ---- */

struct talk_look {
    struct social *social;
    struct talk_thread *talk;
    bool whole; /* at the end; else one page in passing */
    int64_t asked_us, total;
    char *after; /* of the whole thread's next page; NULL: the first */
    struct talk_item *items;
    size_t count;
};

static void look_free(struct talk_look *look) {
    free(look->after);
    free(look->items);
    free(look);
}

static bool read_items(struct talk_look *look, const json_t *items, bool replies) {
    bool good = json_is_array(items);
    for (size_t i = 0; good && i < json_array_size(items); i++) {
        const json_t *object = json_array_get(items, i);
        look->items = mem_resize(look->items, look->count + 1, sizeof *look->items);
        good = read_item(object, &look->items[look->count]);
        look->count += good;
        if (good && replies) good = read_items(look, json_object_get(object, "replies"), false);
    }
    return good;
}

static bool read_page(struct talk_look *look, const char *reply, size_t size) {
    json_t *page = json_parse(reply, size, NULL);
    const json_t *next = json_object_get(page, "next");
    bool good = page && read_items(look, json_object_get(page, "items"), look->whole) &&
                json_want_int(page, "total", 0, INT64_MAX, &look->total, NULL) == 0;
    free(look->after);
    look->after = good ? mem_string(json_string_value(next)) : NULL;
    json_decref(page);
    return good;
}

static void judge(struct talk_look *look) {
    struct social *social = look->social;
    bool wrong;
    buffer_clear(&social->why);
    social->counts.read++;
    wrong = look->whole ? talk_whole_wrong(look->talk, look->items, look->count, look->total, &social->why)
                        : talk_page_wrong(look->talk, look->items, look->count, look->asked_us,
                                          social->options.margin_us, &social->why);
    if (look->whole && !wrong) social->talks_right++;
    if (!wrong || !social->options.check || (look->whole && !social->last_turn)) return;
    if (++social->counts.wrong <= SOCIAL_SHOWN_WRONG_MAX)
        fprintf(stderr, "simulate: the thread under post %" PRId64 " is wrong:\n%s", talk_post(look->talk),
                buffer_cstring(&social->why));
}

static void ask(struct talk_look *look);

static void on_page(void *context, unsigned status, const char *reply, size_t size) {
    struct talk_look *look = context;
    struct social *social = look->social;
    if (status != 200 || !read_page(look, reply, size)) {
        social->counts.unanswered++;
        if (!social->closing && status >= 400 && status < 500)
            social_refused(social, "a thread", social->citizens[0].user, status, reply);
    } else if (look->whole && look->after && !social->closing) {
        ask(look);
        return;
    } else {
        judge(look);
    }
    look_free(look);
}

static void ask(struct talk_look *look) {
    char *path =
        mem_format("/v1/comments/post/%" PRId64 "?sort=%s&limit=%d&replies=%d%s%s", talk_post(look->talk),
                   look->whole ? "floor" : "newest", look->whole ? WHOLE_PAGE : PAGE,
                   look->whole ? TALK_REPLIES_MAX : 0, look->after ? "&after=" : "", look->after ? look->after : "");
    int64_t reader = look->social->citizens[social_draw(look->social) % look->social->count].user;
    home_api_get(look->social->api, reader, path, false, on_page, look);
    free(path);
}

static void begin(struct social *social, struct talk_thread *talk, bool whole) {
    struct talk_look *look =
        MEM_NEW(&(struct talk_look){.social = social, .talk = talk, .whole = whole, .asked_us = clock_monotonic_us()});
    ask(look);
}

void social_read_talk(struct social *social) {
    if (social->talk_count) begin(social, social->talks[social_draw(social) % social->talk_count], false);
}

/* All threads are read at once, as there are few; again, until a whole round of them is right. */
bool social_talks_checked(struct social *social) {
    if (home_api_under_way(social->api) || clock_monotonic_us() < social->turn_us) return false;
    if (social->talks_right == social->talk_count) return true;
    if (social->talks_asked) {
        if (social->last_turn) {
            fprintf(stderr, "simulate: %zu threads were not as they must be\n",
                    social->talk_count - social->talks_right);
            social->counts.failed++;
            return true;
        }
        social->last_turn = social_late(social, social->options.patience_us);
        social_next_turn(social);
    }
    social->talks_asked = true;
    social->talks_right = 0;
    for (size_t i = 0; i < social->talk_count; i++) begin(social, social->talks[i], true);
    return false;
}

void social_talks_free(struct social *social) {
    for (size_t i = 0; i < social->talk_count; i++) talk_free(social->talks[i]);
    free(social->talks);
}
