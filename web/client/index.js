export { StarlingClient, SUBPROTOCOL } from './src/client.js';
export { CloseCode } from './src/close.js';
export { StarlingApi, drawKey } from './src/api.js';
export {
    ApiError,
    BadRequest,
    CertificateRefused,
    Conflict,
    ConnectedElsewhere,
    ConnectionEnded,
    ConnectionLost,
    ConnectionRefused,
    ConnectionTokenExpired,
    ConnectionTokenRefused,
    Forbidden,
    InvalidPosition,
    NoWebSocket,
    NotAnEdge,
    NotConnected,
    NotFound,
    ProtocolBroken,
    ServerOverloaded,
    ServerRestarting,
    ServerUnavailable,
    TokenExpired,
    TokenRefused,
    TooManyRequests,
    TlsMismatch,
    TooSlow,
    Undecided,
    Unreachable,
} from './src/errors.js';
export { LiveFeed } from './src/feed.js';
export { LiveNotices } from './src/notices.js';
export { LiveThread } from './src/thread.js';
export { compareIds } from './src/posts.js';
export { PAGE_SIZE } from './src/nearby.js';
export { EARTH_RADIUS_M, bearingDegrees, destination, distanceMetres, roundPosition } from './src/geo.js';
