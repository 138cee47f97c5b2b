/* The words for what lies under subjects, as APIs and files have them, in the order of the enums of all records. NULL ends each list. Any
 * thread. */
#pragma once

extern const char *const SUBJECT_WHO_MAY[]; /* comment: everyone, followers, friends, nobody */
extern const char *const SUBJECT_REVIEWS[]; /* of comments: after they are shown, or before */
extern const char *const COMMENT_STATES[];  /* visible, held, hidden, deleted */
