/* The inside of tools/load/social.h: social.c acts, social_talk.c talks, social_learn.c and social_pages.c read. social_people.c is what they
 * have in common. */
#pragma once

#include "json/json.h"
#include "tools/load/home_api.h"
#include "tools/load/page_check.h"
#include "tools/load/social.h"
#include "tools/load/talk_check.h"

enum {
    SOCIAL_PAGE = 20,
    SOCIAL_LATEST = 8,
    SOCIAL_UNDER_WAY_MAX = 256,
    SOCIAL_AT_ONCE = 64,
    SOCIAL_SHOWN_WRONG_MAX = 5
};

enum social_phase { SOCIAL_LEARNING, SOCIAL_LIVING, SOCIAL_RESTING, SOCIAL_HEARING, SOCIAL_READING, SOCIAL_OVER };

struct citizen {
    int64_t user;
    bool busy;                     /* does something of which the outcome is not known */
    bool open;                     /* learning, reading: this one's turn has not come, or failed */
    int64_t latest[SOCIAL_LATEST]; /* the own posts that may be deleted */
    size_t latest_count;
    int64_t newest[SOCIAL_PAGE]; /* the newest page at the end */
    size_t newest_count;
};

struct social_rate {
    double a_second, owed;
};

struct social {
    struct social_options options;
    struct home_api *api;
    struct page_check *check;
    struct citizen *citizens; /* by rising id, as the population's */
    size_t count;
    enum social_phase phase;
    struct loop_timer *tick;
    int64_t tick_us, phase_us, turn_us; /* turn_us: learning, reading: when the next turn begins */
    size_t next;                        /* learning, reading: who comes next in this turn */
    size_t missing;                     /* learning: follows that are not there yet */
    bool rest_wanted, last_turn, closing;
    uint64_t chance, number; /* number: of posts */
    int64_t run;             /* tells this simulation's idempotency keys from another's */
    struct social_rate posts, follows, reads, talking, hearing;
    struct talk_thread **talks; /* threads under posts */
    size_t talk_count, talks_right;
    bool talks_asked;
    struct talk_thread *burning; /* the one on fire; NULL: none */
    int64_t fire_us;             /* when it began to burn, or when the last one did */
    struct buffer scratch, why;
    struct {
        uint64_t posted, deleted, followed, unfollowed, read, unanswered, incomplete, wrong, refused, failed, commented,
            liked, fires;
    } counts;
};

void social_enter(struct social *social, enum social_phase phase);

/* Counts a refusal, and prints the first few. */
void social_refused(struct social *social, const char *what, int64_t user, unsigned status, const char *reply);

uint64_t social_draw(struct social *social); /* a random number */

/* A citizen of the first `among` who is not busy; NULL: none was found. */
struct citizen *social_somebody(struct social *social, size_t among);

/* A citizen does something, and is busy until `done`, which must end that. The request is repeated until its outcome is known. */
void social_act(struct social *social, struct citizen *citizen, const char *method, const char *path,
                const struct buffer *body, void (*done)(void *context, unsigned status, const char *reply, size_t size),
                void *context);

/* Makes `scratch` the body of a post or comment with a text of one or two sentences; answers: the comment that it replies to, or 0. The
 * text's talk_hash. */
uint64_t social_write(struct social *social, int64_t answers);

bool social_read_id(const json_t *object, const char *key, int64_t *id);

/* Somebody comments, replies, likes or deletes under a post. */
void social_talks(struct social *social);
void social_fire(struct social *social);          /* begins and ends fires when it is time */
void social_read_talk(struct social *social);     /* reads and checks the newest page of a thread */
bool social_talks_checked(struct social *social); /* at the end; false: some threads are still to be read */
void social_talks_free(struct social *social);

/* A turn asks about all citizens that are open, a few at a time. False: the turn is over. */
bool social_turn(struct social *social, void (*ask)(struct social *social, struct citizen *citizen));
void social_next_turn(struct social *social); /* after a while */
size_t social_open(const struct social *social);
bool social_late(const struct social *social, int64_t patience_us); /* the phase takes longer */

/* Goes on learning: reads who follows whom until all follows are there, and then enters SOCIAL_LIVING. */
void social_learn(struct social *social);

/* Reads and checks a citizen's newest page. */
void social_read(struct social *social, struct citizen *citizen);

/* Reads the whole timeline (with `check`) or the newest page. A citizen whose timeline is right is no longer open. */
void social_read_all(struct social *social, struct citizen *citizen);
