/* What every bench prints first: the machine and the versions; how CPU is counted; and how a bench that cannot go on ends. Header-only,
 * for bench programs. */
#pragma once

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Says why on standard error, and ends the program. */
static inline _Noreturn void bench_fail(const char *what) {
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
    exit(1);
}

static inline _Noreturn void bench_die(const char *what, const char *why) {
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
    exit(1);
}

/* A new file in a folder. */
static inline FILE *bench_file(const char *folder, const char *name) {
    char path[PATH_MAX];
    FILE *file = snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path ? fopen(path, "w") : NULL;
    if (!file) bench_die(path, strerror(errno));
    return file;
}

/* A new folder; bench_folder_remove removes it with all that is in it. */
static inline char *bench_folder(void) {
    char *folder = strdup("/tmp/starling-bench-XXXXXX");
    if (!folder || !mkdtemp(folder)) bench_die("a folder", strerror(errno));
    return folder;
}

static inline void bench_folder_remove(char *folder) {
    char command[PATH_MAX];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command)) bench_die(folder, "cannot be removed");
    free(folder);
}

static inline int bench_rising(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Sorts samples, for bench_quantile. */
static inline void bench_sort(double *samples, size_t count) {
    if (count) qsort(samples, count, sizeof *samples, bench_rising);
}

static inline double bench_quantile(const double *sorted, size_t count, double share) {
    return count ? sorted[(size_t)((double)(count - 1) * share)] : 0;
}

/* User and system seconds of this process so far, all threads. */
static inline double bench_cpu_s(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* The largest resident set so far, bytes. */
static inline double bench_peak_rss(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss * 1024;
}

static inline void bench_cpu_model(char *model, size_t size) {
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(model, size, "unknown processor");
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        colon[strcspn(colon, "\n")] = '\0';
        snprintf(model, size, "%s", colon + 2);
        break;
    }
    if (file) fclose(file);
}

/* Prints the line that heads a table, and the members that head its JSON object (without braces, with a trailing comma). */
static inline void bench_print_machine(FILE *table, FILE *json, const char *bench) {
    struct utsname system;
    char model[128];
    bench_cpu_model(model, sizeof model);
    uname(&system);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    fprintf(table, "%s: %s, %ld cores, Linux %s, gcc %s, starling %s\n", bench, model, cores, system.release,
            __VERSION__, STARLING_VERSION);
    if (json)
        fprintf(
            json,
            "\"bench\":\"%s\",\"cpu\":\"%s\",\"cores\":%ld,\"kernel\":\"%s\",\"compiler\":\"%s\",\"version\":\"%s\",",
            bench, model, cores, system.release, __VERSION__, STARLING_VERSION);
}
