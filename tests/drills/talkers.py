"""People who comment, like and read threads, as fast as told, whatever happens."""
import asyncio
import random
import threading

from harness.asking import PATIENCE_S
from harness.commenters import Commenters, path
from harness.commenting import Commenting
from harness.waiting import eventually

from .gaps import Gaps

DEEDS = [('post', 4), ('reply', 2), ('like', 4), ('unlike', 1)]
PLAN = 100_000  # deeds: more than there is time for
PAGE = 100


class Talkers(Commenters):
    """
    talkers = Talkers(cluster, people, subjects=8, every_s=1)
    talkers.start(), .stop(), .check(): as of Authors

    gaps: by user, the time between two rounds: a deed that is acknowledged, and the newest page of a thread.
    """

    what = 'threads'

    def __init__(self, cluster, people, subjects=8, every_s=1.0):
        self.people, self.gaps = list(people), Gaps()
        self._api = Commenting(cluster)
        super().__init__(cluster, {self._api.new_subject(self.people[0]): self.people[0] for _ in range(subjects)})
        self.rest_s, self._failures, self._thread, self._turn = every_s, [], None, 0

    def start(self):
        self._turn += 1
        self.enough = False
        kinds, weights = zip(*DEEDS)
        plans = {user: random.Random(f'{user} {self._turn}').choices(kinds, weights, k=PLAN) for user in self.people}
        self._thread = threading.Thread(target=self._run_plans, args=(plans,), daemon=True, name='talkers')
        self._thread.start()

    def begin(self):
        self.gaps.begin(self.people)

    def stop(self):
        self.enough = True
        self._thread.join(PATIENCE_S + 10)

    def failures(self) -> list:
        return self._failures

    def errors(self) -> dict:
        return {f'{what} {status}': count for (what, status), count in self.answers.items() if status not in (200, 201)}

    def forget_errors(self):
        self.answers.clear()

    def check(self):
        """-> how many comments there are. AssertionError: a page of a thread, a floor or a number of likes is wrong."""
        api = Commenting(self.cluster)
        api.threads = self.threads()
        for subject in self.owners:
            eventually(lambda name=subject: api.check(name, limit=PAGE) is None, 30)
        self.check_order()
        return len(self.made)

    def _run_plans(self, plans):
        try:
            self.run(plans)
        except BaseException as failure:
            self._failures.append(failure)

    async def _deed(self, link, user, what, chance, mine):
        await super()._deed(link, user, what, chance, mine)
        subject = chance.choice(self.subjects)
        await self._until('thread', link, 'GET', path(subject) + '?sort=newest&limit=20', 200)
        self.gaps.success(user)
        await asyncio.sleep(chance.uniform(0, 0.1))  # so that not all of them act at once
