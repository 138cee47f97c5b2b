/* Folders on the disk. Blocks; any thread. */
#pragma once

#include "base/error.h"

/* Makes the folder and those above it, which only the process's user may enter; those that are there stay as they are. Negative errno with the reason. */
int folders_make(const char *path, struct error *error);
int folders_make_above(const char *path, struct error *error); /* those above it alone */
