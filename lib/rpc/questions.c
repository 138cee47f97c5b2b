#include "rpc/questions.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "subjects/subject.h"

#define ANY INT64_MAX
#define TIME_MAX ((INT64_C(1) << 47) - 1) /* EVENT_TIME_MAX */
#define NUMBER(name, min, max, absent)                                                                                 \
    { RPC_##name, RPC_NUMBERS, min, max, absent }
#define TEXT(name, min, max)                                                                                           \
    { RPC_##name, RPC_TEXTS, min, max, 0 }
#define PLAIN(name, min, max)                                                                                          \
    { RPC_##name, RPC_PLAIN_TEXTS, min, max, 0 }
#define LIMIT(max, absent) NUMBER(LIMIT, 1, max, absent)
#define OFFSET NUMBER(OFFSET, -1, ANY, -1)
#define WAIT(absent) NUMBER(WAIT_MS, 0, 30000, absent)
#define ABOVE NUMBER(ABOVE, 0, ANY, 0)
#define BEFORE NUMBER(BEFORE, 0, ANY, ANY)
#define BEHIND NUMBER(AFTER, -1, ANY, -1) /* an id */
#define CURSOR TEXT(AFTER, 0, ANY)        /* whatever `next` was */
#define OF_USER NUMBER(USER, 0, ANY, -1)  /* must be there */
#define ANYBODY NUMBER(USER, -1, ANY, -1)

/* ---- of feeds ---- */

const struct rpc_question ASK_FEED = {
    "a page of the user's home timeline: ids of posts", "feed", {RPC_USER}, {ABOVE, BEFORE, LIMIT(1100, 20)}};
const struct rpc_question ASK_OLDER = {"ids of posts of some authors, below the hot ones",
                                       "older",
                                       {RPC_PARTITION},
                                       {PLAIN(AUTHORS, 1, ANY), ABOVE, BEFORE, LIMIT(1100, 20)}};
const struct rpc_question ASK_POSTS = {
    "posts by their ids", "posts", {RPC_PARTITION}, {PLAIN(IDS, 1, ANY), TEXT(HIDDEN, 0, ANY)}};
const struct rpc_question ASK_WRITTEN = {
    "a user's own posts", "written", {RPC_USER}, {ABOVE, BEFORE, LIMIT(1100, 20), TEXT(EDITS, 0, ANY)}};
const struct rpc_question ASK_USER = {
    .what = "a user: handle, and how many followers", .start = "user", .parts = {RPC_USER}};
const struct rpc_question ASK_LIST = {"a page of followers, followed or muted users",
                                      "list",
                                      {RPC_USER},
                                      {TEXT(RELATION, 1, ANY), BEHIND, LIMIT(1100, 20), PLAIN(IDS, 0, ANY)}};
const struct rpc_question ASK_HANDLE = {"the user who has a handle", "handle", {RPC_PARTITION}, {TEXT(HANDLE, 1, ANY)}};
const struct rpc_question ASK_HANDLES = {"the handles of users", "handles", {RPC_PARTITION}, {PLAIN(IDS, 1, ANY)}};
const struct rpc_question ASK_NOTICES = {
    "a page of a user's notices", "notices", {RPC_USER}, {CURSOR, LIMIT(1100, 20), TEXT(HIDDEN, 0, ANY)}};
const struct rpc_question ASK_RELATION = {
    "what a mute or its end led to", "relation", {RPC_USER, RPC_OTHER}, {TEXT(RELATION, 0, ANY), OFFSET, WAIT(2000)}};
const struct rpc_question ASK_FOLLOWER = {
    "what a wish about a follower of the user led to", "follower", {RPC_USER, RPC_OTHER}, {OFFSET, WAIT(2000)}};
const struct rpc_question ASK_VISIBILITY = {
    "who sees the user's posts", "visibility", {RPC_USER}, {OFFSET, WAIT(2000)}};
const struct rpc_question ASK_NOTICED = {
    "what a wish about the user's notices led to", "noticed", {RPC_USER}, {OFFSET, WAIT(2000)}};
const struct rpc_question ASK_MAY = {"which readers may see a user's posts, or one post",
                                     "may",
                                     {RPC_PARTITION},
                                     {ANYBODY, NUMBER(POST, 0, ANY, 0), PLAIN(READERS, 0, ANY)}};
const struct rpc_question ASK_POSTED = {
    "the post that a command made", "posted", {RPC_USER}, {TEXT(KEY, 1, 64), OFFSET, WAIT(2000)}};
const struct rpc_question ASK_GONE = {
    "a post's deletion is decided", "gone", {RPC_USER, RPC_POST}, {OFFSET, WAIT(2000)}};
const struct rpc_question ASK_EDITED = {"what an edit of a post led to",
                                        "edited",
                                        {RPC_USER, RPC_POST},
                                        {NUMBER(VERSION, 1, ANY, -1), TEXT(KEY, 1, 64), OFFSET, WAIT(2000)}};
const struct rpc_question ASK_MODERATED = {
    "what a moderator's decision about a post led to", "moderated", {RPC_USER, RPC_POST}, {OFFSET, WAIT(2000)}};
const struct rpc_question ASK_POST_EDITS = {
    "the versions of a post's text", "post-edits", {RPC_PARTITION, RPC_POST}, {BEHIND, LIMIT(100, 20)}};
const struct rpc_question ASK_WISH = {
    "what a wish for a handle led to", "wish", {RPC_USER}, {TEXT(HANDLE, 1, ANY), OFFSET, WAIT(2000)}};
const struct rpc_question ASK_UNNAMED = {"the user's handle is given up", "unnamed", {RPC_USER}, {OFFSET, WAIT(2000)}};
const struct rpc_question ASK_SIGNED_IN = {"the number of a user whom a sign-in provider knows by a text",
                                           "signed-in",
                                           {RPC_USER},
                                           {TEXT(EXTERNAL, 1, 255), WAIT(2000)}};
const struct rpc_question ASK_EXTERNALS = {"the texts by which a sign-in provider knows users of one hash, by place",
                                           "externals",
                                           {RPC_USER},
                                           {OFFSET, WAIT(2000)}};

const struct rpc_question ASK_DEVICES = {
    "the sessions of a user", "devices", {RPC_USER}, {NUMBER(SESSION, -1, ANY, -1), TEXT(HIDDEN, 0, ANY)}};

/* ---- of comments processes ---- */

const struct rpc_question ASK_COMMENTS = {
    "a page of a thread",
    "comments/page",
    {RPC_SUBJECT},
    {TEXT(SORT, 0, ANY), CURSOR, LIMIT(RPC_PAGE_MAX, 20), NUMBER(FIRST, 0, 20, 3)},
};
const struct rpc_question ASK_REPLIES = {"a page of the replies of a root, or of the answers to a reply",
                                         "comments/replies",
                                         {RPC_SUBJECT, RPC_COMMENT},
                                         {CURSOR, LIMIT(RPC_PAGE_MAX, 20)}};
const struct rpc_question ASK_COMMENT = {"one comment, and those around it",
                                         "comments/one",
                                         {RPC_SUBJECT, RPC_COMMENT},
                                         {NUMBER(AROUND, 0, 100, 0), ANYBODY}};
const struct rpc_question ASK_LIKES = {
    "which of these comments the user likes", "comments/likes", {RPC_SUBJECT}, {OF_USER, PLAIN(IDS, 0, ANY)}};
const struct rpc_question ASK_LIKERS = {
    "a page of the users who like a subject", "comments/likers", {RPC_SUBJECT}, {BEHIND, LIMIT(RPC_PAGE_MAX, 20)}};
const struct rpc_question ASK_SUBJECT = {
    .what = "a subject's owner and settings", .start = "comments/subject", .parts = {RPC_SUBJECT}};
const struct rpc_question ASK_OUTCOME = {
    "what a comment's command led to",
    "comments/outcome",
    {RPC_SUBJECT},
    {OF_USER, NUMBER(COMMENT, 0, ANY, 0), TEXT(KEY, 1, COMMENT_CLIENT_KEY_MAX), OFFSET, WAIT(1000)},
};
const struct rpc_question ASK_COUNTS = {"how many comments and likes subjects have, and whether users like them",
                                        "comments/counts",
                                        {RPC_PARTITION},
                                        {PLAIN(SUBJECTS, 1, ANY)}};
const struct rpc_question ASK_OF_USER = {
    "a user's own comments, likes, reports or former texts",
    "comments/of",
    {RPC_PARTITION},
    {OF_USER, TEXT(LIKES, 0, ANY), TEXT(REPORTS, 0, ANY), TEXT(EDITS, 0, ANY), CURSOR, LIMIT(4000, 4000)},
};

const struct rpc_question ASK_EDITS = {"the versions of a comment's text",
                                       "comments/edits",
                                       {RPC_SUBJECT, RPC_COMMENT},
                                       {BEHIND, LIMIT(100, 20), ANYBODY}};

/* ---- of routers ---- */

const struct rpc_question ASK_FRIENDS = {
    "a page of friends", "friends", {RPC_USER}, {TEXT(STATE, 0, ANY), BEHIND, LIMIT(RPC_PAGE_MAX, 100)}};
const struct rpc_question ASK_FRIEND_IDS = {.what = "the ids of all friends, none if one of the two blocks the other",
                                            .start = "friend-ids",
                                            .parts = {RPC_USER, RPC_OTHER}};
const struct rpc_question ASK_FRIENDSHIP = {"the state of a friendship, as the first of the two sees it",
                                            "friendship",
                                            {RPC_ONE, RPC_OTHER},
                                            {OFFSET, WAIT(2000)}};
const struct rpc_question ASK_REQUESTS = {
    .what = "friend requests to a user, and from him", .start = "requests", .parts = {RPC_USER}};
const struct rpc_question ASK_NEARBY = {"a page of the friends who are near",
                                        "nearby",
                                        {RPC_USER},
                                        {CURSOR, LIMIT(RPC_PAGE_MAX, 20), NUMBER(SINCE, -1, TIME_MAX, -1), WAIT(0)}};
const struct rpc_question ASK_AUDIENCE = {
    "a page of those who see a user", "audience", {RPC_USER}, {BEHIND, LIMIT(RPC_PAGE_MAX, 100)}};
const struct rpc_question ASK_DISCOVER = {
    "a page of strangers nearby", "discover", {RPC_USER}, {CURSOR, LIMIT(RPC_PAGE_MAX, 20)}};

const struct rpc_question ASK_LINKS = {"a user's links, and what a wish about one led to",
                                       "links",
                                       {RPC_USER},
                                       {NUMBER(LINK, 0, ANY, 0), OFFSET, WAIT(2000), BEHIND, LIMIT(RPC_PAGE_MAX, 100)}};
const struct rpc_question ASK_LINK = {
    .what = "the place that a link shows", .start = "link", .parts = {RPC_USER, RPC_LINK}};

/* ---- of places processes ---- */

const struct rpc_question ASK_PLACES = {
    "a user's places", "places", {RPC_USER}, {OFFSET, WAIT(2000), CURSOR, LIMIT(RPC_PAGE_MAX, 100)}};
const struct rpc_question ASK_PLACE = {"a place of a user's, and what a wish about it led to",
                                       "place",
                                       {RPC_USER},
                                       {PLAIN(PLACE, 1, ANY), OFFSET, WAIT(2000)}};
const struct rpc_question ASK_PLACE_EVENTS = {
    "a page of a user's arrivals and departures, from the oldest on",
    "place-events",
    {RPC_USER},
    {NUMBER(FROM, 0, ANY, 0), NUMBER(TO, 0, ANY, ANY), BEHIND, LIMIT(RPC_PAGE_MAX, 100)}};

/* ---- of history sinks, and of moderation ---- */

const struct rpc_question ASK_HISTORY = {
    "a page of a user's past places",
    "history",
    {RPC_USER},
    {NUMBER(FROM, 0, ANY, 0), NUMBER(TO, 0, ANY, ANY), CURSOR, LIMIT(10000, 1000)}};
const struct rpc_question ASK_WIPED = {
    "a user's past is deleted", "wiped", {RPC_USER}, {NUMBER(OFFSET, 0, ANY, -1), WAIT(1000)}};
const struct rpc_question ASK_SEARCH = {
    "comments that are found",
    "moderation/comments",
    {RPC_END},
    {LIMIT(RPC_PAGE_MAX, 20), CURSOR, TEXT(WORDS, 0, ANY), ANYBODY, PLAIN(SUBJECT, 0, ANY), PLAIN(TYPE, 0, ANY),
     TEXT(STATE, 0, ANY), TEXT(REPORTED, 0, ANY), NUMBER(FROM, 0, ANY, 0), NUMBER(TO, 0, ANY, ANY)},
};

const struct rpc_question ASK_SEARCH_POSTS = {
    "posts that are found",
    "moderation/posts",
    {RPC_END},
    {LIMIT(RPC_PAGE_MAX, 20), CURSOR, TEXT(WORDS, 0, ANY), ANYBODY, TEXT(STATE, 0, ANY), TEXT(REPORTED, 0, ANY),
     NUMBER(FROM, 0, ANY, 0), NUMBER(TO, 0, ANY, ANY)},
};
const struct rpc_question ASK_REPORTED = {
    "people who were reported", "moderation/users", {RPC_END}, {LIMIT(RPC_PAGE_MAX, 20), CURSOR, ANYBODY}};

/* ---- all of them ---- */

#define ALL(...)                                                                                                       \
    (const struct rpc_question *const[]) { __VA_ARGS__, NULL }
const struct rpc_answerer RPC_ANSWERERS[] = {
    {"feeds",
     ALL(&ASK_FEED, &ASK_OLDER, &ASK_POSTS, &ASK_WRITTEN, &ASK_USER, &ASK_LIST, &ASK_HANDLE, &ASK_HANDLES, &ASK_NOTICES,
         &ASK_RELATION, &ASK_FOLLOWER, &ASK_VISIBILITY, &ASK_NOTICED, &ASK_MAY, &ASK_POSTED, &ASK_GONE, &ASK_EDITED,
         &ASK_MODERATED, &ASK_POST_EDITS, &ASK_WISH, &ASK_UNNAMED, &ASK_SIGNED_IN, &ASK_EXTERNALS, &ASK_DEVICES)},
    {"comments processes", ALL(&ASK_COMMENTS, &ASK_REPLIES, &ASK_COMMENT, &ASK_LIKES, &ASK_LIKERS, &ASK_SUBJECT,
                               &ASK_OUTCOME, &ASK_COUNTS, &ASK_OF_USER, &ASK_EDITS)},
    {"routers", ALL(&ASK_FRIENDS, &ASK_FRIEND_IDS, &ASK_FRIENDSHIP, &ASK_REQUESTS, &ASK_NEARBY, &ASK_AUDIENCE,
                    &ASK_DISCOVER, &ASK_LINKS, &ASK_LINK)},
    {"places processes", ALL(&ASK_PLACES, &ASK_PLACE, &ASK_PLACE_EVENTS)},
    {"history sinks", ALL(&ASK_HISTORY, &ASK_WIPED)},
    {"moderation", ALL(&ASK_SEARCH, &ASK_SEARCH_POSTS, &ASK_REPORTED)},
    {NULL, NULL},
};

/* ---- paths ---- */

#define ARG_NAME(name, text) [RPC_##name] = text
const char *const RPC_NAMES[RPC_ARGS] = {RPC_ARG_LIST(ARG_NAME)};

const struct rpc_value *rpc_value(const struct rpc_value *values, enum rpc_arg arg) {
    while (values->arg && values->arg != arg) values++;
    return values;
}

static const struct rpc_rule *rule_of(const struct rpc_question *question, enum rpc_arg arg) {
    for (size_t i = 0; i < RPC_RULES_MAX; i++)
        if (question->rules[i].arg == arg) return &question->rules[i];
    return NULL;
}

static void write_part(struct buffer *path, const struct rpc_value *value) {
    buffer_byte(path, '/');
    if (value->text)
        subject_put_path(path, value->text);
    else
        text_int(path, value->number);
}

void rpc_write(struct buffer *path, const struct rpc_question *question, const struct rpc_value *values) {
    char before = '?';
    buffer_format(path, "/peer/%s", question->start);
    for (size_t i = 0; i < RPC_PARTS_MAX && question->parts[i]; i++)
        write_part(path, rpc_value(values, question->parts[i]));
    for (; values->arg; values++) {
        const struct rpc_rule *rule = rule_of(question, values->arg);
        if (!rule || (!values->text && values->number < (rule->kind != RPC_NUMBERS))) continue;
        buffer_format(path, "%c%s=", before, RPC_NAMES[values->arg]);
        before = '&';
        if (!values->text)
            text_int(path, values->number);
        else if (rule->kind == RPC_PLAIN_TEXTS)
            buffer_string(path, values->text);
        else
            text_escape(path, values->text);
    }
}

char *rpc_path(const struct rpc_question *question, const struct rpc_value *values) {
    struct buffer path = {.data = NULL};
    rpc_write(&path, question, values);
    char *text = mem_string(buffer_cstring(&path));
    buffer_free(&path);
    return text;
}

char *rpc_path_waiting(const char *path, int64_t offset, int64_t wait_ms) {
    return mem_format("%s%coffset=%" PRId64 "&wait_ms=%" PRId64, path, strchr(path, '?') ? '&' : '?', offset, wait_ms);
}
