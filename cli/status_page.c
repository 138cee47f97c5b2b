#include "cli/status_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/config.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/status_front.h"
#include "cli/terminal.h"

enum { GAP = 2, NOTE_ROOM = 30, ROWS_MIN = 3, LINES_AROUND = 2 /* heading, titles */ };

static const char BOLD[] = "\x1b[1m", PLAIN[] = "\x1b[0m";
static const char *const STATE_NAMES[] = {[DAEMON_UNKNOWN] = "asked",
                                          [DAEMON_AWAY] = "away",
                                          [DAEMON_NOT_READY] = "not ready",
                                          [DAEMON_DRAINING] = "draining",
                                          [DAEMON_READY] = "ready"};
static const char *const STATE_COLOURS[] = {[DAEMON_UNKNOWN] = "",
                                            [DAEMON_AWAY] = "\x1b[31m",
                                            [DAEMON_NOT_READY] = "\x1b[33m",
                                            [DAEMON_DRAINING] = "\x1b[33m",
                                            [DAEMON_READY] = "\x1b[32m"};

/* ---- cells ---- */

/* Four characters or less, if it can be: "7", "950", "12.3k", "1.2M". */
static void put_amount(struct buffer *out, double value, double step, const char *units) {
    size_t unit = 0;
    while (value >= step && units[unit + 1]) {
        value /= step;
        unit++;
    }
    buffer_format(out, value < 10 && value != floor(value) ? "%.1f" : "%.0f", value);
    if (units[unit] != ' ') buffer_byte(out, (uint8_t)units[unit]);
}

