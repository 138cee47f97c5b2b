"""People with phones (the Python client, with its own ways to come back), each a friend of the next few on both sides of a ring.
`starling-load simulate` has phones, too; these stay because it is the client whose coming back is to be seen."""
import asyncio
import collections
import threading

from starling_client import StarlingClient, State, StateChange


class Ring:
    """
    ring = Ring(cluster, people, 8)     # so many friends of each
    ring.start()                        # connects all
    ring.end()

    On an event loop of its own it calls what a subclass has: place(user), where a phone begins; options(user), of its client; turn(), every
    turn_s seconds; and told(user, event). closes: how often a connection ended, by close code. failure: what ended the loop.
    """

    turn_s = 0.1

    def __init__(self, cluster, people, friends):
        self.people, self.closes, self.failure = list(people), collections.Counter(), None
        self.friends = {me: {self.people[(i + k) % len(self.people)] for k in range(-friends // 2, friends // 2 + 1) if k}
                        for i, me in enumerate(self.people)}
        self.clients: dict[int, StarlingClient] = {}
        self._cluster, self._loop = cluster, asyncio.new_event_loop()
        self._thread = threading.Thread(target=lambda: self._loop.run_until_complete(self._live()), daemon=True, name='ring')

    def start(self):
        self._cluster.share(*self.people)
        self._cluster.befriend(*{tuple(sorted((me, friend))) for me in self.people for friend in self.friends[me]})
        self._tokens = {user: self._cluster.token(user, ttl=24 * 3600) for user in self.people}
        self._thread.start()

    def end(self):
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(20)

    def online(self) -> bool:
        assert not self.failure, self.failure
        return len(self.clients) == len(self.people) and all(client.state is State.ONLINE for client in self.clients.values())

    def on_loop(self, call):
        """call() on the loop, and what it returned."""
        async def called():
            return call()

        return asyncio.run_coroutine_threadsafe(called(), self._loop).result(10)

    async def _live(self):
        self._over = asyncio.Event()
        for user in self.people:
            client = self.clients[user] = StarlingClient(self._cluster.ws_url, self._tokens[user], *self.place(user), prefetch=True,
                                                         **self.options(user))
            client.on_event(lambda event, me=user: self._heard(me, event))
            client.connect()
        try:
            while not self._over.is_set():
                self.turn()
                await asyncio.sleep(self.turn_s)
        except Exception as failure:
            self.failure = failure
        await asyncio.gather(*(client.close() for client in self.clients.values()))

    def _heard(self, user, event):
        if isinstance(event, StateChange) and event.state is State.WAITING:
            self.closes[event.code] += 1
        self.told(user, event)
