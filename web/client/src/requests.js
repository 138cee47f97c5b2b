// Requests to starling's HTTP API: tokens, errors, pages, and repeating what may be repeated.

import { backoffMs } from './backoff.js';
import { ApiError, Undecided, apiError, unreachable } from './errors.js';
import { parseFrame, writeFrame } from './frames.js';
import { SYSTEM_CLOCK } from './timers.js';
import { TokenSource } from './token.js';

/** @typedef {{status: number, headers: Headers, answer: any, retryAfterMs: number | null}} Answer */

const TIMEOUT_MS = 15000;
const PATIENCE_MS = 30000; // writes are repeated for that long

export class Requests {
    #url;
    #tokens;
    #fetch;
    #clock;
    #random;
    #patienceMs;
    /** How to get the page after a page. @type {WeakMap<object, (after: string) => Promise<any>>} */
    #more = new WeakMap();

    /** @param {import('../index.js').ApiOptions} options */
    constructor(options) {
        const { token, fetch, patienceMs, clock, random } = options;
        this.#url = addressOf(options).replace(/\/$/, '');
        this.#tokens = new TokenSource(token);
        this.#fetch = fetch ?? ((/** @type {any} */ input, /** @type {any} */ init) => globalThis.fetch(input, init));
        this.#patienceMs = patienceMs ?? PATIENCE_MS;
        this.#clock = clock ?? SYSTEM_CLOCK;
        this.#random = random ?? Math.random;
    }

    /** @param {import('../index.js').Token} token */
    renew(token) {
        this.#tokens = new TokenSource(token);
    }

    now() {
        return this.#clock.now();
    }

