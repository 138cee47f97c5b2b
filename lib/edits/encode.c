#include "edits/encode.h"

#include <string.h>

#include "base/bytes.h"

/* Of the versions before; LACK: bytes, of defaults of newer members, that are not at the end of a record or an item. */
enum {
    POST_V1 = 17,
    POST_V1_LACKS = 1,
    POST_TEXT_V1 = 18,
    POST_TEXT_V1_LACKS = 4,
    FEED_CHANGE_V1 = 20,
    POST_COMMAND_V2 = 25,
    POST_COMMAND_V2_LACKS = 4,
    POST_COMMAND_V3_LACKS = 1,
    COMMENT_REFUSAL_V1 = 37,
    COMMENT_CHANGE_V1 = 45,
    COMMENT_CHANGE_V1_LACKS = 1,
    COMMENT_TEXT_V2 = 46,
    COMMENT_TEXT_V2_LACKS = 4,
    COMMENT_COMMAND_V2 = 50,
    COMMENT_COMMAND_V2_LACKS = 2,
    COMMENT_V2 = 51,
    MODERATION_ENTRY_V2 = 52,
    COMMENT_CHANGE_V2 = 101,
    POST_COMMAND_V3 = 116,
    VERSION_LACKS = 2 /* when it was edited, too */
};

void edit_encode_comment(struct buffer *out, const struct comment *comment) {
    size_t start = out->size;
    event_encode_comment(out, comment);
    if (comment->version == 1 && !comment->edited) event_become_older(out, start, COMMENT_V2, VERSION_LACKS);
}

void edit_encode_comment_text(struct buffer *out, const struct comment_text *text) {
    size_t start = out->size;
    event_encode_comment_text(out, text);
    if (text->version == 1 && !text->edited && text->editor < 0 && !text->level)
        event_become_older(out, start, COMMENT_TEXT_V2, COMMENT_TEXT_V2_LACKS);
}

void edit_encode_comment_refusal(struct buffer *out, const struct comment_refusal *refusal) {
    size_t start = out->size;
    event_encode_comment_refusal(out, refusal);
    if (refusal->reason < COMMENT_REFUSAL_OLD_VERSION) event_become_older(out, start, COMMENT_REFUSAL_V1, 0);
}

void edit_encode_comment_command(struct buffer *out, const struct comment_command *command) {
    size_t start = out->size;
    event_encode_comment_command(out, command);
    if (command->kind != COMMENT_COMMAND_EDIT)
        event_become_older(out, start, COMMENT_COMMAND_V2, COMMENT_COMMAND_V2_LACKS);
}

void edit_encode_moderation_entry(struct buffer *out, const struct moderation_entry *entry) {
    size_t start = out->size;
    event_encode_moderation_entry(out, entry);
    if (entry->what != MODERATION_ENTRY_EDIT) event_become_older(out, start, MODERATION_ENTRY_V2, 0);
}

void edit_encode_post_command(struct buffer *out, const struct post_command *command) {
    size_t start = out->size;
    event_encode_post_command(out, command);
    bool decides = command->kind > POST_COMMAND_EDIT || (command->kind == POST_COMMAND_DELETE && command->editor >= 0);
    if (decides || command->held) return;
    if (command->version)
        event_become_older(out, start, POST_COMMAND_V3, POST_COMMAND_V3_LACKS);
    else
        event_become_older(out, start, POST_COMMAND_V2, POST_COMMAND_V2_LACKS);
}

void edit_encode_post(struct buffer *out, const struct post *post) {
    size_t start = out->size;
    event_encode_post(out, post);
    if (post->state < POST_HIDDEN && !post->moderated) event_become_older(out, start, POST_V1, POST_V1_LACKS);
}

void edit_encode_post_text(struct buffer *out, const struct post_text *text) {
    size_t start = out->size;
    event_encode_post_text(out, text);
    if (text->version == 1 && !text->edited && text->editor < 0 && !text->mentions.count)
        event_become_older(out, start, POST_TEXT_V1, POST_TEXT_V1_LACKS);
}

static const uint8_t *pass(const uint8_t *at, const uint8_t *end, int numbers) {
    int64_t number;
    while (numbers--) at = zigzag_get(at, end, &number);
    return at;
}

/* Takes the `lacks` bytes out that follow the `numbers` numbers of each item. The array comes after `before` numbers. */
static void shorten_items(struct buffer *out, size_t start, int before, size_t items, int numbers, size_t lacks) {
    const uint8_t *end = out->data + out->size;
    const uint8_t *from = pass(out->data + start + EVENT_HEADER_SIZE, end, before + (items ? 1 : 0));
    uint8_t *to = out->data + (from - out->data);
    for (size_t i = 0; i < items; i++) {
        size_t size = (size_t)(pass(from, end, numbers) - from);
        memmove(to, from, size);
        to += size;
        from += size + lacks;
    }
    memmove(to, from, (size_t)(end - from));
    out->size -= items * lacks;
}

void edit_encode_comment_change(struct buffer *out, const struct comment_change *change) {
    enum { BEFORE = 4, NUMBERS = 9 };
    size_t start = out->size;
    event_encode_comment_change(out, change);
    for (size_t i = 0; i < change->items.count; i++)
        if (change->items.items[i].version > 1) return;
    shorten_items(out, start, BEFORE, change->items.count, NUMBERS, VERSION_LACKS);
    if (change->likes)
        event_become_older(out, start, COMMENT_CHANGE_V2, 0);
    else
        event_become_older(out, start, COMMENT_CHANGE_V1, COMMENT_CHANGE_V1_LACKS);
}

void edit_encode_feed_change(struct buffer *out, const struct feed_change *change) {
    enum { NUMBERS = 2 };
    size_t start = out->size;
    event_encode_feed_change(out, change);
    for (size_t i = 0; i < change->posts.count; i++)
        if (change->posts.items[i].version > 1) return;
    shorten_items(out, start, 0, change->posts.count, NUMBERS, 1);
    event_become_older(out, start, FEED_CHANGE_V1, 0);
}
