/* Between ingest/account/erasing*.c. */
#pragma once

#include "ingest/account/erasing.h"
#include "budget/held.h"
#include "budget/rates.h"
#include "ingest/write.h"
#include "json/json.h"

/* The kinds that are looked for, one after the other. */
enum erasing_stage {
    STAGE_ACCOUNT,
    STAGE_FRIENDS,
    STAGE_FOLLOWING,
    STAGE_FOLLOWERS,
    STAGE_REQUESTING,
    STAGE_REQUESTED,
    STAGE_MUTED,
    STAGE_POSTS,
    STAGE_COMMENTS, /* partition by partition of subjects */
    STAGE_NOTICES,
    STAGE_PLACES, /* one command for all of them, and for what happened there */
    STAGE_DEVICES,
    STAGE_HISTORY, /* one record of `erasures` for all of it; the page says whether there is any */
    ERASING_STAGES
};

/* A request that waits for the end of an erasure. */
struct erasing_waiter {
    struct erasing_waiter *next;
    struct http_request *request;
    int64_t until_us;
};

struct erasing {
    struct account_gateway *account;
    uv_loop_t *loop;
    struct log *log;
    struct writer *writer;
    int64_t wait_ms; /* for outcomes, and until a request gets 202 */
    struct metric *erased;
    struct erasure *first;
    struct held *running;
    struct rates *begun; /* seconds */
    size_t reports;      /* of erasures that have ended */
    struct loop_timer *tick;
    bool stopped;
};

/* A user who is being forgotten, or has just been. */
struct erasure {
    struct erasing *erasing;
    struct erasure *next;
    int64_t user;
    struct erasing_waiter *waiting;
    int pass; /* from 1 */
    enum erasing_stage stage;
    int32_t partition;    /* STAGE_COMMENTS: that is asked */
    struct buffer cursor; /* within the stage (and partition); empty: its beginning */
    bool more;            /* the page that is being removed is not the last one of the stage (or partition) */
    bool trouble;         /* a question or a command of this page had no answer: the page is asked for again */
    size_t under_way;     /* commands of the page, and one for the page itself */
    size_t found;         /* in this pass */
    int64_t removed[ERASED_KINDS];
    int64_t files_by; /* when files of history will lack the user, as a sink says, ms; 0: none has said so */
    int64_t heard_us; /* when an owner last answered */
    bool done;        /* everything is gone; it waits to be told */
    struct loop_timer *again;
};

/* Asks for the page that the erasure has come to. */
void erasing_ask(struct erasure *erasure);
/* The page's commands are decided, or not (trouble). */
void erasing_page_over(struct erasure *erasure);

/* A command of the erasure. question: of its outcome (rpc_path), freed after the answer; NULL: an acknowledged record is enough. */
struct erasing_command {
    const struct topic *topic;
    const void *key;
    size_t key_size;
    const struct buffer *record; /* empty: a tombstone */
    struct peers *owners;
    char *question;
    void (*told)(struct erasure *erasure, const json_t *outcome); /* of the outcome; NULL: whatever it is */
};

/* Removes what a page of the stage lists: sends its commands. False: the page cannot be understood. */
bool erasing_remove(struct erasure *erasure, const json_t *page);
/* The account itself. */
void erasing_remove_account(struct erasure *erasure, bool has_handle);
/* The question for the erasure's next page; its owners and the partition. */
struct peers *erasing_question(struct erasure *erasure, struct buffer *path, int32_t *partition);
