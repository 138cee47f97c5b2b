#include "posts/sights.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "base/text.h"
#include "ids/ids.h"
#include "json/json.h"
#include "rpc/questions.h"

enum { KNOWN_MAX = 1 << 20, GATHER_MS = 1 };

/* OPEN: everybody but some may see the author's posts. PAIR: the reader may. WRITTEN: whose a post is. OWN: the same, for the author alone, as
 * the word of an owner that knows too little of others. */
enum known_kind { KNOWN_OPEN, KNOWN_PAIR, KNOWN_WRITTEN, KNOWN_OWN };

struct known {
    enum known_kind kind;
    int64_t one, two; /* author; author and reader; post and author; the same */
    int64_t since_ms;
    int64_t *but; /* OPEN: rising */
    size_t but_count;
    struct known *newer; /* in the order in which they were made */
};

/* Asked about an author, or about a post whose author is not known, by all who want it within a moment. */
struct sight_question {
    struct sights *sights;
    int64_t author, post; /* author -1: of the post */
    int32_t partition;    /* whose owner is asked */
    int64_t sent_ms;
    int asks; /* so far */
    struct sights_wish *wishes;
    size_t count, capacity;
    struct sight_question *next; /* of those that are gathered, or wait to be asked again */
};

struct sights {
    struct sights_options options;
    struct map *known; /* by hash */
    struct known *oldest, *newest;
    size_t count;
    struct sight_question *gathered, *late, *latest; /* late: the answer was about something too old */
    struct loop_timer *gather, *again;
    bool stopped;
};

/* ---- what is known ---- */

static bool has_two(enum known_kind kind) { return kind == KNOWN_PAIR || kind == KNOWN_OWN; }

static uint64_t hash_of(enum known_kind kind, int64_t one, int64_t two) {
    return hash_fold((uint64_t)one * 4 + kind) ^ hash_multiply((uint64_t)two ^ hash_secret[1], hash_secret[0] | 1);
}

static uint64_t hash_of_known(const struct known *known) {
    return hash_of(known->kind, known->one, has_two(known->kind) ? known->two : 0);
}

static bool is_old(const struct sights *sights, const struct known *known) {
    return sights->options.now_ms() - known->since_ms > SIGHT_MS;
}

/* two: of a PAIR or an OWN; else 0. NULL: it is not known any more. */
static struct known *find(const struct sights *sights, enum known_kind kind, int64_t one, int64_t two) {
    struct known *known = map_pointer(sights->known, hash_of(kind, one, two));
    bool same = known && known->kind == kind && known->one == one && (!has_two(kind) || known->two == two);
    return same && !is_old(sights, known) ? known : NULL;
}

static void append(struct sights *sights, struct known *known) {
    known->newer = NULL;
    *(sights->newest ? &sights->newest->newer : &sights->oldest) = known;
    sights->newest = known;
}

static void drop_old(struct sights *sights) {
    while (sights->oldest && (is_old(sights, sights->oldest) || sights->count > KNOWN_MAX)) {
        struct known *known = sights->oldest;
        sights->oldest = known->newer;
        if (!sights->oldest) sights->newest = NULL;
        if (map_pointer(sights->known, hash_of_known(known)) == known)
            map_remove(sights->known, hash_of_known(known), NULL);
        free(known->but);
        free(known);
        sights->count--;
    }
}

/* Takes over the content. A former word about the same is not found any more, and goes when its time is over. */
static void learn(struct sights *sights, const struct known *made) {
    struct known *before = find(sights, made->kind, made->one, has_two(made->kind) ? made->two : 0);
    if (is_old(sights, made) || (before && before->since_ms >= made->since_ms)) {
        free(made->but);
        return;
    }
    struct known *known = MEM_NEW(made);
    *map_put(sights->known, hash_of_known(known), NULL) = (uintptr_t)known;
    append(sights, known);
    sights->count++;
    drop_old(sights);
}

