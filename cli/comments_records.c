#include "cli/comments_records.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/topics.h"
#include "ids/ids.h"
#include "json/json.h"
#include "subjects/subject.h"
#include "subjects/words.h"

enum kept_kind { STATE, TEXT, REACTION };

struct kept_record {
    enum kept_kind kind;
    size_t number, key_size, value_size; /* value_size 0: a tombstone */
    uint8_t bytes[];                     /* key, value */
};

struct comments_records {
    struct kept_record **items;
    size_t count, capacity;
    struct buffer line;
};

/* The subject and the comment whose lines are written. */
struct writing {
    struct comments_records *records;
    struct codec *codec;
    int (*line)(void *context, const struct buffer *line);
    void *context;
    struct comments_records_counts *counts;
    char subject[SUBJECT_MAX + 1]; /* "": none */
    int64_t pinned[COMMENT_PINS_MAX];
    size_t pins;
    int64_t id; /* 0: none */
    struct comment comment;
    int64_t told; /* the comment whose line is written: likes are of it. 0: likes are of the subject */
};

struct comments_records *comments_records_new(void) {
    return mem_zero(1, sizeof(struct comments_records));
}

void comments_records_clear(struct comments_records *records) {
    for (size_t i = 0; i < records->count; i++) free(records->items[i]);
    records->count = 0;
}

void comments_records_free(struct comments_records *records) {
    if (!records) return;
    comments_records_clear(records);
    free(records->items);
    buffer_free(&records->line);
    free(records);
}

void comments_records_add(struct comments_records *records, const struct kafka_record *record) {
    MEM_ROOM(records->items, records->count, records->capacity);
    size_t key_size = record->key ? record->key_size : 0, value_size = record->value ? record->value_size : 0;
    struct kept_record *kept = mem_alloc(sizeof *kept + key_size + value_size);
    *kept = (struct kept_record){
        .kind = record->topic == &TOPIC_COMMENTS        ? STATE
                : record->topic == &TOPIC_COMMENT_TEXTS ? TEXT
                                                        : REACTION,
        .number = records->count,
        .key_size = key_size,
        .value_size = value_size,
    };
    if (key_size) memcpy(kept->bytes, record->key, key_size);
    if (value_size) memcpy(kept->bytes + key_size, record->value, value_size);
    records->items[records->count++] = kept;
}

static int compare_keys(const struct kept_record *x, const struct kept_record *y) {
    size_t shorter = x->key_size < y->key_size ? x->key_size : y->key_size;
    int order = memcmp(x->bytes, y->bytes, shorter);
    if (!order) order = (x->key_size > y->key_size) - (x->key_size < y->key_size);
    return order ? order : (int)x->kind - (int)y->kind;
}

