package starling.client;

import java.util.Random;

/**
 * How long to wait before the next attempt: any time within a window that doubles from one second to a minute. All of the window, not
 * its end: the phones of an edge that died then come back as a ramp and not as a wall.
 */
final class Backoff {
    static final long FIRST_WINDOW_MS = 1_000;
    static final long LONGEST_WINDOW_MS = 60_000;
    /** However lucky: a server that refuses at once is not asked in a tight loop. */
    static final long SHORTEST_MS = 100;
    /** An edge that said how full it is (1013) gets at least this much rest. */
    static final long OVERLOADED_MS = 5_000;

    private Backoff() {}

    /** failures: attempts that failed since the last connection that held. */
    static long pause(int failures, Random random, long atLeastMs) {
        long doubled = FIRST_WINDOW_MS << Math.min(failures, 16);
        long window = Math.min(LONGEST_WINDOW_MS, Math.max(atLeastMs, doubled));
        return Math.max(SHORTEST_MS, atLeastMs + (long) (random.nextDouble() * window));
    }

    /** The server spreads its phones itself; a tenth on top keeps apart those that it told the same. */
    static long directed(double afterMs, Random random) {
        return (long) (Math.max(0, afterMs) * (1 + random.nextDouble() / 10));
    }
}
