// Words for numbers. No DOM in here.

import { locale, t, units } from './texts.js';

/** Small and large unit, metres in each, and from how many of the small ones on the large one is used. */
const UNITS = {
    km: { small: ['metres', 1], large: ['km', 1000], from: 995 },
    mi: { small: ['feet', 0.3048], large: ['mi', 1609.344], from: 995 },
};

/** @param {number} metres @param {'km' | 'mi'} [as] */
export function formatDistance(metres, as = units) {
    const { small, large, from } = UNITS[as];
    const few = metres / small[1];
    if (few < from) return t(small[0], { number: String(few < 99.5 ? Math.round(few) : Math.round(few / 10) * 10) });
    const many = metres / large[1];
    return t(large[0], { number: many < 99.95 ? many.toFixed(1) : String(Math.round(many)) });
}

const SPEEDS = { km: { words: 'kmh', mps: 1 / 3.6 }, mi: { words: 'mph', mps: 0.44704 } };

/** @param {number} mps metres a second @param {'km' | 'mi'} [as] */
export function formatSpeed(mps, as = units) {
    return t(SPEEDS[as].words, { number: Math.round(mps / SPEEDS[as].mps) });
}

const percent = new Intl.NumberFormat(locale, { style: 'percent' });
const ACTIVITIES = { still: t('still'), walking: t('walking'), running: t('running'), cycling: t('cycling'), driving: t('driving'), transit: t('transit') };

/** What somebody's phone says beside the place. @param {Pick<import('../client/index.js').Friend, 'accuracy' | keyof import('../client/index.js').Details>} friend */
export function describeDetails({ accuracy, battery, charging, speed, activity }) {
    const parts = [];
    if (accuracy !== undefined) parts.push(t('accurateTo', { distance: formatDistance(accuracy) }));
    if (ACTIVITIES[activity]) parts.push(ACTIVITIES[activity]);
    if (speed !== undefined) parts.push(formatSpeed(speed));
    if (battery !== undefined) parts.push(t(charging ? 'batteryCharging' : 'battery', { percent: percent.format(battery) }));
    else if (charging) parts.push(t('charging'));
    return parts.join(' · ');
}

/** @param {number} ms since it happened; below zero counts as now */
export function formatAgo(ms) {
    const seconds = Math.max(0, Math.floor(ms / 1000));
    if (seconds < 10) return t('justNow');
    if (seconds < 60) return t('secondsAgo', { number: Math.floor(seconds / 5) * 5 });
    if (seconds < 3600) return t('minutesAgo', { number: Math.floor(seconds / 60) });
    return t('hoursAgo', { number: Math.floor(seconds / 3600) });
}

const COMPASS = ['north', 'northEast', 'east', 'southEast', 'south', 'southWest', 'west', 'northWest'];

/** @param {number} degrees clockwise from north */
export function compass(degrees) {
    return t(COMPASS[Math.round(degrees / 45) % 8]);
}

const CONTROLS = /[\u202a-\u202e\u2066-\u2069]/g; // they turn the direction of text, also of what is not theirs
const UNSEEN = /[\s\p{Cf}\p{Cc}\u115f\u1160\u2800\u3164\uffa0]/gu;
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/**
 * A text of somebody's that stays in its place: without what would turn the direction of others, with one empty line where there are many,
 * and with no more marks on a letter than any script has. @param {string} text
 */
export function plain(text) {
    return text
        .replace(CONTROLS, '')
        .replace(/\n([^\S\n]*\n){2,}/g, '\n\n')
        .replace(/(\p{M}{8})\p{M}+/gu, '$1');
}

/** A name, by itself also within a sentence of another direction. @param {{name: string | null, user: string}} person */
export function displayName({ name, user }) {
    const shown = plain(name ?? '');
    if (shown.replace(UNSEEN, '') === '') return t('nameOfUser', { user });
    return RIGHT_TO_LEFT.test(shown) ? `\u2068${shown}\u2069` : shown;
}

/** Up to two letters, by code points. @param {{name: string | null, user: string}} person */
export function initials({ name, user }) {
    const shown = (name ?? '').replace(UNSEEN, ' ').trim();
    if (shown === '') return user.slice(-2);
    const words = shown.split(/\s+/);
    const letters = words.length > 1 ? [words[0], words[words.length - 1]] : [words[0]];
    return letters.map((word) => [...word][0] ?? '').join('').toUpperCase();
}

/** A colour of one's own, the same on every screen: degrees on the colour wheel. @param {string} user */
export function hueOf(user) {
    let hash = 2166136261;
    for (let i = 0; i < user.length; i += 1) hash = Math.imul(hash ^ user.charCodeAt(i), 16777619) >>> 0;
    return (hash % 24) * 15;
}

