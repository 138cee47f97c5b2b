#include "cli/moving.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "subjects/subject.h"

/* ---- texts ---- */

struct word {
    struct word *next; /* of the same hash */
    int64_t value;
    char text[];
};

/* A map from copies of texts to values. */
struct text_map {
    struct map *map; /* hash -> struct word */
};

static uint64_t hash_of(const char *text) {
    static const uint8_t KEY[16] = {0}; // the texts are the operator's own
    return hash_sip(KEY, text, strlen(text));
}

static struct text_map *text_map_new(void) {
    struct text_map *texts = mem_alloc(sizeof *texts);
    texts->map = map_new();
    return texts;
}

static void text_map_free(struct text_map *texts) {
    size_t cursor = 0;
    uint64_t hash, value;
    if (!texts) return;
    while (map_next(texts->map, &cursor, &hash, &value)) {
        for (struct word *word = (struct word *)(uintptr_t)value; word;) {
            struct word *next = word->next;
            free(word);
            word = next;
        }
    }
    map_free(texts->map);
    free(texts);
}

static struct word *find(const struct text_map *texts, const char *text, uint64_t hash) {
    struct word *word = map_pointer(texts->map, hash);
    while (word && strcmp(word->text, text) != 0) word = word->next;
    return word;
}

/* NULL: it is not there. */
static int64_t *text_map_find(const struct text_map *texts, const char *text) {
    struct word *word = find(texts, text, hash_of(text));
    return word ? &word->value : NULL;
}

/* The value's place, 0 when it was just created. It stays valid until text_map_free. */
static int64_t *text_map_put(struct text_map *texts, const char *text) {
    uint64_t hash = hash_of(text);
    struct word *word = find(texts, text, hash);
    if (word) return &word->value;
    size_t size = strlen(text) + 1;
    word = mem_alloc(sizeof *word + size);
    *word = (struct word){.next = map_pointer(texts->map, hash)};
    memcpy(word->text, text, size);
    *map_put(texts->map, hash, NULL) = (uint64_t)(uintptr_t)word;
    return &word->value;
}

/* ---- moving ---- */

enum { DAY_MS = 86400 * 1000, AUTHOR_BYTES = 4096 };

/* A comment that was sent: what others need to name it. */
struct sent {
    struct sent *next; /* of the subject */
    int64_t user, time;
    size_t key_size;
    char key[COMMENT_CLIENT_KEY_MAX];
};

struct moving {
    struct moving_options options;
    uint8_t salt[16];
    struct text_map *authors; /* -> user */
    struct text_map *sent;    /* id -> struct sent; of the subject */
    struct sent *newest;
    struct map *guests; /* user -> a hash of who it is, so that two guests with one number are seen */
    char subject[SUBJECT_MAX + 1];
    int64_t owner;
    struct moving_counts counts;
};

static struct event_text text_of(const char *text) { return (struct event_text){text, strlen(text)}; }

/* ---- authors ---- */

/* A line AUTHOR,USER of the list: the last comma divides it; blank lines and comments (#) are skipped. */
static bool take_author(struct moving *moving, char *who) {
    char *comma = strrchr(who, ',');
    int64_t user;
    who[strcspn(who, "\r\n")] = 0;
    if (!*who || *who == '#') return true;
    if (!comma || comma == who || !text_number(comma + 1, strlen(comma + 1), INT64_MAX - 1, &user)) return false;
    *comma = 0;
    for (char *at = who; *at; at++) *at = (char)tolower((unsigned char)*at);
    *text_map_put(moving->authors, who) = user + 1; // 0: not there
    return true;
}

static int read_authors(struct moving *moving, const char *path, struct error *error) {
    char line[AUTHOR_BYTES];
    int code = 0, number = 0;
    FILE *file = fopen(path, "re");
    if (!file) return error_set(error, -errno, "%s: %s", path, strerror(errno));
    while (!code && fgets(line, sizeof line, file))
        if (!take_author(moving, number++ ? line : text_after_mark(line)))
            code = error_set(error, -EINVAL, "%s:%d: must be AUTHOR,USER", path, number);
    if (!code && ferror(file)) code = error_set(error, -EIO, "%s: cannot be read", path);
    fclose(file);
    return code;
}

static bool is_given(const char *text) { return text && *text; }

static int64_t listed(const struct moving *moving, const char *who) {
    char *small = is_given(who) ? mem_string(who) : NULL;
    if (!small) return -1;
    for (char *at = small; *at; at++) *at = (char)tolower((unsigned char)*at);
    const int64_t *user = text_map_find(moving->authors, small);
    free(small);
    return user ? *user - 1 : -1;
}

