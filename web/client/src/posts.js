// Posts as the server says them, over HTTP or the WebSocket, to posts as applications see them.

/** @typedef {import('../index.js').Post} Post */

/**
 * @param {any} item as on the wire
 * @returns {Post | null} null: unusable
 */
export function readPost(item) {
    if (item === null || typeof item !== 'object' || !isId(item.id) || item.user === undefined || item.user === null) return null;
    const unavailable = typeof item.text !== 'string';
    return Object.freeze({
        id: item.id,
        user: String(item.user),
        name: textOr(item.name),
        avatarUrl: textOr(item.avatar_url),
        text: unavailable ? null : item.text,
        media: Object.freeze(Array.isArray(item.media) ? item.media.filter((/** @type {unknown} */ url) => typeof url === 'string') : []),
        time: Number.isFinite(item.time) ? item.time : 0,
        version: Number.isSafeInteger(item.version) ? item.version : 1,
        edited: Number.isFinite(item.edited) ? item.edited : null,
        state: textOr(item.state),
        unavailable,
        comments: countOr(item.comments),
        likes: countOr(item.likes),
        liked: typeof item.liked === 'boolean' ? item.liked : null,
    });
}

/** @param {any} items @returns {Post[]} */
export function readPosts(items) {
    return Array.isArray(items) ? items.map(readPost).filter((post) => post !== null) : [];
}

/** @param {any} item @returns {import('../index.js').Edit} */
export function readEdit({ version, text, time, user, name, avatar_url: avatarUrl }) {
    return { version, text, time, user: String(user), name: textOr(name), avatarUrl: textOr(avatarUrl) };
}

/** Decimal numbers of any length: below zero if a is the smaller one. @param {string} a @param {string} b */
export function compareIds(a, b) {
    if (a.length !== b.length) return a.length - b.length;
    return a < b ? -1 : a > b ? 1 : 0;
}

/** @param {unknown} value @returns {value is string} */
export function isId(value) {
    return typeof value === 'string' && /^[1-9]\d{0,18}$/.test(value);
}

/** @param {any} value @returns {number | null} */
function countOr(value) {
    return Number.isSafeInteger(value) && value >= 0 ? value : null;
}

/** @param {unknown} value */
export function textOr(value) {
    return typeof value === 'string' && value !== '' ? value : null;
}
