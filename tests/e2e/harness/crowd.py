"""Thousands of people at once over the HTTP API: a Feed whose requests go over connections that stay open. `starling-load simulate` checks
pages, too; here it is a client without any code of ours that judges."""
import concurrent.futures
import http.client
import json
import random
import threading
import time
import urllib.parse

from .feed import Feed
from .http import Lists

HANDS = 48  # requests at a time: most of them wait for an outcome, or for an inbox

PATIENCE_S = 30
DUMP = json.dumps  # where a parameter has the module's name


def post_time(post: int) -> int:
    """When a post was taken, by its id (lib/ids/ids.h)."""
    return (post >> 22) + 1_735_689_600_000


class Answer:
    """The part of a response that Feed and tests use."""

    def __init__(self, status_code: int, content: bytes):
        self.status_code, self.content = status_code, content
        self.ok = status_code < 400
        self.text = content.decode()

    def json(self):
        return json.loads(self.content)


class Hand:
    """One connection to the API, of one thread. It is opened anew when the server has closed it."""

    def __init__(self, address: str):
        self._connection = http.client.HTTPConnection(address, timeout=30)

    def request(self, token, method, path, body) -> Answer:
        headers = {'Authorization': f'Bearer {token}', **({'Content-Type': 'application/json'} if body else {})}
        for last in (False, True):
            try:
                self._connection.request(method, path, body, headers)
                response = self._connection.getresponse()
                return Answer(response.status, response.read())
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                self._connection.close()
                if last:
                    raise
        raise AssertionError('not reached')


class Person(Lists):
    """As harness.http.Http, for one user of the crowd."""

    def __init__(self, crowd: 'Crowd', user: int):
        self._crowd, self._user = crowd, user

    def request(self, method, path, json=None, params=None) -> Answer:
        if params:
            path += '?' + urllib.parse.urlencode(params)
        body = None if json is None else DUMP(json)
        return self._crowd.hand().request(self._crowd.token(self._user), method, path, body)

    def get(self, path, **rest):
        return self.request('GET', path, **rest)

    def post(self, path, **rest):
        return self.request('POST', path, **rest)

    def delete(self, path, **rest):
        return self.request('DELETE', path, **rest)

    def ok(self, method, path, **rest):
        """Repeats a request after a 503, as apps do: on a busy machine some of so many requests get one."""
        for _ in range(PATIENCE_S):
            answer = self.request(method, path, **rest)
            if answer.status_code != 503:
                break
            time.sleep(1)
        assert answer.ok, f'{method} {path}: {answer.status_code} {answer.text}'
        return answer.json() if answer.content else None


class Crowd(Feed):
    """
    crowd = Crowd(cluster)
    crowd.each(people, crowd.first_page)      # many at a time; the first failure is raised
    """

    def __init__(self, cluster):
        super().__init__(cluster)
        self._threads = threading.local()
        self._tokens: dict[int, str] = {}

    def token(self, user) -> str:
        if user not in self._tokens:
            self._tokens[user] = self.cluster.token(user, ttl=24 * 3600)
        return self._tokens[user]

    def hand(self) -> Hand:
        if not hasattr(self._threads, 'hand'):
            self._threads.hand = Hand(urllib.parse.urlsplit(self.cluster.http_url).netloc)
        return self._threads.hand

    def http(self, user) -> Person:
        return Person(self, user)

    def each(self, things, do) -> list:
        """Calls do(thing) for each thing, many at a time. Returns the results in order; begins nothing more after a failure."""
        with concurrent.futures.ThreadPoolExecutor(HANDS) as pool:
            under_way = [pool.submit(do, thing) for thing in things]
            done, _ = concurrent.futures.wait(under_way, return_when=concurrent.futures.FIRST_EXCEPTION)
            for one in under_way:
                one.cancel()
            for one in done:
                one.result()
            return [one.result() for one in under_way]

    def wrong_page(self, user, limit) -> str | None:
        """Reads all pages of the user's timeline, and those of some time. Returns how they differ from brute force; None: they do not."""
        expected = self.expected(user)
        ends = sorted(random.Random(user).choices([post_time(post) for post in expected] or [0], k=2))
        some = [post for post in expected if ends[0] <= post_time(post) < ends[1]]
        wrong = self._wrong(user, expected, limit=limit)
        return wrong or self._wrong(user, some, limit=limit, **{'from': ends[0], 'to': ends[1]})

    def _wrong(self, user, expected, **query) -> str | None:
        pages = self.pages(user, '/v1/feed', **query)
        if not all(page['complete'] for page in pages):
            return f'user {user}: a page is not complete'
        items = [item for page in pages for item in page['items']]
        shown = [int(item['id']) for item in items]
        if shown != expected:
            missing, extra = set(expected) - set(shown), set(shown) - set(expected)
            return (f'user {user} (follows {len(self.following[user])}), {query}: {len(shown)} posts shown of '
                    f'{len(expected)}; missing {sorted(missing)[-5:]}, too many {sorted(extra)[-5:]}, '
                    f'{len(shown) - len(set(shown))} twice, {"in" if shown == sorted(shown, reverse=True) else "out of"} order')
        unavailable = [item['id'] for item in items if item.get('unavailable')]
        return f'user {user}: {len(unavailable)} posts unavailable' if unavailable else None
