/* `starling comments import` and `export`: whole threads, from a file to Kafka and back. Blocking; one thread. Each returns the exit code;
 * argv[0] is "import" or "export". */
#pragma once

struct cli;

int comments_import(struct cli *cli, int argc, char **argv);
int comments_export(struct cli *cli, int argc, char **argv);
