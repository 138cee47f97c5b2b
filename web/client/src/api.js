// starling's HTTP API. Writes are repeated until they are decided: doing them again changes nothing, as posts and comments carry a key,
// and reports a time.

import { commentsPath, readComment, readCommentPage, readComments } from './comments.js';
import { writeDetails } from './details.js';
import { BadRequest } from './errors.js';
import { checkedPosition } from './geo.js';
import {
    readExported, readFriendship, readLink, readLinkPlace, readListedUser, readNamedPlace, readNearby, readNotices, readOutcome, readPlace,
    readPlaceEvent, readSharing, readUser, readWholeProfile,
} from './people.js';
import { readEdit, readPost, readPosts } from './posts.js';
import { Requests, each, path, whole } from './requests.js';
import { readStrangers } from './strangers.js';

/** @typedef {import('../index.js').ListQuery} ListQuery */
/** @typedef {import('../index.js').Comment} Comment */
/** @typedef {{user: number, external: string}} SignedIn */

export class StarlingApi {
    #http;

    /** @param {import('../index.js').ApiOptions} options */
    constructor(options) {
        this.#http = new Requests(options);
    }

    /** A newer token of the same user. @param {import('../index.js').Token} token */
    renew(token) {
        this.#http.renew(token);
    }

    // ---- posts ----

