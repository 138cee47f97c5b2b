/* One command that is several processes: it starts them, starts again who crashed, and hands signals on. Each is the same
 * program with the same arguments, and these settings of its own (i counts from 0):
 *
 *     ops.listen, peer.listen    i ports up (port 0 stays 0); peer.advertise as well
 *     data.dir                   a folder of it, named i
 *     group.instance.id          with -i behind it, if there is one
 *     client.id.suffix           with -i behind it
 *
 * A service manager is told that they have been started, not whether each is ready.
 *
 * They die with us (SIGTERM), and are in sessions of their own, so that a terminal's ^C comes to them once, through us.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "service/internal.h"
#include "service/listen.h"

enum { RESTART_FIRST_MS = 500, RESTART_MAX_MS = 30000, SETTLED_MS = 30000, SETTINGS_MAX = 7 };

static const int HANDED_ON[] = {SIGTERM, SIGINT, SIGHUP};

struct process {
    struct processes *all;
    unsigned index;
    pid_t pid; /* 0: it does not run */
    char **arguments;
    uint64_t started_ms;        /* uv_now */
    uint64_t wait_ms;           /* before the next restart */
    struct loop_timer *restart; /* NULL: it does not wait for one */
};

struct processes {
    struct service *service;
    struct process *list;
    unsigned count, waiting; /* for their restart */
    bool ending, failed;
    uv_signal_t signals[ARRAY_SIZE(HANDED_ON) + 1]; /* SIGCHLD is the last */
};

int64_t processes_wanted(const struct service_definition *definition) {
    const struct config_section *section = definition->section;
    for (size_t i = 0; definition->processes && i < section->count; i++) {
        if (strcmp(section->properties[i].name, definition->processes)) continue;
        int64_t wanted;
        memcpy(&wanted, (const char *)section->values + section->properties[i].offset, sizeof wanted);
        return wanted;
    }
    return 1;
}

/* ---- arguments ---- */

static char *moved_address(const char *key, const char *text, unsigned by) {
    struct address address;
    if (!*text || address_parse(text, &address, NULL)) return NULL; /* none, or the process itself will refuse it */
    long port = strtol(address.port, NULL, 10);
    return mem_format(strchr(address.host, ':') ? "%s=[%s]:%ld" : "%s=%s:%ld", key, address.host, port ? port + by : 0);
}

static char **arguments_of(const struct service *service, int argc, char **argv, unsigned index) {
    const struct service_settings *settings = &service->settings;
    char **arguments = mem_zero((size_t)argc + 2 * SETTINGS_MAX + 1, sizeof *arguments);
    char *own[SETTINGS_MAX] = {
        mem_format("%s=1", service->definition->processes),
        moved_address("ops.listen", settings->ops_listen, index),
        moved_address("peer.listen", settings->peer_listen, index),
        moved_address("peer.advertise", settings->peer_advertise, index),
        mem_format("data.dir=%s/%u", settings->data_dir, index),
        mem_format("client.id.suffix=%s-%u", settings->client_id_suffix, index),
        *settings->group_instance_id ? mem_format("group.instance.id=%s-%u", settings->group_instance_id, index) : NULL,
    };
    size_t count = 0;
    for (int i = 0; i < argc; i++) arguments[count++] = mem_string(argv[i]);
    for (size_t i = 0; i < SETTINGS_MAX; i++) {
        if (!own[i]) continue;
        arguments[count++] = mem_string("--set");
        arguments[count++] = own[i];
    }
    return arguments;
}

static void arguments_free(char **arguments) {
    for (char **at = arguments; at && *at; at++) free(*at);
    free(arguments);
}

/* ---- one process ---- */

/* Between fork and exec: nothing that takes a lock. */
_Noreturn static void become(const struct process *process, pid_t parent) {
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() == parent) execv("/proc/self/exe", process->arguments);
    _exit(EXIT_FAILURE);
}

static void process_start(struct process *process) {
    struct service *service = process->all->service;
    sigset_t blocked, before;
    sigemptyset(&blocked);
    for (size_t i = 0; i < ARRAY_SIZE(HANDED_ON); i++) sigaddset(&blocked, HANDED_ON[i]);
    /* They wait until the new process listens to them (watch_signals). Its copy of our handler would tell us of them. */
    sigprocmask(SIG_BLOCK, &blocked, &before);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) become(process, parent);
    int code = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    process->started_ms = uv_now(&service->loop);
    if (pid < 0) {
        log_error(service->log, "a process cannot be started", LOG_INT("process", process->index),
                  LOG_TEXT("reason", strerror(code)));
        return;
    }
    process->pid = pid;
    log_info(service->log, "process started", LOG_INT("process", process->index), LOG_INT("pid", pid));
}