/* "42s", "5m", "3h", "12d" */
static void put_span(struct buffer *out, double seconds) {
    static const struct {
        double seconds;
        char unit;
    } UNITS[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
    size_t unit = 0;
    while (unit + 1 < ARRAY_SIZE(UNITS) && seconds < 2 * UNITS[unit].seconds) unit++;
    buffer_format(out, "%.0f%c", floor(seconds > 0 ? seconds / UNITS[unit].seconds : 0), UNITS[unit].unit);
}

static void put_name(struct buffer *out, const struct daemon_view *view, const struct status_page *page) {
    terminal_put_text(out, *view->name ? view->name : "?");
}

static void put_address(struct buffer *out, const struct daemon_view *view, const struct status_page *page) {
    terminal_put_text(out, view->address);
}

static void put_state(struct buffer *out, const struct daemon_view *view, const struct status_page *page) {
    buffer_string(out, STATE_NAMES[view->state]);
}

static void put_up(struct buffer *out, const struct daemon_view *view, const struct status_page *page) {
    if (!isnan(view->numbers.started_s)) put_span(out, (double)page->now_ms / 1000 - view->numbers.started_s);
}

static void put_restarts(struct buffer *out, const struct daemon_view *view, const struct status_page *page) {
    buffer_format(out, "%d", view->restarts);
}

/* "4", and "4+8" with 8 that it stands by for. */
static void put_partitions(struct buffer *out, const struct daemon_view *view, const struct status_page *page) {
    if (isnan(view->numbers.owned)) return;
    buffer_format(out, "%.0f", view->numbers.owned);
    if (view->numbers.standby > 0) buffer_format(out, "+%.0f", view->numbers.standby);
}

static void put_lag(struct buffer *out, const struct daemon_view *view, const struct status_page *page) {
    double lag = view->numbers.lag;
    if (isnan(lag)) return;
    if (view->lag_in_records) {
        put_amount(out, lag, 1000, " kMG");
        buffer_string(out, " rec");
    } else {
        buffer_format(out, lag < 10 ? "%.1f s" : "%.0f s", lag);
    }
}

static void put_rate(struct buffer *out, const struct daemon_view *view, const struct status_page *page) {
    if (!isnan(view->records_per_s)) put_amount(out, round(view->records_per_s * 10) / 10, 1000, " kMG");
}

static void put_sessions(struct buffer *out, const struct daemon_view *view, const struct status_page *page) {
    if (!isnan(view->numbers.sessions)) buffer_format(out, "%.0f", view->numbers.sessions);
}

static void put_cpu(struct buffer *out, const struct daemon_view *view, const struct status_page *page) {
    if (!isnan(view->cpu)) buffer_format(out, "%.0f%%", view->cpu * 100);
}

static void put_memory(struct buffer *out, const struct daemon_view *view, const struct status_page *page) {
    if (!isnan(view->numbers.memory_bytes)) put_amount(out, view->numbers.memory_bytes, 1024, " KMGT");
}

static void put_version(struct buffer *out, const struct daemon_view *view, const struct status_page *page) {
    terminal_put_text(out, view->version);
}

static void put_note(struct buffer *out, const struct daemon_view *view, const struct status_page *page) {
    terminal_put_text(out, view->note);
}

enum { STATE_COLUMN = 2, NOTE_COLUMN = 12, COLUMNS };

static const struct daemon_column {
    const char *title;
    void (*put)(struct buffer *out, const struct daemon_view *view, const struct status_page *page);
    int width;   /* at least: columns that change with each number are hard to read */
    int needed;  /* a narrow page leaves out the lowest first; 0: never */
    bool number; /* stands to the right, and "-" without one */
} TABLE[COLUMNS] = {
    {"DAEMON", put_name, 6, 0, false}, {"ADDRESS", put_address, 7, 11, false}, {"STATE", put_state, 9, 0, false},
    {"UP", put_up, 3, 5, true},        {"RESTARTS", put_restarts, 8, 1, true}, {"PARTS", put_partitions, 5, 7, true},
    {"LAG", put_lag, 7, 10, true},     {"REC/S", put_rate, 5, 9, true},        {"SESSIONS", put_sessions, 8, 3, true},
    {"CPU", put_cpu, 4, 6, true},      {"MEMORY", put_memory, 6, 4, true},     {"VERSION", put_version, 7, 2, false},
    {"NOTE", put_note, 0, 0, false},
};

/* ---- the table ---- */

struct daemon_table {
    const struct status_page *page;
    const struct daemon_view **views; /* sorted */
    size_t count, shown;
    int widths[COLUMNS];
    bool left_out[COLUMNS];
    struct buffer cell; /* scratch */
};

static const struct buffer *cell_of(struct daemon_table *table, size_t row, int column) {
    buffer_clear(&table->cell);
    TABLE[column].put(&table->cell, table->views[row], table->page);
    if (!table->cell.size && TABLE[column].number) buffer_byte(&table->cell, '-');
    return &table->cell;
}

static int total_width(const struct daemon_table *table) {
    int total = -GAP;
    for (int c = 0; c < COLUMNS; c++)
        if (!table->left_out[c] && table->widths[c]) total += table->widths[c] + GAP;
    return total;
}

static void measure_columns(struct daemon_table *table) {
    for (int c = 0; c < COLUMNS; c++) {
        int width = TABLE[c].width;
        for (size_t row = 0; row < table->shown; row++) {
            const struct buffer *text = cell_of(table, row, c);
            int cell = (int)text_utf8_points((const char *)text->data, text->size);
            if (cell > width) width = cell;
        }
        table->widths[c] = width;
    }
    // A long note is cut at the terminal's edge, rather than costing the numbers.
    if (table->widths[NOTE_COLUMN] > NOTE_ROOM) table->widths[NOTE_COLUMN] = NOTE_ROOM;
}

/* The column that the page needs least; -1: none can be left out any more. */
static int least_needed(const struct daemon_table *table) {
    int least = -1;
    for (int c = 0; c < COLUMNS; c++) {
        if (table->left_out[c] || !TABLE[c].needed) continue;
        if (least < 0 || TABLE[c].needed < TABLE[least].needed) least = c;
    }
    return least;
}

static void leave_out_columns(struct daemon_table *table) {
    int column;
    while (total_width(table) >= table->page->columns && (column = least_needed(table)) >= 0)
        table->left_out[column] = true;
}

/* ---- lines ---- */

/* Appends a cell at `used` characters of the line, and returns how many are used behind it. */
static int put_cell(struct buffer *out, const struct daemon_table *table, int column, const struct buffer *text,
                    const char *colour, int used) {
    int room = table->page->columns - 1 - used, width = table->widths[column], gap = used ? GAP : 0;
    int size = (int)text_utf8_points((const char *)text->data, text->size);
    if (column == NOTE_COLUMN || size > width) width = size;
    if (room <= gap) return used;
    for (int i = 0; i < gap; i++) buffer_byte(out, ' ');
    if (width > room - gap) width = room - gap;
    if (*colour) buffer_string(out, colour);
    for (int i = size; TABLE[column].number && i < width; i++) buffer_byte(out, ' ');
    int cell = TABLE[column].number && size < width ? size : width;
    size_t start = out->size;
    buffer_append(out, text->data, text->size);
    terminal_fit(out, start, cell);
    if (*colour) buffer_string(out, PLAIN);
    return used + gap + width;
}

static void end_line(struct buffer *out) {
    while (out->size && out->data[out->size - 1] == ' ') out->size--;
    buffer_byte(out, '\n');
}

static void put_titles(struct buffer *out, struct daemon_table *table) {
    for (int c = 0, used = 0; c < COLUMNS; c++) {
        if (table->left_out[c] || !table->widths[c]) continue;
        buffer_clear(&table->cell);
        buffer_string(&table->cell, TABLE[c].title);
        used = put_cell(out, table, c, &table->cell, table->page->colours ? BOLD : "", used);
    }
    end_line(out);
}

static void put_daemon(struct buffer *out, struct daemon_table *table, size_t row) {
    const char *colour = table->page->colours ? STATE_COLOURS[table->views[row]->state] : "";
    for (int c = 0, used = 0; c < COLUMNS; c++) {
        if (table->left_out[c] || !table->widths[c]) continue;
        used = put_cell(out, table, c, cell_of(table, row, c), c == STATE_COLUMN ? colour : "", used);
    }
    end_line(out);
}

/* A line without escape sequences, of plain letters. */
static void cut_line(struct buffer *out, size_t start, const struct status_page *page) {
    size_t room = (size_t)page->columns - 1;
    if (out->size - start > room) out->size = start + room;
}

/* "3 daemons: 2 ready, 1 away   gateways 1 of 1, edges 1 of 1, 300 sessions   12:00:00 UTC" */
static void put_heading(struct buffer *out, struct daemon_table *table) {
    size_t counts[ARRAY_SIZE(STATE_NAMES)] = {0}, start = out->size;
    struct tm day;
    time_t now = (time_t)(table->page->now_ms / 1000);
    const char *before = ": ";
    for (size_t i = 0; i < table->count; i++) counts[table->views[i]->state]++;
    buffer_format(out, "%zu daemon%s", table->count, table->count == 1 ? "" : "s");
    for (size_t state = ARRAY_SIZE(STATE_NAMES); state-- > 0;) {
        if (!counts[state]) continue;
        buffer_format(out, "%s%zu %s", before, counts[state], STATE_NAMES[state]);
        before = ", ";
    }
    struct status_front front = status_front_of(table->views, table->count, true);
    buffer_string(out, "   ");
    status_front_summary(out, &front);
    gmtime_r(&now, &day);
    buffer_format(out, "   %02d:%02d:%02d UTC", day.tm_hour, day.tm_min, day.tm_sec);
    if (table->page->hint) buffer_format(out, "   %s", table->page->hint);
    cut_line(out, start, table->page);
    end_line(out);
}

/* ---- order ---- */

static int by_place(const void *left, const void *right) {
    const struct daemon_view *a = *(const struct daemon_view *const *)left;
    const struct daemon_view *b = *(const struct daemon_view *const *)right;
    return a->kind != b->kind ? (a->kind < b->kind ? -1 : 1) : strcmp(a->address, b->address);
}

static int by_trouble(const void *left, const void *right) {
    const struct daemon_view *a = *(const struct daemon_view *const *)left;
    const struct daemon_view *b = *(const struct daemon_view *const *)right;
    return a->state != b->state ? (a->state < b->state ? -1 : 1) : by_place(left, right);
}

void status_page(struct buffer *out, const struct daemon_view *const *views, size_t count,
                 const struct status_page *page) {
    size_t room = (size_t)(page->rows > ROWS_MIN ? page->rows : ROWS_MIN) - LINES_AROUND;
    struct daemon_table table = {
        .page = page, .views = mem_alloc((count + 1) * sizeof *table.views), .count = count, .shown = count};
    for (size_t i = 0; i < count; i++) table.views[i] = views[i];
    if (count > room) table.shown = room - 1; // the last line counts the others
    qsort(table.views, count, sizeof *table.views, table.shown < count ? by_trouble : by_place);
    measure_columns(&table);
    leave_out_columns(&table);
    put_heading(out, &table);
    put_titles(out, &table);
    for (size_t row = 0; row < table.shown; row++) put_daemon(out, &table, row);
    size_t last = out->size;
    if (table.shown < count) buffer_format(out, "and %zu more", count - table.shown);
    cut_line(out, last, page);
    if (table.shown == count) out->size--; // the last line has no end: at the bottom of a terminal it would scroll
    free(table.views);
    buffer_free(&table.cell);
}
