// Frames of starling.v1 to and from JSON text. User ids go up to 2^63-1, which JSON.parse would round, so integers that
// a double cannot hold come out as BigInt and are written as they came.

const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const LONG_INTEGER = /^-?\d{16,}$/;
const MARK = '\u0000integer:';

/** Members that must be lists, where they are. */
const LISTS = ['items', 'near', 'gone'];

/**
 * @param {unknown} text
 * @returns {any} the frame
 * @throws {SyntaxError} not text, not JSON, not an object, or not the shape of its type
 */
export function parseFrame(text) {
    if (typeof text !== 'string') throw new SyntaxError('not a text frame');
    const frame = /\d{16}/.test(text) ? parseExactly(text) : JSON.parse(text);
    if (frame === null || typeof frame !== 'object' || Array.isArray(frame)) throw new SyntaxError('not a JSON object');
    if (LISTS.some((name) => frame[name] !== undefined && !Array.isArray(frame[name]))) throw new SyntaxError('no list');
    if (frame.type === 'nearby' && !frame.items) throw new SyntaxError('a page without items');
    if (frame.type === 'welcome' && !isUser(frame.user)) throw new SyntaxError('a welcome to nobody');
    return frame;
}

/**
 * @param {any} frame `welcome`
 * @param {number} now by the local clock
 * @returns {import('../index.js').Welcome}
 */
export function readWelcome(frame, now) {
    return Object.freeze({
        user: String(frame.user),
        session: frame.session === undefined ? undefined : String(frame.session),
        serverTime: Number.isFinite(frame.server_time) ? frame.server_time : now,
        radiusM: positiveOr(frame.radius_m, Infinity),
        reportEveryS: positiveOr(frame.report_every_s, 30),
        inactiveAfterS: positiveOr(frame.inactive_after_s, 600),
    });
}

/** @param {unknown} value @param {number} otherwise */
function positiveOr(value, otherwise) {
    return typeof value === 'number' && value > 0 ? value : otherwise;
}

/** @param {unknown} value */
function isUser(value) {
    return typeof value === 'bigint' || Number.isSafeInteger(value);
}

/** @param {string} text */
function parseExactly(text) {
    const marked = text.replace(TOKENS, (token) =>
        LONG_INTEGER.test(token) && !Number.isSafeInteger(Number(token)) ? JSON.stringify(MARK + token) : token,
    );
    return JSON.parse(marked, (_key, value) =>
        typeof value === 'string' && value.startsWith(MARK) ? BigInt(value.slice(MARK.length)) : value,
    );
}

/**
 * @param {Record<string, unknown>} frame flat
 * @returns {string}
 */
export function writeFrame(frame) {
    const members = Object.entries(frame)
        .filter(([, value]) => value !== undefined)
        .map(([key, value]) => `${JSON.stringify(key)}:${written(value)}`);
    return `{${members.join(',')}}`;
}

/** @param {unknown} value a list of integers has nothing else */
function written(value) {
    if (Array.isArray(value) && typeof value[0] === 'bigint') return `[${value.join()}]`;
    return typeof value === 'bigint' ? String(value) : JSON.stringify(value);
}
