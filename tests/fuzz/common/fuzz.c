#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

void fuzz_failed(const char *condition, const char *file, int line) {
    fprintf(stderr, "%s:%d: %s does not hold\n", file, line, condition);
    abort();
}
