// Users, friends, places and notices as the HTTP API says them, to what applications see.

import { readDetails } from './details.js';
import { textOr } from './posts.js';

/** @param {any} answer @returns {import('../index.js').Profile} */
export function readProfile({ user, name, avatar_url: avatarUrl }) {
    return { user: String(user), name: textOr(name), avatarUrl: textOr(avatarUrl) };
}

/** @param {any} answer @returns {import('../index.js').WholeProfile} */
export function readWholeProfile({ bio, url, ...profile }) {
    return { ...readProfile(profile), bio: textOr(bio), url: textOr(url) };
}

/** @param {any} answer @returns {import('../index.js').User} */
export function readUser({ handle, followers, following, posts, follow, ...profile }) {
    return { ...readWholeProfile(profile), handle, followers, following, posts, follow };
}

/** @param {any} item @returns {import('../index.js').ListedUser} */
export function readListedUser({ handle, ...profile }) {
    return { ...readProfile(profile), handle: handle ?? undefined };
}

/** @param {any} answer @returns {import('../index.js').Sharing} */
export function readSharing({ mode, until, details }) {
    return { mode, until: until ?? null, details: details === true };
}

/** @param {any} item @returns {import('../index.js').Link} */
export function readLink({ id, until, rounded, made }) {
    return { id: String(id), until, rounded: rounded === true, made };
}

/** @param {any} answer @returns {import('../index.js').LinkPlace} */
export function readLinkPlace({ name, lat, lng, time, until }) {
    return { name: String(name ?? ''), lat: lat ?? null, lng: lng ?? null, time: time ?? null, until };
}

/** @param {any} item @returns {import('../index.js').NamedPlace} */
export function readNamedPlace({ id, name, lat, lng, radius_m, tell }) {
    return { id: String(id), name: String(name), lat, lng, radiusM: radius_m, tell: Array.isArray(tell) ? tell.map(String) : tell };
}

/** @param {any} item @returns {import('../index.js').PlaceEvent} */
export function readPlaceEvent({ number, place, name, what, time }) {
    return { number: Number(number), place: String(place), name: String(name), what, time };
}

/** @param {any} item @returns {import('../index.js').Friendship} */
export function readFriendship({ state, since, rounded, ...profile }) {
    return { ...readListedUser(profile), state, since: since || null, rounded: rounded === true };
}

/** @param {any} answer @returns {import('../index.js').FriendOutcome} */
export function readOutcome({ user, state, since }) {
    return { user: String(user), state, since: since || null };
}

/** @param {any} item @returns {import('../index.js').NearbyFriend} */
export function readNearby({ lat, lng, distance_m: distance, time, rounded, accuracy, ...item }) {
    const place = { lat, lng, distance, time, rounded: rounded === true };
    return { ...readProfile(item), ...place, ...(accuracy !== undefined && { accuracy }), ...readDetails(item) };
}

/** @param {any} item @returns {import('../index.js').Place} */
export function readPlace({ lat, lng, time, accuracy, received, ...said }) {
    return { lat, lng, time, accuracy: accuracy ?? null, received, ...readDetails(said) };
}

/** @param {any} item @returns {import('../index.js').Notice} */
function readNotice({ id, what, user, subject, comment, place, time, count, users }) {
    const [kind, post] = String(subject ?? '').split(':');
    const about = { post: kind === 'post' ? post : null, comment: comment ?? null, place: place ?? null };
    return { id: String(id), what, user: String(user), ...about, time, count: count ?? 1, users: (users ?? [user]).map(String) };
}

/** @param {any} items @returns {import('../index.js').Notice[]} */
export function readNotices(items) {
    return Array.isArray(items) ? items.filter((item) => item !== null && typeof item === 'object').map(readNotice) : [];
}

/**
 * An item of an export, with all that the server says of it.
 * @param {string} kind
 * @param {any} item
 * @returns {import('../index.js').Exported}
 */
export function readExported(kind, item) {
    return { kind, ...item, ...(item.user !== undefined && { user: String(item.user) }) };
}
