/* Runs a fuzz target on files, and on the files of folders: what libFuzzer does with the same arguments, for who has none. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "fuzz.h"

static int replay_file(const char *path) {
    struct buffer input = {0};
    FILE *file = fopen(path, "rbe");
    if (!file) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return -1;
    }
    size_t got;
    do {
        got = fread(buffer_reserve(&input, 65536), 1, 65536, file);
        buffer_commit(&input, got);
    } while (got);
    fclose(file);
    /* In a block of just that size, so that AddressSanitizer sees a read beyond its end. */
    uint8_t *exact = mem_alloc(input.size ? input.size : 1);
    if (input.size) memcpy(exact, input.data, input.size);
    LLVMFuzzerTestOneInput(exact, input.size);
    free(exact);
    buffer_free(&input);
    return 1;
}

/* How many inputs were run; negative: not all could be read. */
static int replay(const char *path) {
    DIR *folder = opendir(path);
    if (!folder) return replay_file(path);
    int count = 0;
    for (const struct dirent *entry; count >= 0 && (entry = readdir(folder));) {
        if (entry->d_name[0] == '.') continue;
        char *inside = mem_format("%s/%s", path, entry->d_name);
        int one = replay_file(inside);
        count = one < 0 ? -1 : count + one;
        free(inside);
    }
    closedir(folder);
    return count;
}

int main(int argc, char **argv) {
    int total = 0;
    for (int i = 1; i < argc; i++) {
        int count = replay(argv[i]);
        if (count < 0) return EXIT_FAILURE;
        total += count;
    }
    printf("%d inputs\n", total);
    return total ? EXIT_SUCCESS : EXIT_FAILURE;
}
