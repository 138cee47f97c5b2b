#include "fanout/comments/settings.h"

#include <stddef.h>

#define AT(member) offsetof(struct comments_screen_settings, member)

static const struct config_property PROPERTIES[] = {
    {"edge.comments.subjects", CONFIG_INT, AT(subjects), "20", .min = 1, .max = 1000,
     .doc = "Subjects whose comments one session may watch at once. A further one is refused with too_many_subjects."},
    {"edge.comments.replay.kb", CONFIG_INT, AT(replay_kb), "64", .max = 65536,
     .doc =
         "Latest changes of each watched thread that an edge keeps, in KiB: a phone whose page is a little older is told "
         "them, and need not read its page again. 32 MiB at most for all threads together."},
};

static struct comments_screen_settings values;

const struct config_section COMMENTS_SCREEN_SECTION = {"Edge: comments (starling-fanout)", PROPERTIES,
                                                       ARRAY_SIZE(PROPERTIES), &values};
