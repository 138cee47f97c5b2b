/* Posts and people in the search index. What is known of a post comes from three topics, in any order: whether it is there (`posts`), what it
 * says (`post-texts`), and who has reported it (`moderation-log`). */
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "ids/ids.h"
#include "json/json.h"
#include "moderation/index_private.h"

/* The post as it is known by now, or a new one, with its texts in index->texts. 0 or a negative code. */
static int begin(struct index *index, int64_t id, int64_t author, struct index_row *row, struct error *error) {
    int found = index_find_row(index, INDEX_POSTS, id, row, error);
    if (found < 0) return found;
    if (!found) {
        *row = (struct index_row){.comment = {.subject = {"", 0},
                                              .id = id,
                                              .user = author,
                                              .state = (enum comment_wide_state)INDEX_UNKNOWN,
                                              .text = {"", 0},
                                              .time = ids_time_ms(id),
                                              .version = 1},
                                  .media = {"[]", 2}};
        return 0;
    }
    size_t text = row->comment.text.size, media = row->media.size;
    buffer_clear(&index->texts);
    buffer_reserve(&index->texts, text + media);
    if (text) buffer_append(&index->texts, row->comment.text.data, text);
    buffer_append(&index->texts, row->media.data, media);
    row->comment.text = (struct event_text){(const char *)index->texts.data, text};
    row->media = (struct event_text){(const char *)index->texts.data + text, media};
    row->comment.subject = (struct event_text){"", 0};
    sqlite3_reset(index->statements[INDEX_POSTS][INDEX_FIND]);
    return 0;
}

int index_put_post(struct index *index, int64_t id, int64_t author, enum comment_wide_state state,
                   struct error *error) {
    struct index_row row;
    int code = begin(index, id, author, &row, error);
    if (code) return index_fail(index, code);
    row.comment.user = author;
    row.comment.state = state;
    return index_put_row(index, INDEX_POSTS, &row, error);
}

int index_put_post_text(struct index *index, int64_t id, int64_t author, const struct post_text *text,
                        struct error *error) {
    struct buffer media = {.data = NULL};
    struct index_row row;
    int code = begin(index, id, author, &row, error);
    if (code) return index_fail(index, code);
    buffer_byte(&media, '[');
    for (size_t i = 0; text && i < text->media.count; i++) {
        if (i) buffer_byte(&media, ',');
        json_put_text(&media, text->media.items[i].data, text->media.items[i].size);
    }
    buffer_byte(&media, ']');
    row.comment.text = text ? text->text : (struct event_text){"", 0};
    row.comment.version = text ? text->version : 1;
    row.comment.edited = text ? text->edited : 0;
    row.media = (struct event_text){(const char *)media.data, media.size};
    code = index_put_row(index, INDEX_POSTS, &row, error);
    buffer_free(&media);
    return code;
}

int index_remove_post(struct index *index, int64_t id, struct error *error) {
    return index_remove_row(index, INDEX_POSTS, id, error);
}

int index_report_post(struct index *index, int64_t id, int64_t author, struct error *error) {
    struct index_row row;
    int code = begin(index, id, author, &row, error);
    if (code) return index_fail(index, code);
    row.comment.reports++;
    return index_put_row(index, INDEX_POSTS, &row, error);
}

int index_report_user(struct index *index, int64_t user, int64_t time, const struct event_text *reason,
                      struct error *error) {
    sqlite3_stmt *statement = index->put_person;
    sqlite3_bind_int64(statement, 1, user);
    sqlite3_bind_int64(statement, 2, time);
    sqlite3_bind_text(statement, 3, reason->size ? reason->data : "", (int)reason->size, SQLITE_STATIC);
    return index_fail(index, database_finish(index->db, statement, error));
}
