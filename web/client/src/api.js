// starling's HTTP API for posts, follows and home timelines. Writes are repeated until they are decided: doing them again
// changes nothing, as posts carry a key.

import { backoffMs } from './backoff.js';
import { parseFrame, writeFrame } from './frames.js';
import { readPost, readPosts } from './posts.js';
import { SYSTEM_CLOCK } from './timers.js';
import { TokenSource } from './token.js';

/** @typedef {import('../index.js').ListQuery} ListQuery */

const TIMEOUT_MS = 15000;
const PATIENCE_MS = 30000; // writes are repeated for that long

/** The server refused, or could not be reached (status 0). */
export class ApiError extends Error {
    /**
     * @param {number} status
     * @param {string} code
     * @param {string} message
     * @param {number | null} [retryAfterMs]
     */
    constructor(status, code, message, retryAfterMs = null) {
        super(message);
        this.name = 'ApiError';
        this.status = status;
        this.code = code;
        this.retryAfterMs = retryAfterMs;
    }

    /** The same request may succeed later. */
    get passing() {
        return this.status === 0 || this.status === 202 || this.status === 429 || this.status >= 502;
    }
}

export class StarlingApi {
    #url;
    #tokens;
    #fetch;
    #clock;
    #random;
    #patienceMs;

    /** @param {import('../index.js').ApiOptions} options */
    constructor({ url = '', token, fetch, patienceMs, clock, random }) {
        this.#url = url.replace(/\/$/, '');
        this.#tokens = new TokenSource(token);
        this.#fetch = fetch ?? ((/** @type {any} */ input, /** @type {any} */ init) => globalThis.fetch(input, init));
        this.#patienceMs = patienceMs ?? PATIENCE_MS;
        this.#clock = clock ?? SYSTEM_CLOCK;
        this.#random = random ?? Math.random;
    }

    /** A newer token of the same user. @param {import('../index.js').Token} token */
    renew(token) {
        this.#tokens = new TokenSource(token);
    }

    // ---- posts ----

