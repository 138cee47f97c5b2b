"""People who post and follow over the HTTP API, and what their home timelines must therefore hold."""
import collections
import itertools

from .waiting import PATIENCE, eventually


class Feed:
    """
    feed = Feed(cluster)                 # started with feeds=1 or more
    feed.follow(ada, ben)                # each of these waits for its outcome, and is noted in the model
    post = feed.post(ben, 'hello')       # as the API answers it
    feed.wait_home(ada)                  # until all pages together are what the model says
    """

    _keys = itertools.count()

    def __init__(self, cluster):
        self.cluster = cluster
        self.following = collections.defaultdict(set)
        self.muted = collections.defaultdict(set)
        self.posts = collections.defaultdict(list)  # author -> ids, rising

    def http(self, user):
        return self.cluster.http(user)

    def post(self, user, text, timeout=30 * PATIENCE, **fields) -> dict:
        """Says it until it is answered 201, under one key."""
        key = fields.pop('key', f'test-{next(self._keys)}')

        def posted():
            response = self.http(user).post('/v1/posts', json={'text': text, 'key': key, **fields})
            assert response.status_code in (201, 202, 503), response.text
            return response.status_code == 201 and response.json()

        post = eventually(posted, timeout, what=f'the post of {user} is answered')
        if int(post['id']) not in self.posts[user]:
            self.posts[user].append(int(post['id']))
        return post

    def edit(self, user, post, text, timeout=30 * PATIENCE, **claims) -> dict:
        """post: as the API has answered it last."""
        def edited():
            response = self.cluster.http(user, **claims).put(f'/v1/posts/{post["id"]}', json={'text': text, 'version': post['version']})
            assert response.status_code in (200, 202, 503), response.text
            return response.status_code == 200 and response.json()

        return eventually(edited, timeout, what=f'the edit of {post["id"]} is answered')

    def delete(self, user, post, timeout=30 * PATIENCE):
        eventually(lambda: self.http(user).delete(f'/v1/posts/{post}').status_code == 204, timeout,
                   what=f'the post {post} is deleted')
        self.posts[user].remove(int(post))

    def _put(self, user, path, member, wanted, timeout):
        def answered():
            response = self.http(user).request('PUT' if wanted else 'DELETE', path)
            assert response.status_code in (200, 202, 503), response.text
            return response.status_code == 200 and response.json()

        answer = eventually(answered, timeout, what=f'{user}: {path}')
        assert answer[member] is wanted, answer

    def follow(self, user, other, timeout=30 * PATIENCE):
        self._put(user, f'/v1/follows/{other}', 'following', True, timeout)
        self.following[user].add(other)

    def unfollow(self, user, other, timeout=30 * PATIENCE):
        self._put(user, f'/v1/follows/{other}', 'following', False, timeout)
        self.following[user].discard(other)

    def mute(self, user, other, timeout=30 * PATIENCE):
        self._put(user, f'/v1/mutes/{other}', 'muted', True, timeout)
        self.muted[user].add(other)

    def unmute(self, user, other, timeout=30 * PATIENCE):
        self._put(user, f'/v1/mutes/{other}', 'muted', False, timeout)
        self.muted[user].discard(other)

    def pages(self, user, path, **query) -> list[dict]:
        """All pages of a list."""
        return list(self.http(user).pages(path, **query))

    def home(self, user, limit=20) -> list[dict]:
        """The posts of all pages, which must be complete."""
        pages = self.pages(user, '/v1/feed', limit=limit)
        for page in pages:
            assert page['complete'], page
            assert len(page['items']) <= limit
        return [item for page in pages for item in page['items']]

    def expected(self, user) -> list[int]:
        """The home timeline as it must be: ids, newest first."""
        return sorted((post for author in self.following[user] - self.muted[user] for post in self.posts[author]), reverse=True)

    def wait_home(self, user, limit=20, timeout=30 * PATIENCE):
        def right():
            items = self.home(user, limit)
            assert [int(item['id']) for item in items] == self.expected(user)
            assert not any(item.get('unavailable') for item in items)
            return True

        eventually(right, timeout, every=0.1)

    def counts(self, user) -> tuple[int, int, int]:
        """Followers, following, posts."""
        shown = self.http(user).ok('GET', f'/v1/users/{user}')
        return shown['followers'], shown['following'], shown['posts']

    def listed(self, user, what, limit) -> list[int]:
        """All followers of the user, or all whom the user follows ('following'), page by page."""
        pages = self.pages(user, f'/v1/users/{user}/{what}', limit=limit)
        assert len({page['total'] for page in pages}) == 1
        people = [item['user'] for page in pages for item in page['items']]
        assert len(people) == pages[0]['total']
        return people
