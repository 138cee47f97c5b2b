/* WordPress's export (WXR): <rss><channel><item> is an article, with a <wp:comment> for each of its comments. The prefix's address differs
 * between versions, so elements are known by their names alone. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/moving_private.h"
#include "cli/when.h"
#include "subjects/subject.h"

/* "2010-07-20 12:08:08", GMT if it is there. 0: none. */
static int64_t time_of(xmlNodePtr comment) {
    int64_t ms = 0;
    char *gmt = moving_text(comment, "comment_date_gmt"), *local = moving_text(comment, "comment_date");
    if (!when_parse(gmt, &ms) && !when_parse(local, &ms)) ms = 0;
    free(gmt);
    free(local);
    return ms;
}

/* Pingbacks and the like are no comments. */
static bool is_comment(xmlNodePtr comment) {
    char *type = moving_text(comment, "comment_type");
    bool is = !*type || strcmp(type, "comment") == 0;
    free(type);
    return is;
}

/* False: spam. */
static bool state_of(xmlNodePtr comment, enum comment_command_state *state) {
    char *approved = moving_text(comment, "comment_approved");
    bool trash = strcmp(approved, "trash") == 0 || strcmp(approved, "post-trashed") == 0;
    bool good = strcmp(approved, "1") == 0 || strcmp(approved, "approve") == 0;
    bool held = strcmp(approved, "0") == 0 || strcmp(approved, "hold") == 0;
    *state = trash ? COMMENT_COMMAND_DELETED : good ? COMMENT_COMMAND_VISIBLE : COMMENT_COMMAND_HELD;
    free(approved);
    return trash || good || held;
}

static void add_comment(struct moving_thread *thread, xmlNodePtr node) {
    char *id = moving_text(node, "comment_id"), *parent = moving_text(node, "comment_parent");
    char *email = moving_text(node, "comment_author_email"), *name = moving_text(node, "comment_author");
    char *user = moving_text(node, "comment_user_id"), *content = moving_text(node, "comment_content");
    char *text = moving_plain(content), *key = mem_format("wp:%s", id), *login = mem_format("user:%s", user);
    struct moving_comment comment = {
        .id = id,
        .key = key,
        .parent = strcmp(parent, "0") == 0 || !*parent ? NULL : parent,
        .user = -1,
        .author = {.email = email, .name = name, .login = strcmp(user, "0") == 0 || !*user ? NULL : login},
        .time = time_of(node),
        .text = text,
    };
    bool wanted = state_of(node, &comment.state) && is_comment(node);
    bool empty = !*text && comment.state != COMMENT_COMMAND_DELETED;
    moving_thread_add(thread, &comment, xmlGetLineNo(node), !wanted || empty);
    char *texts[] = {id, parent, email, name, user, content, text, key, login};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) free(texts[i]);
}

/* A page that is neither published nor in the trash is a draft, waits for its day, or is private. */
static enum moving_page page_of(xmlNodePtr item) {
    char *status = moving_text(item, "status"), *password = moving_text(item, "post_password");
    bool gone = strcmp(status, "trash") == 0;
    bool public = (!*status || strcmp(status, "publish") == 0) && !*password;
    free(status);
    free(password);
    return gone ? MOVING_GONE : public ? MOVING_PUBLIC : MOVING_HIDDEN;
}

static bool has_comments(xmlNodePtr item) { return moving_child(item, "comment") != NULL; }

/* The list may name an article by its link, its slug or its id; else its id names its subject. */
static bool subject_of(const struct moving_file *file, xmlNodePtr item, char *subject, size_t size) {
    char *names[] = {moving_text(item, "post_id"), moving_text(item, "link"), moving_text(item, "post_name")};
    bool found = moving_file_subject(file, (const char *const *)names, 3, subject, size);
    for (int i = 0; i < 3; i++) free(names[i]);
    return found;
}

int moving_wxr_item(struct moving_file *file, xmlNodePtr item, struct error *error) {
    char name[SUBJECT_MAX + 1];
    if (!has_comments(item)) return 0;
    file->line = xmlGetLineNo(item);
    if (!subject_of(file, item, name, sizeof name))
        return error_set(error, -EINVAL, "the article has no post_id, link or post_name that can name a subject");
    char *creator = moving_text(item, "creator"), *status = moving_text(item, "comment_status");
    struct moving_subject subject = {.subject = name, .page = page_of(item), .closed = strcmp(status, "closed") == 0};
    int code = subject.page == MOVING_GONE ? 0 : moving_file_owner(file, creator, &subject.owner, error);
    free(creator);
    free(status);
    if (code) return code;
    struct moving_thread *thread = moving_thread_new(&subject);
    for (xmlNodePtr child = item->children; child; child = child->next)
        if (child->type == XML_ELEMENT_NODE && strcmp((const char *)child->name, "comment") == 0)
            add_comment(thread, child);
    long line = 0;
    code = moving_thread_give(thread, file->moving, file->options->path, &line, error);
    if (line) file->line = line;
    moving_thread_free(thread);
    return code;
}
