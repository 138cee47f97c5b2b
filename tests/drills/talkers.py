"""People who comment, like and read threads, as fast as told, whatever happens."""
import asyncio
import random

from harness.commenters import Commenters
from harness.commenting import Commenting, path
from harness.waiting import eventually

from .acting import Acting

DEEDS = [('post', 4), ('reply', 2), ('like', 4), ('unlike', 1)]
PLAN = 100_000  # deeds: more than there is time for
PAGE = 100


class Talkers(Acting, Commenters):
    """
    talkers = Talkers(cluster, people, subjects=8, every_s=1)
    talkers.start(), .stop(), .check(): as of Authors

    gaps: by user, the time between two rounds: a deed that is acknowledged, and the newest page of a thread.
    """

    what = 'threads'

    def __init__(self, cluster, people, subjects=8, every_s=1.0):
        api, owner = Commenting(cluster), people[0]
        super().__init__(cluster, {api.new_subject(owner): owner for _ in range(subjects)})
        self.take(people)
        self.rest_s, self._turn = every_s, 0

    def act(self):
        self._turn += 1
        kinds, weights = zip(*DEEDS)
        self.run({user: random.Random(f'{user} {self._turn}').choices(kinds, weights, k=PLAN) for user in self.people})

    def check(self):
        """-> how many comments there are. AssertionError: a page of a thread, a floor or a number of likes is wrong."""
        api = Commenting(self.cluster)
        api.threads = self.threads()
        for subject in self.owners:
            eventually(lambda name=subject: api.check(name, limit=PAGE) is None, 30)
        self.check_order()
        return len(self.made)

    async def _deed(self, link, user, what, chance, mine):
        await super()._deed(link, user, what, chance, mine)
        subject = chance.choice(self.subjects)
        await self._until('thread', link, 'GET', path(subject) + '?sort=newest&limit=20', 200)
        self.gaps.success(user)
        await asyncio.sleep(chance.uniform(0, 0.1))  # so that not all of them act at once
