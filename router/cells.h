/* Sets of small numbers by cell: the users who are there. A set of a million changes one number. Pure but for allocation; one thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct cells;

struct cells *cells_new(void);
void cells_free(struct cells *cells); /* NULL is fine */

/* Puts a member at the end of a cell; returns its place there. */
uint32_t cells_add(struct cells *cells, uint64_t cell, uint32_t member);

/* Takes the member at that place out. The cell's last member moves to the place: returns that one, or the same member if it was the last. */
uint32_t cells_remove(struct cells *cells, uint64_t cell, uint32_t place);

/* The members of a cell, valid until the next change; NULL and 0: none. */
const uint32_t *cells_members(const struct cells *cells, uint64_t cell, size_t *count);
