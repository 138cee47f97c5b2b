"""What went wrong, as types: a request over HTTP (ApiError and its kinds), or a connection that ended (ConnectionEnded and its kinds)."""
from __future__ import annotations

from typing import Any


class ApiError(Exception):
    """The server refused, or was not reached. status: of the answer; 0: there was none; 202: not decided yet. code: as in
    openapi.yaml; besides `unreachable`, `no_token`, `pending`, `bad_answer` and `unknown`. problem: all members of the server's
    problem+json, {} where something else answered."""

    def __init__(self, status: int, code: str, message: str, retry_after: float | None = None,
                 problem: dict[str, Any] | None = None):
        super().__init__(message)
        self.status, self.code, self.message, self.retry_after = status, code, message, retry_after
        self.problem = problem or {}

    @property
    def passing(self) -> bool:
        """The same request may succeed later."""
        return self.status in (0, 202, 429) or self.status >= 502


class Unreachable(ApiError):
    """No answer came: no network, the connection was refused, or it took too long."""


class Undecided(ApiError):
    """202: the command is safe, its outcome was not known in time. The same request again finds it out."""


class BadRequest(ApiError):
    """400, 413 and other 4xx: the request is wrong, and will be next time. `code` says what about it."""


class TokenRefused(ApiError):
    """401: the token is missing, forged, or of the wrong audience."""


class TokenExpired(TokenRefused):
    """401 token_expired: a new one of the same user will do."""


class Forbidden(ApiError):
    """403: this user may not do that."""


class NotFound(ApiError):
    """404."""


class Conflict(ApiError):
    """409: it is somebody else's already, or says something else than before."""


class TooManyRequests(ApiError):
    """429: not so fast. retry_after (s) says when."""


class ServerUnavailable(ApiError):
    """5xx: the server cannot just now. retry_after (s) is its guess of when it can."""


_KINDS: dict[int, type[ApiError]] = {0: Unreachable, 202: Undecided, 401: TokenRefused, 403: Forbidden, 404: NotFound,
                                     409: Conflict, 429: TooManyRequests}


def api_error(status: int, code: str, message: str, retry_after: float | None = None,
              problem: dict[str, Any] | None = None) -> ApiError:
    """The error of an answer, of its kind."""
    kind = TokenExpired if status == 401 and code == 'token_expired' else _KINDS.get(status)
    if kind is None:
        kind = ServerUnavailable if status >= 500 else BadRequest if status >= 400 else ApiError
    return kind(status, code, message, retry_after, problem)


class ConnectionEnded(Exception):
    """A connection of StarlingClient ended, or could not be made. code: of the close frame (CloseCode); 1006: there was none.
    reason: the server's word. By itself the client comes back from all but ConnectionTokenRefused and ConnectedElsewhere."""

    def __init__(self, code: int, reason: str, message: str):
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message


class ConnectionLost(ConnectionEnded):
    """1006: the network, or nobody listens there."""


class ConnectionTokenRefused(ConnectionEnded):
    """1008 and 4003 for the token's sake."""


class ConnectionTokenExpired(ConnectionTokenRefused):
    """The token has expired: a new one of the same user will do."""


class ConnectedElsewhere(ConnectionEnded):
    """4001: the user has connected with another device."""


class ServerRestarting(ConnectionEnded):
    """1012: the server is going away, another one will take over."""


class ServerOverloaded(ConnectionEnded):
    """1013: the server takes no more connections just now."""


class TooSlow(ConnectionEnded):
    """4002: nothing was taken from the connection for a minute."""


class ProtocolBroken(ConnectionEnded):
    """1002, 1003, 1007, 1008 (not about a token) and 1009: the server did not like what was said. A bug, or a hello that came too late."""


_ENDED: dict[int, tuple[type[ConnectionEnded], str]] = {
    1002: (ProtocolBroken, 'The server could not read what was said.'),
    1003: (ProtocolBroken, 'The server takes text only.'),
    1006: (ConnectionLost, 'The connection was lost.'),
    1007: (ProtocolBroken, 'The server takes UTF-8 only.'),
    1009: (ProtocolBroken, 'A message was too big.'),
    1012: (ServerRestarting, 'The server is restarting.'),
    1013: (ServerOverloaded, 'The server is overloaded.'),
    4001: (ConnectedElsewhere, 'Connected on another device.'),
    4002: (TooSlow, 'The connection was too slow.'),
    4003: (ConnectionTokenExpired, 'The token has expired.'),
}


def connection_ended(code: int, reason: str = '') -> ConnectionEnded:
    """The end of a connection, of its kind."""
    if code == 1008:
        if reason == 'token_expired':
            return ConnectionTokenExpired(code, reason, 'The token has expired.')
        if reason in ('', 'bad_token'):
            return ConnectionTokenRefused(code, reason, 'The token was refused.')
        return ProtocolBroken(code, reason, f'The server ended the connection: {reason}.')
    kind, message = _ENDED.get(code, (ConnectionEnded, f'The server ended the connection with {code}.'))
    return kind(code, reason, message)
