/* The command that is several processes, with made-up ones: fork, waitpid and kill are this file's, and the clock can be moved on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "service/service.h"

enum { FIRST_PID = 1000000, PROCESSES = 2, STATUS_NONE = -1, DAY_S = 24 * 3600 };

static atomic_int forks, unblocked_forks, reloads;
static atomic_int status[16]; /* of the process that the n-th fork made, once it has ended */
static _Atomic int64_t moved_on_s;

int clock_gettime(clockid_t clock, struct timespec *time) {
    int code = (int)syscall(SYS_clock_gettime, clock, time);
    if (clock != CLOCK_REALTIME) time->tv_sec += moved_on_s;
    return code;
}

pid_t fork(void) {
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    if (!sigismember(&blocked, SIGTERM) || !sigismember(&blocked, SIGINT) || !sigismember(&blocked, SIGHUP))
        unblocked_forks++;
    status[forks] = STATUS_NONE;
    return FIRST_PID + forks++;
}

pid_t waitpid(pid_t pid, int *ended, int options) {
    int which = pid - FIRST_PID;
    if (status[which] == STATUS_NONE) return 0;
    *ended = status[which];
    return pid;
}

static void tell(int number) { syscall(SYS_kill, getpid(), number); }

static void end(int which, int how) {
    status[which] = how;
    tell(SIGCHLD);
}

int kill(pid_t pid, int number) {
    if (number == SIGHUP)
        reloads++;
    else
        end(pid - FIRST_PID, 0);
    return 0;
}

static void pause_ms(int ms) { nanosleep(&(struct timespec){.tv_nsec = ms * 1000000l}, NULL); }

static bool comes_to(atomic_int *value, int wanted) {
    for (int i = 0; i < 1000 && *value != wanted; i++) pause_ms(10);
    return *value == wanted;
}

static int number_of_processes(void) {
    int count = 0;
    for (int i = 0; i < forks; i++) count += status[i] == STATUS_NONE;
    return count;
}

static int64_t processes;
static const struct config_property PROPERTIES[] = {
    {"test.processes", CONFIG_INT, 0, "2", .min = 1, .max = 9, .doc = "Processes."},
};
static const struct config_section SECTION = {"Test", PROPERTIES, 1, &processes};
static const struct service_definition DEFINITION = {
    .name = "starling-test", .ops_listen = "127.0.0.1:0", .section = &SECTION, .processes = "test.processes"};

/* What happens meanwhile; returns what was wrong, NULL: nothing. */
typedef const char *story_fn(void);

static void *tell_story(void *context) {
    story_fn **story = context;
    return (void *)(uintptr_t)(*story)();
}

static void run(story_fn *story) {
    char *arguments[] = {mem_string("starling-test"), NULL};
    pthread_t thread;
    void *wrong;
    forks = unblocked_forks = reloads = 0;
    moved_on_s = 0;
    assert_int_equal(pthread_create(&thread, NULL, tell_story, &story), 0);
    int code = service_main(1, arguments, &DEFINITION);
    pthread_join(thread, &wrong);
    if (wrong) fail_msg("%s", (char *)wrong);
    assert_int_equal(code, 0);
    assert_int_equal(unblocked_forks, 0); /* a signal then would be lost, or come to us a second time */
    free(arguments[0]);
}

static const char *months(void) {
    const char *wrong = NULL;
    if (!comes_to(&forks, PROCESSES)) wrong = "not started";
    for (int month = 1; month <= 4; month++) {
        moved_on_s += 30 * DAY_S;
        tell(SIGHUP);
        if (!comes_to(&reloads, PROCESSES * month)) wrong = "SIGHUP is not handed on";
        pause_ms(50);
    }
    if (forks != PROCESSES) wrong = "one was started that was there";
    tell(SIGTERM);
    return wrong;
}

static void lets_them_be_for_months(void **state) { run(months); }

static const char *crash(void) {
    const char *wrong = NULL;
    if (!comes_to(&forks, PROCESSES)) wrong = "not started";
    end(0, SIGKILL);
    if (!comes_to(&forks, PROCESSES + 1)) wrong = "not started again after a crash";
    end(1, 0);
    pause_ms(50);
    moved_on_s += DAY_S;
    tell(SIGHUP);
    if (!comes_to(&reloads, 1)) wrong = "SIGHUP comes to others than who is left";
    pause_ms(50);
    if (number_of_processes() != 1) wrong = "who ended well was started again";
    end(PROCESSES, 11);
    if (!comes_to(&forks, PROCESSES + 2)) wrong = "not started again after the second crash";
    tell(SIGINT);
    return wrong;
}

static void starts_again_who_crashed(void **state) { run(crash); }

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lets_them_be_for_months),
        cmocka_unit_test(starts_again_who_crashed),
    };
    return cmocka_run_group_tests_name("processes of one command", tests, NULL, NULL);
}
