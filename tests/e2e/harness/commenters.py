"""Hundreds of users who comment and like at once, whatever dies, and what the threads must therefore hold. `starling-load simulate` does so, too;
here it is a client without any code of ours that judges."""
import asyncio
import collections
import itertools
import random

from .asking import Asking
from .commenting import path
from .meanwhile import troubled
from .threads import Threads


class Made:
    """A comment that was written: the answer, and when it was sent and acknowledged first (seconds, monotonic)."""

    def __init__(self, subject, text, comment, sent, acknowledged):
        self.id, self.subject, self.text, self.comment = int(comment['id']), subject, text, comment
        self.sent, self.acknowledged = sent, acknowledged
        self.root, self.user = comment['root'] and int(comment['root']), comment['user']


class Commenters(Asking):
    """
    crowd = Commenters(cluster, {'site:1': owner, ...})
    crowd.run(users, plan, [(0.5, kill), ...])    # plan(user): what each does, one after the other: 'post', 'reply', 'like', ...
    crowd.threads()                               # the model (threads.py), from what was answered

    A request that is lost or undecided is repeated, comments with the same key; with `hurry`, 202 is enough. Every other answer than the
    wanted one must be a refusal that the deed may get.
    """

    def __init__(self, cluster, owners: dict[str, int], moderator=9):
        super().__init__(cluster)
        self.owners, self.moderator = owners, moderator
        self.made: dict[int, Made] = {}
        self.under: dict[str, list[Made]] = {subject: [] for subject in owners}
        self.undecided = collections.defaultdict(list)  # by link
        self.likes: dict[int, set[int]] = collections.defaultdict(set)
        self.post_likes: dict[str, set[int]] = collections.defaultdict(set)  # of subjects that are posts
        self.states: dict[int, str] = {}
        self.subjects, self.weights = list(owners), None
        self.rest_s = 0.0  # how long a user rests after a deed
        self.enough = False  # users leave the rest of their plans
        self.done, self._total, self._keys = 0, 0, itertools.count()

    def share_done(self) -> float:
        return self.done / self._total

    # one user

    async def _write(self, link, subject, text, answered=None):
        key = f'key-{next(self._keys)}'
        body = {'text': text, 'key': key, **({'reply_to': str(answered.id)} if answered else {})}
        reply, sent, acknowledged = await self._until('write', link, 'POST', path(subject), 201, body, may=(409,))
        if reply.status == 409:  # what it would answer is deleted
            assert answered and reply.json()['code'] == 'comment_not_visible', reply.body
            return
        if reply.status == 202:
            self.undecided[link].append((reply.header('Location'), subject, text, sent, acknowledged))
        else:
            self._note(subject, text, reply, sent, acknowledged)

    def _note(self, subject, text, reply, sent, acknowledged):
        made = Made(subject, text, reply.json(), sent, acknowledged)
        assert made.id not in self.made, f'written under two keys: {made.comment}'
        self.made[made.id] = made
        self.under[subject].append(made)

    async def _ask_outcomes(self, link):
        for location, *about in self.undecided.pop(link, ()):
            reply, _, _ = await self._until('outcome', link, 'GET', location, 201)
            self._note(about[0], about[1], reply, *about[2:])

    async def _like(self, link, user, made, wanted):
        reply, _, _ = await self._until('like', link, 'PUT' if wanted else 'DELETE', path(made.subject, made.id, 'like'), 200,
                                        may=(409,) if wanted else ())
        if reply.status != 409:
            (self.likes[made.id].add if wanted else self.likes[made.id].discard)(user)

    async def _like_post(self, link, user, subject, wanted):
        await self._until('like', link, 'PUT' if wanted else 'DELETE', f'/v1/posts/{subject.removeprefix("post:")}/like', 200)
        (self.post_likes[subject].add if wanted else self.post_likes[subject].discard)(user)

    async def _delete(self, link, made):
        await self._until('delete', link, 'DELETE', path(made.subject, made.id), 204)
        self.states[made.id] = 'deleted'

    async def _hide(self, made):
        link = self.link(self.moderator, 'moderator')
        reply, _, _ = await self._until('hide', link, 'PUT', path(made.subject, made.id).replace('/v1/', '/v1/moderation/', 1), 200,
                                        {'state': 'hidden', 'reason': 'because'}, may=(409,))
        if reply.status == 200:
            self.states.setdefault(made.id, 'hidden')
        link.close()

    def _choose(self, known, chance, wanted):
        """A comment, rather an old one than a new one; a few tries for one that nobody has deleted and that is wanted."""
        for _ in range(20):
            about = known[int(len(known) * chance.random() ** 2)]
            if about.id not in self.states and wanted(about):
                break
        return about

    async def _deed(self, link, user, what, chance, mine):
        subject, = chance.choices(self.subjects, self.weights)
        known = self.under[subject]
        if what == 'post' or not known:
            await self._write(link, subject, f'{self.done} by {user}, ü 评论')
            return
        wanted = user not in self.post_likes[subject]
        if what == ('like' if wanted else 'unlike') and subject.startswith('post:') and chance.random() < 0.1:
            await self._like_post(link, user, subject, wanted)
            return
        about = self._choose(known, chance, lambda made: what != 'like' or user not in self.likes[made.id])
        if what == 'reply':
            await self._write(link, subject, f'{self.done} by {user}, a reply', about)
        elif what == 'like':
            await self._like(link, user, about, True)
            mine.append(about)
        elif what == 'unlike':
            if mine:
                await self._like(link, user, chance.choice(mine), False)
        elif what == 'delete':
            about = self._choose(known, chance, lambda made: made.user == user)
            if about.user == user:
                await self._delete(link, about)
        elif what == 'hide':
            await self._hide(about)
        else:
            raise AssertionError(what)

    async def _live(self, user, deeds):
        link, chance, mine = self.link(user), random.Random(user), []
        try:
            for what in deeds:
                if self.enough:
                    break
                await self._deed(link, user, what, chance, mine)
                self.done += 1
                await asyncio.sleep(self.rest_s)
            await self._ask_outcomes(link)
        finally:
            link.close()

    # all of them

    def run(self, plans: dict[int, list[str]], meanwhile=()):
        """Meanwhile [(share, do), ...]: each is done by this thread when that share of all plans is."""
        self.done, self._total = 0, sum(map(len, plans.values()))

        async def live():
            async with asyncio.TaskGroup() as group:
                for user, deeds in plans.items():
                    group.create_task(self._live(user, deeds))

        troubled(lambda: asyncio.run(live()), self.share_done, meanwhile)

    # what must be there

    def threads(self) -> Threads:
        """Ids rise in the order in which comments were decided; so the model gives each its floor, which must be the one that was
        answered."""
        threads = Threads()
        for subject, owner in self.owners.items():
            threads.register(subject, owner=owner)
        for id in sorted(self.made):
            made = self.made[id]
            reply_to = made.comment['reply_to']
            noted = threads.write(made.subject, id, made.user, made.text, made.comment['time'],
                                  reply_to=None if reply_to is None else int(reply_to))
            assert (noted.floor, noted.root) == (made.comment['floor'], made.root), made.comment
        for id, users in self.likes.items():
            for user in users:
                threads.like(self.made[id].subject, id, user)
        for subject, users in self.post_likes.items():
            for user in users:
                threads.like_subject(subject, user)
        for id, state in self.states.items():
            threads.moderate(self.made[id].subject, id, state)
        return threads

    def check_order(self):
        """A comment that was acknowledged before another was sent has the lower floor."""
        latest = collections.defaultdict(float)  # by (subject, root): when a comment up to this floor was sent at the latest
        for made in sorted(self.made.values(), key=lambda made: (made.comment['floor'], made.id)):
            where = made.subject, made.root
            assert made.acknowledged >= latest[where], f'acknowledged before an earlier one was sent: {made.comment}'
            latest[where] = max(latest[where], made.sent)
