/* The cells in which strangers see each other: a geohash grid, which never moves. With 5 characters a cell is 0.044 degrees high and wide.
 *
 *     row 1 |   |   |   |      A cell is its row and its column. Columns go round the Earth, rows end at the poles.
 *     row 0 |   |   |   |
 *             0   1   2
 *
 * All numbers are exact. Pure; any thread.
 */
#pragma once

#include "geo/geo.h"

enum { GRID_AROUND = 9, GRID_PRECISION_MIN = 2, GRID_PRECISION_MAX = 7 };
#define GRID_NOWHERE UINT64_MAX /* no cell */

struct grid {
    int row_bits, column_bits;
};

struct grid grid_of(int precision); /* the length of a geohash, from GRID_PRECISION_MIN to _MAX */

uint64_t grid_cell(const struct grid *grid, struct geo_point point);
struct geo_point grid_centre(const struct grid *grid, uint64_t cell);
double grid_height(const struct grid *grid); /* of a cell, degrees */
double grid_width(const struct grid *grid);

/* The cell and its neighbours: nine, or six at a pole. Returns how many. */
size_t grid_around(const struct grid *grid, uint64_t cell, uint64_t cells[GRID_AROUND]);

/* The point is a good way outside of the cell: more than an eighth of its height north or south, or of its width east or west. */
bool grid_well_outside(const struct grid *grid, uint64_t cell, struct geo_point point);
