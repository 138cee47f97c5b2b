#include "ingest/mentions.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ingest/gather.h"
#include "json/json.h"

enum { ASK_TIMEOUT_MS = 1000 };

/* ---- in a text ---- */

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_there(char handles[][HANDLE_SIZE], size_t count, const char *handle) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(handles[i], handle) == 0) return true;
    return false;
}

static bool is_domain(const char *text, size_t size) {
    for (size_t at = 0; at + 1 < size && (is_word(text[at]) || text[at] == '-' || text[at] == '.'); at++)
        if (at && text[at] == '.' && is_word(text[at + 1])) return true;
    return false;
}

/* The character may stand in a URL as it is. Where URLs are told apart from the words around, others are written with %. */
static bool is_url_part(char c) { return c > ' ' && c < 0x7f && !strchr("\"<>\\^`{|}", c); }

/* The characters before a place, back to the last blank or the like. */
struct url_run {
    size_t from, at;
    bool slashed, url; /* a path has begun: it is of a scheme or a domain */
};

static bool begins_url(const char *text, size_t from, size_t slash, size_t size) {
    size_t host = slash;
    if (slash > from && text[slash - 1] == ':' && slash + 1 < size && text[slash + 1] == '/') return true;
    while (host > from && (is_word(text[host - 1]) || strchr("-.:", text[host - 1]))) host--;
    return is_domain(text + host, slash - host);
}

static void run_on(struct url_run *run, const char *text, size_t size, size_t to) {
    for (; run->at < to; run->at++) {
        char c = text[run->at];
        if (!is_url_part(c)) {
            *run = (struct url_run){.from = run->at + 1, .at = run->at};
        } else if (c == '/' && !run->slashed) {
            run->slashed = true;
            run->url = begins_url(text, run->from, run->at, size);
        }
    }
}

size_t mentions_find(const char *text, size_t size, char handles[MENTIONS_MAX][HANDLE_SIZE]) {
    struct url_run run = {.from = 0};
    size_t count = 0, length;
    for (size_t at = 0; at < size && count < MENTIONS_MAX; at += length + 1) {
        length = 0;
        if (text[at] != '@' || (at && is_word(text[at - 1]))) continue;
        while (at + 1 + length < size && is_word(text[at + 1 + length])) length++;
        size_t end = at + 1 + length;
        run_on(&run, text, size, at);
        if (run.url || (end < size && text[end] == '@' && is_domain(text + end + 1, size - end - 1))) continue;
        if (handle_read(text + at + 1, length, handles[count]) && !is_there(handles, count, handles[count])) count++;
    }
    return count;
}

/* ---- the users of handles ---- */

struct mentions_question {
    void *context;
    void (*done)(void *context, const struct mentions *mentions, bool stopping);
    struct mentions found;
};

/* Reads {"user": the one who has the handle}. */
static bool read_user(struct json_bytes reply, int64_t *user) {
    json_t *object = reply.size ? json_parse(reply.data, reply.size, NULL) : NULL;
    int code = json_want_int(object, "user", 0, INT64_MAX, user, NULL);
    json_decref(object);
    return code == 0;
}

static void answered(void *context, size_t tag, struct json_bytes reply) {
    struct mentions *found = &((struct mentions_question *)context)->found;
    int64_t user;
    (void)tag;
    if (!read_user(reply, &user)) return;
    for (size_t i = 0; i < found->count; i++)
        if (found->users[i] == user) return; // a user who has just changed the handle may have two
    found->users[found->count++] = user;
}

static void all_answered(void *context, bool stopping) {
    struct mentions_question *question = context;
    question->done(question->context, &question->found, stopping);
    free(question);
}

void mentions_ask(struct peers *feeds, int32_t partitions, char handles[][HANDLE_SIZE], size_t count, void *context,
                  void (*done)(void *context, const struct mentions *mentions, bool stopping)) {
    struct mentions_question *question = MEM_NEW(&(struct mentions_question){.context = context, .done = done});
    struct gather *gather = gather_new(&(struct gather_options){
        .owners = feeds,
        .timeout_ms = ASK_TIMEOUT_MS,
        .context = question,
        .answer = answered,
        .done = all_answered,
    });
    for (size_t i = 0; i < count; i++) {
        int32_t partition = handle_partition(handles[i], partitions);
        gather_ask(gather, &ASK_HANDLE, RPC_VALUES(RPC_INT(PARTITION, partition), RPC_TEXT(HANDLE, handles[i])), i);
    }
    gather_end(gather);
}
