/* Finds subjects that very many read just now: counts reads of each in a window that slides by the second, and keeps those with the
 * highest counts in a heap. Memory is bounded: of subjects that there is no room for, those with the fewest reads are forgotten. One
 * thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { HOT_WINDOW_S = 10, HOT_TRACKED = 1024, HOT_TOP = 32 };

struct hot_subjects;

struct hot_subjects *hot_subjects_new(int64_t reads); /* of a hot subject within the window at least */
void hot_subjects_free(struct hot_subjects *hot);     /* NULL is fine */

/* Counts a read. True: the subject is hot, and one of the HOT_TOP hottest. now_ms never falls. */
bool hot_subjects_read(struct hot_subjects *hot, const char *subject, int64_t now_ms);

/* The subject is hot. Counts no read. */
bool hot_subjects_is(struct hot_subjects *hot, const char *subject, int64_t now_ms);
