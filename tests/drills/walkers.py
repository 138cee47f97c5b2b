"""People with phones who walk about and watch their friends do so."""
import random
import time

from harness.geo import north_of
from harness.ring import Ring
from harness.waiting import eventually
from starling_client import Change, State

from .gaps import Gaps

HOME = 39.9847, 116.3184
FRIENDS = 4          # of each
NEAR_M = 1500        # within which most people stay, so that they are always on their friends' lists
FAR_M = 16_000       # how far every sixth person goes, twice the radius, and comes back
STEP_M = 400
SILENCE_S = 5        # after so long without a word a phone asks whether its connection lives


class Walkers(Ring):
    """
    walkers = Walkers(cluster, people, every_s=0.5)
    walkers.start()                     # connects all; they walk from then on, and come back by themselves
    walkers.rest() / .walk()            # stay where they are, and go on reporting / go on walking
    walkers.stand()                     # and report no more: what is on their way may arrive
    walkers.lists()                     # {(user, friend): metres}, as their screens show them
    walkers.end()

    gaps: by (user, friend) of those who stay near, the time between two places of that friend.
    """

    what = 'lists'

    def __init__(self, cluster, people, every_s=0.5):
        super().__init__(cluster, people, FRIENDS)
        self.turn_s, self.gaps = every_s, Gaps()
        self._far = set(self.people[::6])
        self.pairs = {(me, friend) for me, friends in self.friends.items() for friend in friends
                      if not {me, friend} & self._far}
        self.rounds = 0  # how often everybody has reported
        self._walking, self._reporting = True, True
        self._heard_at, self._seen, self._chance = {}, {}, random.Random(1)

    def start(self):
        super().start()
        eventually(self.complete, 60, what='every list is complete')

    def begin(self):
        self.gaps.begin(self.pairs)

    def walk(self):
        self._walking = self._reporting = True

    def rest(self):
        self._walking, self._reporting = False, True

    def stand(self):
        self._reporting = False

    def failures(self) -> list:
        return [self.failure] if self.failure else []

    def errors(self) -> dict:
        return {f'connection closed ({code})': count for code, count in self.closes.items()}

    def forget_errors(self):
        self.closes.clear()

    def complete(self) -> bool:
        """Everybody is online and shows every friend who stays near."""
        return self.online() and self.pairs <= self.lists().keys()

    def lists(self) -> dict:
        return self.on_loop(lambda: {(user, friend.user): friend.distance for user, client in self.clients.items()
                                     for friend in client.known})

    # on the loop

    def options(self, user):
        return {'throttle': self.turn_s / 2, 'connect_options': {'proxy': None, 'open_timeout': 5}}

    def place(self, user):
        """Far walkers go back and forth together, the others anywhere near."""
        if user in self._far:
            way = self.rounds * STEP_M % (2 * FAR_M)
            return north_of(*HOME, min(way, 2 * FAR_M - way))
        return north_of(*HOME, self._chance.uniform(0, NEAR_M))

    def turn(self):
        if not self._reporting:
            return
        if self._walking:
            self._places = {user: self.place(user) for user in self.people}
        now = time.monotonic()
        for user, client in self.clients.items():
            client.move(*self._places[user])
            if client.state is State.ONLINE and now - self._heard_at.get(user, now) > SILENCE_S:
                client.check()
                self._heard_at[user] = now
            elif client.state is State.CLOSED:
                self.failure = self.failure or AssertionError(f'the phone of {user} was told to stay away')
        self.rounds += 1

    def told(self, user, event):
        if not isinstance(event, Change) or event.cause == 'move':
            return
        self._heard_at[user] = time.monotonic()
        for friend in self.clients[user].known:
            if friend.time > self._seen.get((user, friend.user), 0):
                self._seen[user, friend.user] = friend.time
                self.gaps.success((user, friend.user))
