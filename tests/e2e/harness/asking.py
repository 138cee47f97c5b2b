"""Users who repeat what was lost or is not decided, from one asyncio loop."""
import asyncio
import collections
import time

from .links import Link, Reply

PATIENCE_S = 90  # so long a user repeats a request that is not answered, or not decided
PAUSE_S = 0.1


class Asking:
    """answers: how often which deed was answered with which status ('lost': not at all)."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.answers = collections.Counter()
        self.patience_s = PATIENCE_S
        self.hurry = False  # users go on when a write is acknowledged, and ask for its outcome at their end
        self._tokens: dict[tuple, str] = {}

    def link(self, user, scope=None) -> Link:
        if (user, scope) not in self._tokens:
            self._tokens[user, scope] = self.cluster.token(user, scope, ttl=24 * 3600)
        return Link(self.address_of(user), self._tokens[user, scope])

    def address_of(self, user) -> str:
        """Of the gateway that the user asks."""
        return self.cluster.http_url.removeprefix('http://')

    async def _until(self, what, link, method, where, wanted, body=None, may=()) -> tuple[Reply, float, float]:
        """The answer, when it was asked first, and when the request was first acknowledged."""
        sent, acknowledged, last = time.monotonic(), None, None
        while True:
            assert time.monotonic() - sent < self.patience_s, f'{method} {where} was not decided within {self.patience_s} s: {last}'
            try:
                last = reply = await link.ask(method, where, body)
            except OSError as error:
                last = error
                self.answers[what, 'lost'] += 1
                await asyncio.sleep(PAUSE_S)
                continue
            now = time.monotonic()
            self.answers[what, reply.status] += 1
            if reply.status in (wanted, 202):
                acknowledged = acknowledged or now
            if reply.status == wanted or reply.status in may or (reply.status == 202 and self.hurry and what != 'outcome'):
                return reply, sent, acknowledged
            assert reply.status in (202, 503), f'{method} {where}: {reply.status} {reply.body.decode()}'
            await asyncio.sleep(PAUSE_S)
