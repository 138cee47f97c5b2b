#include "json/details.h"

#include <errno.h>
#include <math.h>

#include "base/config.h"
#include "base/text.h"

const char *const ACTIVITY_WORDS[] = {"unknown", "still", "walking", "running", "cycling", "driving", "transit", NULL};
const char *const DETAILS_NAMES[DETAILS_MEMBERS] = {"battery", "charging", "speed_mps",
                                                    "course",  "activity", "vertical_accuracy_m"};

enum { ACTIVITIES = 7 };
enum { BATTERY, CHARGING, SPEED, COURSE, ACTIVITY, VERTICAL_ACCURACY };

/* Of the members that are numbers: the greatest value, and how many of ours make 1. */
static const struct scale {
    double greatest;
    int32_t unit;
} SCALES[DETAILS_MEMBERS] = {
    [BATTERY] = {1, 1000}, [SPEED] = {10000, 1000}, [COURSE] = {360, 100}, [VERTICAL_ACCURACY] = {100000, 100}};

static int want_number(const json_t *object, int member, int32_t *value, struct error *error) {
    const struct scale *scale = &SCALES[member];
    double number;
    int code = json_want_real(object, DETAILS_NAMES[member], 0, scale->greatest, &number, error);
    if (code == 0) *value = (int32_t)lround(number * scale->unit);
    return code == -EINVAL ? code : 0;
}

static int want_charging(const json_t *object, int32_t *value, struct error *error) {
    bool charging;
    int code = json_want_bool(object, DETAILS_NAMES[CHARGING], &charging, error);
    if (code == 0) *value = charging;
    return code == -EINVAL ? code : 0;
}

/* `unknown` stands first. */
static int want_activity(const json_t *object, bool later, int32_t *value, struct error *error) {
    const char *text;
    int code = json_want_text(object, DETAILS_NAMES[ACTIVITY], &text, error);
    if (code) return code == -EINVAL ? code : 0;
    *value = text_word(text, ACTIVITY_WORDS);
    if (*value < 0 && later) *value = 0;
    if (*value >= 0) return 0;
    return error_set(error, -EINVAL,
                     "\"activity\" must be still, walking, running, cycling, driving, transit or unknown");
}

static int want_details(const json_t *object, bool later, struct report_details *details, struct error *error) {
    struct report_details read = {DETAILS_NONE};
    int code = want_number(object, BATTERY, &read.battery, error);
    if (!code) code = want_charging(object, &read.charging, error);
    if (!code) code = want_number(object, SPEED, &read.speed, error);
    if (!code) code = want_number(object, COURSE, &read.course, error);
    if (!code) code = want_activity(object, later, &read.activity, error);
    if (!code) code = want_number(object, VERTICAL_ACCURACY, &read.vertical_accuracy, error);
    if (!code) *details = read;
    return code;
}

int json_want_details(const json_t *object, struct report_details *details, struct error *error) {
    return want_details(object, false, details, error);
}

int json_want_peer_details(const json_t *object, struct report_details *details, struct error *error) {
    return want_details(object, true, details, error);
}

static int32_t value_of(const struct report_details *details, int member) {
    const int32_t values[DETAILS_MEMBERS] = {details->battery, details->charging, details->speed,
                                             details->course,  details->activity, details->vertical_accuracy};
    return values[member];
}

bool details_has(const struct report_details *details, int member) { return value_of(details, member) >= 0; }

bool details_given(const struct report_details *details) {
    for (int i = 0; i < DETAILS_MEMBERS; i++)
        if (details_has(details, i)) return true;
    return false;
}

bool details_same(const struct report_details *a, const struct report_details *b) {
    for (int i = 0; i < DETAILS_MEMBERS; i++)
        if (value_of(a, i) != value_of(b, i)) return false;
    return true;
}

bool details_valid(const struct report_details *details) {
    for (int i = 0; i < DETAILS_MEMBERS; i++) {
        double greatest = i == CHARGING ? 1 : i == ACTIVITY ? ACTIVITIES - 1 : SCALES[i].greatest * SCALES[i].unit;
        int32_t value = value_of(details, i);
        if (value < -1 || value > greatest) return false;
    }
    return true;
}

/* Without zeros at the end: 0.57. */
static void put_scaled(struct buffer *out, int32_t value, int32_t unit) {
    text_int(out, value / unit);
    int32_t rest = value % unit;
    if (rest) buffer_byte(out, '.');
    while (rest) {
        unit /= 10;
        buffer_byte(out, (uint8_t)('0' + rest / unit));
        rest %= unit;
    }
}

static void put_value(struct buffer *out, int member, int32_t value, const char *quote) {
    if (member == CHARGING)
        buffer_string(out, value ? "true" : "false");
    else if (member == ACTIVITY)
        buffer_format(out, "%s%s%s", quote, ACTIVITY_WORDS[value < ACTIVITIES ? value : 0], quote);
    else
        put_scaled(out, value, SCALES[member].unit);
}

void json_member_details(struct buffer *out, const struct report_details *details) {
    for (int i = 0; i < DETAILS_MEMBERS; i++) {
        int32_t value = value_of(details, i);
        if (value < 0) continue;
        buffer_format(out, ",\"%s\":", DETAILS_NAMES[i]);
        put_value(out, i, value, "\"");
    }
}

void details_put(struct buffer *out, const struct report_details *details, int member) {
    int32_t value = value_of(details, member);
    if (value >= 0) put_value(out, member, value, "");
}