/* A name is listed with name: before it: anybody may write under the name that is somebody's login. */
static int64_t listed_name(const struct moving *moving, const char *name) {
    char *key = is_given(name) ? mem_format("name:%s", name) : NULL;
    int64_t user = listed(moving, key);
    free(key);
    return user;
}

/* The name by which guests are told apart: the e-mail address, else the login, else the name. The caller frees it. */
static char *identity_of(const struct moving_author *author) {
    if (is_given(author->email)) {
        char *who = mem_format("e-mail %s", author->email);
        for (char *at = who; *at; at++) *at = (char)tolower((unsigned char)*at);
        return who;
    }
    if (is_given(author->login)) return mem_format("login %s", author->login);
    return mem_format("name %s", is_given(author->name) ? author->name : "");
}

static int take_guest(struct moving *moving, const struct moving_author *author, int64_t *user, struct error *error) {
    static const uint8_t OTHER[16] = {1};
    char *identity = identity_of(author);
    uint64_t check = hash_sip(OTHER, identity, strlen(identity));
    int64_t guest = MOVING_GUESTS | (int64_t)(hash_sip(moving->salt, identity, strlen(identity)) % MOVING_GUESTS);
    bool created;
    uint64_t *known = map_put(moving->guests, (uint64_t)guest, &created);
    free(identity);
    *user = guest;
    if (!created)
        return *known == check
                   ? 0
                   : error_set(error, -EINVAL, "two authors get the number %" PRId64 ": choose another salt", guest);
    *known = check;
    moving->counts.guests++;
    return moving->options.profile(moving->options.context, guest, is_given(author->name) ? author->name : "guest",
                                   error);
}

static int find_user(struct moving *moving, const struct moving_comment *comment, int64_t *user, struct error *error) {
    *user = comment->user;
    if (*user < 0) *user = listed(moving, comment->author.email);
    if (*user < 0) *user = listed(moving, comment->author.login);
    if (*user < 0) *user = listed_name(moving, comment->author.name);
    return *user < 0 ? take_guest(moving, &comment->author, user, error) : 0;
}

/* ---- comments ---- */

static void forget_sent(struct moving *moving) {
    while (moving->newest) {
        struct sent *next = moving->newest->next;
        free(moving->newest);
        moving->newest = next;
    }
    text_map_free(moving->sent);
    moving->sent = text_map_new();
}

static const struct sent *find_sent(const struct moving *moving, const char *id) {
    const int64_t *place = text_map_find(moving->sent, id);
    return place ? (const struct sent *)(uintptr_t)*place : NULL; // NOLINT(performance-no-int-to-ptr)
}

static int send_command(struct moving *moving, struct comment_command *command, struct error *error) {
    command->subject = text_of(moving->subject);
    command->role = COMMENT_COMMAND_SERVICE;
    command->owner = moving->owner;
    return moving->options.send(moving->options.context, command, error);
}

int moving_begin(struct moving *moving, const struct moving_subject *subject, struct error *error) {
    struct comment_command command = {
        .kind = COMMENT_COMMAND_REGISTER,
        .key = text_of("import"),
        .level = (int32_t)subject->level,
        .who_may = subject->who_may,
        .review = subject->review,
        .closing = subject->closed ? COMMENT_COMMAND_CLOSED : COMMENT_COMMAND_OPENED,
    };
    size_t size = strlen(subject->subject);
    *moving->subject = 0; // what follows is not of the one before
    forget_sent(moving);
    if (!subject_valid(subject->subject, size))
        return error_set(error, -EINVAL, "subject %.64s: must be TYPE:ID, such as post:123", subject->subject);
    memcpy(moving->subject, subject->subject, size + 1);
    moving->owner = subject->owner;
    moving->counts.subjects++;
    return send_command(moving, &command, error);
}

/* So much of the text as a comment may have. */
static struct event_text cut(struct moving *moving, const char *text) {
    size_t size = strlen(text), end = 0;
    for (int points = 0; end < size && points < COMMENT_TEXT_POINTS_MAX; points++)
        end += text_utf8_length(text + end, size - end);
    if (end < size) moving->counts.cut++;
    return (struct event_text){text, end};
}

static int check(const struct moving *moving, const struct moving_comment *comment, struct error *error) {
    size_t key_size = strlen(comment->key);
    bool deleted = comment->state == COMMENT_COMMAND_DELETED;
    if (!*moving->subject) return error_set(error, -EINVAL, "comment %.32s has no subject before it", comment->id);
    if (!key_size || key_size > COMMENT_CLIENT_KEY_MAX)
        return error_set(error, -EINVAL, "the key of comment %.32s is empty or longer than 64 bytes", comment->id);
    if (comment->time < 1 || comment->time > clock_wall_ms() + DAY_MS)
        return error_set(error, -EINVAL, "comment %.32s has no time between 1970 and now", comment->id);
    if (!deleted && text_utf8_points(comment->text, strlen(comment->text)) < 1)
        return error_set(error, -EINVAL, "comment %.32s has no text, or one that is not UTF-8", comment->id);
    if (find_sent(moving, comment->id)) return error_set(error, -EINVAL, "comment %.32s is there twice", comment->id);
    return 0;
}

