// How long to wait before the next attempt: any time within a window that doubles from one second to a minute. All of the
// window, not its end: the phones of an edge that died then come back as a ramp and not as a wall.

export const FIRST_WINDOW_MS = 1000;
export const LONGEST_WINDOW_MS = 60000;

/** However lucky: a server that refuses at once is not asked in a tight loop. */
export const SHORTEST_MS = 100;

/** An edge that said how full it is (1013) gets at least this much rest. */
export const OVERLOADED_MS = 5000;

/**
 * @param {number} failures attempts that failed since the last connection that held
 * @param {() => number} random 0 <= random() < 1
 * @param {number} [atLeastMs]
 * @returns {number} milliseconds
 */
export function backoffMs(failures, random, atLeastMs = 0) {
    const window = Math.min(LONGEST_WINDOW_MS, Math.max(atLeastMs, FIRST_WINDOW_MS * 2 ** Math.min(failures, 16)));
    return Math.round(Math.max(SHORTEST_MS, atLeastMs + random() * window));
}

/**
 * The server spreads its phones itself; a tenth on top keeps apart those that it told the same.
 * @param {number} afterMs
 * @param {() => number} random
 */
export function directedMs(afterMs, random) {
    return Math.round(afterMs * (1 + random() / 10));
}
