/* Files of pairs: two user ids a line, plain or gzip. Reading is cli_read_pairs (cli.h). One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* 1: two ids, divided by blanks or a comma, with or without a comment (#) behind them; 0: a blank line or a comment; -EINVAL: anything
 * else. */
int pairs_parse_line(const char *line, int64_t *a, int64_t *b);

/* As cli_read_pairs, keeping in *share how much of the file is read, 0 to 1 (0 all along where its size is not known). */
int pairs_read(const char *path, double *share, int (*pair)(void *context, int64_t a, int64_t b), void *context,
               struct error *error);

struct pairs_out;

/* Makes or empties the file; compressed when its name ends in .gz. "-": standard output, plain. */
int pairs_out_new(const char *path, struct pairs_out **out, struct error *error);
int pairs_out_put(struct pairs_out *out, int64_t a, int64_t b, struct error *error);
int pairs_out_write(struct pairs_out *out, const void *bytes, size_t size,
                    struct error *error); /* something else, below 2 GiB */
/* Writes the rest, closes and frees; not 0: the file is not whole. NULL is fine. */
int pairs_out_close(struct pairs_out *out, struct error *error);
