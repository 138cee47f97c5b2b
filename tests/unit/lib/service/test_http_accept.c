/* Accept headers: which media type is chosen. */
#include "service/http_accept.h"
#include "unit/kit/kit.h"

static const char *const OFFERED[] = {"application/json", "text/csv", "application/gpx+xml"};
enum { NONE = -1, JSON, CSV, GPX };

TEST(the_best_is_chosen) {
    static const struct {
        const char *header;
        int chosen;
    } CASES[] = {
        {NULL, JSON},
        {"", JSON},
        {" ", JSON},
        {"*/*", JSON},
        {"application/json", JSON},
        {"text/csv", CSV},
        {"TEXT/CSV", CSV},
        {"text/*", CSV},
        {"application/*", JSON},
        {"application/gpx+xml, text/csv", CSV}, // of equal ones the first that is offered
        {"text/csv;q=0.5,application/gpx+xml", GPX},
        {"text/csv; q=0.5 , application/gpx+xml ; q=0.4", CSV},
        {"text/csv;header=present;q=0.2, */*;q=0.1", CSV},
        {"text/csv;q=0, */*", JSON},
        {"application/json;q=0, */*;q=0.1", CSV},
        {"*/*;q=0.9, application/json;q=0.1, text/*;q=0.2", GPX}, // the most specific range counts, in any order
        {"text/csv;q=0.001", CSV},
        {"text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8", JSON},
        {"text/csv;q=1.000", CSV},
        {"text/html", NONE},
        {"*/*;q=0", NONE},
        {"application/json;q=0", NONE},
        {"application/jso", NONE},
        {"application/jsonx", NONE},
        {"application/", NONE},
        {"*", NONE},
        {",,;", NONE},
        {"text/csv;q=2", NONE},
        {"text/csv;q=", NONE},
        {"text/csv;q=0.5x, application/gpx+xml;q=0.1", GPX},
        {",text/csv,", CSV},
    };
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        print_message("%s\n", CASES[i].header ? CASES[i].header : "none");
        assert_int_equal(http_accept(CASES[i].header, OFFERED, ARRAY_SIZE(OFFERED)), CASES[i].chosen);
    }
}
