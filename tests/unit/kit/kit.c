#include "unit/kit/kit.h"

#include <ftw.h>

#include "json/json.h"

enum { TESTS_MAX = 100 };

struct thing {
    void (*free_it)(void *it);
    void *it;
    struct thing *next;
};

static struct {
    struct CMUnitTest tests[TESTS_MAX];
    size_t count;
    void *(*set_up)(void);
    void (*tear_down)(void *made);
    bool once;
    bool beginning;                       /* SET_UP_ONCE is at it */
    struct thing *loops, *test, *process; /* what is freed behind the test, and behind all */
} kit;

_Thread_local struct error failure;

static void free_things(struct thing **things) {
    while (*things) {
        struct thing *thing = *things;
        *things = thing->next;
        thing->free_it(thing->it);
        free(thing);
    }
}

static int begin(void **state) {
    *state = kit.set_up();
    return 0;
}

static int end(void **state) {
    if (kit.tear_down && !kit.once) kit.tear_down(*state);
    free_things(&kit.loops);
    free_things(&kit.test);
    failure.text[0] = '\0';
    return 0;
}

static int begin_once(void **state) {
    kit.beginning = true;
    *state = kit.set_up();
    kit.beginning = false;
    return 0;
}

static int end_once(void **state) {
    if (kit.tear_down) kit.tear_down(*state);
    free_things(&kit.process);
    return 0;
}

void kit_add_test(const char *name, void (*run)(void **state)) {
    if (kit.count == TESTS_MAX) abort();
    kit.tests[kit.count++] = (struct CMUnitTest){.name = name, .test_func = run, .teardown_func = end};
}

void kit_add_set_up(void *(*set_up)(void), bool once) {
    kit.set_up = set_up;
    kit.once = once;
}

void kit_add_tear_down(void (*tear_down)(void *made)) { kit.tear_down = tear_down; }

int main(void) {
    for (size_t i = 0; i < kit.count && kit.set_up && !kit.once; i++) kit.tests[i].setup_func = begin;
    return _cmocka_run_group_tests(program_invocation_short_name, kit.tests, kit.count, kit.once ? begin_once : NULL,
                                   kit.once ? end_once : NULL);
}

static void add(struct thing **things, void (*free_it)(void *it), void *it) {
    *things = MEM_NEW(&(struct thing){.free_it = free_it, .it = it, .next = *things});
}

void kit_after(void (*free_it)(void *it), void *it) { add(kit.beginning ? &kit.process : &kit.test, free_it, it); }

void kit_forget(const void *it) {
    for (struct thing **at = &kit.test; *at; at = &(*at)->next) {
        if ((*at)->it != it) continue;
        struct thing *thing = *at;
        *at = thing->next;
        free(thing);
        return;
    }
}

void *kit_zero(size_t size) {
    void *memory = mem_zero(1, size);
    kit_after(free, memory);
    return memory;
}

static void end_loop(void *loop) { kit_loop_end(loop); }

void kit_loop(uv_loop_t *loop) {
    assert_int_equal(uv_loop_init(loop), 0);
    add(kit.beginning ? &kit.process : &kit.loops, end_loop, loop);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *at) { return remove(path); }

void kit_remove(const char *path) { assert_int_equal(nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0); }

static void remove_folder(void *folder) {
    if (!access(folder, F_OK)) kit_remove(folder);
    free(folder);
}

char *kit_folder(void) {
    const char *place = getenv("TMPDIR");
    char *folder = mem_format("%s/%s-XXXXXX", place && *place ? place : "/tmp", program_invocation_short_name);
    assert_non_null(mkdtemp(folder));
    kit_after(remove_folder, folder);
    return folder;
}

void kit_write(const char *path, const char *text) {
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

void kit_free(void *variable) {
    void *it;
    memcpy(&it, variable, sizeof it);
    free(it);
}

void kit_free_json(void *variable) {
    json_t *it;
    memcpy(&it, variable, sizeof it);
    json_decref(it);
}

void kit_close(const int *file) { close(*file); }

void kit_loop_end(uv_loop_t *loop) {
    assert_int_equal(uv_run(loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(loop), 0);
}

uint64_t kit_histories(uint64_t usual) {
    const char *wanted = getenv("STARLING_HISTORIES");
    return wanted ? strtoull(wanted, NULL, 10) : usual;
}
