// What went wrong, as classes: a request over HTTP (ApiError and its kinds), a connection that ended (ConnectionEnded and its kinds), or
// what an application asks for (InvalidPosition, NoWebSocket). index.d.ts says what each means.

/** The server refused, or could not be reached (status 0). */
export class ApiError extends Error {
    /**
     * @param {number} status
     * @param {string} code
     * @param {string} message
     * @param {number | null} [retryAfterMs]
     * @param {Record<string, unknown>} [problem]
     * @param {unknown} [cause]
     */
    constructor(status, code, message, retryAfterMs = null, problem = {}, cause = undefined) {
        super(message, cause === undefined ? undefined : { cause });
        this.name = new.target.name;
        this.status = status;
        this.code = code;
        this.retryAfterMs = retryAfterMs;
        this.problem = problem;
    }

    /** The same request may succeed later. */
    get passing() {
        return this.status === 0 || this.status === 202 || this.status === 429 || this.status >= 502;
    }
}

export class Unreachable extends ApiError {
    /** @type {import('../index.js').Unreachable['why']} */
    why = null;

    get passing() {
        return this.why !== 'origin';
    }
}
export class Undecided extends ApiError {}
export class BadRequest extends ApiError {}
export class TokenRefused extends ApiError {}
export class TokenExpired extends TokenRefused {}
export class Forbidden extends ApiError {}
export class NotFound extends ApiError {}
export class Conflict extends ApiError {}
export class TooManyRequests extends ApiError {}
export class ServerUnavailable extends ApiError {}

/** @type {Map<number, typeof ApiError>} */
const KINDS = new Map([
    [0, Unreachable],
    [202, Undecided],
    [401, TokenRefused],
    [403, Forbidden],
    [404, NotFound],
    [409, Conflict],
    [429, TooManyRequests],
]);

/** @param {number} status @param {string} code @returns {typeof ApiError} */
function kindOf(status, code) {
    if (status === 401 && code === 'token_expired') return TokenExpired;
    const kind = KINDS.get(status);
    if (kind) return kind;
    if (status >= 500) return ServerUnavailable;
    return status >= 400 ? BadRequest : ApiError;
}

/**
 * The error of an answer, of its kind.
 * @param {number} status
 * @param {string} code
 * @param {string} message
 * @param {number | null} [retryAfterMs]
 * @param {Record<string, unknown>} [problem]
 */
export function apiError(status, code, message, retryAfterMs = null, problem = {}) {
    const Kind = kindOf(status, code);
    return new Kind(status, code, message, retryAfterMs, problem);
}

/** A connection ended, or could not be made. */
export class ConnectionEnded extends Error {
    /**
     * @param {number} code of the close frame; 1006: there was none
     * @param {string} reason the server's word
     * @param {string} message
     * @param {boolean} [retries] the client tries again by itself
     */
    constructor(code, reason, message, retries = true) {
        super(message);
        this.name = new.target.name;
        this.code = code;
        this.reason = reason;
        this.retries = retries;
    }
}

export class ConnectionLost extends ConnectionEnded {}
export class NotConnected extends ConnectionLost {}
export class ConnectionRefused extends NotConnected {}
export class TlsMismatch extends NotConnected {}
export class CertificateRefused extends NotConnected {}
export class NotAnEdge extends NotConnected {}
export class ConnectionTokenRefused extends ConnectionEnded {}
export class ConnectionTokenExpired extends ConnectionTokenRefused {}
export class ConnectedElsewhere extends ConnectionEnded {}
export class ServerRestarting extends ConnectionEnded {}
export class ServerOverloaded extends ConnectionEnded {}
export class TooSlow extends ConnectionEnded {}
export class ProtocolBroken extends ConnectionEnded {}

/** @type {Map<number, [typeof ConnectionEnded, string]>} */
const ENDED = new Map([
    [1002, [ProtocolBroken, 'The server could not read what was said.']],
    [1003, [ProtocolBroken, 'The server takes text only.']],
    [1006, [ConnectionLost, 'The connection was lost.']],
    [1007, [ProtocolBroken, 'The server takes UTF-8 only.']],
    [1009, [ProtocolBroken, 'A message was too big.']],
    [1012, [ServerRestarting, 'The server is restarting.']],
    [1013, [ServerOverloaded, 'The server is overloaded.']],
    [4001, [ConnectedElsewhere, 'Ended from another device.']],
    [4002, [TooSlow, 'The connection was too slow.']],
    [4003, [ConnectionTokenExpired, 'The token has expired.']],
]);

