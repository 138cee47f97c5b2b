/* Arguments of a bench's loader: --NAME VALUE, after the word that says what is loaded. Header-only, for bench programs. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct argument {
    const char *name;  /* with its dashes */
    int64_t *number;   /* where the value goes; NULL: it is a text */
    const char **text; /* points into argv */
};

/* A name that is not known ends the program. */
static inline void arguments_read(int argc, char **argv, const struct argument *known, size_t count) {
    for (int i = 2; i + 1 < argc; i += 2) {
        size_t k = 0;
        while (k < count && strcmp(argv[i], known[k].name) != 0) k++;
        if (k == count) {
            fprintf(stderr, "bench: %s: there is no such argument\n", argv[i]);
            exit(1);
        }
        if (known[k].text)
            *known[k].text = argv[i + 1];
        else
            *known[k].number = atoll(argv[i + 1]);
    }
}
