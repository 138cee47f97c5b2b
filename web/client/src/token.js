// Where tokens come from: one that was given, or a function of the application's that is asked whenever one is needed.

/** @typedef {import('../index.js').Token} Token */

const EARLY_MS = 60000; // a token is renewed this long before its end,
const EARLY_SHARE = 0.2; // or in the last fifth of what is left of a short one
const SHORTEST_MS = 1000; // renewals are not closer together than this

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
