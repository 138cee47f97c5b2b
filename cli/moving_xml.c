/* XML and hypertext, by libxml2: an element of an article, a thread or a post at a time. */
#include <ctype.h>
#include <errno.h>
#include <libxml/HTMLparser.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/moving_private.h"

/* ---- elements ---- */

static bool is_named(xmlNodePtr node, const char *name) {
    return node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

xmlNodePtr moving_child(xmlNodePtr node, const char *name) {
    xmlNodePtr child = node->children;
    while (child && !is_named(child, name)) child = child->next;
    return child;
}

static char *trimmed(const char *text, size_t size) {
    while (size && isspace((unsigned char)*text)) text++, size--;
    while (size && isspace((unsigned char)text[size - 1])) size--;
    return mem_stringn(text, size);
}

char *moving_text(xmlNodePtr node, const char *name) {
    xmlNodePtr child = moving_child(node, name);
    xmlChar *content = child ? xmlNodeGetContent(child) : NULL;
    char *text = content ? trimmed((const char *)content, strlen((const char *)content)) : mem_string("");
    xmlFree(content);
    return text;
}

/* ---- hypertext ---- */

static bool is_one_of(xmlNodePtr node, const char *names) {
    size_t length = strlen((const char *)node->name);
    const char *at = names;
    for (; (at = strstr(at, (const char *)node->name)) != NULL; at += length)
        if ((at == names || at[-1] == ' ') && (at[length] == ' ' || !at[length])) return true;
    return false;
}

/* " (ADDRESS)" behind a link whose text is not its address; a picture is its address. */
static void put_address(struct buffer *out, xmlNodePtr node, size_t begun) {
    bool link = is_one_of(node, "a");
    xmlChar *address = xmlGetProp(node, (const xmlChar *)(link ? "href" : "src"));
    size_t size = address ? strlen((const char *)address) : 0;
    bool said = link && out->size - begun == size && size && !memcmp(out->data + begun, address, size);
    if (size && !said) buffer_format(out, out->size == begun ? "%s" : " (%s)", (const char *)address);
    xmlFree(address);
}

static void leave(struct buffer *out, xmlNodePtr node, size_t begun) {
    if (is_one_of(node, "a img")) put_address(out, node, begun);
    if (is_one_of(node, "br li tr")) buffer_byte(out, '\n');
    if (is_one_of(node, "p div blockquote pre ul ol table h1 h2 h3 h4 h5 h6")) buffer_string(out, "\n\n");
}

/* Links are not within links, so one place is enough to remember where the text of the newest one begins. */
static void put_nodes(struct buffer *out, xmlNodePtr top) {
    xmlNodePtr node = top;
    size_t begun = 0;
    while (node) {
        bool element = node->type == XML_ELEMENT_NODE, silent = element && is_one_of(node, "script style head");
        if (node->type == XML_TEXT_NODE || node->type == XML_CDATA_SECTION_NODE)
            buffer_string(out, (const char *)node->content);
        if (element && is_one_of(node, "a img")) begun = out->size;
        if (element && !silent && node->children) {
            node = node->children;
            continue;
        }
        if (element && !silent) leave(out, node, begun);
        while (node != top && !node->next) {
            node = node->parent;
            leave(out, node, begun);
        }
        node = node == top ? NULL : node->next;
    }
}

/* At most one blank line between lines. */
static char *without_gaps(const struct buffer *text) {
    struct buffer out = {.data = NULL};
    int lines = 0;
    for (size_t i = 0; i < text->size; i++) {
        if (text->data[i] == '\r') continue;
        lines = text->data[i] == '\n' ? lines + 1 : 0;
        if (lines <= 2) buffer_byte(&out, text->data[i]);
    }
    char *result = trimmed(buffer_cstring(&out), out.size);
    buffer_free(&out);
    return result;
}

char *moving_plain(const char *html) {
    size_t size = strlen(html);
    struct buffer text = {.data = NULL};
    if (!strpbrk(html, "<&") || size > INT_MAX) {
        buffer_append(&text, html, size);
    } else {
        htmlDocPtr document =
            htmlReadMemory(html, (int)size, NULL, "UTF-8",
                           HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING | HTML_PARSE_NONET);
        xmlNodePtr root = document ? xmlDocGetRootElement(document) : NULL;
        if (root) put_nodes(&text, root);
        xmlFreeDoc(document);
    }
    char *plain = without_gaps(&text);
    buffer_free(&text);
    return plain;
}

/* ---- the file ---- */

struct xml {
    struct moving_file *file;
    xmlTextReaderPtr reader;
    struct moving_disqus *disqus; /* NULL: WordPress's */
    struct error *error;
    bool malformed; /* `error` says why */
};

static bool is_xml(long character) {
    if (character < ' ') return character == '\t' || character == '\n' || character == '\r';
    return character < 0xd800 || (character > 0xdfff && character < 0xfffe) ||
           (character > 0xffff && character < 0x110000);
}

/* The size of the reference (&#11;) to a character that is no XML; 0: none is there; -1: the next bytes decide. */
static int reference_at(const struct moving_file *file, const char *at, int left, long *character) {
    char text[sizeof file->held + 1] = {0};
    size_t size = left < (int)sizeof file->held ? (size_t)left : sizeof file->held;
    memcpy(text, at, size);
    if (strncmp(text, "&#", size < 2 ? size : 2) != 0) return 0;
    bool hex = text[2] == 'x';
    size_t begin = hex ? 3 : 2, end = begin + strspn(text + begin, hex ? "0123456789abcdefABCDEF" : "0123456789");
    if (end >= size) return size < sizeof file->held ? -1 : 0;
    *character = strtol(text + begin, NULL, hex ? 16 : 10);
    return text[end] == ';' && end > begin && !is_xml(*character) ? (int)end + 1 : 0;
}

static void blank_out(struct moving_file *file, char *bytes, int size, long character) {
    struct error error;
    int code = error_set(&error, -EINVAL, "a control character (%ld) is a blank now", character);
    memset(bytes, ' ', (size_t)size);
    moving_pass(file->moving, code, file->options->path, file->bytes_line, &error);
}

/* Control characters are no XML, but stand in comments of old sites. Returns how many bytes are done: all, but for a reference that the
 * next bytes may complete. */
static int clean(struct moving_file *file, char *bytes, int size) {
    for (int i = 0; i < size; i++) {
        long character = (unsigned char)bytes[i];
        file->bytes_line += character == '\n';
        int bad = character == '&' ? reference_at(file, bytes + i, size - i, &character) : !is_xml(character);
        if (bad < 0) return i;
        if (bad) blank_out(file, bytes + i, bad, character);
    }
    return size;
}

static int read_bytes(void *context, char *buffer, int size) {
    struct moving_file *file = context;
    int held = file->held_size < size ? file->held_size : size;
    memcpy(buffer, file->held, (size_t)held);
    file->held_size -= held;
    memmove(file->held, file->held + held, (size_t)file->held_size);
    int read = gzread(file->file, buffer + held, (unsigned)(size - held));
    if (read < 0) return read;
    size = held + read;
    if (!moving_passes(file->moving)) return size;
    int done = clean(file, buffer, size);
    if (!read) return size;
    file->held_size = size - done;
    memcpy(file->held, buffer + done, (size_t)file->held_size);
    return done;
}

#if LIBXML_VERSION >= 21200
typedef const xmlError *xml_problem;
#else
typedef xmlErrorPtr xml_problem;
#endif

static void on_problem(void *context, xml_problem problem) {
    struct xml *xml = context;
    if (xml->malformed || problem->level < XML_ERR_ERROR) return;
    const char *message = problem->message ? problem->message : "malformed XML";
    xml->malformed = true;
    xml->file->line = problem->line;
    error_set(xml->error, -EINVAL, "%.*s", (int)strcspn(message, "\n"), message);
}

static int take_root(struct xml *xml, const char *name, struct error *error) {
    if (strcmp(name, "disqus") == 0) {
        xml->disqus = moving_disqus_new();
        return 0;
    }
    if (strcmp(name, "rss") == 0) return 0;
    xml->file->line = xmlTextReaderGetParserLineNumber(xml->reader);
    return error_set(error, -EINVAL, "<%.32s> begins neither WordPress's export (rss) nor Disqus's (disqus)", name);
}

/* An element that is read as a whole: an article of WordPress's, a thread or post of Disqus's. */
static bool is_whole(const struct xml *xml, const char *name, int depth) {
    if (!xml->disqus) return depth == 2 && strcmp(name, "item") == 0;
    return depth == 1 && (strcmp(name, "thread") == 0 || strcmp(name, "post") == 0);
}

/* 1: go on to what follows it; 0: go on into it; or a negative code. */
static int take_element(struct xml *xml, struct error *error) {
    const char *name = (const char *)xmlTextReaderConstLocalName(xml->reader);
    int depth = xmlTextReaderDepth(xml->reader);
    if (depth == 0) return take_root(xml, name, error);
    if (!is_whole(xml, name, depth)) return 0;
    xmlNodePtr node = xmlTextReaderExpand(xml->reader);
    if (!node || xml->malformed) return -EINVAL; // its reason is noted
    int code = xml->disqus ? moving_disqus_element(xml->disqus, xml->file, node, error)
                           : moving_wxr_item(xml->file, node, error);
    code = moving_pass(xml->file->moving, code, xml->file->options->path, xml->file->line, error);
    moving_file_share(xml->file);
    return code ? code : 1;
}

static int read_elements(struct xml *xml, struct error *error) {
    int more = xmlTextReaderRead(xml->reader);
    while (more == 1) {
        int code = xmlTextReaderNodeType(xml->reader) == XML_READER_TYPE_ELEMENT ? take_element(xml, error) : 0;
        if (code < 0) return code;
        more = code ? xmlTextReaderNext(xml->reader) : xmlTextReaderRead(xml->reader);
    }
    if (xml->malformed || more < 0)
        return xml->malformed ? -EINVAL : error_set(error, -EINVAL, "the XML cannot be read");
    return xml->disqus ? moving_disqus_end(xml->disqus, xml->file, error) : 0;
}

int moving_xml(struct moving_file *file, struct error *error) {
    struct xml xml = {.file = file, .error = error};
    xml.reader = xmlReaderForIO(read_bytes, NULL, file, NULL, NULL, XML_PARSE_NONET | XML_PARSE_BIG_LINES);
    if (!xml.reader) return error_set(error, -ENOMEM, "no reader of XML can be made");
    xmlTextReaderSetStructuredErrorHandler(xml.reader, on_problem, &xml);
    int code = read_elements(&xml, error);
    xmlFreeTextReader(xml.reader);
    moving_disqus_free(xml.disqus);
    return code;
}
