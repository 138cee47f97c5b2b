/* The terminal as one page that is drawn again and again. It takes over standard output, with the terminal's second screen, until it is
 * freed; Ctrl-Z gives the terminal back for as long as the program is stopped. Loop's thread. */
#pragma once

#include <stdbool.h>

#include "base/buffer.h"
#include "base/loop.h"

struct terminal;

struct terminal_options {
    uv_loop_t *loop;
    void *context;
    void (*redraw)(void *context);           /* the terminal's size has changed, or the program goes on after Ctrl-Z */
    void (*on_key)(void *context, char key); /* NULL: nothing is read. Ctrl-C stays a signal */
};

/* Standard output is a terminal that can show a page. */
bool terminal_is_there(void);

struct terminal *terminal_new(const struct terminal_options *options);
/* Gives the terminal back as it was. The memory goes in a later turn of the loop. From within the callbacks, too; NULL is fine. */
void terminal_free(struct terminal *terminal);

void terminal_size(int *rows, int *columns); /* 24 and 80, if it is not known */

/* Shows the text in place of what was there: lines separated by '\n', at most as many as the terminal has rows, and each shorter than a
 * row: in the last column a terminal may lose a character. */
void terminal_draw(struct terminal *terminal, const char *text, size_t size);

/* Cuts or pads the text of `out` behind start to so many characters. */
void terminal_fit(struct buffer *out, size_t start, int columns);

/* Appends a text from outside, with '?' in place of characters that a terminal would obey. */
void terminal_put_text(struct buffer *out, const char *text);
