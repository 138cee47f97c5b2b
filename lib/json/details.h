/* What a report may say beside the place: {"battery":0.57,"charging":true,"speed_mps":1.4,"course":270,"activity":"walking",
 * "vertical_accuracy_m":3}, each if the phone knows it. Pure; any thread. */
#pragma once

#include "json/json.h"

struct report_details {        /* -1: not said */
    int32_t battery;           /* thousandths of a full one */
    int32_t charging;          /* 0: no, 1: yes */
    int32_t speed;             /* mm/s */
    int32_t course;            /* hundredths of a degree, clockwise from north */
    int32_t vertical_accuracy; /* cm */
    int32_t activity;          /* of ACTIVITY_WORDS; a number behind them is a later release's, and unknown */
};

/* Members of the same names in records and rows: for initialisers, and from one struct to another. */
#define DETAILS_NONE .battery = -1, .charging = -1, .speed = -1, .course = -1, .vertical_accuracy = -1, .activity = -1
#define DETAILS_OF(from)                                                                                               \
    .battery = (from)->battery, .charging = (from)->charging, .speed = (from)->speed, .course = (from)->course,        \
    .vertical_accuracy = (from)->vertical_accuracy, .activity = (from)->activity

extern const char *const ACTIVITY_WORDS[]; /* NULL behind the last */

/* Of an object with whatever else; 0, or -EINVAL with the reason in error. */
int json_want_details(const json_t *object, struct report_details *details, struct error *error);
/* The same of what another process has written, which may be a later release's: an activity that this one has no word for is unknown. */
int json_want_peer_details(const json_t *object, struct report_details *details, struct error *error);

bool details_given(const struct report_details *details);
bool details_same(const struct report_details *a, const struct report_details *b);
bool details_valid(const struct report_details *details); /* in the bounds of json_want_details */

void json_member_details(struct buffer *out, const struct report_details *details); /* ,"battery":0.57 and so on */

/* One after the other: their names, whether one is there, and its value as text, which is empty if it is not. */
enum { DETAILS_MEMBERS = 6 };
extern const char *const DETAILS_NAMES[DETAILS_MEMBERS];
bool details_has(const struct report_details *details, int member);
void details_put(struct buffer *out, const struct report_details *details, int member);
