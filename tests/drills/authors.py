"""People who post, follow and read their timelines, as fast as told, whatever happens."""
import asyncio
import collections
import itertools
import random
import time

from harness.asking import PAUSE_S, Asking
from harness.crowd import Crowd

from .acting import Acting

FOLLOWERS = 3     # of each, always
ELSE_EVERY = 8    # rounds between two changes of whom an author follows besides
PAGE = 100


class Authors(Acting, Asking):
    """
    authors = Authors(cluster, people, every_s=1)
    authors.prepare()    # who follows whom
    authors.start(), .stop()
    authors.check()      # every timeline against brute force over what was acknowledged

    gaps: by author, the time between two rounds: a post that is acknowledged and stands on a follower's page.
    follows_change: whether authors follow others besides, and leave them.
    """

    what = 'timelines'

    def __init__(self, cluster, people, every_s=1.0):
        super().__init__(cluster)
        self.take(people)
        self.every_s, self.follows_change = every_s, True
        self.feed = Crowd(cluster)  # the model, and pages
        count = len(self.people)
        self._followers = {me: [self.people[(i + k) % count] for k in range(1, FOLLOWERS + 1)]
                           for i, me in enumerate(self.people)}
        self._numbers = itertools.count()

    def prepare(self):
        self.feed.each([(follower, author) for author, followers in self._followers.items() for follower in followers],
                       lambda pair: self.feed.follow(*pair))

    def check(self):
        """-> how many posts there are. AssertionError: somebody's timeline is wrong, or a number of followers."""
        deadline = time.monotonic() + 60
        wrong = self.people
        while wrong:
            found = self.feed.each(wrong, lambda user: self.feed.wrong_page(user, PAGE))
            wrong = [user for user, why in zip(wrong, found) if why]
            assert not wrong or time.monotonic() < deadline, next(filter(None, found))
        followed = collections.Counter(other for others in self.feed.following.values() for other in others)
        for user in self.people:
            counts = followed[user], len(self.feed.following[user]), len(self.feed.posts[user])
            assert self.feed.counts(user) == counts, f'{user}: {self.feed.counts(user)} followers, followees and posts, not {counts}'
        return sum(map(len, self.feed.posts.values()))

    # on the loop

    def act(self):
        async def live():
            async with asyncio.TaskGroup() as group:
                for user in self.people:
                    group.create_task(self._live(user))

        asyncio.run(live())

    async def _live(self, user):
        link, follower = self.link(user), self._followers[user][0]
        readers, chance = self.link(follower), random.Random(f'{user} {next(self._numbers)}')
        try:
            await asyncio.sleep(chance.uniform(0, self.every_s))
            while not self.enough:
                began, number = time.monotonic(), next(self._numbers)
                post = await self._post(link, user, f'post {number} of {user}', f'drill-{number}')
                await self._see(readers, post)
                self.gaps.success(user)
                if self.follows_change and not number % ELSE_EVERY:
                    await self._follow(link, user, chance.choice(self.people))
                await asyncio.sleep(max(0.0, began + self.every_s - time.monotonic()))
        finally:
            link.close()
            readers.close()

    async def _post(self, link, user, text, key) -> str:
        reply, _, _ = await self._until('post', link, 'POST', '/v1/posts', 201, {'text': text, 'key': key})
        self.feed.posts[user].append(int(reply.json()['id']))
        return reply.json()['id']

    async def _see(self, readers, post):
        """Until the post is on the newest page of a follower."""
        deadline = time.monotonic() + self.patience_s
        while True:
            reply, _, _ = await self._until('timeline', readers, 'GET', f'/v1/feed?limit={PAGE}', 200)
            page = reply.json()
            if page['complete'] and any(item['id'] == post and not item.get('unavailable') for item in page['items']):
                return
            assert time.monotonic() < deadline, f'the post {post} did not come within {self.patience_s} s'
            await asyncio.sleep(PAUSE_S)

    async def _follow(self, link, user, other):
        if other == user or user in self._followers[other]:
            return
        wanted = other not in self.feed.following[user]
        await self._until('follow', link, 'PUT' if wanted else 'DELETE', f'/v1/follows/{other}', 200)
        (self.feed.following[user].add if wanted else self.feed.following[user].discard)(other)