static bool holds(const int64_t *users, size_t count, int64_t user) {
    size_t place = sorted_below(users, count, user);
    return place < count && users[place] == user;
}

bool sights_may(const struct sights *sights, int64_t author, int64_t reader) {
    if (author == reader || find(sights, KNOWN_PAIR, author, reader)) return true;
    const struct known *open = find(sights, KNOWN_OPEN, author, 0);
    return open && !holds(open->but, open->but_count, reader);
}

bool sights_may_see(const struct sights *sights, int64_t post, int64_t reader) {
    const struct known *written = find(sights, KNOWN_WRITTEN, post, 0);
    return (written && sights_may(sights, written->two, reader)) || find(sights, KNOWN_OWN, post, reader);
}

bool sights_word_counts(const struct sights *sights, int64_t sent_ms, int64_t age_ms) {
    return age_ms <= SIGHT_MS && sights->options.now_ms() - (sent_ms - age_ms) <= SIGHT_MS;
}

size_t sights_known(const struct sights *sights) { return sights->count; }

/* ---- answers ---- */

static void line_up(struct sights *sights, const struct sights_wish *wish, int64_t author, int32_t partition);
static void ask_later(struct sight_question *question);

static int32_t home_of(const struct sights *sights, int64_t author) {
    return hash_user_partition(author, sights->options.partitions);
}

static void question_free(struct sight_question *question) {
    free(question->wishes);
    free(question);
}

static void tell_all(struct sight_question *question, enum sight_answer answer) {
    for (size_t i = 0; i < question->count; i++) question->wishes[i].done(question->wishes[i].context, answer);
}

/* Rising or not, as the owner lists them. NULL: it is no list of users. */
static int64_t *read_users(const json_t *list, size_t *count) {
    *count = json_array_size(list);
    int64_t *users = json_is_array(list) ? mem_alloc((*count + 1) * sizeof *users) : NULL;
    for (size_t i = 0; users && i < *count; i++) {
        const json_t *user = json_array_get(list, i);
        users[i] = json_is_integer(user) ? json_integer_value(user) : -1;
    }
    if (users) qsort(users, *count, sizeof *users, sorted_order);
    return users;
}

enum audience_read { AUDIENCE_GOOD, AUDIENCE_OLD, AUDIENCE_BAD };

static enum audience_read read_audience(struct sight_question *question, const json_t *reply, int64_t author) {
    struct sights *sights = question->sights;
    int64_t age_ms, *users;
    size_t count;
    const json_t *everybody = json_object_get(reply, "everybody");
    if (json_want_int(reply, "age_ms", 0, INT64_MAX, &age_ms, NULL) || !json_is_boolean(everybody)) return AUDIENCE_BAD;
    if (!sights_word_counts(sights, question->sent_ms, age_ms)) return AUDIENCE_OLD;
    users = read_users(json_object_get(reply, json_is_true(everybody) ? "but" : "may"), &count);
    if (!users) return AUDIENCE_BAD;
    int64_t since_ms = question->sent_ms - age_ms;
    if (question->author < 0)
        learn(sights,
              &(struct known){.kind = KNOWN_WRITTEN, .one = question->post, .two = author, .since_ms = since_ms});
    for (size_t i = 0; json_is_false(everybody) && i < count; i++)
        learn(sights, &(struct known){.kind = KNOWN_PAIR, .one = author, .two = users[i], .since_ms = since_ms});
    if (json_is_true(everybody))
        learn(sights, &(struct known){
                          .kind = KNOWN_OPEN, .one = author, .since_ms = since_ms, .but = users, .but_count = count});
    else
        free(users);
    return AUDIENCE_GOOD;
}

