// Frames of starling.v1 to and from JSON text. User ids go up to 2^63-1, which JSON.parse would round, so integers that
// a double cannot hold come out as BigInt and are written as they came.

const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const LONG_INTEGER = /^-?\d{16,}$/;
const MARK = '\u0000integer:';

/**
 * @param {string} text
 * @returns {any} the frame
 * @throws {SyntaxError} the text is not JSON, or not an object
 */
export function parseFrame(text) {
    const frame = /\d{16}/.test(text) ? parseExactly(text) : JSON.parse(text);
    if (frame === null || typeof frame !== 'object' || Array.isArray(frame)) throw new SyntaxError('not a JSON object');
    return frame;
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
        .map(([key, value]) => `${JSON.stringify(key)}:${typeof value === 'bigint' ? value : JSON.stringify(value)}`);
    return `{${members.join(',')}}`;
}
