#include "event/topics.h"

#define HOUR_MS INT64_C(3600000)
#define DAY_MS INT64_C(86400000)
#define WEEK_MS (7 * DAY_MS)

enum { USER_BYTES = 8, DELIVERIES_MS = 600000 };

#define NO_VALUES VALUES(NULL) /* the key says everything */
#define VALUES(...)                                                                                                    \
    { __VA_ARGS__ }
#define TOPIC(id, text, in, becomes, kept_ms, kinds, ...)                                                              \
    const struct topic TOPIC_##id = {.name = text,                                                                     \
                                     .space = TOPIC_SPACE_##in,                                                        \
                                     .cleanup = TOPIC_##becomes,                                                       \
                                     .retention_ms = kept_ms,                                                          \
                                     .values = kinds,                                                                  \
                                     ##__VA_ARGS__};
#include "event/topics.def"
#undef TOPIC

#define TOPIC(id, ...) &TOPIC_##id,
static const struct topic *const ALL[] = {
#include "event/topics.def"
};

const struct topic_list TOPICS_ALL = {ALL, sizeof ALL / sizeof *ALL};
