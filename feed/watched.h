/* The readers of owned partitions whose timelines are watched, in memory: the newest posts of each, the changes that edges were not
 * told yet, and the hot authors under whom the reader is registered. Pure; one thread.
 *
 *     by user         user -> watched
 *     by partition    partition 3:  watched <-> watched <-> ...
 *     due             watched -> watched -> ...                  something has happened to them; the first is looked at next
 *     by author       author 12:  registration <-> registration  the followers of this hot author
 *                                       |              |
 *                                    watched        watched      and each has a list of its registrations
 *
 * Jobs visit many readers in slices: those of a hot author's post, or all of them for an author who has just become hot. A reader
 * may go away while a job is under way.
 */
#pragma once

#include "feed/inbox.h"

enum {
    WATCHED_NEWEST = 20,
    WATCHED_DUE_MAX = 500 /* posts, and as many ids that are gone; with more, the timeline is to be read anew */
};

struct watched_registration;

/* Read by feed/watches.c, written by the functions below unless said otherwise. */
struct watched {
    int64_t user;
    int32_t partition;
    bool known;                               /* `newest` is right, and edges were told; feed/watches.c sets both */
    size_t count;                             /* of newest */
    struct inbox_post newest[WATCHED_NEWEST]; /* falling ids */
    int64_t doubted;                          /* 0: none; see watched_trust */
    /* Changes that are due: */
    bool anew;                /* the timeline is to be read anew; the next two do not matter then */
    struct inbox_post *added; /* posts that came */
    int64_t *gone;            /* ids that were deleted */
    size_t added_count, added_capacity, gone_count, gone_capacity;
    /* Private to feed/watched.c: */
    bool queued, dead;
    struct watched *next_due, *before, *after;
    struct watched_registration *registrations;
};

struct watched_table;

struct watched_table *watched_table_new(int32_t partitions);
void watched_table_free(struct watched_table *table); /* NULL is fine */
size_t watched_count(const struct watched_table *table);

struct watched *watched_find(const struct watched_table *table, int64_t user); /* NULL: not watched */
/* Adds a reader, whose timeline is due to be read. */
struct watched *watched_put(struct watched_table *table, int64_t user, int32_t partition);
void watched_remove(struct watched_table *table, struct watched *watched);
void watched_remove_all(struct watched_table *table, int32_t partition);

/* Note a change of the timeline, which is then due. */
void watched_anew(struct watched_table *table, struct watched *watched);
void watched_added(struct watched_table *table, struct watched *watched, int64_t author, int64_t id);
void watched_gone(struct watched_table *table, struct watched *watched, int64_t id);

/* Puts a post among the newest ones. False: it is there already. */
bool watched_insert(struct watched *watched, const struct inbox_post *post);

/* A screen may show more posts than the newest ones, which its version is about. Further down it may differ from the timeline: an owner may
 * have missed a change there, and a message about one may get lost, without another version. Such a post would stay, or be missing, when
 * it moves up. So posts at or below `doubted` are not trusted to be right on screens:
 *     watched_trust     screens read the newest posts; all below them are doubted
 *     watched_below     a post has come or gone; if it is further down than the newest ones, it is doubted, and all below it
 *     watched_doubtful  the newest posts now reach down to one that is doubted: screens must read their page */
void watched_trust(struct watched *watched);
void watched_below(struct watched *watched, int64_t id);
bool watched_doubtful(const struct watched *watched);

/* Walks all readers again and again, one a call; NULL: now it begins anew. Readers may come and go meanwhile. */
struct watched *watched_walk(struct watched_table *table);

/* Takes the next reader that is due; NULL: none is. The reader belongs to the table, and its changes stay with it until
 * watched_settled. */
struct watched *watched_due(struct watched_table *table);
void watched_settled(struct watched *watched);

/* Hot authors. A second registration changes nothing; watched_register_new does not look for a first one. */
void watched_register(struct watched_table *table, struct watched *watched, int64_t author);
void watched_register_new(struct watched_table *table, struct watched *watched, int64_t author);
void watched_unregister_all(struct watched_table *table, struct watched *watched);

/* Jobs, carried out in their order. */
enum watched_job_kind {
    WATCHED_JOB_POST, /* a hot post is added for all who are registered under its author */
    WATCHED_JOB_GONE, /* it is gone for all of these */
    WATCHED_JOB_FRESH, /* all readers are visited, as the author had no hot post until now: who follows him is registered, and the
                        * post is added */
    WATCHED_JOB_EDITED, /* all readers are visited: those who have the post among their newest are told another version */
    WATCHED_JOB_HIDDEN, /* all readers are visited: the post is gone for those who follow its author */
    WATCHED_JOB_SHOWN,  /* all readers are visited: those who follow its author are told another version */
};
void watched_job(struct watched_table *table, enum watched_job_kind kind, int64_t author, int64_t id);

/* Carries out some of the jobs, at most so many visits; `follows` is asked in jobs about followers. Returns how many visits are left
 * of the budget: more than 0 means that no job is left. */
size_t watched_work(struct watched_table *table, size_t visits,
                    bool (*follows)(void *context, const struct watched *watched, int64_t author), void *context);
