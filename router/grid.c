#include "router/grid.h"

enum { LAT_SPAN = 1800000000, EIGHTHS = 8, MARGIN = 1 };
#define LNG_SPAN INT64_C(3600000000)

static int64_t rows_of(const struct grid *grid) { return INT64_C(1) << grid->row_bits; }
static int64_t columns_of(const struct grid *grid) { return INT64_C(1) << grid->column_bits; }
static uint64_t cell_at(int64_t row, int64_t column) { return (uint64_t)row << 32 | (uint64_t)column; }
static int64_t row_of(uint64_t cell) { return (int64_t)(cell >> 32); }
static int64_t column_of(uint64_t cell) { return (int64_t)(cell & UINT32_MAX); }

/* In which of `count` equal parts of the span the number lies; its upper end counts to the last one. */
static int64_t part_of(int64_t number, int64_t span, int64_t count) {
    int64_t part = number * count / span;
    return part < count ? part : count - 1;
}

struct grid grid_of(int precision) {
    // A geohash takes bits of longitude and latitude by turns, longitude first, five a character.
    return (struct grid){.row_bits = precision * 5 / 2, .column_bits = (precision * 5 + 1) / 2};
}

uint64_t grid_cell(const struct grid *grid, struct geo_point point) {
    return cell_at(part_of((int64_t)point.lat + LAT_SPAN / 2, LAT_SPAN, rows_of(grid)),
                   part_of((int64_t)point.lng + LNG_SPAN / 2, LNG_SPAN, columns_of(grid)));
}

struct geo_point grid_centre(const struct grid *grid, uint64_t cell) {
    return (struct geo_point){
        .lat = (int32_t)((2 * row_of(cell) + 1) * LAT_SPAN / (2 * rows_of(grid)) - LAT_SPAN / 2),
        .lng = (int32_t)((2 * column_of(cell) + 1) * LNG_SPAN / (2 * columns_of(grid)) - LNG_SPAN / 2),
    };
}

double grid_height(const struct grid *grid) { return 180.0 / (double)rows_of(grid); }
double grid_width(const struct grid *grid) { return 360.0 / (double)columns_of(grid); }

size_t grid_around(const struct grid *grid, uint64_t cell, uint64_t cells[GRID_AROUND]) {
    size_t count = 0;
    for (int64_t row = row_of(cell) - 1; row <= row_of(cell) + 1; row++) {
        if (row < 0 || row >= rows_of(grid)) continue;
        for (int64_t step = -1; step <= 1; step++)
            cells[count++] = cell_at(row, (column_of(cell) + step) & (columns_of(grid) - 1));
    }
    return count;
}

bool grid_well_outside(const struct grid *grid, uint64_t cell, struct geo_point point) {
    enum { INSIDE = EIGHTHS + 2 * MARGIN };
    int64_t rows = rows_of(grid) * EIGHTHS, columns = columns_of(grid) * EIGHTHS;
    int64_t north = part_of((int64_t)point.lat + LAT_SPAN / 2, LAT_SPAN, rows) - row_of(cell) * EIGHTHS + MARGIN;
    int64_t east = part_of((int64_t)point.lng + LNG_SPAN / 2, LNG_SPAN, columns) - column_of(cell) * EIGHTHS + MARGIN;
    return north < 0 || north >= INSIDE || (east & (columns - 1)) >= INSIDE;
}
