#include "ingest/comments/facts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "ids/ids.h"

enum { SUBJECT_TIMEOUT_MS = 700, TIMEOUT_MS = 2000, FRESH_MS = 2000 };

struct facts_question {
    struct comments_gateway *gateway;
    struct facts_wish wish;
    struct known_subject subject;
    size_t waiting;                 /* answers, and one for the asker itself */
    bool asked;                     /* about the subject, and not only known */
    bool silent;                    /* the subject's owner did not answer */
    struct comment_authors authors; /* of the comment that it is about; -1: not known yet */
    enum facts_outcome outcome;
    struct facts facts;
    bool second; /* the second round is asked */
};

/* ---- one answer ---- */

static void settle(struct facts_question *question);

/* Hands over: an answer's object; NULL where the owner said 404. Other answers make the outcome `away`, unless it is worse already. */
static bool read_reply(struct facts_question *question, int code, unsigned status, const char *text, size_t size,
                       json_t **reply) {
    *reply = code == 0 && status == 200 ? json_parse(text, size, NULL) : NULL;
    if (json_is_object(*reply) || (code == 0 && status == 404)) return true;
    json_decref(*reply);
    *reply = NULL;
    if (code == -ECANCELED)
        question->outcome = FACTS_STOPPING;
    else if (question->outcome == FACTS_KNOWN)
        question->outcome = FACTS_AWAY;
    return false;
}

static enum comment_subject_who who_of(const char *name) {
    if (strcmp(name, "everyone") == 0) return COMMENT_SUBJECT_EVERYONE;
    if (strcmp(name, "friends") == 0) return COMMENT_SUBJECT_FRIENDS;
    return strcmp(name, "nobody") == 0 ? COMMENT_SUBJECT_NOBODY : COMMENT_SUBJECT_FOLLOWERS;
}

static void subject_answered(void *context, int code, unsigned status, const char *text, size_t size) {
    struct facts_question *question = context;
    struct known_subject *subject = &question->subject;
    json_t *reply = code == 0 && status == 200 ? json_parse(text, size, NULL) : NULL;
    const char *who;
    int64_t owner;
    if (code == -ECANCELED)
        question->outcome = FACTS_STOPPING;
    else if (json_want_int(reply, "owner", 0, INT64_MAX, &owner, NULL) == 0 &&
             json_want_text(reply, "who_may", &who, NULL) == 0) {
        subject->owner = owner;
        subject->who_may = who_of(who);
    } else if (code == 0 && status == 404) {
        subject->owner = -1;
        subject->who_may = COMMENT_SUBJECT_EVERYONE; // so it will be registered
    } else {
        question->silent = true;
    }
    json_decref(reply);
    settle(question);
}

static void post_answered(void *context, int code, unsigned status, const char *text, size_t size) {
    struct facts_question *question = context;
    json_t *reply;
    if (read_reply(question, code, status, text, size, &reply)) {
        const json_t *post = json_array_get(json_object_get(reply, "items"), 0);
        if (json_want_int(post, "user", 0, INT64_MAX, &question->subject.author, NULL) &&
            question->outcome <= FACTS_AWAY)
            question->outcome = json_is_null(post) ? FACTS_NO_POST : FACTS_AWAY;
    }
    json_decref(reply);
    settle(question);
}

/* Notes the author of the comment that is a member of the reply; and its id. */
static bool read_author(struct facts_question *question, const json_t *item, int64_t root, int64_t *id,
                        int64_t *author) {
    const char *text;
    if (json_want_text(item, "id", &text, NULL) || !ids_parse(text, strlen(text), id) ||
        json_want_int(item, "user", 0, INT64_MAX, author, NULL))
        return false;
    known_authors_put(question->gateway->authors, *id, *author, root);
    return true;
}

static void comment_answered(void *context, int code, unsigned status, const char *text, size_t size) {
    struct facts_question *question = context;
    json_t *reply;
    if (read_reply(question, code, status, text, size, &reply)) {
        const json_t *root = json_object_get(reply, "root");
        struct comment_authors read = {-1, -1};
        int64_t id = 0;
        bool good = reply && (json_is_null(root) || read_author(question, root, 0, &id, &read.root)) &&
                    read_author(question, json_object_get(reply, "item"), id, &id, &read.comment);
        if (json_is_null(root)) read.root = read.comment;
        if (good)
            question->authors = read;
        else if (!reply && question->outcome <= FACTS_AWAY)
            question->outcome = FACTS_NO_COMMENT;
        else if (question->outcome == FACTS_KNOWN)
            question->outcome = FACTS_AWAY;
    }
    json_decref(reply);
    settle(question);
}

/* The state of a friendship, as one of the two sees it; both directions are asked for. */
static void friendship_answered(void *context, int code, unsigned status, const char *text, size_t size, bool owner) {
    struct facts_question *question = context;
    json_t *reply;
    const char *state;
    if (read_reply(question, code, status, text, size, &reply)) {
        if (json_want_text(reply, "state", &state, NULL)) {
            if (question->outcome == FACTS_KNOWN) question->outcome = FACTS_AWAY;
        } else {
            if (strcmp(state, "blocked") == 0) question->facts.blocked = true;
            if (owner && strcmp(state, "friends") == 0) question->facts.friends = true;
        }
    }
    json_decref(reply);
    settle(question);
}

static void owner_answered(void *context, int code, unsigned status, const char *text, size_t size) {
    friendship_answered(context, code, status, text, size, true);
}

static void author_answered(void *context, int code, unsigned status, const char *text, size_t size) {
    friendship_answered(context, code, status, text, size, false);
}