    /** @param {{text: string, media?: string[], key?: string}} post */
    async createPost({ text, media, key = drawKey() }) {
        return whole(readPost(await this.#http.decided('POST', '/v1/posts', { text, media, key })));
    }

    /** @param {string} id */
    async getPost(id) {
        return whole(readPost(await this.#http.ask(path('posts', id))));
    }

    /** @param {string} id @param {{text: string, version: number, reason?: string}} edit */
    async editPost(id, { text, version, reason }) {
        return whole(readPost(await this.#http.decided('PUT', path('posts', id), { text, version, reason })));
    }

    /** @param {string} id @param {ListQuery} [query] */
    async getPostEdits(id, query) {
        return this.#http.page(path('posts', id, 'edits'), query, each(readEdit));
    }

    /** @param {string} id */
    async deletePost(id) {
        await this.#http.decided('DELETE', path('posts', id));
    }

    /** @param {string} id */
    async likePost(id) {
        return Number((await this.#http.decided('PUT', path('posts', id, 'like'))).likes);
    }

    /** @param {string} id */
    async unlikePost(id) {
        return Number((await this.#http.decided('DELETE', path('posts', id, 'like'))).likes);
    }

    /** @param {string} id @param {ListQuery} [query] */
    async getLikes(id, query) {
        return this.#http.page(path('posts', id, 'likes'), query, each(readListedUser));
    }

    /** @param {string} user @param {ListQuery & {from?: number, to?: number}} [query] */
    async getPosts(user, query) {
        return this.#http.page(path('users', user, 'posts'), query, ({ items, next }) => ({ items: readPosts(items), next }));
    }

    /** @param {ListQuery & {from?: number, to?: number}} [query] */
    getFeed(query) {
        return this.#http.page('/v1/feed', query, ({ items, next, complete, version }) => {
            return { items: readPosts(items), next, complete: complete === true, version: String(version ?? '') };
        });
    }

    /** @param {ListQuery} [query] */
    getNotices(query) {
        return this.#http.page('/v1/notices', query, ({ items, next, unread }) => ({ items: readNotices(items), next, unread: Number(unread) }));
    }

    /** @param {string} until the id of a notice */
    async markNoticesRead(until) {
        return Number((await this.#http.decided('PUT', '/v1/notices/read', { until })).unread);
    }

    /** @returns {Promise<import('../index.js').NoticePreferences>} */
    getNoticePreferences() {
        return this.#http.ask('/v1/notices/preferences');
    }

    /** @param {import('../index.js').NoticePreferences} preferences @returns {Promise<import('../index.js').NoticePreferences>} */
    setNoticePreferences(preferences) {
        return this.#http.decided('PUT', '/v1/notices/preferences', /** @type {Record<string, unknown>} */ (preferences));
    }

    // ---- comments ----

    /**
     * @param {string} subject
     * @param {import('../index.js').CommentsQuery} [query]
     * @param {string | null} [etag]
     * @returns {Promise<any>} null: the page is still that of the ETag
     */
    async getComments(subject, query, etag = null) {
        return this.#http.page(commentsPath(subject), query, (answer, tag) => readCommentPage(answer, tag), etag);
    }

    /** @param {string} subject @param {string} root @param {ListQuery & {liked?: boolean}} [query] */
    async getReplies(subject, root, query) {
        return this.#http.page(commentsPath(subject, root, 'replies'), query, ({ items, next }) => ({ items: readComments(items), next }));
    }

    /** @param {string} subject @param {string} id @param {ListQuery & {liked?: boolean}} [query] */
    async getAnswers(subject, id, query) {
        return this.#http.page(commentsPath(subject, id, 'answers'), query, ({ items, next }) => ({ items: readComments(items), next }));
    }

    /** @param {string} subject @param {string} id @param {{liked?: boolean}} [query] */
    async getComment(subject, id, query) {
        return whole(readComment(await this.#http.ask(commentsPath(subject, id), query)));
    }

    /** @param {string} subject @param {string} id @param {{around?: number, liked?: boolean}} [query] */
    async getCommentAround(subject, id, { around = 3, liked } = {}) {
        const answer = await this.#http.ask(commentsPath(subject, id), { around, liked });
        return { item: whole(readComment(answer.item)), root: readComment(answer.root), around: readComments(answer.around) };
    }

    /** @param {string} subject @param {{text: string, replyTo?: string | null, key?: string}} comment */
    async postComment(subject, { text, replyTo, key = drawKey() }) {
        const body = { text, ...(replyTo && { reply_to: replyTo }), key };
        return whole(readComment(await this.#http.decided('POST', commentsPath(subject), body)));
    }

    /** @param {string} subject @param {string} id @param {{text: string, version: number, reason?: string}} edit */
    async editComment(subject, id, { text, version, reason }) {
        return whole(readComment(await this.#http.decided('PUT', commentsPath(subject, id), { text, version, reason })));
    }

    /** @param {string} subject @param {string} id @param {ListQuery} [query] */
    async getCommentEdits(subject, id, query) {
        return this.#http.page(commentsPath(subject, id, 'edits'), query, each(readEdit));
    }

    /** @param {string} subject @param {string} id */
    async deleteComment(subject, id) {
        await this.#http.decided('DELETE', commentsPath(subject, id));
    }

    /** @param {string} subject @param {string} id */
    async likeComment(subject, id) {
        return Number((await this.#http.decided('PUT', commentsPath(subject, id, 'like'))).likes);
    }

    /** @param {string} subject @param {string} id */
    async unlikeComment(subject, id) {
        return Number((await this.#http.decided('DELETE', commentsPath(subject, id, 'like'))).likes);
    }

    /** @param {string} subject @param {string} id */
    async pinComment(subject, id) {
        return (await this.#http.decided('PUT', commentsPath(subject, id, 'pin'))).pinned === true;
    }

    /** @param {string} subject @param {string} id */
    async unpinComment(subject, id) {
        return (await this.#http.decided('DELETE', commentsPath(subject, id, 'pin'))).pinned === true;
    }

    /** A report is safe as soon as it is answered 202. @param {string} subject @param {string} id @param {string} reason */
    async reportComment(subject, id, reason) {
        return this.#report(commentsPath(subject, id, 'report'), reason);
    }

    /** @param {string} id @param {string} reason */
    async reportPost(id, reason) {
        return this.#report(path('posts', id, 'report'), reason);
    }

    /** @param {string} user @param {string} reason */
    async reportUser(user, reason) {
        return this.#report(path('users', user, 'report'), reason);
    }

    /** @param {string} to @param {string} reason */
    async #report(to, reason) {
        await this.#http.patiently(() => this.#http.exchange('POST', to, { reason }));
    }

    /** What a user has commented: only my own. @param {string} user @param {ListQuery} [query] */
    async getCommentsOf(user, query) {
        return this.#http.page(
            path('users', user, 'comments'),
            query,
            each((item) => ({ ...whole(readComment(item)), subject: String(item.subject) })),
        );
    }

    // ---- my friends, and where we are ----

    /** @param {import('../index.js').FriendsQuery} [query] */
    getFriends(query) {
        return this.#http.page('/v1/friends', query, each(readFriendship));
    }

    /** @param {string} user */
    async addFriend(user) {
        return this.#friend('PUT', path('friends', user));
    }

    /** @param {string} user */
    async removeFriend(user) {
        return this.#friend('DELETE', path('friends', user));
    }

    /** @param {string} user */
    async block(user) {
        return this.#friend('PUT', path('blocks', user));
    }

    /** @param {string} user */
    async unblock(user) {
        return this.#friend('DELETE', path('blocks', user));
    }

    /** @param {ListQuery & {since?: number}} [query] */
    getNearby(query) {
        return this.#http.page('/v1/nearby', query, (answer) => ({ ...each(readNearby)(answer), time: answer.time ?? null }));
    }

    /** @param {ListQuery} [query] */
    getAudience(query) {
        const seen = each(({ user, near }) => ({ user: String(user), near: near === true }));
        return this.#http.page('/v1/audience', query, (answer) => ({ ...seen(answer), mode: answer.mode, visible: answer.visible === true }));
    }

    /** @param {{until: number, rounded?: boolean}} link */
    async createLink({ until, rounded = false }) {
        const { id, url } = (await this.#http.patiently(() => this.#http.exchange('POST', '/v1/links', { until, rounded }))).answer;
        return { id: String(id), url: String(url) };
    }

    /** @param {ListQuery} [query] */
    getLinks(query) {
        return this.#http.page('/v1/links', query, each(readLink));
    }

    /** @param {string} id */
    async endLink(id) {
        await this.#http.decided('DELETE', path('links', id));
    }

    /** @param {string} link */
    async getLinkPlace(link) {
        return readLinkPlace(await this.#http.askAnonymously(path('links', link.slice(link.indexOf('#') + 1), 'place')));
    }

    /** @param {ListQuery} [query] */
    getPlaces(query) {
        return this.#http.page('/v1/places', query, each(readNamedPlace));
    }

    /** @param {string} id */
    async getPlace(id) {
        return readNamedPlace(await this.#http.ask(path('places', id)));
    }

    /** @param {string} id @param {Omit<import('../index.js').NamedPlace, 'id'>} place */
    async setPlace(id, { name, lat, lng, radiusM, tell }) {
        const told = typeof tell === 'string' ? tell : tell.map(BigInt);
        return readNamedPlace(await this.#http.decided('PUT', path('places', id), { name, ...checkedPosition({ lat, lng }), radius_m: radiusM, tell: told }));
    }

    /** @param {string} id */
    async deletePlace(id) {
        await this.#http.decided('DELETE', path('places', id));
    }

    /** @param {ListQuery & {from?: number, to?: number}} [query] */
    getPlaceEvents(query) {
        return this.#http.page('/v1/places/events', query, each(readPlaceEvent));
    }

    /** @param {import('../index.js').Report | readonly import('../index.js').Report[]} reports */
    async report(reports) {
        const now = this.#http.now();
        const left = [reports].flat();
        const locations = left.map(({ lat, lng, time = now, accuracy, ...said }) => {
            const place = { ...checkedPosition({ lat, lng }), time: Math.round(time) };
            return { ...place, ...(accuracy !== undefined && { accuracy }), ...writeDetails(said) };
        });
        /** @type {import('../index.js').Report[]} */
        const refused = [];
        for (;;) {
            try {
                const answer = await this.#http.decided('POST', '/v1/locations', { locations });
                return { accepted: Number(answer.accepted), sharingOff: Number(answer.sharing_off), refused };
            } catch (error) {
                const index = error instanceof BadRequest ? Number(error.problem.index) : NaN;
                if (locations.length < 2 || !(index >= 0 && index < locations.length)) throw error;
                // One bad fix must not keep the others from being taken.
                locations.splice(index, 1);
                refused.push(...left.splice(index, 1));
            }
        }
    }

    /** @param {ListQuery & {from?: number, to?: number}} [query] */
    getHistory(query) {
        return this.#http.page('/v1/history', query, each(readPlace));
    }

    // ---- me ----

    async getProfile() {
        return readWholeProfile(await this.#http.ask('/v1/profile'));
    }

    /** @param {string} user */
    async getProfileOf(user) {
        return readWholeProfile(await this.#http.ask(path('profiles', user)));
    }

    /** @param {{name: string, avatarUrl?: string | null, bio?: string | null, url?: string | null}} profile */
    async setProfile({ name, avatarUrl, bio, url }) {
        const body = { name, ...(avatarUrl && { avatar_url: avatarUrl }), ...(bio && { bio }), ...(url && { url }) };
        return readWholeProfile(await this.#http.decided('PUT', '/v1/profile', body));
    }

    async getSharing() {
        return readSharing(await this.#http.ask('/v1/sharing'));
    }

    /** @param {import('../index.js').SharingMode} mode @param {number | null} [until] @param {boolean} [details] */
    async setSharing(mode, until = null, details = false) {
        const choice = { mode, ...(until !== null && { until }), ...(details && { details }) };
        return readSharing(await this.#http.decided('PUT', '/v1/sharing', choice));
    }

    /** @param {string} [session] */
    async getDevices(session) {
        const answer = await this.#http.ask('/v1/devices', { session });
        return [...(answer.items ?? [])].map(({ id, device, since, current }) => ({ id, device, since, current: current === true }));
    }

    /** @param {string} id */
    async endDevice(id) {
        await this.#http.decided('DELETE', path('devices', id));
    }

    /** @param {ListQuery} [query] */
    getExport(query) {
        return this.#http.page('/v1/export', query, (answer) => ({ ...each((item) => readExported(answer.kind, item))(answer), kind: answer.kind }));
    }

    async forgetMe() {
        return (await this.#http.decided('DELETE', '/v1/me')).removed;
    }

    // ---- other people ----

    /** @param {ListQuery} [query] */
    getStrangers(query) {
        return this.#http.page('/v1/discover', query, (answer) => whole(readStrangers(answer)));
    }

    /** @param {string} user */
    async getUser(user) {
        return readUser(await this.#http.ask(path('users', user)));
    }

    /** @param {readonly string[]} users */
    async getUsers(users) {
        return each(readListedUser)(await this.#http.ask('/v1/users', { ids: users.join() })).items;
    }

    async getMe() {
        return String((await this.#http.ask('/v1/me')).user);
    }

    /** @param {readonly string[]} users */
    async getExternals(users) {
        const answer = await this.#http.ask('/v1/externals', { users: users.join() });
        return Object.fromEntries(answer.users.map((/** @type {SignedIn} */ { user, external }) => [String(user), external]));
    }

    /** @param {readonly string[]} externals */
    async getUsersByExternals(externals) {
        const answer = await this.#http.ask('/v1/externals', { externals: externals.join() });
        return Object.fromEntries(answer.users.map((/** @type {SignedIn} */ { user, external }) => [external, String(user)]));
    }

    /** @param {string} handle with or without an @ in front */
    async getUserByHandle(handle) {
        return readUser(await this.#http.ask(`${path('handles')}/${encodeURIComponent(handle.replace(/^@/, ''))}`));
    }

    /** @param {string} handle */
    async setHandle(handle) {
        return String((await this.#http.decided('PUT', '/v1/handle', { handle })).handle);
    }

    async dropHandle() {
        await this.#http.decided('DELETE', '/v1/handle');
    }

    /** @param {string} user */
    async follow(user) {
        return this.#relate('PUT', path('follows', user));
    }

    /** @param {string} user */
    async unfollow(user) {
        return this.#relate('DELETE', path('follows', user));
    }

    /** @param {ListQuery} [query] */
    getMyRequests(query) {
        return this.#people('/v1/follows/requests', query);
    }

    /** @param {ListQuery} [query] */
    getFollowRequests(query) {
        return this.#people('/v1/followers/requests', query);
    }

    /** @param {string} user */
    async acceptFollower(user) {
        return this.#relate('PUT', path('followers', user));
    }

    /** @param {string} user */
    async removeFollower(user) {
        await this.#http.decided('DELETE', path('followers', user));
    }

    /** @returns {Promise<import('../index.js').Visibility>} */
    async getVisibility() {
        return (await this.#http.ask('/v1/visibility')).posts;
    }

    /** @param {import('../index.js').Visibility} posts @returns {Promise<import('../index.js').Visibility>} */
    async setVisibility(posts) {
        return (await this.#http.decided('PUT', '/v1/visibility', { posts })).posts;
    }

    /** @param {string} user */
    async mute(user) {
        return this.#relate('PUT', path('mutes', user));
    }

    /** @param {string} user */
    async unmute(user) {
        return this.#relate('DELETE', path('mutes', user));
    }

    /** @param {string} user */
    async muteNearby(user) {
        return this.#relate('PUT', path('nearby', 'mutes', user));
    }

    /** @param {string} user */
    async unmuteNearby(user) {
        return this.#relate('DELETE', path('nearby', 'mutes', user));
    }

    /** @param {string} user */
    async roundFor(user) {
        return this.#relate('PUT', path('friends', user, 'rounded'));
    }

    /** @param {string} user */
    async exactFor(user) {
        return this.#relate('DELETE', path('friends', user, 'rounded'));
    }

    /** @param {ListQuery} [query] */
    getNearbyMutes(query) {
        return this.#http.page('/v1/nearby/mutes', query, each(readListedUser));
    }

    /** @param {string} user @returns {Promise<boolean>} whether I leave the user out of my list of near friends */
    mutesNearby(user) {
        return this.#lists('/v1/nearby/mutes', user);
    }

    /** @param {string} user @param {ListQuery} [query] */
    async getFollowers(user, query) {
        return this.#people(path('users', user, 'followers'), query);
    }

    /** @param {string} user @param {ListQuery} [query] */
    async getKnownFollowers(user, query) {
        return this.#http.page(path('users', user, 'followers', 'known'), query, each(readListedUser));
    }

    /** @param {string} user @param {ListQuery} [query] */
    async getMutualFriends(user, query) {
        return this.#people(path('users', user, 'mutual-friends'), query);
    }

    /** @param {string} user @param {ListQuery} [query] */
    async getFollowing(user, query) {
        return this.#people(path('users', user, 'following'), query);
    }

    /** @param {string} user @param {string} other @returns {Promise<boolean>} whether the user follows the other one */
    async follows(user, other) {
        return this.#lists(path('users', user, 'following'), other);
    }

    // ---- requests ----

    /**
     * @param {string} method
     * @param {string} path
     * @param {Record<string, unknown>} [body]
     * @returns {Promise<any>} the JSON of the answer, {} when there is none
     * @throws {import('./errors.js').ApiError}
     */
    async request(method, path, body) {
        return (await this.#http.exchange(method, path, body)).answer;
    }

    /** The items of a page and of all pages after it. @param {any} first */
    all(first) {
        return this.#http.all(first);
    }

    /** @param {string} method @param {string} path */
    async #friend(method, path) {
        return readOutcome(await this.#http.decided(method, path));
    }

    /** @param {string} method @param {string} path */
    async #relate(method, path) {
        const { following, follower, muted, rounded } = await this.#http.decided(method, path);
        return (following ?? follower ?? muted ?? rounded) === true;
    }

    /** @param {string} path of a list by user id @param {string} user @returns {Promise<boolean>} whether the user is on it */
    async #lists(path, user) {
        const after = BigInt(user) > 0n ? String(BigInt(user) - 1n) : undefined;
        const { items } = await this.#people(path, { after, limit: 1 });
        return items[0]?.user === user;
    }

    /** @param {string} path @param {ListQuery} [query] */
    #people(path, query) {
        const users = each(readListedUser);
        return this.#http.page(path, query, (answer) => ({ ...users(answer), total: Number(answer.total) }));
    }
}

/** An idempotency key. An author's own posts and comments are all that it must tell apart. */
export function drawKey() {
    const digits = () => Math.random().toString(36).slice(2, 12);
    return `${Date.now().toString(36)}-${digits()}${digits()}`;
}
