package starling.client;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * The thread on which everything of a client happens, and threads for what must wait (token functions, the HTTP API). All of them end
 * by themselves when nothing is to be done, and none keeps a process alive.
 */
final class Loop implements Executor {
    /** A request that may wait for its answer. */
    interface Question<T> {
        T ask() throws ApiException;
    }

    /** Takes an answer, or the error; the other one is null. */
    interface Answered<T> {
        void take(T answer, ApiException error);
    }

    private static final long IDLE_S = 10;

    private final ScheduledThreadPoolExecutor thread;
    private final ThreadPoolExecutor waiting;

    Loop() {
        thread = new ScheduledThreadPoolExecutor(1, named("starling"));
        thread.setKeepAliveTime(IDLE_S, TimeUnit.SECONDS);
        thread.allowCoreThreadTimeOut(true);
        thread.setRemoveOnCancelPolicy(true);
        waiting = new ThreadPoolExecutor(0, Integer.MAX_VALUE, IDLE_S, TimeUnit.SECONDS, new SynchronousQueue<Runnable>(),
                named("starling waits"));
    }

    private static ThreadFactory named(final String name) {
        return work -> {
            Thread made = new Thread(work, name);
            made.setDaemon(true);
            return made;
        };
    }

    /** Runs it on the thread, after what was given before. Any thread may call. */
    @Override
    public void execute(Runnable work) {
        after(0, work);
    }

    /** Runs it on the thread after so many milliseconds. Any thread may call. */
    ScheduledFuture<?> after(long ms, Runnable work) {
        return thread.schedule(reporting(work), ms, TimeUnit.MILLISECONDS);
    }

    /** Runs it on a thread that may wait. Any thread may call. */
    void wait(Runnable work) {
        waiting.execute(work);
    }

    /** Asks on a thread that may wait, and takes the answer on the loop's. Any thread may call. */
    <T> void ask(final Question<T> question, final Answered<T> answered) {
        wait(() -> {
            T answer = null;
            ApiException error = null;
            try {
                answer = question.ask();
            } catch (ApiException thrown) {
                error = thrown;
            }
            final T got = answer;
            final ApiException failed = error;
            execute(() -> answered.take(got, failed));
        });
    }

    static long nowMs() {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime());
    }

    /** A scheduled task would keep an exception, such as one of an application's listener, to itself. */
    private static Runnable reporting(final Runnable work) {
        return () -> {
            try {
                work.run();
            } catch (RuntimeException | Error thrown) {
                Thread current = Thread.currentThread();
                current.getUncaughtExceptionHandler().uncaughtException(current, thrown);
            }
        };
    }

    /** Timers by name: a new timer takes the place of the old one of that name. For the loop's thread only. */
    final class Timers {
        private final Map<String, ScheduledFuture<?>> timers = new HashMap<>();

        void set(final String name, long afterMs, final Runnable run) {
            clear(name);
            final ScheduledFuture<?>[] mine = new ScheduledFuture<?>[1];
            mine[0] = after(Math.max(0, afterMs), () -> {
                if (timers.get(name) == mine[0]) { // else it was cleared when it was about to run
                    timers.remove(name);
                    run.run();
                }
            });
            timers.put(name, mine[0]);
        }

        boolean has(String name) {
            return timers.containsKey(name);
        }

        /** Returns milliseconds; null: there is none of that name. */
        Long dueIn(String name) {
            ScheduledFuture<?> timer = timers.get(name);
            return timer == null ? null : Math.max(0, timer.getDelay(TimeUnit.MILLISECONDS));
        }

        void clear(String name) {
            ScheduledFuture<?> timer = timers.remove(name);
            if (timer != null) {
                timer.cancel(false);
            }
        }

        void clearAll() {
            for (ScheduledFuture<?> timer : timers.values()) {
                timer.cancel(false);
            }
            timers.clear();
        }
    }
}
