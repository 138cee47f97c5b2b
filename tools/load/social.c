#include "tools/load/social.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "tools/load/social_private.h"

enum {
    TICK_MS = 10,
    AUTHOR_SHARE = 4,    /* of so many posts one is of an author whom everybody follows */
    DELETION_SHARE = 16, /* of so many posts one is a deletion instead */
};

/* ---- actions of one citizen ---- */

enum deed_kind { DEED_POST, DEED_DELETE, DEED_FOLLOW, DEED_UNFOLLOW };

struct deed {
    struct social *social;
    struct citizen *citizen;
    enum deed_kind kind;
    int64_t object; /* the post, or the other */
};

static void keep_latest(struct citizen *citizen, int64_t post) {
    if (citizen->latest_count == SOCIAL_LATEST) {
        memmove(citizen->latest, citizen->latest + 1, (SOCIAL_LATEST - 1) * sizeof *citizen->latest);
        citizen->latest_count--;
    }
    citizen->latest[citizen->latest_count++] = post;
}

static void posted(struct deed *deed, unsigned status, const char *reply, size_t size) {
    struct social *social = deed->social;
    json_t *post = status == 201 ? json_parse(reply, size, NULL) : NULL;
    int64_t id;
    if (post && social_read_id(post, "id", &id)) {
        social->counts.posted++;
        keep_latest(deed->citizen, id);
    } else {
        id = 0;
        social_refused(social, "a post", deed->citizen->user, status, reply);
    }
    json_decref(post);
    page_check_post_done(social->check, deed->citizen->user, id, clock_monotonic_us());
}

static void deleted(struct deed *deed, unsigned status, const char *reply) {
    struct social *social = deed->social;
    if (status != 204) {
        social_refused(social, "a deletion", deed->citizen->user, status, reply);
        return;
    }
    social->counts.deleted++;
    page_check_delete_done(social->check, deed->object, clock_monotonic_us());
}

static void followed(struct deed *deed, unsigned status, const char *reply) {
    struct social *social = deed->social;
    int64_t user = deed->citizen->user;
    bool wanted = deed->kind == DEED_FOLLOW, is = status == 200 ? wanted : !wanted;
    if (status != 200)
        social_refused(social, "a follow", user, status, reply);
    else if (wanted)
        social->counts.followed++;
    else
        social->counts.unfollowed++;
    page_check_follow_done(social->check, user, deed->object, is, clock_monotonic_us());
}

static void on_outcome(void *context, unsigned status, const char *reply, size_t size) {
    struct deed *deed = context;
    deed->citizen->busy = false;
    if (!deed->social->closing) {
        if (deed->kind == DEED_POST)
            posted(deed, status, reply, size);
        else if (deed->kind == DEED_DELETE)
            deleted(deed, status, reply);
        else
            followed(deed, status, reply);
    }
    free(deed);
}

static void do_it(struct social *social, struct citizen *citizen, enum deed_kind kind, int64_t object,
                  const char *method, const char *path, const struct buffer *body) {
    struct deed *deed = MEM_NEW(&(struct deed){.social = social, .citizen = citizen, .kind = kind, .object = object});
    social_act(social, citizen, method, path, body, on_outcome, deed);
}

static void write_post(struct social *social, struct citizen *citizen) {
    social_write(social, 0);
    page_check_post_begun(social->check, citizen->user);
    do_it(social, citizen, DEED_POST, 0, "POST", "/v1/posts", &social->scratch);
}

static void delete_post(struct social *social, struct citizen *citizen) {
    size_t at = social_draw(social) % citizen->latest_count;
    int64_t post = citizen->latest[at];
    citizen->latest[at] = citizen->latest[--citizen->latest_count];
    char *path = mem_format("/v1/posts/%" PRId64, post);
    page_check_delete_begun(social->check, post);
    do_it(social, citizen, DEED_DELETE, post, "DELETE", path, NULL);
    free(path);
}

