#include "subjects/words.h"

#include <stddef.h>

const char *const SUBJECT_WHO_MAY[] = {"everyone", "followers", "friends", "nobody", NULL};
const char *const SUBJECT_REVIEWS[] = {"after", "before", NULL};
const char *const COMMENT_STATES[] = {"visible", "held", "hidden", "deleted", NULL};