    /** @param {{text: string, media?: string[], key?: string}} post */
    async createPost({ text, media, key = drawKey() }) {
        return whole(readPost(await this.#decided('POST', '/v1/posts', { text, media, key })));
    }

    /** @param {string} id */
    async getPost(id) {
        return whole(readPost(await this.request('GET', `/v1/posts/${id}`)));
    }

    /** @param {string} id */
    async deletePost(id) {
        await this.#decided('DELETE', `/v1/posts/${id}`);
    }

    /** @param {string} user @param {ListQuery & {from?: number, to?: number}} [query] */
    async getPosts(user, query) {
        const { items, next } = await this.#list(`/v1/users/${user}/posts`, query);
        return { items: readPosts(items), next };
    }

    /** @param {ListQuery} [query] */
    async getFeed(query) {
        const { items, next, complete, version } = await this.#list('/v1/feed', query);
        return { items: readPosts(items), next, complete: complete === true, version: String(version ?? '') };
    }

    /** @param {ListQuery} [query] */
    async getNotices(query) {
        const { items, next } = await this.#list('/v1/notices', query);
        return { items: (items ?? []).map(readNotice), next };
    }

    // ---- people ----

    /** @param {string} user */
    async getUser(user) {
        return readUser(await this.request('GET', `/v1/users/${user}`));
    }

    /** @param {string} handle with or without an @ in front */
    async getUserByHandle(handle) {
        return readUser(await this.request('GET', `/v1/handles/${encodeURIComponent(handle.replace(/^@/, ''))}`));
    }

    /** @param {string} handle */
    async setHandle(handle) {
        return String((await this.#decided('PUT', '/v1/handle', { handle })).handle);
    }

    async dropHandle() {
        await this.#decided('DELETE', '/v1/handle');
    }

    /** @param {string} user */
    follow(user) {
        return this.#relate('PUT', `/v1/follows/${user}`);
    }

    /** @param {string} user */
    unfollow(user) {
        return this.#relate('DELETE', `/v1/follows/${user}`);
    }

    /** @param {string} user */
    mute(user) {
        return this.#relate('PUT', `/v1/mutes/${user}`);
    }

    /** @param {string} user */
    unmute(user) {
        return this.#relate('DELETE', `/v1/mutes/${user}`);
    }

    /** @param {string} user @param {ListQuery} [query] */
    getFollowers(user, query) {
        return this.#people(`/v1/users/${user}/followers`, query);
    }

    /** @param {string} user @param {ListQuery} [query] */
    getFollowing(user, query) {
        return this.#people(`/v1/users/${user}/following`, query);
    }

    /** @param {string} user @param {string} other @returns {Promise<boolean>} whether the user follows the other one */
    async follows(user, other) {
        const after = BigInt(other) > 0n ? String(BigInt(other) - 1n) : undefined;
        const { items } = await this.getFollowing(user, { after, limit: 1 });
        return items[0] === other;
    }

    // ---- requests ----

    /**
     * @param {string} method
     * @param {string} path
     * @param {Record<string, unknown>} [body]
     * @returns {Promise<any>} the JSON of the answer, {} when there is none
     * @throws {ApiError}
     */
    async request(method, path, body) {
        return (await this.#exchange(method, path, body)).answer;
    }

    /** @param {string} method @param {string} path @param {Record<string, unknown>} [body] */
    async #exchange(method, path, body) {
        const token = await this.#tokens.get();
        let response;
        let text;
        try {
            response = await this.#fetch(this.#url + path, {
                method,
                cache: 'no-store',
                headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
                body: body && writeFrame(body),
                signal: AbortSignal.timeout(TIMEOUT_MS),
            });
            text = await response.text();
        } catch {
            throw new ApiError(0, 'unreachable', 'The server cannot be reached.');
        }
        const answer = parsed(text);
        if (response.ok) return { status: response.status, answer: answer ?? {} };
        const seconds = Number(response.headers.get('retry-after') ?? NaN);
        // RFC 9457 where the server says why, the bare status where something between us does.
        throw new ApiError(
            response.status,
            String(answer?.code ?? 'unknown'),
            String(answer?.detail ?? answer?.title ?? `The server answered ${response.status}.`),
            Number.isFinite(seconds) ? seconds * 1000 : null,
        );
    }

    /**
     * Repeats a request with growing pauses while the server is away or has not decided; throws the last error.
     * @param {string} method
     * @param {string} path
     * @param {Record<string, unknown>} [body]
     */
    async #decided(method, path, body) {
        const end = this.#clock.now() + this.#patienceMs;
        for (let failures = 0; ; failures += 1) {
            const failed = await this.#exchange(method, path, body).then(
                ({ status, answer }) => {
                    if (status !== 202) return { answer };
                    return { error: new ApiError(202, 'pending', 'The server has not decided yet.') };
                },
                (error) => ({ error }),
            );
            if (!('error' in failed)) return failed.answer;
            const { error } = failed;
            const pause = Math.max(backoffMs(failures, this.#random), error.retryAfterMs ?? 0);
            if (!(error instanceof ApiError) || !error.passing || this.#clock.now() + pause >= end) throw error;
            await new Promise((resolve) => this.#clock.setTimeout(() => resolve(undefined), pause));
        }
    }

    /** @param {string} method @param {string} path */
    async #relate(method, path) {
        const { following, muted } = await this.#decided(method, path);
        return (following ?? muted) === true;
    }

    /** @param {string} path @param {ListQuery & {from?: number, to?: number}} [query] */
    async #list(path, query = {}) {
        const members = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
        const search = new URLSearchParams(members.map(([name, value]) => [name, String(value)])).toString();
        const answer = await this.request('GET', search ? `${path}?${search}` : path);
        return { ...answer, next: answer.next === undefined || answer.next === null ? null : String(answer.next) };
    }

    /** @param {string} path @param {ListQuery} [query] */
    async #people(path, query) {
        const { items, next, total } = await this.#list(path, query);
        return { items: (items ?? []).map((/** @type {any} */ item) => String(item.user)), next, total: Number(total) };
    }
}

/** An idempotency key. An author's own posts are all that it must tell apart. */
export function drawKey() {
    const digits = () => Math.random().toString(36).slice(2, 12);
    return `${Date.now().toString(36)}-${digits()}${digits()}`;
}

/** @param {string} text */
function parsed(text) {
    try {
        return parseFrame(text);
    } catch {
        return null;
    }
}

/** @template T @param {T | null} value @returns {T} */
function whole(value) {
    if (value === null) throw new ApiError(0, 'bad_answer', 'The server sent what is not a post.');
    return value;
}

/** @param {any} item @returns {import('../index.js').Notice} */
function readNotice({ id, what, user, subject, comment, time }) {
    const [kind, post] = String(subject ?? '').split(':');
    return { id: String(id), what, user: String(user), post: kind === 'post' ? post : null, comment: comment ?? null, time };
}

/** @param {any} answer @returns {import('../index.js').User} */
function readUser({ user, name, avatar_url: avatarUrl, handle, followers, following, posts }) {
    return { user: String(user), name: name || null, avatarUrl: avatarUrl || null, handle, followers, following, posts };
}
