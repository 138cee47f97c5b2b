// Where tokens come from: one that was given, or a function of the application's that is asked whenever one is needed.

/** @typedef {import('../index.js').Token} Token */

const EARLY_MS = 60000; // a token is renewed this long before its end,
const EARLY_SHARE = 0.2; // or in the last fifth of what is left of a short one
const SHORTEST_MS = 1000; // renewals are not closer together than this
const TIMEOUT_MS = 30000; // for an application's token function to answer

export class TokenSource {
    #token;
    #refused = 0;

    /** @param {Token} token */
    constructor(token) {
        this.#token = token;
    }

    /** @returns {string | Promise<string>} */
    get() {
        const given = this.#token;
        return typeof given === 'string' ? given : Promise.resolve().then(given);
    }

    /** The server took a token: the next refusal is the first one again. */
    trust() {
        this.#refused = 0;
    }

    /** The server refused the token. @returns {boolean} another one may be better: asked once, not for ever */
    refused() {
        this.#refused += 1;
        return typeof this.#token === 'function' && this.#refused <= 1;
    }

    /**
     * @param {string} token the one in use
     * @param {number} now the server's time
     * @returns {number | null} ms until it should be renewed; null: it cannot be, or nobody knows when it ends
     */
    renewIn(token, now) {
        const end = typeof this.#token === 'function' ? expiryOf(token) : null;
        if (end === null) return null;
        const left = end - now;
        return Math.max(SHORTEST_MS, left - Math.min(EARLY_MS, left * EARLY_SHARE));
    }
}

/** The token of a connection: fetched for each attempt, with a time limit, and renewed before it ends. */
export class TokenKeeper {
    #source;
    #timers;
    #serverNow;
    #failed;
    #token = '';
    #asked = 0;

    /**
     * @param {{token: Token, timers: import('./timers.js').Timers, serverNow: () => number, failed: (error: unknown) => void}} parts
     *        failed is told why the application gave none
     */
    constructor({ token, timers, serverNow, failed }) {
        this.#source = new TokenSource(token);
        this.#timers = timers;
        this.#serverNow = serverNow;
        this.#failed = failed;
    }

    /** The one that was fetched last. */
    get token() {
        return this.#token;
    }

    /** @param {Token} token */
    replace(token) {
        this.#source = new TokenSource(token);
    }

    /** Nobody waits for a token any more. */
    cancel() {
        this.#asked += 1;
        this.#timers.clear('token');
    }

    /**
     * Calls one of the two, at once if the token is at hand; neither if it was cancelled or asked for anew meanwhile.
     * @param {() => void} then
     * @param {() => void} otherwise
     */
    fetch(then, otherwise) {
        this.cancel();
        const asked = this.#asked;
        const failed = (/** @type {unknown} */ error) => {
            if (asked !== this.#asked) return;
            this.cancel();
            const cancelled = this.#asked;
            this.#failed(error);
            if (cancelled === this.#asked) otherwise();
        };
        const got = (/** @type {string} */ token) => {
            if (asked !== this.#asked) return;
            this.cancel();
            this.#token = token;
            then();
        };
        const token = this.#source.get();
        if (typeof token === 'string') return got(token);
        this.#timers.set('token', TIMEOUT_MS, () => failed('the application gave no token'));
        token.then(got, failed);
    }

    /** The server took a token. */
    trust() {
        this.#source.trust();
    }

    /** The server refused the token. @returns {boolean} another one may be better */
    refused() {
        return this.#source.refused();
    }

    /** A function can be asked for the next token before this one ends. @param {() => void} renew */
    scheduleRenewal(renew) {
        const wait = this.#source.renewIn(this.#token, this.#serverNow());
        if (wait === null) this.#timers.clear('renewal');
        else this.#timers.set('renewal', wait, renew);
    }
}

/**
 * When a JWT ends; it is not verified, only the server can.
 * @param {string} token
 * @returns {number | null} ms since the epoch
 */
export function expiryOf(token) {
    try {
        const { exp } = JSON.parse(atob(token.split('.')[1].replace(/-/g, '+').replace(/_/g, '/')));
        return Number.isFinite(exp) ? exp * 1000 : null;
    } catch {
        return null;
    }
}
