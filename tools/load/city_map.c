#include "tools/load/city_map.h"

#include <math.h>
#include <stddef.h>

#include "base/config.h"
#include "tools/load/streets.h"

enum { ROUND_POINTS = 96, POND_POINTS = 24 };

/* Lines are straight between points of the map, and bent in truth: with points that near they are apart by three metres at most. */
enum { STEP_M = 320, LAND_M = 32000 /* from the centre to the map's end */ };

struct area {
    int west, east, south, north; /* columns and rows around it */
    const char *name;
};

/* Their streets are paths. */
static const struct area PARKS[] = {
    {-8, -3, 3, 7, "Great Common"},
    {2, 5, -6, -3, "Lime Gardens"},
    {8, 12, 5, 8, "Orchard Park"},
    {-15, -11, -9, -5, "Swan Park"},
    {12, 16, -12, -9, "Beacon Hill"},
    {-4, -1, -16, -13, "Botanic Garden"},
    {-20, -16, 9, 13, "Fox Wood"},
    {4, 7, 14, 18, "Northfield Park"},
    {18, 22, 2, 5, "Meadow Park"},
    {-24, -21, -14, -11, "Old Orchards"},
    {20, 23, -20, -17, "Southmoor Park"},
    {-1, 0, 3, 4, ""},
    {3, 4, 10, 11, ""},
    {-11, -10, 1, 2, ""},
    {9, 10, -3, -2, ""},
    {-6, -5, -8, -7, ""},
    {14, 15, 11, 12, ""},
    {-13, -12, 17, 18, ""},
};

struct spot {
    double x, y, radius; /* metres */
    const char *name;
};

static const struct spot WOODS[] = {{-16500, 11500, 3600, "Hollow Forest"}, {15500, 15000, 4200, "Stag Forest"},
                                    {9000, -18500, 4000, "King's Wood"},    {-15500, -15000, 3300, "Ash Heath"},
                                    {21500, -6000, 4300, "East Forest"},    {-22500, -4500, 4500, "Raven Wood"},
                                    {1500, 21000, 4000, "High Wood"},       {-6000, -23000, 4200, "Moss Wood"}};
static const struct spot LAKES[] = {{18500, 5500, 1500, "Far Mere"},
                                    {-9500, 16800, 1300, "Glass Lake"},
                                    {-17500, 3200, 1100, "Mill Lake"},
                                    {3500, -15500, 900, "Heron Lake"}};
static const struct spot DISTRICTS[] = {
    {300, -700, 0, "Old Town"},       {-3300, -1700, 0, "Harbour"},   {4200, 3700, 0, "Lindenfield"},
    {-4300, 5600, 0, "Northgate"},    {1500, 5600, 0, "Hatters Row"}, {5600, -2600, 0, "Eastgate"},
    {-1600, -5800, 0, "Southside"},   {8600, 1800, 0, "Brickworks"},  {-8200, 2600, 0, "Westbrook"},
    {-7200, -6200, 0, "Millstead"},   {5400, -7600, 0, "Kingsmead"},  {700, 9700, 0, "Fairmount"},
    {9000, 7000, 0, "Stonebridge"},   {-6800, 9000, 0, "Larkhill"},   {9900, -6400, 0, "Thornbury"},
    {-3800, -10000, 0, "Lower Field"}};

struct drawing {
    struct buffer *out;
    bool more_features, more_points;
};

static void point(struct drawing *drawing, struct plan_point place) {
    struct geo_point at = streets_ground(place);
    buffer_format(drawing->out, "%s[%.5f,%.5f]", drawing->more_points ? "," : "", at.lng / 1e7, at.lat / 1e7);
    drawing->more_points = true;
}

/* tag: as "natural":"water". */
static void begin(struct drawing *drawing, const char *tag, const char *name, const char *geometry) {
    buffer_format(drawing->out, "%s\n{\"type\":\"Feature\",\"properties\":{%s", drawing->more_features ? "," : "", tag);
    if (*name) buffer_format(drawing->out, ",\"name\":\"%s\"", name);
    buffer_format(drawing->out, "},\"geometry\":{\"type\":\"%s\",\"coordinates\":", geometry);
    drawing->more_features = true;
    drawing->more_points = false;
}

static void end(struct drawing *drawing, const char *brackets) { buffer_format(drawing->out, "%s}}", brackets); }

/* From the one place, which is left out, to the other one. */
static void straight(struct drawing *drawing, struct plan_point from, struct plan_point to) {
    int steps = (int)ceil(hypot(to.x - from.x, to.y - from.y) / STEP_M);
    for (int i = 1; i <= steps; i++)
        point(drawing, (struct plan_point){from.x + (to.x - from.x) * i / steps, from.y + (to.y - from.y) * i / steps});
}

