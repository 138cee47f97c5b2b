"""Threads of comments as a plain model: what became of each comment, and what pages must hold. Ids are numbers here."""
import collections
import math


class Refused(Exception):
    """A command that changes nothing; its name is that of the refusal."""


class Subject:
    def __init__(self, owner, who_may='everyone', review='after', closed=False, level=0):
        self.owner, self.who_may, self.review, self.closed, self.level = owner, who_may, review, closed, level
        self.comments = {}  # id -> Comment, in the order in which they were made
        self.pinned = []    # ids, the newest pin first
        self.likes = set()  # who likes the subject itself
        self.version = self.counters = 0
        self._under = collections.defaultdict(list)  # root -> its replies; None -> the roots

    def add(self, comment):
        self.comments[comment.id] = comment
        self._under[comment.root].append(comment)

    def roots(self):
        return self._under[None]

    def replies(self, root):
        return self._under.get(root, [])

    def total(self):
        return sum(comment.state == 'visible' for comment in self.comments.values())


class Comment:
    def __init__(self, id, user, text, time, floor, root, reply_to, state):
        self.id, self.user, self.text, self.time, self.floor = id, user, text, time, floor
        self.root, self.reply_to, self.state = root, reply_to, state
        self.likes, self.reports = set(), set()
        self.version, self.edited = 1, None
        self.former = []  # texts


