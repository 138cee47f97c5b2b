"""How long people wait for what they use to come again."""
import threading
import time


class Gaps:
    """
    gaps = Gaps()
    gaps.begin({ada, ben})       # from now on
    gaps.success(ada)            # it worked for her; any thread may say so
    gaps.longest()               # seconds: the longest time between two successes of one person, those that still last included

    In calm running that is the time between two attempts: the floor of what can be measured.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._last: dict = {}
        self._longest = 0.0

    def begin(self, people):
        with self._lock:
            self._last, self._longest = dict.fromkeys(people, time.monotonic()), 0.0

    def success(self, person):
        now = time.monotonic()
        with self._lock:
            if person in self._last:
                self._longest = max(self._longest, now - self._last[person])
                self._last[person] = now

    def longest(self) -> float:
        now = time.monotonic()
        with self._lock:
            return max(self._longest, *(now - last for last in self._last.values()))

    def waiting(self, since: float) -> list:
        """Those who had no success since then (monotonic)."""
        with self._lock:
            return [person for person, last in self._last.items() if last <= since]