static void restart(void *context);

static void restart_later(struct process *process) {
    uint64_t now = uv_now(&process->all->service->loop);
    bool settled = now - process->started_ms >= SETTLED_MS;
    process->wait_ms = settled || !process->wait_ms ? RESTART_FIRST_MS : process->wait_ms * 2;
    if (process->wait_ms > RESTART_MAX_MS) process->wait_ms = RESTART_MAX_MS;
    process->all->waiting++;
    process->restart = loop_timer_new(&process->all->service->loop, process->wait_ms, 0, restart, process);
}

static void restart(void *context) {
    struct process *process = context;
    loop_timer_free(process->restart);
    process->restart = NULL;
    process->all->waiting--;
    if (process->all->ending) return;
    process_start(process);
    if (!process->pid) restart_later(process);
}

/* ---- all ---- */

static void end_if_all_have(struct processes *all) {
    for (unsigned i = 0; i < all->count; i++)
        if (all->list[i].pid) return;
    if (all->ending || !all->waiting) uv_stop(&all->service->loop);
}

static void process_ended(struct process *process, int status) {
    struct processes *all = process->all;
    bool well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    pid_t pid = process->pid;
    process->pid = 0;
    if (well) {
        /* It was asked to, if not by us then by POST /drain: whoever did that wants it away. */
        log_info(all->service->log, "process ended", LOG_INT("process", process->index), LOG_INT("pid", pid));
    } else {
        log_error(all->service->log, "process ended badly", LOG_INT("process", process->index), LOG_INT("pid", pid),
                  LOG_INT("exit_code", WIFEXITED(status) ? WEXITSTATUS(status) : -1),
                  LOG_INT("signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0));
        if (all->ending)
            all->failed = true;
        else
            restart_later(process);
    }
    end_if_all_have(all);
}

static void reap(struct processes *all) {
    for (unsigned i = 0; i < all->count; i++) {
        int status;
        struct process *process = &all->list[i];
        if (process->pid && waitpid(process->pid, &status, WNOHANG) == process->pid) process_ended(process, status);
    }
}

static void on_signal(uv_signal_t *handle, int number) {
    struct processes *all = handle->data;
    if (number == SIGCHLD) {
        reap(all);
        return;
    }
    log_info(all->service->log, "signal handed on", LOG_INT("signal", number));
    if (number != SIGHUP) {
        all->ending = true;
        notify_tell(all->service->notify, "STOPPING=1\nSTATUS=draining");
    }
    for (unsigned i = 0; i < all->count; i++)
        if (all->list[i].pid) kill(all->list[i].pid, number);
    if (all->ending) end_if_all_have(all);
}

int processes_run(struct service *service, int argc, char **argv, unsigned count) {
    struct processes all = {.service = service, .count = count, .list = mem_zero(count, sizeof *all.list)};
    uv_loop_init(&service->loop);
    for (size_t i = 0; i < ARRAY_SIZE(all.signals); i++) {
        uv_signal_init(&service->loop, &all.signals[i]);
        all.signals[i].data = &all;
        uv_signal_start(&all.signals[i], on_signal, i < ARRAY_SIZE(HANDED_ON) ? HANDED_ON[i] : SIGCHLD);
    }
    for (unsigned i = 0; i < count; i++) {
        struct process *process = &all.list[i];
        *process = (struct process){.all = &all, .index = i, .arguments = arguments_of(service, argc, argv, i)};
        process_start(process);
        if (!process->pid) restart_later(process);
    }
    notify_watch(service->notify, &service->loop);
    notify_tell(service->notify, "READY=1\nSTATUS=processes started");
    uv_run(&service->loop, UV_RUN_DEFAULT);
    notify_rest(service->notify);
    for (unsigned i = 0; i < count; i++) {
        loop_timer_free(all.list[i].restart);
        arguments_free(all.list[i].arguments);
    }
    for (size_t i = 0; i < ARRAY_SIZE(all.signals); i++) uv_close((uv_handle_t *)&all.signals[i], NULL);
    uv_run(&service->loop, UV_RUN_DEFAULT);
    uv_loop_close(&service->loop);
    free(all.list);
    return all.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
