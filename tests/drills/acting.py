"""People who act from a thread of their own until they are told to stop."""
import threading

from .gaps import Gaps

PATIENCE_S = 240  # a broker that was killed may take minutes on a busy machine


class Acting:
    """
    Mixed into an Asking, which takes its people first.

    people.begin()       # what is measured begins now
    people.start()       # they act (act(), of a subclass) in a thread
    people.stop()        # when everybody has ended what they began

    what: the product. gaps: by person. failures(): what ended the thread. errors(): answers other than wanted, counted.
    """

    what = ''

    def take(self, people):
        self.patience_s = PATIENCE_S
        self.people, self.gaps = list(people), Gaps()
        self.enough = False  # act() ends soon
        self._failures, self._thread = [], None

    def act(self):
        raise NotImplementedError

    def begin(self):
        self.gaps.begin(self.people)

    def start(self):
        self.enough = False
        self._thread = threading.Thread(target=self._act, daemon=True, name=self.what)
        self._thread.start()

    def stop(self):
        self.enough = True
        self._thread.join(self.patience_s + 10)
        if self._thread.is_alive():
            self._failures.append(AssertionError(f'{self.what}: people do not end'))

    def _act(self):
        try:
            self.act()
        except BaseException as failure:
            self._failures.append(failure)

    def failures(self) -> list:
        return self._failures

    def errors(self) -> dict:
        return {f'{what} {status}': count for (what, status), count in self.answers.items() if status not in (200, 201)}

    def forget_errors(self):
        self.answers.clear()