/* Each wish hears what this answer says, and not what was known before it. */
static void tell_each(struct sight_question *question, const json_t *reply, int64_t author) {
    bool open = json_is_true(json_object_get(reply, "everybody"));
    size_t count;
    int64_t *users = read_users(json_object_get(reply, open ? "but" : "may"), &count);
    for (size_t i = 0; i < question->count; i++) {
        const struct sights_wish *wish = &question->wishes[i];
        bool may = wish->reader == author || holds(users, count, wish->reader) != open;
        wish->done(wish->context, may ? SIGHT_YES : SIGHT_NO);
    }
    free(users);
}

/* The author of a post does not change, however old the word is. */
static void tell_author(struct sight_question *question, int64_t author) {
    size_t left = 0;
    if (question->author < 0)
        learn(question->sights,
              &(struct known){.kind = KNOWN_OWN, .one = question->post, .two = author, .since_ms = question->sent_ms});
    for (size_t i = 0; i < question->count; i++) {
        struct sights_wish wish = question->wishes[i];
        if (wish.reader == author)
            wish.done(wish.context, SIGHT_YES);
        else
            question->wishes[left++] = wish;
    }
    question->count = left;
}

/* An owner on a busy machine may be about to learn where its topics end: it is asked again. False: that it is. */
static bool tell(struct sight_question *question, const json_t *reply, int64_t author) {
    switch (read_audience(question, reply, author)) {
    case AUDIENCE_GOOD: tell_each(question, reply, author); return true;
    case AUDIENCE_OLD:
        tell_author(question, author);
        if (question->asks >= question->sights->options.asks || !question->count) break;
        ask_later(question);
        return false;
    case AUDIENCE_BAD:
        // The author has moved away from the partition that the post's id names. The author's owner has the post, too.
        if (json_object_get(reply, "age_ms") || question->partition == home_of(question->sights, author)) break;
        for (size_t i = 0; i < question->count; i++)
            line_up(question->sights, &question->wishes[i], question->author, home_of(question->sights, author));
        return true;
    }
    tell_all(question, SIGHT_AWAY);
    return true;
}

static void answered(void *context, int code, unsigned status, const char *text, size_t size) {
    struct sight_question *question = context;
    json_t *reply = code == 0 && status == 200 ? json_parse(text, size, NULL) : NULL;
    int64_t author;
    bool told = true;
    if (code == 0 && status == 404)
        tell_all(question, SIGHT_NO_POST);
    else if (json_is_true(
                 json_object_get(reply, "hidden"))) // by a moderator; what is known of the author says nothing of it
        tell_all(question, SIGHT_NO);
    else if (json_want_int(reply, "user", 0, INT64_MAX, &author, NULL))
        tell_all(question, SIGHT_AWAY);
    else
        told = tell(question, reply, author);
    json_decref(reply);
    if (told) question_free(question);
}

/* ---- questions ---- */

static void put_readers(struct buffer *readers, const struct sight_question *question) {
    for (size_t i = 0; i < question->count; i++) {
        if (question->wishes[i].reader < 0) continue;
        if (readers->size) buffer_byte(readers, ',');
        text_int(readers, question->wishes[i].reader);
    }
}

static void ask_owner(struct sight_question *question) {
    struct sights *sights = question->sights;
    struct buffer readers = {.data = NULL};
    bool of_post = question->author < 0;
    put_readers(&readers, question);
    char *path = rpc_path(&ASK_MAY, RPC_VALUES(RPC_INT(PARTITION, question->partition), RPC_INT(USER, question->author),
                                               RPC_INT(POST, of_post ? question->post : -1),
                                               RPC_TEXT(READERS, readers.size ? buffer_cstring(&readers) : NULL)));
    question->sent_ms = sights->options.now_ms();
    question->asks++;
    sights->options.fetch(sights->options.context, question->partition, path, sights->options.timeout_ms, answered,
                          question);
    buffer_free(&readers);
    free(path);
}

/* Answers may come at once, and ask for more. */
static void ask_all(void *context) {
    struct sights *sights = context;
    struct sight_question *question = sights->gathered;
    sights->gathered = NULL;
    while (question) {
        struct sight_question *next = question->next;
        ask_owner(question);
        question = next;
    }
}