static void box(struct drawing *drawing, const char *tag, const char *name, const double west_south_east_north[4]) {
    const double *at = west_south_east_north;
    const struct plan_point corners[] = {
        {at[0], at[1]}, {at[2], at[1]}, {at[2], at[3]}, {at[0], at[3]}, {at[0], at[1]}};
    begin(drawing, tag, name, "Polygon");
    buffer_string(drawing->out, "[[");
    point(drawing, corners[0]);
    for (size_t i = 1; i < ARRAY_SIZE(corners); i++) straight(drawing, corners[i - 1], corners[i]);
    end(drawing, "]]");
}

/* waves: how far the rim strays from the circle, as a part of its radius. */
static void blob(struct drawing *drawing, const char *tag, const struct spot *spot, double waves, int points) {
    begin(drawing, tag, spot->name, "Polygon");
    buffer_string(drawing->out, "[[");
    for (int i = 0; i <= points; i++) {
        double angle = 2 * M_PI * (i % points) / points, other = spot->x / 700 + spot->y / 900;
        double radius =
            spot->radius *
            (1 + waves * (0.5 * sin(3 * angle + other) + 0.3 * sin(5 * angle - other) + 0.2 * sin(8 * angle)));
        point(drawing, (struct plan_point){spot->x + radius * cos(angle), spot->y + radius * sin(angle)});
    }
    end(drawing, "]]");
}

static void ring(struct drawing *drawing, const char *tag, double radius) {
    begin(drawing, tag, "", "LineString");
    buffer_string(drawing->out, "[");
    int points = (int)(2 * M_PI * radius / STEP_M);
    for (int i = 0; i <= points; i++) {
        double angle = 2 * M_PI * (i % points) / points;
        point(drawing, (struct plan_point){radius * cos(angle), radius * sin(angle)});
    }
    end(drawing, "]");
}

/* ---- water ---- */

/* Wider in the west, where the harbour is; never as wide as what is between the streets on its banks. */
static double river_half_width(double x) { return 95 + 80 * exp(-pow((x + 3600) / 900, 2)); }
static double river_middle(double x) { return STREETS_RIVER_M / 2.0 + 20 * sin(x / 700); }

static void river(struct drawing *drawing) {
    begin(drawing, "\"natural\":\"water\",\"water\":\"river\"", "Arle", "Polygon");
    buffer_string(drawing->out, "[[");
    for (int x = -LAND_M; x <= LAND_M; x += STEP_M)
        point(drawing, (struct plan_point){x, river_middle(x) - river_half_width(x)});
    for (int x = LAND_M; x >= -LAND_M; x -= STEP_M)
        point(drawing, (struct plan_point){x, river_middle(x) + river_half_width(x)});
    point(drawing, (struct plan_point){-LAND_M, river_middle(-LAND_M) - river_half_width(-LAND_M)});
    end(drawing, "]]");
}

/* Inside one block of a park that has several, so that no path leads through it. */
static void pond(struct drawing *drawing, const struct area *park) {
    if (park->east - park->west < 3) return;
    double west = streets_column(park->west + 1), east = streets_column(park->west + 2);
    double south = streets_row(park->south + 1), north = streets_row(park->south + 2);
    struct spot spot = {(west + east) / 2, (south + north) / 2, fmin(east - west, north - south) * 0.36, ""};
    blob(drawing, "\"natural\":\"water\"", &spot, 0.25, POND_POINTS);
}

/* ---- streets ---- */

enum street_kind { NOTHING, PATH, STREET, MAIN };
static const char *const KINDS[] = {
    [PATH] = "\"highway\":\"footway\"",
    [STREET] = "\"highway\":\"residential\"",
    [MAIN] = "\"highway\":\"primary\"",
};

static bool inside(const struct area *park, double column, double row) {
    return column > park->west && column < park->east && row > park->south && row < park->north;
}

/* The kind of a line between two of its crossings; column and row: of the middle between them. */
static enum street_kind kind_between(bool is_column, double column, double row, bool main) {
    if (is_column && row > 0 && row < 1) return main ? MAIN : NOTHING; /* a bridge */
    for (size_t i = 0; i < ARRAY_SIZE(PARKS); i++)
        if (inside(&PARKS[i], column, row)) return PATH;
    return main ? MAIN : STREET;
}

struct street_run {
    struct drawing *drawing;
    enum street_kind kind; /* of the line that is being drawn */
};

