/* comments-wide: whole comments for search engines. Written in the deciding transaction, so that no late record of a former owner undoes
 * a hiding. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "comments/decisions_private.h"
#include "edits/encode.h"
#include "event/topics.h"

enum { TEXTS_FEW = 1000 };

/* ---- texts ---- */

static bool is_read_back(const struct decisions *decisions, const struct pending_text *text) {
    return !overlay_find(decisions->options.overlays[THREADS_TEXTS], text->key.bytes, text->key.size, NULL);
}

void decisions_forget_texts(struct decisions *decisions, bool all) {
    struct pending_text *left = decisions->newest_text;
    struct map *texts = map_new();
    decisions->newest_text = NULL;
    decisions->text_count = 0;
    while (left) {
        struct pending_text *text = left;
        struct subject_key parts;
        left = text->next;
        bool newest = subject_key_read(text->key.bytes, text->key.size, &parts) &&
                      map_pointer(decisions->texts, (uint64_t)parts.comment) == text;
        if (all || !newest || is_read_back(decisions, text)) {
            free(text);
            continue;
        }
        text->next = decisions->newest_text;
        decisions->newest_text = text;
        decisions->text_count++;
        *map_put(texts, (uint64_t)parts.comment, NULL) = (uint64_t)(uintptr_t)text;
    }
    map_free(decisions->texts);
    decisions->texts = texts;
    decisions->text_limit = 2 * decisions->text_count + TEXTS_FEW;
}

void decisions_keep_text(struct decisions *decisions, const struct decisions_key *key, int64_t id,
                         const struct comment_text *text) {
    size_t mentions = text->mentions.count;
    struct pending_text *kept = mem_alloc(sizeof *kept + text->text.size);
    *kept = (struct pending_text){.next = decisions->newest_text, .key = *key, .text = *text};
    if (mentions) memcpy(kept->mentions, text->mentions.items, mentions * sizeof *kept->mentions);
    memcpy(kept->client, text->key.data, text->key.size);
    memcpy(kept->bytes, text->text.data, text->text.size);
    kept->text.mentions.items = kept->mentions;
    kept->text.key.data = kept->client;
    kept->text.text.data = kept->bytes;
    decisions->newest_text = kept;
    decisions->text_count++;
    *map_put(decisions->texts, (uint64_t)id, NULL) = (uint64_t)(uintptr_t)kept;
}

int decisions_text(struct decisions *decisions, const struct decision *decided, int64_t id, struct comment_text *text,
                   struct error *error) {
    const struct event_text *subject = &decided->command->subject;
    const struct pending_text *kept = map_pointer(decisions->texts, (uint64_t)id);
    if (kept && !is_read_back(decisions, kept)) {
        *text = kept->text;
        return 0;
    }
    int code = threads_text(decisions->options.threads, decided->slot->partition, subject, id, text, error);
    if (code < 0) return code;
    bool good = code && text->key.size <= COMMENT_CLIENT_KEY_MAX && text->mentions.count <= EDIT_TOLD_MAX;
    return good ? 0 : error_set(error, -EBADMSG, "a comment has no text");
}

/* ---- records ---- */

static int write_place(struct decisions *decisions, const struct decision *decided, const struct comment_place *place,
                       struct error *error) {
    const struct decisions_options *options = &decisions->options;
    const struct comment *comment = &place->comment;
    struct comment_wide wide = {
        .subject = decided->command->subject,
        .owner = decided->thread.subject.owner,
        .id = place->id,
        .floor = comment->floor,
        .root = comment->root,
        .answers = comment->answers,
        .user = comment->user,
        .state = (enum comment_wide_state)comment->state,
        .likes = comment->likes,
        .replies = comment->replies,
        .reports = comment->reports,
        .time = comment_time(place->id, comment),
        .version = comment->version,
        .edited = comment->edited,
    };
    struct decisions_key key;
    struct comment_text text;
    int code = decisions_text(decisions, decided, place->id, &text, error);
    if (code) return code;
    wide.text = text.text;
    decisions_key(&key, &decided->command->subject, 1, place->id, 0);
    buffer_clear(&decisions->value);
    edit_encode_comment_wide(&decisions->value, &wide);
    code = options->write(options->context, &TOPIC_COMMENTS_WIDE, decided->slot->partition, key.bytes, key.size,
                          decisions->value.data, decisions->value.size);
    return code ? error_set(error, code, "a wide comment could not be written: %s", strerror(-code)) : 0;
}

/* Likes and replies alone make no record: they would repeat the text each time. */
int decisions_write_wide(struct decisions *decisions, const struct decision *decided, struct error *error) {
    const struct thread *thread = &decided->thread;
    enum comment_command_kind kind = decided->command->kind;
    bool changed = thread->about.changed && kind != COMMENT_COMMAND_LIKE && kind != COMMENT_COMMAND_UNLIKE &&
                   kind != COMMENT_COMMAND_REPLY;
    if (thread->made.changed) return write_place(decisions, decided, &thread->made, error);
    return changed ? write_place(decisions, decided, &thread->about, error) : 0;
}