static void follows_answered(void *context, int code, unsigned status, const char *text, size_t size) {
    struct facts_question *question = context;
    json_t *reply;
    int64_t first;
    if (read_reply(question, code, status, text, size, &reply)) {
        const json_t *item = json_array_get(json_object_get(reply, "items"), 0);
        question->facts.follows =
            json_want_int(item, "user", 0, INT64_MAX, &first, NULL) == 0 && first == question->facts.owner;
    }
    json_decref(reply);
    settle(question);
}

/* ---- questions ---- */

typedef void answered_fn(void *context, int code, unsigned status, const char *text, size_t size);

static void ask(struct facts_question *question, struct peers *peers, const struct rpc_question *asked,
                const struct rpc_value *values, int timeout_ms, answered_fn *answered) {
    question->waiting++;
    rpc_ask(peers, asked, values, timeout_ms, answered, question);
}

static void ask_post(struct facts_question *question) {
    const struct comments_gateway *gateway = question->gateway;
    int64_t post = sights_post_of(question->subject.subject);
    question->subject.author = -1;
    if (!post) return;
    if (ids_partition(post) >= gateway->user_partitions) {
        question->outcome = FACTS_NO_POST;
        return;
    }
    ask(question, gateway->feeds, &ASK_POSTS, RPC_VALUES(RPC_INT(PARTITION, ids_partition(post)), RPC_INT(IDS, post)),
        TIMEOUT_MS, post_answered);
}

static void ask_friendship(struct facts_question *question, int64_t other, answered_fn *answered) {
    struct peers *routers = question->gateway->routers;
    int64_t user = question->wish.user;
    ask(question, routers, &ASK_FRIENDSHIP, RPC_VALUES(RPC_INT(ONE, user), RPC_INT(OTHER, other)), TIMEOUT_MS,
        answered);
    ask(question, routers, &ASK_FRIENDSHIP, RPC_VALUES(RPC_INT(ONE, other), RPC_INT(OTHER, user)), TIMEOUT_MS,
        answered);
}

/* The first one whom the user follows, from the owner on. */
static void ask_follows(struct facts_question *question) {
    ask(question, question->gateway->feeds, &ASK_LIST,
        RPC_VALUES(RPC_INT(USER, question->wish.user), RPC_TEXT(RELATION, "following"), RPC_INT(LIMIT, 1),
                   RPC_INT(AFTER, question->facts.owner - 1)),
        TIMEOUT_MS, follows_answered);
}

/* ---- rounds ---- */

static void ask_relations(struct facts_question *question) {
    int64_t user = question->wish.user, owner = question->facts.owner, author = question->authors.comment,
            root = question->authors.root;
    enum comment_subject_who who = question->silent ? COMMENT_SUBJECT_FOLLOWERS : question->subject.who_may;
    bool followers = who == COMMENT_SUBJECT_FOLLOWERS;
    question->facts.who_may = (enum comment_command_who)who;
    if (owner >= 0 && owner != user) {
        ask_friendship(question, owner, owner_answered);
        if (followers) ask_follows(question);
    }
    if (author >= 0 && author != user && author != owner) ask_friendship(question, author, author_answered);
    if (root >= 0 && root != user && root != owner && root != author) ask_friendship(question, root, author_answered);
}

/* The facts known of a subject whose owner does not answer count, however old. That nobody had registered it does not: somebody may have
 * since, and their blocks would be passed by. */
static void remember(struct facts_question *question) {
    struct known_subjects *subjects = question->gateway->subjects;
    const struct known_subject *known = known_subjects_find(subjects, question->subject.subject);
    if (!question->asked) return;
    if (!question->silent) {
        question->subject.heard_ms = clock_coarse_ms();
        known_subjects_put(subjects, &question->subject);
    } else if (known && known->owner >= 0) {
        question->subject.owner = known->owner;
        question->subject.who_may = known->who_may;
    } else {
        question->subject.owner = -1;
        if (question->subject.author < 0 && question->outcome == FACTS_KNOWN) question->outcome = FACTS_AWAY;
    }
}

static void settle(struct facts_question *question) {
    if (--question->waiting) return;
    if (question->outcome == FACTS_KNOWN && !question->second) {
        question->second = true;
        question->waiting = 1;
        remember(question);
        question->facts.owner = question->subject.owner >= 0 ? question->subject.owner : question->subject.author;
        if (question->outcome == FACTS_KNOWN && !question->wish.there_only) ask_relations(question);
        settle(question);
        return;
    }
    question->wish.done(question->wish.context, question->outcome, &question->facts);
    free(question);
}

void facts_ask(struct comments_gateway *gateway, const struct facts_wish *wish) {
    struct facts_question *question =
        MEM_NEW(&(struct facts_question){.gateway = gateway, .wish = *wish, .waiting = 1, .authors = {-1, -1}});
    const struct known_subject *known = known_subjects_find(gateway->subjects, wish->subject);
    snprintf(question->subject.subject, sizeof question->subject.subject, "%s", wish->subject);
    if (wish->authors_only) {
        question->subject.owner = question->subject.author = -1;
        if (!wish->about) ask_post(question);
    } else if (known && clock_coarse_ms() - known->heard_ms <= FRESH_MS) {
        question->subject = *known;
    } else {
        question->asked = true;
        ask(question, gateway->owners, &ASK_SUBJECT, RPC_VALUES(RPC_TEXT(SUBJECT, question->subject.subject)),
            SUBJECT_TIMEOUT_MS, subject_answered);
        ask_post(question);
    }
    question->wish.subject = NULL; // the caller's
    if (wish->about && !known_authors_find(gateway->authors, wish->about, &question->authors))
        ask(question, gateway->owners, &ASK_COMMENT,
            RPC_VALUES(RPC_TEXT(SUBJECT, question->subject.subject), RPC_INT(COMMENT, wish->about)), TIMEOUT_MS,
            comment_answered);
    settle(question);
}