/**
 * The end of a connection, of its kind.
 * @param {number} code
 * @param {string} [reason]
 * @param {boolean} [retries] the client tries again by itself
 */
export function connectionEnded(code, reason = '', retries = true) {
    if (code === 1008) {
        if (reason === 'token_expired') return new ConnectionTokenExpired(code, reason, 'The token has expired.', retries);
        if (reason === '' || reason === 'bad_token') return new ConnectionTokenRefused(code, reason, 'The token was refused.', retries);
        return new ProtocolBroken(code, reason, `The server ended the connection: ${reason}.`, retries);
    }
    const [Kind, message] = ENDED.get(code) ?? [ConnectionEnded, `The server ended the connection with ${code}.`];
    return new Kind(code, reason, message, retries);
}

/** What kept a connection from being made: the first of these that an error's code or message is like. @type {[RegExp, string][]} */
const CAUSES = [
    [/ECONNREFUSED/, 'refused'],
    [/ENOTFOUND|EAI_AGAIN/, 'unknown_host'],
    [/CERT|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER/, 'certificate'],
    [/ERR_SSL|EPROTO|HPE_/, 'tls'],
    [/ECONNRESET|socket hang up|UND_ERR_SOCKET/, 'hung_up'],
    [/Unexpected server response/, 'no_edge'],
];

/**
 * What kept a connection from being made, as far as the error says it: browsers never do.
 * @param {any} error
 * @returns {string | null} null: not known
 */
export function causeOf(error) {
    for (let depth = 0, at = error; at && depth < 5; depth += 1, at = at.cause ?? at.error ?? at.errors?.[0]) {
        const found = CAUSES.find(([pattern]) => pattern.test(`${at.code ?? ''} ${at.message ?? ''}`));
        if (found) return found[1];
    }
    return null;
}

/**
 * A connection could not be made.
 * @param {string} url of the edge
 * @param {unknown} error
 */
export function notConnected(url, error) {
    switch (causeOf(error)) {
        case 'refused':
            return new ConnectionRefused(1006, '', `Nobody listens at ${url}.`);
        case 'unknown_host':
            return new NotConnected(1006, '', `The host of ${url} is not known.`);
        case 'certificate':
            return new CertificateRefused(1006, '', `The certificate of ${url} is not trusted here.`);
        case 'tls':
        case 'hung_up': {
            const other = url.startsWith('wss:') ? 'ws:' : 'wss:';
            return new TlsMismatch(1006, '', `What answers at ${url} seems to speak ${other}, not ${url.split('/')[0]}.`);
        }
        case 'no_edge':
            return new NotAnEdge(1006, '', `What answers at ${url} takes no WebSockets of starling: is it the address of the HTTP API?`);
        default:
            return new NotConnected(
                1006,
                '',
                `No connection to ${url} could be made: nobody listens there, it speaks the other one of ws: and wss:, or its certificate is not trusted.`,
            );
    }
}

const UNREACHABLE = new Map([
    ['origin', "The server does not allow this page's origin (ingest.cors.origins): "],
    ['refused', 'Nobody listens at '],
    ['unknown_host', 'The host is not known: '],
    ['certificate', 'The certificate is not trusted here: '],
    ['tls', 'What answers does not speak what the address says, https: or http:: '],
]);

/** No answer came. @param {string} url of the API @param {unknown} error @param {string | null} [why] where something else has told */
export function unreachable(url, error, why = null) {
    const cause = /** @type {any} */ (why ?? causeOf(error));
    const known = UNREACHABLE.get(cause);
    const made = new Unreachable(0, 'unreachable', known ? known + url : 'The server cannot be reached.', null, {}, error);
    made.why = known ? cause : null;
    return made;
}

/** What was given as a position is none. */
export class InvalidPosition extends RangeError {
    /** @param {string} message */
    constructor(message) {
        super(message);
        this.name = 'InvalidPosition';
    }
}

/** This JavaScript has no WebSocket, and none was given. */
export class NoWebSocket extends Error {
    constructor() {
        super("There is no WebSocket here: pass one as the option `WebSocket`, as `import { WebSocket } from 'ws'` in Node before 22.");
        this.name = 'NoWebSocket';
    }
}