static void ask_later(struct sight_question *question) {
    struct sights *sights = question->sights;
    question->sent_ms = sights->options.now_ms();
    question->next = NULL;
    if (!sights->late) loop_timer_again(sights->again, (uint64_t)sights->options.again_ms, 0);
    *(sights->late ? &sights->latest->next : &sights->late) = question;
    sights->latest = question;
}

static void ask_again(void *context) {
    struct sights *sights = context;
    struct sight_question *question = sights->late;
    sights->late = question->next;
    if (sights->late) {
        int64_t left = sights->late->sent_ms + sights->options.again_ms - sights->options.now_ms();
        loop_timer_again(sights->again, left > 0 ? (uint64_t)left : 0, 0);
    }
    ask_owner(question);
}

static void line_up(struct sights *sights, const struct sights_wish *wish, int64_t author, int32_t partition) {
    struct sight_question *question = sights->gathered;
    if (sights->stopped) {
        wish->done(wish->context, SIGHT_AWAY);
        return;
    }
    while (question && (question->author != author || (author < 0 && question->post != wish->post) ||
                        question->partition != partition || question->count == RPC_READERS_MAX))
        question = question->next;
    if (!question) {
        question = MEM_NEW(&(struct sight_question){
            .sights = sights, .author = author, .post = wish->post, .partition = partition, .next = sights->gathered});
        if (!sights->gathered) loop_timer_again(sights->gather, GATHER_MS, 0);
        sights->gathered = question;
    }
    MEM_ROOM(question->wishes, question->count, question->capacity);
    question->wishes[question->count++] = *wish;
}

void sights_ask(struct sights *sights, const struct sights_wish *wish) {
    int64_t author = wish->author;
    const struct known *written = author < 0 ? find(sights, KNOWN_WRITTEN, wish->post, 0) : NULL;
    if (written) author = written->two;
    if (author >= 0 && sights_may(sights, author, wish->reader))
        wish->done(wish->context, SIGHT_YES);
    else if (author < 0 && ids_partition(wish->post) >= sights->options.partitions)
        wish->done(wish->context, SIGHT_NO_POST);
    else
        line_up(sights, wish, author, author < 0 ? ids_partition(wish->post) : home_of(sights, author));
}

int64_t sights_post_of(const char *subject) {
    static const char POST[] = "post:";
    int64_t post;
    size_t size = sizeof POST - 1;
    return strncmp(subject, POST, size) == 0 && ids_parse(subject + size, strlen(subject + size), &post) ? post : 0;
}

/* ---- beginning and end ---- */

struct sights *sights_new(const struct sights_options *options) {
    struct sights *sights = MEM_NEW(&(struct sights){.options = *options, .known = map_new()});
    sights->gather = loop_timer_new(options->loop, 1, 0, ask_all, sights);
    sights->again = loop_timer_new(options->loop, 1, 0, ask_again, sights);
    loop_timer_stop(sights->gather);
    loop_timer_stop(sights->again);
    return sights;
}

static void stop(struct sight_question **questions) {
    while (*questions) {
        struct sight_question *question = *questions;
        *questions = question->next;
        tell_all(question, SIGHT_AWAY);
        question_free(question);
    }
}

void sights_stop(struct sights *sights) {
    sights->stopped = true;
    loop_timer_stop(sights->again);
    stop(&sights->late);
    stop(&sights->gathered);
    loop_timer_stop(sights->gather);
}

void sights_free(struct sights *sights) {
    if (!sights) return;
    while (sights->oldest) {
        struct known *known = sights->oldest;
        sights->oldest = known->newer;
        free(known->but);
        free(known);
    }
    loop_timer_free(sights->gather);
    loop_timer_free(sights->again);
    map_free(sights->known);
    free(sights);
}