static void name(struct comment_command *command, const struct sent *sent) {
    command->named_user = sent->user;
    command->named_key = (struct event_text){sent->key, sent->key_size};
}

static void note_sent(struct moving *moving, const char *id, const struct comment_command *command) {
    struct sent *sent = MEM_NEW(&(struct sent){
        .next = moving->newest, .user = command->user, .time = command->written, .key_size = command->key.size});
    memcpy(sent->key, command->key.data, command->key.size);
    moving->newest = sent;
    *text_map_put(moving->sent, id) = (int64_t)(uintptr_t)sent;
}

int moving_take(struct moving *moving, const struct moving_comment *comment, struct error *error) {
    const struct sent *parent = NULL;
    int code = check(moving, comment, error);
    if (code) return code;
    struct comment_command command = {
        .kind = comment->parent ? COMMENT_COMMAND_REPLY : COMMENT_COMMAND_POST,
        .key = text_of(comment->key),
        .text = comment->state == COMMENT_COMMAND_DELETED ? text_of("") : cut(moving, comment->text),
        .written = comment->time,
        .state = comment->state,
    };
    if (comment->parent) {
        parent = find_sent(moving, comment->parent);
        if (!parent)
            return error_set(error, -EINVAL, "comment %.32s answers %.32s, which is not before it", comment->id,
                             comment->parent);
        name(&command, parent);
    }
    code = find_user(moving, comment, &command.user, error);
    if (!code) code = send_command(moving, &command, error);
    if (code) return code;
    note_sent(moving, comment->id, &command);
    moving->counts.comments++;
    return 0;
}

static int about(struct moving *moving, enum comment_command_kind kind, const char *comment, int64_t user,
                 struct error *error) {
    const struct sent *sent = find_sent(moving, comment);
    if (!sent) return error_set(error, -EINVAL, "comment %.32s is not before it", comment);
    // A key of its own for each comment: a refusal of one says nothing about others.
    struct comment_command command = {
        .kind = kind, .user = user, .key = {sent->key, sent->key_size}, .written = sent->time};
    name(&command, sent);
    return send_command(moving, &command, error);
}

static int like_subject(struct moving *moving, int64_t user, struct error *error) {
    if (!*moving->subject) return error_set(error, -EINVAL, "a like has no subject before it");
    struct comment_command command = {
        .kind = COMMENT_COMMAND_LIKE, .user = user, .key = text_of("import like"), .written = 1}; // likes keep no time
    return send_command(moving, &command, error);
}

int moving_like(struct moving *moving, const char *comment, int64_t user, struct error *error) {
    int code = comment ? about(moving, COMMENT_COMMAND_LIKE, comment, user, error) : like_subject(moving, user, error);
    if (!code) moving->counts.likes++;
    return code;
}

int moving_pin(struct moving *moving, const char *comment, struct error *error) {
    int code = about(moving, COMMENT_COMMAND_PIN, comment, 0, error);
    if (!code) moving->counts.pins++;
    return code;
}

int moving_pass(struct moving *moving, int code, const char *path, long line, struct error *error) {
    if (code != -EINVAL || !moving->options.wrong) return code;
    error_prefix(error, code, "%s:%ld", path, line);
    moving->counts.wrong++;
    moving->options.wrong(moving->options.context, error);
    return 0;
}

const struct moving_counts *moving_counts(const struct moving *moving) { return &moving->counts; }

int moving_new(const struct moving_options *options, struct moving **out, struct error *error) {
    static const uint8_t NO_KEY[2][16] = {{2}, {3}};
    struct moving *moving = MEM_NEW(
        &(struct moving){.options = *options, .authors = text_map_new(), .sent = text_map_new(), .guests = map_new()});
    for (int i = 0; i < 2; i++) {
        uint64_t half = hash_sip(NO_KEY[i], options->salt, strlen(options->salt));
        memcpy(moving->salt + 8 * i, &half, sizeof half);
    }
    int code = options->authors ? read_authors(moving, options->authors, error) : 0;
    if (code)
        moving_free(moving);
    else
        *out = moving;
    return code;
}

void moving_free(struct moving *moving) {
    if (!moving) return;
    forget_sent(moving);
    text_map_free(moving->sent);
    text_map_free(moving->authors);
    map_free(moving->guests);
    free(moving);
}
