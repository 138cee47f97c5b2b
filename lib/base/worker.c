#include "base/worker.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

/*   worker_run --> [ given ] --> thread: work --> [ finished ] --> async --> loop: done
 *
 * The lock guards both lists and `ending`; `count` is the loop's alone. */
struct worker_job {
    struct worker_job *next;
    loop_fn *work, *done;
    void *context;
};

struct worker_jobs {
    struct worker_job *first, *last;
};

struct worker {
    uv_thread_t thread;
    uv_async_t async;
    uv_mutex_t lock;
    uv_cond_t wake;
    struct worker_jobs given, finished;
    bool ending;
    size_t count; /* of tasks whose done has not been called */
};

static void append(struct worker_jobs *tasks, struct worker_job *task) {
    task->next = NULL;
    if (tasks->last)
        tasks->last->next = task;
    else
        tasks->first = task;
    tasks->last = task;
}

static struct worker_job *take_first(struct worker_jobs *tasks) {
    struct worker_job *task = tasks->first;
    if (!task) return NULL;
    tasks->first = task->next;
    if (!tasks->first) tasks->last = NULL;
    return task;
}

/* Waits for a task; NULL: the worker ends. */
static struct worker_job *next_task(struct worker *worker) {
    uv_mutex_lock(&worker->lock);
    while (!worker->given.first && !worker->ending) uv_cond_wait(&worker->wake, &worker->lock);
    struct worker_job *task = take_first(&worker->given);
    uv_mutex_unlock(&worker->lock);
    return task;
}

static void thread_main(void *context) {
    struct worker *worker = context;
    struct worker_job *task;
    while ((task = next_task(worker))) {
        task->work(task->context);
        uv_mutex_lock(&worker->lock);
        append(&worker->finished, task);
        uv_mutex_unlock(&worker->lock);
        uv_async_send(&worker->async);
    }
}

static void some_finished(uv_async_t *async) {
    struct worker *worker = async->data;
    uv_mutex_lock(&worker->lock);
    struct worker_jobs finished = worker->finished;
    worker->finished = (struct worker_jobs){.first = NULL};
    uv_mutex_unlock(&worker->lock);
    struct worker_job *task;
    while ((task = take_first(&finished))) {
        // Before `done`, which may give the next task, or free the worker.
        if (!--worker->count) uv_unref((uv_handle_t *)&worker->async);
        task->done(task->context);
        free(task);
    }
}

struct worker *worker_new(uv_loop_t *loop) {
    struct worker *worker = mem_zero(1, sizeof *worker);
    uv_mutex_init(&worker->lock);
    uv_cond_init(&worker->wake);
    uv_async_init(loop, &worker->async, some_finished);
    worker->async.data = worker;
    uv_unref((uv_handle_t *)&worker->async);
    if (uv_thread_create(&worker->thread, thread_main, worker)) {
        // As with memory: a process that cannot have a thread cannot go on.
        fputs("out of threads\n", stderr);
        abort();
    }
    return worker;
}

static void closed(uv_handle_t *handle) {
    struct worker *worker = handle->data;
    uv_cond_destroy(&worker->wake);
    uv_mutex_destroy(&worker->lock);
    free(worker);
}

void worker_free(struct worker *worker) {
    if (!worker) return;
    uv_mutex_lock(&worker->lock);
    worker->ending = true;
    uv_cond_signal(&worker->wake);
    uv_mutex_unlock(&worker->lock);
    uv_thread_join(&worker->thread);
    uv_close((uv_handle_t *)&worker->async, closed);
}

void worker_run(struct worker *worker, loop_fn *work, loop_fn *done, void *context) {
    struct worker_job *task = MEM_NEW(&(struct worker_job){.work = work, .done = done, .context = context});
    if (!worker->count++) uv_ref((uv_handle_t *)&worker->async);
    uv_mutex_lock(&worker->lock);
    append(&worker->given, task);
    uv_cond_signal(&worker->wake);
    uv_mutex_unlock(&worker->lock);
}

bool worker_busy(const struct worker *worker) { return worker->count > 0; }