/** @param {{lat: number, lng: number}} position */
export function formatPosition({ lat, lng }) {
    return `${lat.toFixed(5)}, ${lng.toFixed(5)}`;
}

/**
 * @param {string} text two numbers with something between them
 * @returns {{lat: number, lng: number} | null} null: not a position
 */
export function parsePosition(text) {
    const match = /^\s*(-?\d+(?:\.\d+)?)\s*[,;\s]\s*(-?\d+(?:\.\d+)?)\s*$/.exec(text);
    if (!match) return null;
    const lat = Number(match[1]);
    const lng = Number(match[2]);
    return Math.abs(lat) <= 90 && Math.abs(lng) <= 180 ? { lat, lng } : null;
}

/**
 * What came and went, as one sentence for somebody who listens.
 * @param {string[]} came names
 * @param {number} gone how many
 */
export function describeChange(came, gone) {
    const parts = [];
    const [name, other] = came;
    if (came.length === 1) parts.push(t('oneIsNear', { name }));
    else if (came.length === 2) parts.push(t('twoAreNear', { name, other }));
    else if (came.length > 2) parts.push(t('manyAreNear', { name, count: came.length - 1 }));
    if (gone > 0) parts.push(t('noLongerNear', { count: gone }));
    return parts.join('; ');
}

/**
 * Who the token is for. It is not verified: only the server can.
 * @param {string} token
 * @returns {string | null} null: not a token
 */
export function subjectOf(token) {
    const { sub } = claimsOf(token);
    return typeof sub === 'string' || typeof sub === 'number' ? String(sub) : null;
}

/** @param {string} token @returns {number} when it ends, ms; without end where it does not say */
export function expiryOf(token) {
    const { exp } = claimsOf(token);
    return Number.isFinite(exp) ? exp * 1000 : Infinity;
}

function claimsOf(token) {
    const parts = token.split('.');
    if (parts.length !== 3) return {};
    try {
        return JSON.parse(atob(parts[1].replace(/-/g, '+').replace(/_/g, '/'))) ?? {};
    } catch {
        return {};
    }
}

/** @param {string} url @returns {string | null} the host of a web address; null: it is none */
export function webHost(url) {
    try {
        const { protocol, host } = new URL(url);
        return /^https?:$/.test(protocol) ? host : null;
    } catch {
        return null;
    }
}

/** The length of a text as the server counts it, in code points. @param {string} text */
export function codePoints(text) {
    return [...text].length;
}

/** @param {string} text what somebody typed @returns {string | null} a handle, without an @; null: it is none, or a number */
export function parseHandle(text) {
    return /^\s*(?:@([A-Za-z0-9_]{3,30})|(?=.*[A-Za-z_])([A-Za-z0-9_]{3,30}))\s*$/.exec(text)?.slice(1).find(Boolean)?.toLowerCase() ?? null;
}

/** @param {string} text what somebody typed @returns {string | null} a user id; null: it is none */
export function parseUser(text) {
    const digits = /^\s*(\d{1,19})\s*$/.exec(text)?.[1];
    return digits !== undefined && BigInt(digits) < 2n ** 63n ? String(BigInt(digits)) : null;
}

/**
 * When sharing ends that is turned on now, ms; null: it has no end.
 * @param {string} choice 'hour', 'hours' (eight), 'tonight' (the next midnight here), or '' for no end
 * @param {number} now ms
 */
export function sharingEnd(choice, now) {
    if (choice === 'hour') return now + 3_600_000;
    if (choice === 'hours') return now + 8 * 3_600_000;
    if (choice !== 'tonight') return null;
    return new Date(now).setHours(24, 0, 0, 0);
}

const MOST_FOUND = 6;

/** Without case and accents. @param {string} text */
const folded = (text) => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();

/**
 * Those of whose name or handle a word begins so, in their order, each once.
 * @template {{user: string, name: string | null, handle?: string | null}} P
 * @param {Iterable<P>} people @param {string} typed @returns {P[]}
 */
export function matching(people, typed) {
    const wanted = folded(typed.trim().replace(/^@/, ''));
    const found = new Map();
    if (wanted === '') return [];
    for (const person of people) {
        if (found.has(person.user) || found.size === MOST_FOUND) continue;
        const words = folded(`${person.name ?? ''} ${person.handle ?? ''}`);
        if (words.startsWith(wanted) || words.includes(` ${wanted}`)) found.set(person.user, person);
    }
    return [...found.values()];
}