/* Follows come and go equally often. Half of those that come were there before. */
static void change_follow(struct social *social, struct citizen *citizen) {
    uint64_t drawn = social_draw(social);
    int64_t other;
    bool ends = drawn & 1;
    if (ends || drawn & 2) {
        if (!page_check_pick(social->check, citizen->user, ends, drawn >> 2, &other)) return;
    } else {
        other = social->citizens[(drawn >> 2) % social->count].user;
        if (other == citizen->user || page_check_follows(social->check, citizen->user, other)) return;
    }
    char *path = mem_format("/v1/follows/%" PRId64, other);
    page_check_follow_begun(social->check, citizen->user, other);
    do_it(social, citizen, ends ? DEED_UNFOLLOW : DEED_FOLLOW, other, ends ? "DELETE" : "PUT", path, NULL);
    free(path);
}

/* ---- living ---- */

static void somebody_posts(struct social *social) {
    size_t authors = population_authors(social->options.population);
    bool author = authors && social_draw(social) % AUTHOR_SHARE == 0;
    struct citizen *citizen = social_somebody(social, author ? authors : social->count);
    if (!citizen) return;
    if (citizen->latest_count && social_draw(social) % DELETION_SHARE == 0)
        delete_post(social, citizen);
    else
        write_post(social, citizen);
}

static void somebody_follows(struct social *social) {
    struct citizen *citizen = social_somebody(social, social->count);
    if (citizen) change_follow(social, citizen);
}

static void somebody_reads(struct social *social) {
    social_read(social, &social->citizens[social_draw(social) % social->count]);
}

/* Owes actions of one second at most: actions that were missed for longer are not made up for. */
static void keep_rate(struct social *social, struct social_rate *rate, int64_t passed_us,
                      void (*act)(struct social *social)) {
    rate->owed += rate->a_second * (double)passed_us / 1e6;
    if (rate->owed > rate->a_second + 1) rate->owed = rate->a_second + 1;
    while (rate->owed >= 1 && home_api_under_way(social->api) < SOCIAL_UNDER_WAY_MAX) {
        rate->owed -= 1;
        act(social);
    }
}

static void live(struct social *social, int64_t passed_us) {
    keep_rate(social, &social->posts, passed_us, somebody_posts);
    keep_rate(social, &social->follows, passed_us, somebody_follows);
    keep_rate(social, &social->reads, passed_us, somebody_reads);
    social_fire(social);
    keep_rate(social, &social->talking, passed_us, social_talks);
    keep_rate(social, &social->hearing, passed_us, social_read_talk);
}

/* ---- the end ---- */

static void write_feed(struct social *social) {
    const char *path = social->options.feed_path;
    FILE *file = fopen(path, "w");
    if (file) {
        fputs("user,post\n", file);
        for (size_t i = 0; i < social->count; i++) {
            const struct citizen *citizen = &social->citizens[i];
            for (size_t post = 0; post < citizen->newest_count; post++)
                fprintf(file, "%" PRId64 ",%" PRId64 "\n", citizen->user, citizen->newest[post]);
        }
    }
    if (file && fclose(file) == 0) return;
    fprintf(stderr, "simulate: %s cannot be written\n", path);
    social->counts.failed++;
}

static void begin_reading(struct social *social) {
    bool wanted = social->options.check || social->options.feed_path;
    for (size_t i = 0; i < social->count; i++) social->citizens[i].open = true;
    social_enter(social, wanted ? SOCIAL_READING : SOCIAL_OVER);
}

static void go_on_reading(struct social *social) {
    if (social_turn(social, social_read_all)) return;
    if (social_open(social) && !social->last_turn) {
        social->last_turn = social_late(social, social->options.patience_us);
        social_next_turn(social);
        return;
    }
    size_t open = social_open(social);
    if (open) {
        fprintf(stderr, "simulate: the timelines of %zu people were not as they must be\n", open);
        social->counts.failed++;
    }
    if (social->options.feed_path) write_feed(social);
    social_enter(social, SOCIAL_OVER);
}

/* Gives up waiting when the API has not answered for too long. */
static bool gave_up(struct social *social) {
    int64_t now = clock_monotonic_us();
    bool waits = social->phase == SOCIAL_LEARNING || social->phase == SOCIAL_RESTING;
    if (!waits || !home_api_under_way(social->api)) return false;
    int64_t heard = home_api_heard_us(social->api), since = heard > social->phase_us ? heard : social->phase_us;
    if (now - since < social->options.patience_us) return false;
    fprintf(stderr, "simulate: the HTTP API does not answer\n");
    social->counts.failed++;
    social_enter(social, SOCIAL_OVER);
    return true;
}

