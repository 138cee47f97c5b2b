// Timers by name, on a clock that a test may replace: a new timer takes the place of the old one of that name.

/** @typedef {import('../index.js').Clock} Clock */

const LONGEST_MS = 2 ** 31 - 1;

/** @type {Clock} */
export const SYSTEM_CLOCK = {
    now: () => Date.now(),
    setTimeout: (run, ms) => setTimeout(run, ms),
    clearTimeout: (timer) => clearTimeout(timer),
};

export class Timers {
    #clock;
    /** @type {Map<string, {handle: any, at: number}>} */
    #timers = new Map();

    /** @param {Clock} clock */
    constructor(clock) {
        this.#clock = clock;
    }

    /**
     * @param {string} name
     * @param {number} ms
     * @param {() => void} run
     */
    set(name, ms, run) {
        this.clear(name);
        const wait = Math.min(ms, LONGEST_MS);
        const handle = this.#clock.setTimeout(() => {
            this.#timers.delete(name);
            run();
        }, wait);
        this.#timers.set(name, { handle, at: this.#clock.now() + wait });
    }

    /** @param {string} name */
    has(name) {
        return this.#timers.has(name);
    }

    /** @param {string} name @returns {number | null} when it is due, ms by the clock; null: there is none of that name */
    due(name) {
        return this.#timers.get(name)?.at ?? null;
    }

    /** @param {string} name */
    clear(name) {
        const timer = this.#timers.get(name);
        if (!timer) return;
        this.#clock.clearTimeout(timer.handle);
        this.#timers.delete(name);
    }

    clearAll() {
        for (const name of [...this.#timers.keys()]) this.clear(name);
    }
}