    /**
     * One request, once.
     * @param {string} method
     * @param {string} path
     * @param {Record<string, unknown>} [body]
     * @param {string | null} [etag] answered 304 if it is still that
     * @param {boolean} [anonymous] no token goes along
     * @returns {Promise<Answer>}
     */
    async exchange(method, path, body, etag = null, anonymous = false) {
        if (method !== 'GET') checkPath(path); // GET's has been made by pathOf
        const token = anonymous ? null : await this.#tokens.get();
        let response;
        let text;
        try {
            response = await this.#fetch(this.#url + path, {
                method,
                cache: 'no-store',
                headers: {
                    ...(token !== null && { authorization: `Bearer ${token}` }),
                    ...(body && { 'content-type': 'application/json' }),
                    ...(etag !== null && { 'if-none-match': etag }),
                },
                body: body && writeFrame(body),
                signal: AbortSignal.timeout(TIMEOUT_MS),
            });
            text = await response.text();
        } catch (error) {
            throw await this.#noAnswer(error);
        }
        const answer = parsed(text);
        const { status, headers } = response;
        const seconds = Number(headers.get('retry-after') ?? NaN);
        const retryAfterMs = Number.isFinite(seconds) ? seconds * 1000 : null;
        if (response.ok || status === 304) return { status, headers, answer: answer ?? {}, retryAfterMs };
        // RFC 9457 where the server says why, the bare status where something between us does.
        throw apiError(
            status,
            String(answer?.code ?? 'unknown'),
            String(answer?.detail ?? answer?.title ?? `The server answered ${status}.`),
            retryAfterMs,
            answer ?? {},
        );
    }

    /**
     * Browsers hide from a page why its request to another origin had no answer. They do tell whether there is a server: one that answers
     * what needs no permission does not allow the page's origin.
     * @param {unknown} error
     */
    async #noAnswer(error) {
        const { location } = globalThis;
        if (!(error instanceof TypeError) || !location?.origin || new URL(this.#url || '/', location.href).origin === location.origin) {
            return unreachable(this.#url, error);
        }
        const open = await this.#fetch(this.#url || '/', { mode: 'no-cors', cache: 'no-store', signal: AbortSignal.timeout(TIMEOUT_MS) }).then(
            () => true,
            () => false,
        );
        return unreachable(this.#url, error, open ? 'origin' : null);
    }

    /** A question to which no account is needed, asked once: the JSON of the answer. @param {string} path */
    async askAnonymously(path) {
        return (await this.exchange('GET', pathOf(path), undefined, null, true)).answer;
    }

    /** A question, asked once: the JSON of the answer. @param {string} path @param {object} [query] */
    async ask(path, query) {
        return (await this.exchange('GET', pathOf(path, query))).answer;
    }

    /**
     * A page of a list, from which all() finds the next one.
     * @template {object} P
     * @param {string} path
     * @param {object | undefined} query
     * @param {(answer: any, etag: string | null) => P} read makes the page of the answer, in which `next` is null or text
     * @param {string | null} [etag]
     * @returns {Promise<any>} null: it is still that of the ETag
     */
    async page(path, query, read, etag = null) {
        const { status, answer, headers } = await this.exchange('GET', pathOf(path, query), undefined, etag);
        if (status === 304) return null;
        const next = answer.next === undefined || answer.next === null ? null : String(answer.next);
        const page = read({ ...answer, next }, headers.get('etag'));
        this.#more.set(page, (after) => this.page(path, { ...query, after }, read));
        return page;
    }

    /**
     * A write, until it is decided: the JSON of the answer.
     * @param {string} method
     * @param {string} path
     * @param {Record<string, unknown>} [body]
     */
    async decided(method, path, body) {
        return (await this.patiently(() => this.exchange(method, path, body), ({ status }) => status !== 202)).answer;
    }

    /**
     * Repeats with growing pauses while the server is away, or its answer is not good enough; throws the last error.
     * @template T
     * @param {() => Promise<T>} ask
     * @param {(answer: T) => boolean} [enough] else it is an Answer that says that nothing is decided
     * @returns {Promise<T>}
     */
    async patiently(ask, enough = () => true) {
        const end = this.#clock.now() + this.#patienceMs;
        for (let failures = 0; ; failures += 1) {
            let error;
            try {
                const answer = await ask();
                if (enough(answer)) return answer;
                const { retryAfterMs } = /** @type {any} */ (answer);
                error = new Undecided(202, 'pending', 'The server has not decided yet.', retryAfterMs);
            } catch (thrown) {
                if (!(thrown instanceof ApiError)) throw thrown;
                error = thrown;
            }
            const pause = Math.max(backoffMs(failures, this.#random), error.retryAfterMs ?? 0);
            if (!error.passing || this.#clock.now() + pause >= end) throw error;
            await new Promise((resolve) => this.#clock.setTimeout(() => resolve(undefined), pause));
        }
    }

    /**
     * The items of a page and of all pages after it, which are asked for as they are needed.
     * @param {any} first a page, or the promise of one
     * @returns {AsyncGenerator<any, void>}
     */
    async *all(first) {
        let page = await first;
        for (;;) {
            yield* page.items;
            const { next } = page;
            if (next === null) return;
            const more = this.#more.get(page);
            if (!more) throw new TypeError('not a page that was asked for over HTTP');
            page = await this.patiently(() => more(next));
        }
    }
}

/** Left out: the page's own origin. One that is given is text. @param {{url?: unknown}} options */
function addressOf(options) {
    if (!('url' in options)) return '';
    if (typeof options.url !== 'string') throw new TypeError(`url is ${options.url}, and must be the address of the API; leave it out for the page's own origin`);
    return options.url;
}

/** @param {string} text */
function parsed(text) {
    try {
        return parseFrame(text);
    } catch {
        return null;
    }
}

/**
 * A path of the API: an id that an app was given, such as "../me" or "5/like", must not choose the request.
 * @param {string[]} segments @throws {TypeError} one is no id
 */
export function path(...segments) {
    for (const segment of segments) if (!/^[\w.~-]+$/.test(segment) || /^\.\.?$/.test(segment)) throw new TypeError(`not an id: ${segment}`);
    return `/v1/${segments.join('/')}`;
}

/** Throws if a path leads elsewhere than it says. @param {string} path */
function checkPath(path) {
    if (new URL(path, 'http://localhost').pathname !== path || /%2f/i.test(path)) throw new TypeError(`not an id: it would make the path ${path}`);
}

/** @param {string} path @param {object} [query] members that are absent or null are left out */
export function pathOf(path, query = {}) {
    checkPath(path);
    const members = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
    const search = new URLSearchParams(members.map(([name, value]) => [name, String(value)])).toString();
    return search ? `${path}?${search}` : path;
}

/** Reads the items of a page one by one. @template T @param {(item: any) => T} read */
export function each(read) {
    return (/** @type {any} */ { items, next }) => ({ items: /** @type {T[]} */ ((items ?? []).map(read)), next });
}

/** @template T @param {T | null} value @returns {T} */
export function whole(value) {
    if (value === null) throw new ApiError(0, 'bad_answer', 'The server sent what cannot be read.');
    return value;
}
