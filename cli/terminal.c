#include "cli/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"

enum { ROWS_DEFAULT = 24, COLUMNS_DEFAULT = 80, KEYS_READ = 64 };

static const char SECOND_SCREEN[] = "\x1b[?1049h\x1b[?25l", FIRST_SCREEN[] = "\x1b[?25h\x1b[?1049l";

struct terminal {
    struct terminal_options options;
    int fd; /* the terminal, opened by us: to make it non-blocking changes nobody else's. -1: nothing is read */
    struct termios before;
    struct loop_watch *typed;
    uv_signal_t resized, suspended;
    struct buffer frame;
    int handles; /* not closed yet */
};

bool terminal_is_there(void) {
    const char *kind = getenv("TERM");
    return isatty(STDOUT_FILENO) && (!kind || strcmp(kind, "dumb") != 0);
}

void terminal_size(int *rows, int *columns) {
    struct winsize size;
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    *rows = known && size.ws_row ? size.ws_row : ROWS_DEFAULT;
    *columns = known && size.ws_col ? size.ws_col : COLUMNS_DEFAULT;
}

/* Keys come at once, and are not shown. */
static void enter(struct terminal *terminal) {
    if (terminal->fd >= 0) {
        struct termios keys = terminal->before;
        keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        tcsetattr(terminal->fd, TCSADRAIN, &keys);
    }
    fputs(SECOND_SCREEN, stdout);
    fflush(stdout);
}

static void leave(struct terminal *terminal) {
    fputs(FIRST_SCREEN, stdout);
    fflush(stdout);
    // Keys that nobody has read yet were not meant for the shell.
    if (terminal->fd >= 0) tcsetattr(terminal->fd, TCSAFLUSH, &terminal->before);
}

static void on_typed(void *context) {
    struct terminal *terminal = context;
    char keys[KEYS_READ];
    ssize_t count = read(terminal->fd, keys, sizeof keys);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
        loop_watch_free(terminal->typed); // it has hung up, which a signal tells as well
        terminal->typed = NULL;
    }
    for (ssize_t i = 0; i < count && terminal->typed; i++) terminal->options.on_key(terminal->options.context, keys[i]);
}

static void on_resized(uv_signal_t *handle, int number) {
    struct terminal *terminal = handle->data;
    terminal->options.redraw(terminal->options.context);
}

static void on_suspended(uv_signal_t *handle, int number) {
    struct terminal *terminal = handle->data;
    leave(terminal);
    raise(SIGSTOP);
    enter(terminal);
    terminal->options.redraw(terminal->options.context);
}

static void watch_signal(struct terminal *terminal, uv_signal_t *handle, int number, uv_signal_cb callback) {
    uv_signal_init(terminal->options.loop, handle);
    handle->data = terminal;
    uv_signal_start(handle, callback, number);
    terminal->handles++;
}

static void read_keys(struct terminal *terminal) {
    terminal->fd = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (terminal->fd < 0) return;
    if (!tcgetattr(terminal->fd, &terminal->before))
        terminal->typed = loop_watch_new(terminal->options.loop, terminal->fd, on_typed, terminal);
    if (terminal->typed) return;
    close(terminal->fd);
    terminal->fd = -1;
}

struct terminal *terminal_new(const struct terminal_options *options) {
    struct terminal *terminal = MEM_NEW(&(struct terminal){.options = *options, .fd = -1});
    if (options->on_key) read_keys(terminal);
    watch_signal(terminal, &terminal->resized, SIGWINCH, on_resized);
    watch_signal(terminal, &terminal->suspended, SIGTSTP, on_suspended);
    enter(terminal);
    return terminal;
}

static void on_closed(uv_handle_t *handle) {
    struct terminal *terminal = handle->data;
    if (--terminal->handles) return;
    buffer_free(&terminal->frame);
    free(terminal);
}

void terminal_free(struct terminal *terminal) {
    if (!terminal) return;
    loop_watch_free(terminal->typed);
    terminal->typed = NULL;
    leave(terminal);
    if (terminal->fd >= 0) close(terminal->fd);
    uv_close((uv_handle_t *)&terminal->resized, on_closed);
    uv_close((uv_handle_t *)&terminal->suspended, on_closed);
}

void terminal_draw(struct terminal *terminal, const char *text, size_t size) {
    struct buffer *frame = &terminal->frame;
    const char *at = text, *end = text + size;
    buffer_clear(frame);
    buffer_string(frame, "\x1b[H");
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        buffer_append(frame, at, (size_t)((line_end ? line_end : end) - at));
        buffer_string(frame, "\x1b[K"); // removes the rest of a longer line that stood there
        if (!line_end) break;
        buffer_byte(frame, '\n'); // the terminal adds the carriage return
        at = line_end + 1;
    }
    buffer_string(frame, "\x1b[J");
    fwrite(frame->data, 1, frame->size, stdout);
    fflush(stdout);
}

void terminal_fit(struct buffer *out, size_t start, int columns) {
    int used = 0;
    size_t at = start;
    while (at < out->size && used < columns) {
        size_t length = text_utf8_length((const char *)out->data + at, out->size - at);
        at += length ? length : 1;
        used++;
    }
    out->size = at;
    for (; used < columns; used++) buffer_byte(out, ' ');
}

void terminal_put_text(struct buffer *out, const char *text) {
    size_t left = strlen(text);
    while (left) {
        size_t length = text_utf8_length(text, left);
        if (!length || text_is_control(text, length)) {
            buffer_byte(out, '?');
            length = length ? length : 1;
        } else {
            buffer_append(out, text, length);
        }
        text += length;
        left -= length;
    }
}
