// starling's HTTP API for posts, comments, follows and home timelines. Writes are repeated until they are decided: doing them again
// changes nothing, as posts and comments carry a key.

import { backoffMs } from './backoff.js';
import { commentsPath, readComment, readCommentPage, readComments } from './comments.js';
import { ApiError, Undecided, Unreachable, apiError } from './errors.js';
import { parseFrame, writeFrame } from './frames.js';
import { readPost, readPosts } from './posts.js';
import { SYSTEM_CLOCK } from './timers.js';
import { TokenSource } from './token.js';

/** @typedef {import('../index.js').ListQuery} ListQuery */
/** @typedef {import('../index.js').Comment} Comment */

const TIMEOUT_MS = 15000;
const PATIENCE_MS = 30000; // writes are repeated for that long

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

    // ---- comments ----

    /**
     * @param {string} subject
     * @param {import('../index.js').CommentsQuery} [query]
     * @param {string | null} [etag]
     * @returns {Promise<any>} null: the page is still that of the ETag
     */
    async getComments(subject, query, etag = null) {
        const { status, answer, headers } = await this.#exchange('GET', pathOf(commentsPath(subject), query), undefined, etag);
        return status === 304 ? null : readCommentPage(answer, headers.get('etag'));
    }

    /** @param {string} subject @param {string} root @param {ListQuery & {liked?: boolean}} [query] */
    async getReplies(subject, root, query) {
        const { items, next } = await this.#list(`${commentsPath(subject)}/${root}/replies`, query);
        return { items: readComments(items), next };
    }

    /** @param {string} subject @param {string} id @param {{liked?: boolean}} [query] */
    async getComment(subject, id, query) {
        return whole(readComment(await this.request('GET', pathOf(`${commentsPath(subject)}/${id}`, query))));
    }

    /** @param {string} subject @param {string} id @param {{around?: number, liked?: boolean}} [query] */
    async getCommentAround(subject, id, { around = 3, liked } = {}) {
        const answer = await this.request('GET', pathOf(`${commentsPath(subject)}/${id}`, { around, liked }));
        return { item: whole(readComment(answer.item)), root: readComment(answer.root), around: readComments(answer.around) };
    }

    /** @param {string} subject @param {{text: string, replyTo?: string | null, key?: string}} comment */
    async postComment(subject, { text, replyTo, key = drawKey() }) {
        const body = { text, ...(replyTo && { reply_to: replyTo }), key };
        return whole(readComment(await this.#decided('POST', commentsPath(subject), body)));
    }

    /** @param {string} subject @param {string} id */
    async deleteComment(subject, id) {
        await this.#decided('DELETE', `${commentsPath(subject)}/${id}`);
    }

    /** @param {string} subject @param {string} id */
    async likeComment(subject, id) {
        return Number((await this.#decided('PUT', `${commentsPath(subject)}/${id}/like`)).likes);
    }

    /** @param {string} subject @param {string} id */
    async unlikeComment(subject, id) {
        return Number((await this.#decided('DELETE', `${commentsPath(subject)}/${id}/like`)).likes);
    }

    /** @param {string} subject @param {string} id */
    async pinComment(subject, id) {
        return (await this.#decided('PUT', `${commentsPath(subject)}/${id}/pin`)).pinned === true;
    }

    /** @param {string} subject @param {string} id */
    async unpinComment(subject, id) {
        return (await this.#decided('DELETE', `${commentsPath(subject)}/${id}/pin`)).pinned === true;
    }

    /** A report is safe as soon as it is answered 202. @param {string} subject @param {string} id @param {string} reason */
    async reportComment(subject, id, reason) {
        await this.#repeated('POST', `${commentsPath(subject)}/${id}/report`, { reason });
    }

    // ---- people ----

    /** @param {ListQuery} [query] */
    async getStrangers(query) {
        const { items, next, cell } = await this.#list('/v1/discover', query);
        return { items: (items ?? []).map(readStranger), next, cell: whole(cell ?? null) };
    }

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

    /**
     * @param {string} method
     * @param {string} path
     * @param {Record<string, unknown>} [body]
     * @param {string | null} [etag] answered 304 if it is still that
     */
    async #exchange(method, path, body, etag = null) {
        const token = await this.#tokens.get();
        let response;
        let text;
        try {
            response = await this.#fetch(this.#url + path, {
                method,
                cache: 'no-store',
                headers: {
                    authorization: `Bearer ${token}`,
                    ...(body && { 'content-type': 'application/json' }),
                    ...(etag !== null && { 'if-none-match': etag }),
                },
                body: body && writeFrame(body),
                signal: AbortSignal.timeout(TIMEOUT_MS),
            });
            text = await response.text();
        } catch {
            throw new Unreachable(0, 'unreachable', 'The server cannot be reached.');
        }
        const answer = parsed(text);
        const { status, headers } = response;
        if (response.ok || status === 304) return { status, headers, answer: answer ?? {} };
        const seconds = Number(headers.get('retry-after') ?? NaN);
        // RFC 9457 where the server says why, the bare status where something between us does.
        throw apiError(
            status,
            String(answer?.code ?? 'unknown'),
            String(answer?.detail ?? answer?.title ?? `The server answered ${status}.`),
            Number.isFinite(seconds) ? seconds * 1000 : null,
            answer ?? {},
        );
    }

    /**
     * Repeats a request with growing pauses while the server is away or has not decided; throws the last error.
     * @param {string} method
     * @param {string} path
     * @param {Record<string, unknown>} [body]
     */
    async #decided(method, path, body) {
        return (await this.#repeated(method, path, body, ({ status }) => status !== 202)).answer;
    }

    /**
     * The same while the server is away, or its answer is not good enough.
     * @param {string} method
     * @param {string} path
     * @param {Record<string, unknown>} [body]
     * @param {(answer: {status: number, answer: any}) => boolean} [enough]
     */
    async #repeated(method, path, body, enough = () => true) {
        const end = this.#clock.now() + this.#patienceMs;
        for (let failures = 0; ; failures += 1) {
            const got = await this.#exchange(method, path, body).catch((error) => ({ error }));
            if (!('error' in got) && enough(got)) return got;
            const error = 'error' in got ? got.error : new Undecided(202, 'pending', 'The server has not decided yet.');
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
    async #list(path, query) {
        const answer = await this.request('GET', pathOf(path, query));
        return { ...answer, next: answer.next === undefined || answer.next === null ? null : String(answer.next) };
    }

    /** @param {string} path @param {ListQuery} [query] */
    async #people(path, query) {
        const { items, next, total } = await this.#list(path, query);
        return { items: (items ?? []).map((/** @type {any} */ item) => String(item.user)), next, total: Number(total) };
    }
}

/** An idempotency key. An author's own posts and comments are all that it must tell apart. */
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

/** @param {string} path @param {object} [query] members that are absent or null are left out */
function pathOf(path, query = {}) {
    const members = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
    const search = new URLSearchParams(members.map(([name, value]) => [name, String(value)])).toString();
    return search ? `${path}?${search}` : path;
}

/** @template T @param {T | null} value @returns {T} */
function whole(value) {
    if (value === null) throw new ApiError(0, 'bad_answer', 'The server sent what cannot be read.');
    return value;
}

/** @param {any} item @returns {import('../index.js').Notice} */
function readNotice({ id, what, user, subject, comment, time }) {
    const [kind, post] = String(subject ?? '').split(':');
    return { id: String(id), what, user: String(user), post: kind === 'post' ? post : null, comment: comment ?? null, time };
}

/** @param {any} item @returns {import('../index.js').Stranger} */
function readStranger({ user, name, avatar_url: avatarUrl, lat, lng, distance_m: distance, time }) {
    return { user: String(user), name: name || null, avatarUrl: avatarUrl || null, lat, lng, distance, time };
}

/** @param {any} answer @returns {import('../index.js').User} */
function readUser({ user, name, avatar_url: avatarUrl, handle, followers, following, posts }) {
    return { user: String(user), name: name || null, avatarUrl: avatarUrl || null, handle, followers, following, posts };
}
