/* Disqus's export: <disqus> holds a <thread dsq:id> for each article, and a <post dsq:id> for each comment, which names its thread and the
 * post that it answers by their dsq:id. Memory holds all of them, as posts of a thread need not stand together. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/moving_private.h"
#include "cli/when.h"
#include "subjects/subject.h"

static const char INTERNALS[] = "http://disqus.com/disqus-internals";

struct disqus_thread {
    struct moving_thread *thread; /* NULL: it was given on */
    long line;
};

struct moving_disqus {
    struct text_map *numbers; /* dsq:id of a thread -> its place, from 1 */
    struct disqus_thread *threads;
    size_t count;
};

struct moving_disqus *moving_disqus_new(void) {
    struct moving_disqus *disqus = mem_alloc(sizeof *disqus);
    *disqus = (struct moving_disqus){.numbers = text_map_new()};
    return disqus;
}

void moving_disqus_free(struct moving_disqus *disqus) {
    if (!disqus) return;
    for (size_t i = 0; i < disqus->count; i++) moving_thread_free(disqus->threads[i].thread);
    text_map_free(disqus->numbers);
    free(disqus->threads);
    free(disqus);
}

/* dsq:id; "": none. The caller frees it. */
static char *id_of(xmlNodePtr node) {
    xmlChar *id = node ? xmlGetNsProp(node, (const xmlChar *)"id", (const xmlChar *)INTERNALS) : NULL;
    char *text = mem_string(id ? (const char *)id : "");
    xmlFree(id);
    return text;
}

static bool is_true(xmlNodePtr node, const char *name) {
    char *text = moving_text(node, name);
    bool is = strcmp(text, "true") == 0;
    free(text);
    return is;
}

/* The list may name a thread by its identifier, its link or its dsq:id; else the first of the identifier and the dsq:id that can be one
 * names its subject. */
static bool subject_of(const struct moving_file *file, xmlNodePtr node, const char *id, char *subject, size_t size) {
    char *names[] = {moving_text(node, "id"), moving_text(node, "link"), mem_string(id)};
    bool found = moving_file_subject(file, (const char *const *)names, 3, subject, size);
    for (int i = 0; i < 3; i++) free(names[i]);
    return found;
}

static int take_thread(struct moving_disqus *disqus, struct moving_file *file, xmlNodePtr node, struct error *error) {
    char name[SUBJECT_MAX + 1], *id = id_of(node);
    xmlNodePtr author = moving_child(node, "author");
    char *login = author ? moving_text(author, "username") : mem_string("");
    struct moving_subject subject = {.subject = name,
                                     .page = is_true(node, "isDeleted") ? MOVING_GONE : MOVING_PUBLIC,
                                     .closed = is_true(node, "isClosed")};
    int code = subject.page == MOVING_GONE ? 0 : moving_file_owner(file, login, &subject.owner, error);
    if (code) {
        // Nothing else is looked at.
    } else if (!*id || !subject_of(file, node, id, name, sizeof name)) {
        code = error_set(error, -EINVAL, "the thread has no dsq:id, or one that cannot name a subject");
    } else {
        disqus->threads = mem_resize(disqus->threads, disqus->count + 1, sizeof *disqus->threads);
        disqus->threads[disqus->count++] =
            (struct disqus_thread){.thread = moving_thread_new(&subject), .line = xmlGetLineNo(node)};
        *text_map_put(disqus->numbers, id) = (int64_t)disqus->count;
    }
    free(login);
    free(id);
    return code;
}

static char *text_within(xmlNodePtr node, const char *name) { return node ? moving_text(node, name) : mem_string(""); }

static void add_post(struct moving_thread *thread, xmlNodePtr post) {
    xmlNodePtr author = moving_child(post, "author");
    char *id = id_of(post), *parent = id_of(moving_child(post, "parent")), *created = moving_text(post, "createdAt");
    char *email = text_within(author, "email"), *login = text_within(author, "username");
    char *name = text_within(author, "name"), *message = moving_text(post, "message");
    char *text = moving_plain(message), *key = mem_format("disqus:%s", id);
    struct moving_comment comment = {
        .id = id,
        .key = key,
        .parent = *parent ? parent : NULL,
        .user = -1,
        // The login first: exports have no e-mail addresses any more, and older ones should give the same users.
        .author = {.email = *login ? NULL : email, .login = login, .name = name},
        .text = text,
    };
    if (!when_parse(created, &comment.time)) comment.time = 0;
    if (is_true(post, "isDeleted")) comment.state = COMMENT_COMMAND_DELETED;
    moving_thread_add(thread, &comment, xmlGetLineNo(post),
                      is_true(post, "isSpam") || (!*text && comment.state != COMMENT_COMMAND_DELETED));
    char *texts[] = {id, parent, created, email, login, name, message, text, key};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) free(texts[i]);
}

static int take_post(struct moving_disqus *disqus, struct moving_file *file, xmlNodePtr post, struct error *error) {
    char *id = id_of(post), *of = id_of(moving_child(post, "thread"));
    const int64_t *place = text_map_find(disqus->numbers, of);
    int code = 0;
    if (!*id)
        code = error_set(error, -EINVAL, "the post has no dsq:id");
    else if (!place)
        code = error_set(error, -EINVAL, "post %.32s is of thread %.32s, which is not before it", id, of);
    else
        add_post(disqus->threads[*place - 1].thread, post);
    free(id);
    free(of);
    return code;
}

int moving_disqus_element(struct moving_disqus *disqus, struct moving_file *file, xmlNodePtr element,
                          struct error *error) {
    file->line = xmlGetLineNo(element);
    if (strcmp((const char *)element->name, "thread") == 0) return take_thread(disqus, file, element, error);
    return take_post(disqus, file, element, error);
}

int moving_disqus_end(struct moving_disqus *disqus, struct moving_file *file, struct error *error) {
    int code = 0;
    for (size_t i = 0; !code && i < disqus->count; i++) {
        long line = 0;
        code = moving_thread_give(disqus->threads[i].thread, file->moving, file->options->path, &line, error);
        file->line = line ? line : disqus->threads[i].line;
        code = moving_pass(file->moving, code, file->options->path, file->line, error);
        moving_thread_free(disqus->threads[i].thread);
        disqus->threads[i].thread = NULL;
    }
    return code;
}