static void on_tick(void *context) {
    struct social *social = context;
    int64_t now = clock_monotonic_us(), passed_us = now - social->tick_us;
    social->tick_us = now;
    if (gave_up(social)) return;
    switch (social->phase) {
    case SOCIAL_LEARNING: social_learn(social); break;
    case SOCIAL_LIVING: live(social, passed_us); break;
    case SOCIAL_RESTING:
        if (!home_api_under_way(social->api)) social_enter(social, SOCIAL_HEARING);
        break;
    case SOCIAL_HEARING:
        if (!social->options.check || social_talks_checked(social)) begin_reading(social);
        break;
    case SOCIAL_READING: go_on_reading(social); break;
    case SOCIAL_OVER: break;
    }
}

/* ---- from outside ---- */

int social_new(const struct social_options *options, struct social **out, struct error *error) {
    struct home_api *api;
    int code = home_api_new(
        &(struct home_api_options){
            .loop = options->loop,
            .urls = options->urls,
            .url_count = options->url_count,
            .hs256_key_file = options->hs256_key_file,
        },
        &api, error);
    if (code) return code;
    struct social *social = MEM_NEW(&(struct social){
        .options = *options,
        .api = api,
        .check = page_check_new(options->margin_us),
        .count = population_count(options->population),
        .chance = hash_u64(options->seed),
        .run = clock_wall_ms(),
        .posts = {.a_second = options->posts},
        .follows = {.a_second = options->follows},
        .reads = {.a_second = options->reads},
        .talking = {.a_second = options->comments},
        .hearing = {.a_second = options->comments / 4},
    });
    social->citizens = mem_zero(social->count + 1, sizeof *social->citizens);
    for (size_t i = 0; i < social->count; i++) {
        social->citizens[i].user = population_person(options->population, i);
        social->citizens[i].open = true;
    }
    social_enter(social, SOCIAL_LEARNING);
    social->tick = loop_timer_new(options->loop, TICK_MS, TICK_MS, on_tick, social);
    *out = social;
    return 0;
}

void social_free(struct social *social) {
    if (!social) return;
    social->closing = true;
    loop_timer_free(social->tick);
    home_api_free(social->api);
    page_check_free(social->check);
    social_talks_free(social);
    buffer_free(&social->scratch);
    buffer_free(&social->why);
    free(social->citizens);
    free(social);
}

bool social_learning(const struct social *social) { return social->phase == SOCIAL_LEARNING; }

void social_rest(struct social *social) {
    if (social->phase == SOCIAL_LEARNING) social->rest_wanted = true;
    if (social->phase == SOCIAL_LIVING) social_enter(social, SOCIAL_RESTING);
}

bool social_over(const struct social *social) { return social->phase == SOCIAL_OVER; }

bool social_well(const struct social *social) { return !social->counts.wrong && !social->counts.failed; }

void social_say(const struct social *social) {
    fprintf(stderr,
            "simulate: %" PRIu64 " posts, %" PRIu64 " deleted, %" PRIu64 " follows, %" PRIu64 " ended, %" PRIu64
            " pages read, %" PRIu64 " without answer, %" PRIu64 " not complete\n",
            social->counts.posted, social->counts.deleted, social->counts.followed, social->counts.unfollowed,
            social->counts.read, social->counts.unanswered, social->counts.incomplete);
    if (social->options.comments > 0)
        fprintf(stderr,
                "simulate: %" PRIu64 " comments, %" PRIu64 " likes given or taken back, %zu threads, %" PRIu64
                " fires\n",
                social->counts.commented, social->counts.liked, social->talk_count, social->counts.fires);
    if (social->options.check) fprintf(stderr, "simulate: %" PRIu64 " pages were wrong\n", social->counts.wrong);
    if (social->counts.refused)
        fprintf(stderr, "simulate: %" PRIu64 " requests were refused\n", social->counts.refused);
}