static void run_on(struct street_run *run, enum street_kind kind, struct plan_point from, struct plan_point to) {
    if (kind != run->kind) {
        if (run->kind) end(run->drawing, "]");
        run->kind = kind;
        if (!kind) return;
        begin(run->drawing, KINDS[kind], "", "LineString");
        buffer_string(run->drawing->out, "[");
        point(run->drawing, from);
    }
    if (kind) straight(run->drawing, from, to);
}

static struct plan_point on_line(bool is_column, double across, double along) {
    return is_column ? (struct plan_point){across, along} : (struct plan_point){along, across};
}

/* From edge to edge; every other main street leads out of the city. */
static void street(struct drawing *drawing, bool is_column, int number) {
    double across = is_column ? streets_column(number) : streets_row(number);
    if (fabs(across) >= STREETS_EDGE_M) return;
    double edge = sqrt((double)STREETS_EDGE_M * STREETS_EDGE_M - across * across);
    bool main = is_column ? streets_main_column(number) : streets_main_row(number);
    bool leads_out = main && (is_column || number <= 0 ? number : number - 1) % 8 == 0;
    struct street_run run = {.drawing = drawing};
    double last = leads_out ? -LAND_M : -edge;
    int lowest = -STREETS_LINES, highest = STREETS_LINES + !is_column;
    if (is_column) highest++; /* its crossings are rows, and there is one more of those */
    for (int i = lowest; i <= highest + 1; i++) {
        double next = i > highest ? LAND_M : is_column ? streets_row(i) : streets_column(i);
        if (!leads_out) next = fmax(-edge, fmin(edge, next));
        if (next <= last) continue;
        enum street_kind kind =
            is_column ? kind_between(true, number, i - 0.5, main) : kind_between(false, i - 0.5, number, main);
        run_on(&run, kind, on_line(is_column, across, last), on_line(is_column, across, next));
        last = next;
    }
    run_on(&run, NOTHING, on_line(is_column, across, last), on_line(is_column, across, last));
}

static void railway(struct drawing *drawing) {
    static const char RAIL[] = "\"railway\":\"rail\"";
    ring(drawing, RAIL, 4750);
    begin(drawing, RAIL, "", "LineString");
    buffer_string(drawing->out, "[");
    for (int x = -LAND_M; x <= LAND_M; x += STEP_M)
        point(drawing, (struct plan_point){x, 0.55 * x + 900 * sin(x / 3100.0) - 1300});
    end(drawing, "]");
}

void city_map_put(struct buffer *out) {
    struct drawing drawing = {.out = out};
    const double land[4] = {-LAND_M, -LAND_M, LAND_M, LAND_M};
    const struct spot city = {0, 0, STREETS_EDGE_M + 500, ""};
    buffer_string(out, "{\"type\":\"FeatureCollection\",\"features\":[");
    box(&drawing, "\"landuse\":\"farmland\"", "", land);
    blob(&drawing, "\"landuse\":\"residential\"", &city, 0.03, ROUND_POINTS * 4);
    for (size_t i = 0; i < ARRAY_SIZE(WOODS); i++)
        blob(&drawing, "\"natural\":\"wood\"", &WOODS[i], 0.35, ROUND_POINTS);
    for (size_t i = 0; i < ARRAY_SIZE(PARKS); i++) {
        const struct area *park = &PARKS[i];
        box(&drawing, "\"leisure\":\"park\"", park->name,
            (double[]){streets_column(park->west), streets_row(park->south), streets_column(park->east),
                       streets_row(park->north)});
        pond(&drawing, park);
    }
    for (size_t i = 0; i < ARRAY_SIZE(LAKES); i++)
        blob(&drawing, "\"natural\":\"water\"", &LAKES[i], 0.4, ROUND_POINTS);
    river(&drawing);
    railway(&drawing);
    ring(&drawing, "\"highway\":\"trunk\"", STREETS_EDGE_M);
    for (int i = -STREETS_LINES; i <= STREETS_LINES; i++) street(&drawing, true, i);
    for (int i = -STREETS_LINES; i <= STREETS_LINES + 1; i++) street(&drawing, false, i);
    for (size_t i = 0; i < ARRAY_SIZE(DISTRICTS); i++) {
        begin(&drawing, "\"place\":\"suburb\"", DISTRICTS[i].name, "Point");
        point(&drawing, (struct plan_point){DISTRICTS[i].x, DISTRICTS[i].y});
        end(&drawing, "");
    }
    buffer_string(out, "\n]}\n");
}
