"""People with phones (the Python client, with its own ways to come back) who walk about and watch their friends do so."""
import asyncio
import random
import threading
import time

from harness.geo import north_of
from harness.waiting import eventually
from starling_client import Change, StarlingClient, State, StateChange

from .gaps import Gaps

HOME = 39.9847, 116.3184
FRIENDS = 4          # of each: the two on either side of a ring
NEAR_M = 1500        # within which most people stay, so that they are always on their friends' lists
FAR_M = 16_000       # how far every sixth person goes, twice the radius, and comes back
STEP_M = 400
SILENCE_S = 5        # after so long without a word a phone asks whether its connection lives


class Walkers:
    """
    walkers = Walkers(cluster, people, every_s=0.5)
    walkers.start()                     # connects all; they walk from then on, and come back by themselves
    walkers.rest() / .walk()            # stay where they are, and go on reporting / go on walking
    walkers.stand()                     # and report no more: what is on their way may arrive
    walkers.lists()                     # {(user, friend): metres}, as their screens show them
    walkers.end()

    gaps: by (user, friend) of those who stay near, the time between two places of that friend.
    lost: how often a connection ended, by close code.
    """

    what = 'lists'

    def __init__(self, cluster, people, every_s=0.5):
        self.people, self.every_s, self.gaps, self.lost = list(people), every_s, Gaps(), {}
        self._cluster, count = cluster, len(self.people)
        self.friends = {me: {self.people[(i + k) % count] for k in (-2, -1, 1, 2)} for i, me in enumerate(self.people)}
        self._far = set(self.people[::6])
        self.pairs = {(me, friend) for me, friends in self.friends.items() for friend in friends
                      if not {me, friend} & self._far}
        self.rounds = 0  # how often everybody has reported
        self._walking, self._reporting = True, True
        self._clients: dict[int, StarlingClient] = {}
        self._heard, self._seen, self._failure = {}, {}, None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True, name='walkers')

    def start(self):
        self._cluster.share(*self.people)
        self._cluster.befriend(*{tuple(sorted((me, friend))) for me in self.people for friend in self.friends[me]})
        self._tokens = {user: self._cluster.token(user, ttl=24 * 3600) for user in self.people}
        self._thread.start()
        eventually(self.complete, 60, what='every list is complete')

    def begin(self):
        self.gaps.begin(self.pairs)

    def walk(self):
        self._walking = self._reporting = True

    def rest(self):
        self._walking, self._reporting = False, True

    def stand(self):
        self._reporting = False

    def end(self):
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(20)

    def failures(self) -> list:
        return [self._failure] if self._failure else []

    def errors(self) -> dict:
        return {f'connection closed ({code})': count for code, count in self.lost.items()}

    def forget_errors(self):
        self.lost.clear()

    def complete(self) -> bool:
        """Everybody is online and shows every friend who stays near."""
        assert not self._failure, self._failure
        online = len(self._clients) == len(self.people) and all(c.state is State.ONLINE for c in self._clients.values())
        return online and self.pairs <= self.lists().keys()

    def lists(self) -> dict:
        async def read():
            return {(user, friend.user): friend.distance for user, client in self._clients.items() for friend in client.known}
        return asyncio.run_coroutine_threadsafe(read(), self._loop).result(10)

    # on the loop

    def _run(self):
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._live())

    async def _live(self):
        self._over = asyncio.Event()
        chance = random.Random(1)
        for user in self.people:
            client = self._clients[user] = StarlingClient(self._cluster.ws_url, self._tokens[user], *self._place(user, chance),
                                                          throttle=self.every_s / 2, prefetch=True,
                                                          connect_options={'proxy': None, 'open_timeout': 5})
            client.on_event(lambda event, me=user: self._told(me, event))
            client.connect()
        try:
            while not self._over.is_set():
                if self._reporting:
                    self._report(chance)
                await asyncio.sleep(self.every_s)
        except Exception as failure:
            self._failure = failure
        await asyncio.gather(*(client.close() for client in self._clients.values()))

    def _place(self, user, chance):
        """Far walkers go back and forth together, the others anywhere near."""
        if user in self._far:
            way = self.rounds * STEP_M % (2 * FAR_M)
            return north_of(*HOME, min(way, 2 * FAR_M - way))
        return north_of(*HOME, chance.uniform(0, NEAR_M))

    def _report(self, chance):
        if self._walking:
            self._places = {user: self._place(user, chance) for user in self.people}
        now = time.monotonic()
        for user, client in self._clients.items():
            client.move(*self._places[user])
            if client.state is State.ONLINE and now - self._heard.get(user, now) > SILENCE_S:
                client.check()
                self._heard[user] = now
            elif client.state is State.CLOSED:
                self._failure = self._failure or AssertionError(f'the phone of {user} was told to stay away')
        self.rounds += 1

    def _told(self, user, event):
        if isinstance(event, StateChange) and event.state is State.WAITING:
            self.lost[event.code] = self.lost.get(event.code, 0) + 1
        if not isinstance(event, Change) or event.cause == 'move':
            return
        self._heard[user] = time.monotonic()
        for friend in self._clients[user].known:
            if friend.time > self._seen.get((user, friend.user), 0):
                self._seen[user, friend.user] = friend.time
                self.gaps.success((user, friend.user))
