#include "cli/when.h"

#include <string.h>
#include <time.h>

#include "base/instant.h"

/* Of a number of seconds, minutes, hours or days. */
enum { COUNT_DIGITS = 9 };

/* Of a number that counts milliseconds: smaller ones are seconds, years or dates. */
static const int64_t LEAST_MS = 100000000000;

/* Exactly `count` digits within a range at *at, which moves behind them. */
static bool take_digits(const char **at, int count, int min, int max, int *value) {
    int read = 0;
    for (int i = 0; i < count; i++) {
        char c = (*at)[i];
        if (c < '0' || c > '9') return false;
        read = read * 10 + (c - '0');
    }
    if (read < min || read > max) return false;
    *at += count;
    *value = read;
    return true;
}

static bool take_char(const char **at, char wanted) {
    if (**at != wanted) return false;
    (*at)++;
    return true;
}

/* Days since 1970-01-01; false: no such day. */
static bool days_of(int year, int month, int day, int64_t *days) {
    struct tm tm = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day};
    time_t seconds = timegm(&tm);
    // timegm makes the 3rd of March of the 31st of February.
    if (tm.tm_mday != day) return false;
    *days = (int64_t)seconds / 86400;
    return true;
}

/* HH:MM[:SS[.fraction]] in ms; digits beyond the third of a fraction do not count. */
static bool take_clock(const char **at, int64_t *ms) {
    int hour, minute, second = 0, fraction = 0, scale = 100;
    if (!take_digits(at, 2, 0, 23, &hour) || !take_char(at, ':') || !take_digits(at, 2, 0, 59, &minute)) return false;
    if (take_char(at, ':')) {
        if (!take_digits(at, 2, 0, 59, &second)) return false;
        if (take_char(at, '.')) {
            int digit;
            if (!take_digits(at, 1, 0, 9, &digit)) return false;
            do {
                fraction += digit * scale;
                scale /= 10;
            } while (take_digits(at, 1, 0, 9, &digit));
        }
    }
    *ms = ((hour * INT64_C(60) + minute) * 60 + second) * 1000 + fraction;
    return true;
}

/* Z, +HH:MM, -HH:MM or nothing. */
static bool take_offset(const char **at, int64_t *ms) {
    int hour, minute, sign = **at == '-' ? -1 : 1;
    *ms = 0;
    if (!**at || take_char(at, 'Z')) return true;
    if (!take_char(at, '+') && !take_char(at, '-')) return false;
    if (!take_digits(at, 2, 0, 23, &hour)) return false;
    take_char(at, ':');
    if (!take_digits(at, 2, 0, 59, &minute)) return false;
    *ms = sign * (hour * INT64_C(60) + minute) * 60000;
    return true;
}

/* 2026-01-31 or 20260131, as days since 1970-01-01. */
static bool take_date(const char **at, int64_t *days) {
    int year, month, day;
    if (!take_digits(at, 4, 1970, 9999, &year)) return false;
    bool divided = take_char(at, '-');
    return take_digits(at, 2, 1, 12, &month) && take_char(at, '-') == divided && take_digits(at, 2, 1, 31, &day) &&
           days_of(year, month, day, days);
}

bool when_parse(const char *text, int64_t *ms) {
    const char *at = text;
    int64_t number, days, clock = 0, offset = 0;
    if (cli_int(text, 0, INT64_MAX, &number) && (number == 0 || number >= LEAST_MS)) {
        *ms = number;
        return true;
    }
    if (!take_date(&at, &days)) return false;
    if (*at) {
        if (!take_char(&at, 'T') && !take_char(&at, ' ')) return false;
        if (!take_clock(&at, &clock) || !take_offset(&at, &offset) || *at) return false;
    }
    int64_t result = days * 86400000 + clock - offset;
    if (result < 0) return false;
    *ms = result;
    return true;
}

/* "-90m": now less so much. */
static bool take_back(const char *text, int64_t now_ms, int64_t *ms) {
    static const struct {
        char unit;
        int64_t ms;
    } UNITS[] = {{'s', 1000}, {'m', 60000}, {'h', 3600000}, {'d', 86400000}};
    size_t digits = strspn(text, "0123456789");
    char number[COUNT_DIGITS + 1];
    int64_t count;
    if (!digits || digits > COUNT_DIGITS || !text[digits] || text[digits + 1]) return false;
    memcpy(number, text, digits);
    number[digits] = '\0';
    if (!cli_int(number, 0, INT64_MAX, &count)) return false;
    for (size_t i = 0; i < ARRAY_SIZE(UNITS); i++) {
        if (text[digits] != UNITS[i].unit) continue;
        int64_t result = now_ms - count * UNITS[i].ms;
        if (result < 0) return false;
        *ms = result;
        return true;
    }
    return false;
}

bool when_read(const char *text, int64_t now_ms, int64_t *ms) {
    if (!strcmp(text, "now")) {
        *ms = now_ms;
        return true;
    }
    return *text == '-' ? take_back(text + 1, now_ms, ms) : when_parse(text, ms);
}

int period_read(struct period *period, const struct cli_command *command, int64_t now_ms) {
    static const char EXAMPLES[] = "2026-01-31T12:00, 1790000000000, -1h";
    char from[INSTANT_TEXT_SIZE], to[INSTANT_TEXT_SIZE];
    if (period->last && period->from) return CLI_WRONG(command, "--last is a --from: give one of them");
    if (period->from && !when_read(period->from, now_ms, &period->from_ms))
        return CLI_WRONG(command, "--from %s: must be a time (%s)", period->from, EXAMPLES);
    if (period->to && !when_read(period->to, now_ms, &period->to_ms))
        return CLI_WRONG(command, "--to %s: must be a time (%s)", period->to, EXAMPLES);
    if (period->last && !take_back(period->last, now_ms, &period->from_ms))
        return CLI_WRONG(command, "--last %s: must be a number of s, m, h or d (90s, 30m, 1h, 2d)", period->last);
    if (period->from_ms < period->to_ms) return 0;
    return CLI_WRONG(command, "nothing is from %s to %s: --from must be before --to",
                     instant_format(period->from_ms, from), instant_format(period->to_ms, to));
}
