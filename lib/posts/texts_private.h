/* The insides of texts: texts.c asks owners and reads their answers, texts_kept.c keeps what was settled. */
#pragma once

#include "base/clock.h"
#include "posts/post_json.h"
#include "posts/texts.h"

enum { TEXTS_NAME_SLOTS = 4096 }; /* a changed profile has the names of one in so many users looked up again */

struct shared_text {
    int64_t id;
    enum text_state state;
    bool listed;         /* in by_id. Then it is ASKED, or kept: among `oldest` to `newest` */
    bool forget;         /* ASKED: the answer is not kept */
    int64_t wanted;      /* ASKED: a lower version is not kept: it was on its way when the text was edited */
    bool alone;          /* ASKED: the process that was asked does not own its partition: its own owner is asked */
    unsigned references; /* of callers, and of the question or the list of those to be asked */
    struct text_wait *waits;
    struct shared_text *older, *newer;
    int64_t until_ms; /* kept */
    uint8_t *json;    /* THERE: as clients see it */
    size_t size;
    struct post_shown shown;
    uint32_t shown_at; /* as of that many changes of profiles in its user's slot */
};

struct texts_question {
    struct texts *texts;
    struct texts_question *next, **link; /* questions without an answer, oldest first; link NULL: too late */
    int64_t deadline_ms;
    size_t count;
    struct shared_text *items[];
};

struct texts {
    struct texts_options options;
    struct map *by_id;
    struct shared_text **unasked;
    size_t unasked_count, unasked_room;
    struct shared_text *oldest, *newest;
    struct texts_question *questions, **questions_end;
    struct loop_timer *gather, *timeout;
    struct buffer made;                      /* where JSON is written before its size is known */
    uint32_t name_changes[TEXTS_NAME_SLOTS]; /* by the user's hash */
    struct texts_stats stats;
};

static inline int64_t texts_now_ms(void) { return clock_monotonic_us() / 1000; }

/* texts_kept.c: the text becomes texts->made. */
void texts_take_made(struct texts *texts, struct shared_text *text);

/* The text has an answer, or none in time: it is kept if it may be, and those who wait hear of it. */
void texts_settle(struct texts *texts, struct shared_text *text, enum text_state state);

/* Forgets a text that is kept; those that are too old or too many. */
void texts_drop(struct texts *texts, struct shared_text *text);
void texts_drop_old(struct texts *texts);
