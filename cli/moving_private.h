/* Between cli/moving_*.c: one file that is read. */
#ifndef CLI_MOVING_PRIVATE_H
#define CLI_MOVING_PRIVATE_H

#include <libxml/xmlreader.h>
#include <zlib.h>

#include "base/buffer.h"
#include "cli/moving_file.h"
#include "cli/moving_thread.h"
#include "cli/text_map.h"

struct moving_file {
    const struct moving_file_options *options;
    struct moving *moving;
    gzFile file;
    int64_t size; /* on the disk; 0: not known */
    struct text_map *subjects;
    char **names; /* that subjects' values are numbers of, from 1 */
    size_t name_count;
    struct buffer text; /* scratch */
    long line;          /* of an error; 0: none is known */
    long bytes_line;    /* up to which an XML file is read */
    char held[12];      /* bytes of XML that may begin a reference to a character */
    int held_size;
};

void moving_file_share(struct moving_file *file); /* says how much is read */

/* The subject of an article that is known by these names (NULL or "": none): the list's, or TYPE:ID of the first name that can be an id.
 * False: it has none. */
bool moving_file_subject(const struct moving_file *file, const char *const *names, size_t count, char *subject,
                         size_t size);

/* Finds the owner of an article whose author has this login. -EINVAL: the list does not say, and no owner was given. */
int moving_file_owner(const struct moving_file *file, const char *login, int64_t *owner, struct error *error);

int moving_lines(struct moving_file *file, struct error *error);
int moving_xml(struct moving_file *file, struct error *error);
/* One element each, with all that it holds. */
int moving_wxr_item(struct moving_file *file, xmlNodePtr item, struct error *error);
struct moving_disqus;
struct moving_disqus *moving_disqus_new(void);
void moving_disqus_free(struct moving_disqus *disqus); /* NULL is fine */
int moving_disqus_element(struct moving_disqus *disqus, struct moving_file *file, xmlNodePtr element,
                          struct error *error);
int moving_disqus_end(struct moving_disqus *disqus, struct moving_file *file, struct error *error);

/* ---- elements ---- */

xmlNodePtr moving_child(xmlNodePtr node, const char *name); /* by the name without its prefix; NULL: none */
/* The text of a child element, without blanks around it; "": it is not there. The caller frees it. */
char *moving_text(xmlNodePtr node, const char *name);

/* Hypertext as plain text: paragraphs are divided by blank lines, links and pictures are their addresses. The caller frees it. */
char *moving_plain(const char *html);

#endif