class Threads:
    """
    threads = Threads()
    threads.register('post:1', owner=7)
    threads.write('post:1', 100, ben, 'hello', time)             # a root; with reply_to a reply
    threads.page('post:1', 'newest')['items']
    """

    def __init__(self):
        self.subjects = collections.OrderedDict()

    # commands; `user` does them, who is an owner, an author, a moderator or somebody else

    def register(self, subject, **settings):
        known = self.subjects.get(subject)
        if known is None:
            if settings.get('owner') is None:
                raise Refused('no_subject')
            known = self.subjects[subject] = Subject(settings['owner'])
        for name, value in settings.items():
            if value is not None:
                setattr(known, name, value)
        known.version += 1
        return known

    def write(self, subject, id, user, text, time, reply_to=None, blocked=False, follows=False, friends=False, level=0):
        known = self.subjects.get(subject)
        if known is None:
            raise Refused('no_subject')
        answered = known.comments.get(reply_to)
        if reply_to is not None:
            if answered is None:
                raise Refused('no_comment')
            if answered.state != 'visible':
                raise Refused('not_visible')
        if known.closed:
            raise Refused('closed')
        if user != known.owner:
            may = {'everyone': True, 'followers': follows, 'friends': friends, 'nobody': False}[known.who_may]
            for refused, reason in ((blocked, 'blocked'), (not may, 'not_allowed'), (level < known.level, 'level')):
                if refused:
                    raise Refused(reason)
        root = None if answered is None else answered.id if answered.root is None else answered.root
        floor = 1 + (len(known.roots()) if root is None else len(known.replies(root)))
        held = known.review == 'before' and user != known.owner
        known.add(Comment(id, user, text, time, floor, root, reply_to, 'held' if held else 'visible'))
        known.version += 1
        return known.comments[id]

    def _comment(self, subject, id):
        known = self.subjects.get(subject)
        if known is None:
            raise Refused('no_subject')
        if id not in known.comments:
            raise Refused('no_comment')
        return known, known.comments[id]

    def edit(self, subject, id, user, text, version, time, moderator=False):
        known, comment = self._comment(subject, id)
        if comment.state == 'deleted':
            raise Refused('not_visible')
        if not moderator and user != comment.user:
            raise Refused('not_yours')
        if not moderator and comment.state == 'hidden':
            raise Refused('not_visible')
        if version != comment.version:
            raise Refused('old_version')
        comment.former.append(comment.text)
        comment.text, comment.version, comment.edited = text, version + 1, time
        known.version += 1
        return comment

    def like(self, subject, id, user, wanted=True, blocked=False):
        known, comment = self._comment(subject, id)
        if wanted and user not in comment.likes and comment.state != 'visible':
            raise Refused('not_visible')
        if wanted and blocked:
            raise Refused('blocked')
        known.counters += (user in comment.likes) != wanted
        (comment.likes.add if wanted else comment.likes.discard)(user)
        return comment

    def like_subject(self, subject, user, wanted=True, owner=None, blocked=False):
        """owner: of a post that nobody has commented or liked yet."""
        if subject not in self.subjects and not wanted:
            return
        if subject not in self.subjects and (blocked or owner is None):
            raise Refused('blocked' if blocked else 'no_subject')
        known = self.subjects.get(subject) or self.register(subject, owner=owner)
        if wanted and user not in known.likes and blocked:
            raise Refused('blocked')
        known.counters += (user in known.likes) != wanted
        (known.likes.add if wanted else known.likes.discard)(user)

    def report(self, subject, id, user):
        _, comment = self._comment(subject, id)
        if comment.state != 'visible':
            raise Refused('not_visible')
        comment.reports.add(user)
        return comment

    def pin(self, subject, id, user, wanted=True, moderator=False):
        known, comment = self._comment(subject, id)
        if user != known.owner and not moderator:
            raise Refused('not_yours')
        if comment.root is not None:
            raise Refused('no_root')
        if wanted and id not in known.pinned:
            if comment.state != 'visible':
                raise Refused('not_visible')
            if len(known.pinned) == 10:
                raise Refused('pins')
            known.pinned.insert(0, id)
            known.version += 1
        elif not wanted and id in known.pinned:
            known.pinned.remove(id)
            known.version += 1
        return comment

    def delete(self, subject, id, user, moderator=False):
        known, comment = self._comment(subject, id)
        if user not in (comment.user, known.owner) and not moderator:
            raise Refused('not_yours')
        return self._to(known, comment, 'deleted')

    def moderate(self, subject, id, state):
        known, comment = self._comment(subject, id)
        if comment.state == 'deleted' and state != 'deleted':
            raise Refused('not_visible')
        return self._to(known, comment, state)

    @staticmethod
    def _to(known, comment, state):
        if comment.state != state:
            comment.state = state
            known.version += 1
            if state != 'visible' and comment.id in known.pinned:
                known.pinned.remove(comment.id)
        return comment

    # what pages hold

    def shown(self, subject, id, replies=0) -> dict:
        """A comment with its first replies, as the comments processes say it: without names."""
        known = self.subjects[subject]
        comment = known.comments[id]
        if comment.root is None:
            answers = [reply for reply in known.replies(id) if reply.state == 'visible']
        else:
            answers = [reply for reply in known.replies(comment.root) if reply.reply_to == id and reply.state == 'visible']
        under = known.replies(id)[:replies] if comment.root is None else []
        return {'id': str(id), 'user': comment.user, 'text': comment.text if comment.state == 'visible' else None,
                'time': comment.time, 'version': comment.version, 'edited': comment.edited, 'floor': comment.floor, 'root': comment.root and str(comment.root),
                'reply_to': comment.reply_to and str(comment.reply_to), 'likes': len(comment.likes),
                'reply_count': len(answers), 'replies': [self.shown(subject, reply.id) for reply in under],
                'state': comment.state}

    def sorted_roots(self, subject, sort) -> list[int]:
        """Heat is the time with four hours more for each doubling of the likes, in steps of 450 s."""
        def heat(comment):
            return comment.time + math.floor(32 * math.log2(1 + len(comment.likes))) * 450_000

        roots = self.subjects[subject].roots()
        order = {'floor': lambda c: c.floor, 'newest': lambda c: -c.floor, 'heat': lambda c: (-heat(c), -c.id)}
        return [comment.id for comment in sorted(roots, key=order[sort])]

    def page(self, subject, sort='floor', after=0, limit=20, replies=3) -> dict:
        """From the root at position `after` on; next is a position, too."""
        known = self.subjects.get(subject)
        if known is None:
            return {'items': [], 'next': None, 'total': 0, 'version': 0, 'counters': 0, 'likes': 0, 'closed': False, 'owner': None,
                    'complete': True, 'pinned': []}
        roots = self.sorted_roots(subject, sort)
        return {'items': [self.shown(subject, id, replies) for id in roots[after:after + limit]],
                'next': after + limit if after + limit < len(roots) else None, 'total': known.total(),
                'version': known.version, 'counters': known.counters, 'likes': len(known.likes), 'closed': known.closed, 'owner': known.owner,
                'complete': True, 'pinned': [self.shown(subject, id) for id in known.pinned]}
