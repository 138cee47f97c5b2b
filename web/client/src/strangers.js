// Strangers nearby, as HTTP and the socket tell of them.

/** @param {any} item @returns {import('../index.js').Stranger} */
function readStranger({ user, name, avatar_url: avatarUrl, lat, lng, distance_m: distance, time }) {
    return { user: String(user), name: name || null, avatarUrl: avatarUrl || null, lat, lng, distance, time };
}

/**
 * @param {any} page
 * @returns {import('../index.js').Strangers | null} null: it is none
 */
export function readStrangers({ items, next, cell }) {
    if (!Array.isArray(items) || !cell || typeof cell !== 'object') return null;
    return { items: items.map(readStranger), next: next ?? null, cell };
}
