/* Cursors of pages: a place in a sorted list as text, such as "floor-12", "newest-3" or "heat-1760000000000-99". Pure; any thread. */
#pragma once

#include "comments/threads.h"

enum { PLACE_TEXT_SIZE = 64 };

bool place_sort_of(const char *name, enum threads_sort *sort); /* "floor", "newest", "heat" */

/* text NULL: the beginning. False: the text is no cursor of that sorting. */
bool place_read(const char *text, enum threads_sort sort, struct threads_place *place);
void place_write(const struct threads_place *place, char text[PLACE_TEXT_SIZE]);
