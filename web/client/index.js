export { StarlingClient, CloseCode, SUBPROTOCOL } from './src/client.js';
export { StarlingApi, drawKey } from './src/api.js';
export {
    ApiError,
    BadRequest,
    Conflict,
    ConnectedElsewhere,
    ConnectionEnded,
    ConnectionLost,
    ConnectionTokenExpired,
    ConnectionTokenRefused,
    Forbidden,
    NotFound,
    ProtocolBroken,
    ServerOverloaded,
    ServerRestarting,
    ServerUnavailable,
    TokenExpired,
    TokenRefused,
    TooManyRequests,
    TooSlow,
    Undecided,
    Unreachable,
} from './src/errors.js';
export { LiveFeed } from './src/feed.js';
export { LiveThread } from './src/thread.js';
export { compareIds } from './src/posts.js';
export { PAGE_SIZE } from './src/nearby.js';
export { EARTH_RADIUS_M, bearingDegrees, destination, distanceMetres, roundPosition } from './src/geo.js';
