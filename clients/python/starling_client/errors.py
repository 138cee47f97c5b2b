"""What went wrong, as types: a request over HTTP (ApiError and its kinds), a connection that ended (ConnectionEnded and its kinds), or
a position that is none (InvalidPosition)."""
from __future__ import annotations

import http.client
import socket
import ssl
from typing import Any

from websockets.exceptions import InvalidMessage, InvalidStatus, InvalidUpgrade


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
    why: str | None = None
    """refused (nobody listens there), unknown_host, certificate (it is not trusted here), tls (https: to a port that speaks http:, or
    the other way round); None: not known."""


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
    reason: the server's word. retries: the client tries again by itself. By itself it comes back from all but ConnectionTokenRefused and
    ConnectedElsewhere."""

    def __init__(self, code: int, reason: str, message: str, retries: bool = True):
        super().__init__(message)
        self.code, self.reason, self.message, self.retries = code, reason, message, retries


class ConnectionLost(ConnectionEnded):
    """1006: the network, or nobody listens there."""


class NotConnected(ConnectionLost):
    """It could not be made. The kinds of this class say why, where that is known."""


class ConnectionRefused(NotConnected):
    """Nobody listens at that address."""


class TlsMismatch(NotConnected):
    """wss: to a port that speaks ws:, or, as it seems, the other way round."""


class CertificateRefused(NotConnected):
    """The server's certificate is not trusted here, has expired, or is of another host."""


class NotAnEdge(NotConnected):
    """A web server answered that takes no WebSockets: the address of the HTTP API, perhaps."""


class ConnectionTokenRefused(ConnectionEnded):
    """1008 and 4003 for the token's sake."""


class ConnectionTokenExpired(ConnectionTokenRefused):
    """The token has expired: a new one of the same user will do."""


class ConnectedElsewhere(ConnectionEnded):
    """4001: the user has ended the session from another device."""


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
    4001: (ConnectedElsewhere, 'Ended from another device.'),
    4002: (TooSlow, 'The connection was too slow.'),
    4003: (ConnectionTokenExpired, 'The token has expired.'),
}


def connection_ended(code: int, reason: str = '', retries: bool = True) -> ConnectionEnded:
    """The end of a connection, of its kind."""
    if code == 1008:
        if reason == 'token_expired':
            return ConnectionTokenExpired(code, reason, 'The token has expired.', retries)
        if reason in ('', 'bad_token'):
            return ConnectionTokenRefused(code, reason, 'The token was refused.', retries)
        return ProtocolBroken(code, reason, f'The server ended the connection: {reason}.', retries)
    kind, message = _ENDED.get(code, (ConnectionEnded, f'The server ended the connection with {code}.'))
    return kind(code, reason, message, retries)


class InvalidPosition(ValueError):
    """What was given as a position is none: the message says which coordinate is missing, no number or out of range."""


def _cause_of(error: BaseException) -> str:
    """What kept a connection from being made; 'unknown': the error does not say."""
    inner = error.__cause__ or error.__context__
    if isinstance(error, ConnectionRefusedError):
        return 'refused'
    if isinstance(error, socket.gaierror):
        return 'unknown_host'
    if isinstance(error, ssl.SSLCertVerificationError):
        return 'certificate'
    if isinstance(error, (ssl.SSLEOFError, EOFError, ConnectionResetError, http.client.RemoteDisconnected)):
        return 'hung_up'
    if isinstance(error, (ssl.SSLError, http.client.BadStatusLine)):
        return 'tls'
    if isinstance(error, InvalidMessage):
        return 'hung_up' if isinstance(inner, EOFError) else 'tls'
    if isinstance(error, (InvalidStatus, InvalidUpgrade)):
        return 'no_edge'
    if isinstance(error, OSError) and 'Multiple exceptions' in str(error) and 'refused' in str(error):
        return 'refused'  # of a host with several addresses; asyncio says it in words only
    return 'unknown'


def not_connected(url: str, error: BaseException) -> NotConnected:
    """A connection to the edge could not be made."""
    cause = _cause_of(error)
    if cause == 'refused':
        return ConnectionRefused(1006, '', f'Nobody listens at {url}.')
    if cause == 'unknown_host':
        return NotConnected(1006, '', f'The host of {url} is not known.')
    if cause == 'certificate':
        return CertificateRefused(1006, '', f'The certificate of {url} is not trusted here.')
    if cause in ('tls', 'hung_up'):
        own, other = ('wss:', 'ws:') if url.startswith('wss:') else ('ws:', 'wss:')
        return TlsMismatch(1006, '', f'What answers at {url} seems to speak {other}, not {own}.')
    if cause == 'no_edge':
        return NotAnEdge(1006, '', f'What answers at {url} takes no WebSockets of starling: is it the address of the HTTP API?')
    return NotConnected(1006, '', f'No connection to {url} could be made: {error or type(error).__name__}.')


_UNREACHABLE = {'refused': 'Nobody listens at {}.', 'unknown_host': 'The host of {} is not known.',
                'certificate': 'The certificate of {} is not trusted here.',
                'tls': 'What answers at {} does not speak what the address says, https: or http:.'}


def unreachable(url: str, error: BaseException) -> Unreachable:
    """No answer of the API came."""
    cause = _cause_of(error)
    made = Unreachable(0, 'unreachable', _UNREACHABLE.get(cause, 'The server cannot be reached.').format(url))
    made.why = cause if cause in _UNREACHABLE else None
    return made
