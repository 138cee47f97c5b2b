// Comments as the server says them to comments as applications see them.

import { isId, textOr } from './posts.js';
import { path } from './requests.js';

/** @typedef {import('../index.js').Comment} Comment */

const STATES = ['visible', 'held', 'hidden', 'deleted'];

/** @param {string} subject as post:123 @param {string[]} below @throws {RangeError} not a subject @throws {TypeError} not an id */
export function commentsPath(subject, ...below) {
    const [, type, id] = /^([a-z0-9_-]{1,32}):([A-Za-z0-9._~-]{1,128})$/.exec(subject) ?? [];
    if (!type || /^\.\.?$/.test(id)) throw new RangeError(`not a subject: ${subject}`);
    return path('comments', type, id, ...below);
}

/**
 * @param {any} item as on the wire
 * @returns {Comment | null} null: unusable
 */
export function readComment(item) {
    if (item === null || typeof item !== 'object' || !isId(item.id) || item.user === undefined || item.user === null) return null;
    if (!STATES.includes(item.state)) return null;
    return Object.freeze({
        id: item.id,
        user: String(item.user),
        name: textOr(item.name),
        avatarUrl: textOr(item.avatar_url),
        text: typeof item.text === 'string' ? item.text : null,
        time: numberOr(item.time, 0),
        version: numberOr(item.version, 1),
        edited: numberOr(item.edited, null),
        floor: numberOr(item.floor, 0),
        root: isId(item.root) ? item.root : null,
        replyTo: isId(item.reply_to) ? item.reply_to : null,
        likes: numberOr(item.likes, 0),
        replyCount: numberOr(item.reply_count, 0),
        replies: Object.freeze(readComments(item.replies)),
        state: item.state,
        liked: typeof item.liked === 'boolean' ? item.liked : null,
    });
}

/** @param {any} items @returns {Comment[]} */
export function readComments(items) {
    return Array.isArray(items) ? items.map(readComment).filter((comment) => comment !== null) : [];
}

/** @param {any} answer @param {string | null} etag @returns {import('../index.js').CommentPage} */
export function readCommentPage({ items, next, total, likes, version, closed, owner, pinned }, etag) {
    return {
        items: readComments(items),
        next: typeof next === 'string' ? next : null,
        total: numberOr(total, 0),
        likes: numberOr(likes, 0),
        version: String(version ?? ''),
        closed: closed === true,
        owner: owner === undefined || owner === null ? null : String(owner),
        pinned: readComments(pinned),
        etag,
    };
}

/** @template T @param {unknown} value @param {T} otherwise @returns {number | T} */
function numberOr(value, otherwise) {
    return typeof value === 'number' ? value : otherwise;
}
