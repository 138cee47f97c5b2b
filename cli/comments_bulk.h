/* `starling comments import` and `export`: whole threads, from a file to Kafka and back. Blocking; one thread. Each returns the exit code;
 * argv[0] is "import" or "export". */
#pragma once

int comments_import(int argc, char **argv);
int comments_export(int argc, char **argv);
