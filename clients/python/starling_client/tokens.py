"""Where tokens come from: one that was given, or a function of the application's that is asked whenever one is needed."""
from __future__ import annotations

import base64
import inspect
import json
from collections.abc import Awaitable, Callable

Token = str | Callable[[], str | Awaitable[str]]
"""A JWT whose `sub` is the user; or a function, plain or async, that gets one from wherever the application has them. It is
asked for every connection, before a token ends (which renews it on the open connection), and once more when the server
refuses one (1008, 4003). If it raises, the attempt counts as failed, and there is another."""

EARLY_S = 60.0         # a token is renewed this long before its end,
EARLY_SHARE = 0.2      # or in the last fifth of what is left of a short one
SHORTEST_S = 1.0       # renewals are not closer together than this


class TokenSource:
    def __init__(self, token: Token):
        self._token = token
        self._refused = 0

    async def get(self) -> str:
        if isinstance(self._token, str):
            return self._token
        token = self._token()
        return await token if inspect.isawaitable(token) else token

    def trust(self) -> None:
        """The server took a token: the next refusal is the first one again."""
        self._refused = 0

    def refused(self) -> bool:
        """The server refused the token. True: another one may be better (asked once, not for ever)."""
        self._refused += 1
        return not isinstance(self._token, str) and self._refused <= 1

    def renew_in(self, token: str, now_ms: float) -> float | None:
        """Seconds until the token in use should be renewed; None: it cannot be, or nobody knows when it ends."""
        end = None if isinstance(self._token, str) else expiry_of(token)
        if end is None:
            return None
        left = end - now_ms / 1000
        return max(SHORTEST_S, left - min(EARLY_S, left * EARLY_SHARE))


def expiry_of(token: str) -> float | None:
    """When a JWT ends, seconds since the epoch. It is not verified: only the server can."""
    try:
        body = token.split('.')[1]
        end = json.loads(base64.urlsafe_b64decode(body + '=' * (-len(body) % 4)))['exp']
        return float(end)
    except (IndexError, KeyError, TypeError, ValueError):
        return None
