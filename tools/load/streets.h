/* The streets of the invented city, always the same: columns and rows, close together in the centre, and a river between row 0 and row 1
 * that only main columns cross. The plan is straight, in metres east (x) and north (y) of the centre; the ground is the plan, bent. Pure. */
#pragma once

#include <stdbool.h>

#include "geo/geo.h"

enum {
    STREETS_LINES = 33,      /* columns are -33 to 33, rows -33 to 34 */
    STREETS_EDGE_M = 12900,  /* from the centre to where streets end */
    STREETS_HOMES_M = 12000, /* and to where nobody lives any more */
    STREETS_RIVER_M = 420    /* from row 0 to row 1 */
};

struct plan_point {
    double x, y;
};

double streets_column(int column); /* its x */
double streets_row(int row);       /* its y */
bool streets_main_column(int column);
bool streets_main_row(int row);

/* The place on a column, never in the river, that is near a place of the plan. */
struct plan_point streets_near(struct plan_point place);

/* The place after that part (0 to 1) of the way along streets between two places that streets_near returned. */
struct plan_point streets_between(struct plan_point from, struct plan_point to, double part);

struct geo_point streets_ground(struct plan_point place);
