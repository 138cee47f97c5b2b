// The meanings of the codes with which a server closes a connection.

export const CloseCode = Object.freeze({
    BAD_TOKEN: 1008,
    TOO_BIG: 1009,
    RESTARTING: 1012,
    OVERLOADED: 1013,
    ELSEWHERE: 4001,
    TOO_SLOW: 4002,
    TOKEN_EXPIRED: 4003,
});

const TOKEN_REASONS = ['bad_token', 'token_expired'];

/**
 * Why there is no coming back by ourselves; undefined: there is.
 * @param {number} code
 * @param {string} [why] the server's reason
 * @param {() => boolean} [better] the token was refused: is there another one?
 * @returns {import('../index.js').ClosedReason | undefined}
 */
export function finalReason(code, why, better = () => false) {
    if (code === CloseCode.ELSEWHERE) return 'elsewhere';
    if (code !== CloseCode.TOKEN_EXPIRED && code !== CloseCode.BAD_TOKEN) return undefined;
    // 1008 is said of other things, too: a hello that came too late over a bad network, say. Those pass.
    if (code === CloseCode.BAD_TOKEN && why && !TOKEN_REASONS.includes(why)) return undefined;
    if (better()) return undefined;
    return code === CloseCode.TOKEN_EXPIRED || why === 'token_expired' ? 'expired' : 'token';
}
