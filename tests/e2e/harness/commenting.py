"""People who comment over the HTTP API, and what the threads must therefore hold."""
import itertools

from .http import pages_of
from .threads import Threads
from .waiting import PATIENCE, eventually


def path(subject, *rest) -> str:
    return '/'.join(['/v1/comments', *subject.split(':'), *map(str, rest)])


class Commenting:
    """
    comments = Commenting(cluster)                 # started with comments=1 or more
    comments.register('site:1', owner=ada)
    one = comments.write('site:1', ben, 'hello')   # each of these waits for its outcome, and is noted in the model
    comments.check('site:1')                       # all pages of all sorts are what the model says
    """

    _keys, _subjects = itertools.count(), itertools.count()

    def __init__(self, cluster):
        self.cluster, self.threads = cluster, Threads()

    def http(self, user, **claims):
        return self.cluster.http(user, **claims)

    path = staticmethod(path)

    def _ask(self, http, method, path, wanted, timeout=30 * PATIENCE, **body):
        """Until it is answered with that status; others than 202 and 503 must not come."""
        def answered():
            response = http.request(method, path, **body)
            assert response.status_code in (wanted, 202, 503), f'{method} {path}: {response.status_code} {response.text}'
            return response.status_code == wanted and (response,)

        response, = eventually(answered, timeout, what=f'{method} {path}')
        return response.json() if response.content else None

    def register(self, subject, **settings) -> dict:
        kind, id = subject.split(':')
        answer = self._ask(self.cluster.gateway(), 'PUT', f'/v1/subjects/{kind}/{id}', 200, json=settings)
        self.threads.register(subject, **settings)
        return answer

    def new_subject(self, owner) -> str:
        """A subject that is no post, registered."""
        subject = f'site:page-{next(self._subjects)}'
        self.register(subject, owner=owner)
        return subject

    def new_post(self, owner) -> str:
        """A subject that is a post, which nobody has registered."""
        return f'post:{self._ask(self.http(owner), "POST", "/v1/posts", 201, json={"text": "a post", "key": f"test-{next(self._keys)}"})["id"]}'

    def write(self, subject, user, text, reply_to=None, owner=None, **claims) -> dict:
        """owner: of a post that nobody has commented yet."""
        body = {'text': text, 'key': f'test-{next(self._keys)}', **({'reply_to': str(reply_to)} if reply_to else {})}
        made = self._ask(self.http(user, **claims), 'POST', self.path(subject), 201, json=body)
        if subject not in self.threads.subjects:
            self.threads.register(subject, owner=owner)
        noted = self.threads.write(subject, int(made['id']), user, text, made['time'], follows=True, friends=True,
                                   level=2**31 - 1, reply_to=None if reply_to is None else int(reply_to))
        assert (made['floor'], made['state']) == (noted.floor, noted.state), made
        return made

    def edit(self, subject, user, comment, text, moderator=False, reason=None) -> dict:
        """Of the newest version."""
        noted = self.threads.subjects[subject].comments[int(comment)]
        http = self.http(user, **({'scope': 'moderator'} if moderator else {}))
        made = self._ask(http, 'PUT', self.path(subject, comment), 200,
                         json={'text': text, 'version': noted.version, **({'reason': reason} if reason else {})})
        self.threads.edit(subject, int(comment), user, text, noted.version, made['edited'], moderator)
        return made

    def like(self, subject, user, comment, wanted=True) -> int:
        answer = self._ask(self.http(user), 'PUT' if wanted else 'DELETE', self.path(subject, comment, 'like'), 200)
        self.threads.like(subject, int(comment), user, wanted)
        return answer['likes']

    def like_post(self, subject, user, owner, wanted=True) -> int:
        answer = self._ask(self.http(user), 'PUT' if wanted else 'DELETE', f'/v1/posts/{subject.removeprefix("post:")}/like', 200)
        self.threads.like_subject(subject, user, wanted, owner)
        assert answer['liked'] is wanted
        return answer['likes']

    def pin(self, subject, user, comment, wanted=True) -> bool:
        answer = self._ask(self.http(user), 'PUT' if wanted else 'DELETE', self.path(subject, comment, 'pin'), 200)
        self.threads.pin(subject, int(comment), user, wanted)
        return answer['pinned']

    def delete(self, subject, user, comment):
        self._ask(self.http(user), 'DELETE', self.path(subject, comment), 204)
        self.threads.delete(subject, int(comment), user)

    def moderate(self, subject, comment, state, moderator, reason='because') -> dict:
        answer = self._ask(self.http(moderator, scope='moderator'), 'PUT',
                           self.path(subject, comment).replace('/v1/', '/v1/moderation/', 1), 200,
                           json={'state': state, 'reason': reason})
        self.threads.moderate(subject, int(comment), state)
        return answer

    # reading

    def pages(self, user, subject, sort, limit=20, **query) -> list[dict]:
        return list(pages_of(lambda **cursor: self._ask(self.http(user), 'GET', self.path(subject), 200, params={
            'sort': sort, 'limit': limit, **query, **cursor})))

    @classmethod
    def bare(cls, comment) -> dict:
        """Without the names, as the model has comments."""
        return {**{key: value for key, value in comment.items() if key not in ('name', 'avatar_url', 'liked')},
                'replies': [cls.bare(reply) for reply in comment['replies']]}

    @staticmethod
    def difference(found: list, wanted: list) -> str:
        """The first place in which two lists of comments differ, and how many each has."""
        place = next((at for at, (one, other) in enumerate(zip(found, wanted)) if one != other), min(len(found), len(wanted)))
        return f'{len(found)} for {len(wanted)}; at {place}: {found[place:place + 1]} for {wanted[place:place + 1]}'

    def check(self, subject, user=1, limit=7, sorts=('floor', 'newest', 'heat')):
        for sort in sorts:
            pages = self.pages(user, subject, sort, limit)
            wanted = self.threads.page(subject, sort, limit=10**9)
            items, pinned = ([self.bare(one) for one in wanted[name]] for name in ('items', 'pinned'))
            found = [self.bare(item) for page in pages for item in page['items']]
            assert found == items, f'{subject} by {sort}: {self.difference(found, items)}'
            for page in pages:
                assert (page['total'], page['likes']) == (wanted['total'], wanted['likes'])
                assert [self.bare(one) for one in page['pinned']] == pinned

    def check_answers(self, subject, user=1, limit=3):
        """Of each comment: the answers to a reply, and all replies of a root."""
        known = self.threads.subjects[subject].comments.values()
        for comment in known:
            wanted = [one.id for one in known if (one.root if comment.root is None else one.reply_to) == comment.id]
            found = self.http(user).items(self.path(subject, comment.id, 'answers'), limit=limit)
            assert [int(item['id']) for item in found] == wanted, comment.id
