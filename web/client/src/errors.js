// What went wrong, as classes: a request over HTTP (ApiError and its kinds), or a connection that ended (ConnectionEnded and its
// kinds). index.d.ts says what each means.

/** The server refused, or could not be reached (status 0). */
export class ApiError extends Error {
    /**
     * @param {number} status
     * @param {string} code
     * @param {string} message
     * @param {number | null} [retryAfterMs]
     * @param {Record<string, unknown>} [problem]
     */
    constructor(status, code, message, retryAfterMs = null, problem = {}) {
        super(message);
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

export class Unreachable extends ApiError {}
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
     */
    constructor(code, reason, message) {
        super(message);
        this.name = new.target.name;
        this.code = code;
        this.reason = reason;
    }
}

export class ConnectionLost extends ConnectionEnded {}
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
    [4001, [ConnectedElsewhere, 'Connected on another device.']],
    [4002, [TooSlow, 'The connection was too slow.']],
    [4003, [ConnectionTokenExpired, 'The token has expired.']],
]);

/**
 * The end of a connection, of its kind.
 * @param {number} code
 * @param {string} [reason]
 */
export function connectionEnded(code, reason = '') {
    if (code === 1008) {
        if (reason === 'token_expired') return new ConnectionTokenExpired(code, reason, 'The token has expired.');
        if (reason === '' || reason === 'bad_token') return new ConnectionTokenRefused(code, reason, 'The token was refused.');
        return new ProtocolBroken(code, reason, `The server ended the connection: ${reason}.`);
    }
    const [Kind, message] = ENDED.get(code) ?? [ConnectionEnded, `The server ended the connection with ${code}.`];
    return new Kind(code, reason, message);
}
