// How long to wait before the next attempt: doubling from half a second to half a minute, with jitter, so that the
// phones of an edge that died do not come back as one wall.

export const FIRST_MS = 500;
export const LONGEST_MS = 30000;

/** An edge that said how full it is (1013) gets at least this much rest. */
export const OVERLOADED_MS = 5000;

/**
 * @param {number} failures attempts that failed since the last connection that held
 * @param {() => number} random 0 <= random() < 1
 * @param {number} [atLeastMs]
 * @returns {number} milliseconds: between half of the delay and the whole of it
 */
export function backoffMs(failures, random, atLeastMs = 0) {
    const whole = Math.min(LONGEST_MS, Math.max(atLeastMs, FIRST_MS * 2 ** Math.min(failures, 16)));
    return Math.round(whole / 2 + (random() * whole) / 2);
}

/**
 * The server spreads its phones itself; a tenth on top keeps apart those that it told the same.
 * @param {number} afterMs
 * @param {() => number} random
 */
export function directedMs(afterMs, random) {
    return Math.round(afterMs * (1 + random() / 10));
}