/* A NUL ends subjects in keys, so those of one subject stand together, with the subject's own before them. */
static int by_key(const void *a, const void *b) {
    const struct kept_record *x = *(struct kept_record *const *)a, *y = *(struct kept_record *const *)b;
    int order = compare_keys(x, y);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

static int give(struct writing *w) {
    buffer_byte(&w->records->line, '\n');
    return w->line(w->context, &w->records->line);
}

static struct buffer *begin(struct writing *w, const char *type) {
    struct buffer *line = &w->records->line;
    buffer_clear(line);
    buffer_format(line, "{\"type\":\"%s\",\"subject\":\"%s\"", type, w->subject);
    return line;
}

static int end_subject(struct writing *w) {
    int code = 0;
    while (!code && w->pins) {
        buffer_format(begin(w, "pin"), ",\"comment\":\"%" PRId64 "\"}", w->pinned[--w->pins]);
        code = give(w);
    }
    return code;
}

static int put_subject(struct writing *w, const struct kept_record *kept) {
    struct comment_subject subject;
    int code = end_subject(w);
    if (code) return code;
    w->subject[0] = 0;
    w->told = 0;
    if (event_decode_comment_subject(w->codec, kept->bytes + kept->key_size, kept->value_size, &subject, NULL) ||
        kept->key_size > SUBJECT_MAX) {
        w->counts->broken++;
        return 0;
    }
    memcpy(w->subject, kept->bytes, kept->key_size);
    w->subject[kept->key_size] = 0;
    for (size_t i = 0; i < subject.pinned.count && i < COMMENT_PINS_MAX; i++)
        w->pinned[w->pins++] = subject.pinned.items[i];
    w->counts->subjects++;
    buffer_format(begin(w, "subject"),
                  ",\"owner\":%" PRId64 ",\"who_may\":\"%s\",\"review\":\"%s\",\"closed\":%s,\"level\":%d}",
                  subject.owner, SUBJECT_WHO_MAY[subject.who_may], SUBJECT_REVIEWS[subject.review],
                  subject.closed ? "true" : "false", (int)subject.level);
    return give(w);
}

static int put_comment(struct writing *w, const struct comment_text *text) {
    const struct comment *comment = &w->comment;
    struct buffer *line = begin(w, "comment");
    json_member_id(line, ",\"id\":", w->id);
    buffer_string(line, ",\"key\":");
    json_put_text(line, text->key.data, text->key.size);
    json_member_id(line, ",\"reply_to\":", comment->answers);
    json_member_id(line, ",\"root\":", comment->root);
    buffer_format(line, ",\"floor\":%d,\"user\":%" PRId64 ",\"time\":%" PRId64 ",\"state\":\"%s\",\"text\":",
                  (int)comment->floor, comment->user, comment->time ? comment->time : ids_time_ms(w->id),
                  COMMENT_STATES[text->text.size ? comment->state : COMMENT_DELETED]);
    if (text->text.size)
        json_put_text(line, text->text.data, text->text.size);
    else
        buffer_string(line, "null");
    buffer_byte(line, '}');
    w->told = w->id;
    w->counts->comments++;
    return give(w);
}

/* comment 0: the subject itself is liked. */
static int put_like(struct writing *w, int64_t comment, int64_t user) {
    struct buffer *line = begin(w, "like");
    json_member_id(line, ",\"comment\":", comment);
    buffer_format(line, ",\"user\":%" PRId64 "}", user);
    w->counts->likes++;
    return give(w);
}

/* A comment that lacks its text, or the other way round, was written after its topic was read: it is left out. */
static int put_part(struct writing *w, const struct kept_record *kept, const struct subject_key *key) {
    const uint8_t *value = kept->bytes + kept->key_size;
    struct comment_text text;
    struct comment_reaction reaction;
    int code = 0;
    if (strlen(w->subject) != key->size || memcmp(w->subject, key->subject, key->size) != 0) return 0;
    if (kept->kind == STATE) {
        code = event_decode_comment(w->codec, value, kept->value_size, &w->comment, NULL);
        w->id = code ? 0 : key->comment;
    } else if (kept->kind == TEXT && w->id == key->comment) {
        code = event_decode_comment_text(w->codec, value, kept->value_size, &text, NULL);
        if (!code) return put_comment(w, &text);
    } else if (kept->kind == REACTION && w->told == key->comment) {
        code = event_decode_comment_reaction(w->codec, value, kept->value_size, &reaction, NULL);
        if (!code) return reaction.likes ? put_like(w, key->comment, key->second) : 0;
    }
    if (code) w->counts->broken++;
    return 0;
}

int comments_records_each(struct comments_records *records, struct codec *codec,
                          int (*line)(void *context, const struct buffer *line), void *context,
                          struct comments_records_counts *counts) {
    struct writing w = {.records = records, .codec = codec, .line = line, .context = context, .counts = counts};
    int code = 0;
    if (records->count) qsort(records->items, records->count, sizeof(struct kept_record *), by_key);
    for (size_t i = 0; !code && i < records->count; i++) {
        const struct kept_record *kept = records->items[i];
        struct subject_key key;
        bool newest = i + 1 == records->count || compare_keys(kept, records->items[i + 1]) != 0;
        if (!newest || !kept->value_size) continue;
        if (!subject_key_read(kept->bytes, kept->key_size, &key))
            counts->broken++;
        else if (!key.numbers && kept->kind == STATE)
            code = put_subject(&w, kept);
        else if (key.numbers)
            code = put_part(&w, kept, &key);
    }
    return code ? code : end_subject(&w);
}
