/* Arguments of a bench's program: --NAME VALUE, among its words. Header-only, for bench programs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/config.h"
#include "bench/machine.h"

/* TAKE_FILE: one that is written anew. */
enum argument_kind { TAKE_FLAG, TAKE_TEXT, TAKE_INT, TAKE_COUNT, TAKE_LONG, TAKE_SIZE, TAKE_REAL, TAKE_FILE };

struct argument {
    const char *name; /* with its dashes */
    enum argument_kind kind;
    void *value;
};

// clang-format off
#define ARGUMENT(name, value) {name, _Generic((value), bool *: TAKE_FLAG, const char **: TAKE_TEXT, int *: TAKE_INT, \
    unsigned *: TAKE_COUNT, int64_t *: TAKE_LONG, size_t *: TAKE_SIZE, double *: TAKE_REAL, FILE **: TAKE_FILE), value}
// clang-format on

static inline void argument_take(const struct argument *argument, const char *value) {
    switch (argument->kind) {
    case TAKE_FLAG: *(bool *)argument->value = true; break;
    case TAKE_TEXT: *(const char **)argument->value = value; break;
    case TAKE_INT: *(int *)argument->value = atoi(value); break;
    case TAKE_COUNT: *(unsigned *)argument->value = (unsigned)atoi(value); break;
    case TAKE_LONG: *(int64_t *)argument->value = atoll(value); break;
    case TAKE_SIZE: *(size_t *)argument->value = (size_t)atoll(value); break;
    case TAKE_REAL: *(double *)argument->value = atof(value); break;
    case TAKE_FILE:
        if (!(*(FILE **)argument->value = fopen(value, "we"))) bench_die(value, strerror(errno));
    }
}

/* Takes the arguments out of argv, wherever they stand, and returns how many words are left. One that is not known ends the program. */
static inline int arguments_read(int argc, char **argv, const struct argument *known, size_t count) {
    int words = 0;
    for (int i = 0; i < argc; i++) {
        size_t k = 0;
        if (i == 0 || strncmp(argv[i], "--", 2) != 0) {
            argv[words++] = argv[i];
            continue;
        }
        while (k < count && strcmp(argv[i], known[k].name) != 0) k++;
        if (k == count || (known[k].kind != TAKE_FLAG && i + 1 == argc))
            bench_die(argv[i], "no such argument, or no value for it");
        argument_take(&known[k], known[k].kind == TAKE_FLAG ? NULL : argv[++i]);
    }
    return words;
}

/* Numbers with commas between them; returns how many. */
static inline size_t arguments_numbers(const char *text, int64_t *into, size_t most) {
    size_t count = 0;
    for (const char *at = text; at && *at && count < most; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        into[count++] = atoll(at);
    return count;
}
