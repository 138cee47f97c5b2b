"""Who may see a post: an attacker goes through every door, before and after an unfollow, a block, or a change of who sees the posts. Covers
ingest/feed/followers.c, ingest/feed/notices.c, fanout/authors.c and feed/replies_may.c."""
import json
import time

import pytest

from harness.feed import Feed
from harness.http import problem
from harness.thread_watcher import ThreadWatcher
from harness.waiting import eventually
from harness.watcher import Watcher

pytestmark = pytest.mark.timeout(600)  # all doors, again and again

PROMISE_S = 2.0
SECRET = 'only for some'
SETTINGS = {'ingest:ingest.outcome.wait.ms': 8000, 'ingest:feed.copies.reads': 1, 'ingest:comments.hot.reads': 1,
            'ingest:feed.texts.s': 3600, 'comments:comments.user.rate': 0, 'fanout:edge.flush.window.ms': 100}


@pytest.fixture(scope='module')
def feed(make_module_cluster):
    """All texts and copies are kept for as long as they may be."""
    return Feed(make_module_cluster(partitions=4, settings=SETTINGS).start(ingests=2, sinks=0, feeds=2, comments=1))


def see_posts(feed, author, posts):
    answer = eventually(lambda: (lambda r: r.status_code == 200 and r.json())(
        feed.http(author).put('/v1/visibility', json={'posts': posts})), 120)
    assert answer == {'posts': posts}


def request_follow(feed, reader, author):
    def asked():
        response = feed.http(reader).put(f'/v1/follows/{author}')
        assert response.status_code in (200, 202, 503), response.text
        return response.status_code == 200 and response.json()
    assert eventually(asked, 120) == {'user': author, 'following': False, 'state': 'requested'}


def accept(feed, author, reader):
    answer = eventually(lambda: (lambda r: r.status_code == 200 and r.json())(feed.http(author).put(f'/v1/followers/{reader}')), 120)
    assert answer == {'user': reader, 'follower': True}


class Story:
    """An author with a post, a thread under it, and a reader who goes through all doors, of each gateway in turn."""

    def __init__(self, feed, author, reader, other):
        self.feed, self.author, self.reader, self.other = feed, author, reader, other
        handle = f'reader{reader}'[:30]
        eventually(lambda: feed.http(reader).put('/v1/handle', json={'handle': handle}).status_code == 200, 120)
        self.post = feed.post(author, f'{SECRET} @{handle}')
        self.post = feed.edit(author, self.post, f'{SECRET}, edited @{handle}')
        self.thread = f'/v1/comments/post/{self.post["id"]}'
        self.comment = self._made(author, f'{SECRET}, too')
        self.reply = self._made(author, f'{SECRET}, three', reply_to=self.comment)
        self.gateways = [daemon.settings['ingest.listen'] for daemon in feed.cluster.of('ingest')]
        self.https = {user: feed.http(user) for user in (author, reader, other)}

    def _made(self, user, text, **fields):
        return eventually(lambda: (lambda r: r.status_code == 201 and r.json()['id'])(
            self.feed.http(user).post(self.thread, json={'text': text, **fields})), 120)

    def doors(self):
        """name -> (method, path, body, status where it is closed; None: the answer is just without the secret)"""
        post, comment = f'/v1/posts/{self.post["id"]}', f'{self.thread}/{self.comment}'
        return {
            'post': ('GET', post, None, 404),
            'edits': ('GET', f'{post}/edits', None, 404),
            'edit': ('PUT', post, {'text': 'mine', 'version': 1}, 404),
            'posts': ('GET', f'/v1/users/{self.author}/posts', None, 403),
            'home': ('GET', '/v1/feed', None, None),
            'notices': ('GET', '/v1/notices', None, None),
            'likers': ('GET', f'{post}/likes', None, 404),
            'like': ('PUT', f'{post}/like', None, 404),
            'unlike': ('DELETE', f'{post}/like', None, 404),
            'thread': ('GET', self.thread, None, 404),
            'comment': ('GET', comment, None, 404),
            'around': ('GET', f'{self.thread}/{self.reply}?around=5', None, 404),
            'replies': ('GET', f'{comment}/replies', None, 404),
            'answers': ('GET', f'{self.thread}/{self.reply}/answers', None, 404),
            'comment edits': ('GET', f'{comment}/edits', None, 404),
            'write': ('POST', self.thread, {'text': 'me too', 'key': f'k{self.reader}'}, 404),
            'outcome': ('GET', f'/v1/subjects/post/{self.post["id"]}/outcome?key=k{self.reader}', None, 404),
            'answer': ('POST', self.thread, {'text': 'me three', 'reply_to': self.comment, 'key': f'a{self.reader}'}, 404),
            'edit a comment': ('PUT', comment, {'text': 'mine', 'version': 1}, 404),
            'like a comment': ('PUT', f'{comment}/like', None, 404),
            'unlike a comment': ('DELETE', f'{comment}/like', None, 404),
            'pin': ('PUT', f'{comment}/pin', None, 404),
            'unpin': ('DELETE', f'{comment}/pin', None, 404),
            'report': ('POST', f'{comment}/report', {'reason': 'rude'}, 404),
        }

    def open_doors(self, user=None):
        """Those that give something away now: what the author wrote, a notice, or that there is such a post. An owner that is away gives nothing."""
        found = set()
        for name, (method, path, body, closed) in self.doors().items():
            for gateway in self.gateways:
                response = self.https[user or self.reader].request(method, f'http://{gateway}{path}', json=body, timeout=20)
                if response.status_code in (429, 503):
                    continue
                tells = SECRET in response.text or (name == 'notices' and self.post['id'] in response.text)
                if tells or (closed and response.status_code != closed):
                    found.add(name)
        return found

    def wait_open(self, timeout=120):
        def all_open():
            assert set(self.doors()) - self.unmoved() - self.open_doors() == set()
            return True
        eventually(all_open, timeout)

    def unmoved(self):
        """Doors that give nothing away: ever, or to a reader who is no follower, though the reader may see the post."""
        return {'home'} if self.reader not in [item['user'] for item in self.feed.http(self.author).ok(
            'GET', f'/v1/users/{self.author}/followers', params={'limit': 1000})['items']] else set()

    def assert_closed_within(self, change, promise=PROMISE_S):
        """No door gives anything away later than that after the change was answered."""
        change()
        answered = time.monotonic()
        late = {}
        while time.monotonic() < answered + promise + 2:
            began = time.monotonic()
            for name in self.open_doors():
                late[name] = max(late.get(name, 0), began - answered)
        assert not {name: after for name, after in late.items() if after > promise}, late


@pytest.fixture
def story(feed, users):
    return Story(feed, *users(3))


def is_done(feed, user, method, path, scope=None, **kwargs):
    http = feed.cluster.http(user, **({'scope': scope} if scope else {}))
    eventually(lambda: http.request(method, path, **kwargs).status_code in (200, 204), 120)


CHANGES = {
    'unfollow': lambda feed, author, reader: is_done(feed, reader, 'DELETE', f'/v1/follows/{author}'),
    'removal': lambda feed, author, reader: is_done(feed, author, 'DELETE', f'/v1/followers/{reader}'),
    'block': lambda feed, author, reader: is_done(feed, author, 'PUT', f'/v1/blocks/{reader}'),
    "reader's block": lambda feed, author, reader: is_done(feed, reader, 'PUT', f'/v1/blocks/{author}'),
}


@pytest.mark.parametrize('change', CHANGES)
def test_an_end_closes_all_doors(feed, story, change):
    feed.follow(story.reader, story.author)
    see_posts(feed, story.author, 'followers')
    story.wait_open()
    time.sleep(PROMISE_S)  # since the change to followers
    assert story.open_doors(story.other) == set()
    story.assert_closed_within(lambda: CHANGES[change](feed, story.author, story.reader))
    assert story.open_doors(story.author) >= {'post', 'edits', 'posts', 'thread', 'comment', 'replies', 'likers'}


def test_the_change_to_followers_closes_all_doors(feed, story):
    story.wait_open()
    story.assert_closed_within(lambda: see_posts(feed, story.author, 'followers'))
    see_posts(feed, story.author, 'everybody')
    story.wait_open()


def test_a_block_closes_the_doors_of_posts_for_everybody(feed, story):
    feed.follow(story.reader, story.author)
    story.wait_open()
    story.assert_closed_within(lambda: CHANGES['block'](feed, story.author, story.reader))
    is_done(feed, story.author, 'DELETE', f'/v1/blocks/{story.reader}')
    story.wait_open()


def test_requests_are_listed_accepted_and_refused(feed, story):
    author, reader, other = story.author, story.reader, story.other
    http, mine = feed.http(author), feed.http(reader)
    assert http.ok('GET', '/v1/visibility') == {'posts': 'everybody'}
    see_posts(feed, author, 'followers')
    assert http.ok('GET', '/v1/visibility') == {'posts': 'followers'}
    request_follow(feed, reader, author)
    request_follow(feed, reader, author)  # again: it stays one
    request_follow(feed, other, author)
    listed = http.ok('GET', '/v1/followers/requests')
    assert sorted(item['user'] for item in listed['items']) == sorted((reader, other)) and listed['total'] == 2
    eventually(lambda: [item['user'] for item in mine.ok('GET', '/v1/follows/requests')['items']] == [author])
    shown = [feed.http(user).ok('GET', f'/v1/users/{author}') for user in (reader, other, author)]
    assert [user.get('follow', 'absent') for user in shown] == ['requested', 'requested', 'absent']
    eventually(lambda: story.open_doors() == set(), PROMISE_S)
    accept(feed, author, reader)
    feed.following[reader].add(author)
    story.wait_open()
    assert mine.ok('GET', f'/v1/users/{author}')['follow'] == 'following'
    assert mine.ok('PUT', f'/v1/follows/{author}') == {'user': author, 'following': True, 'state': 'following'}
    is_done(feed, author, 'DELETE', f'/v1/followers/{other}')
    assert http.ok('GET', '/v1/followers/requests')['items'] == []
    problem(http.put(f'/v1/followers/{other}'), 404, 'no_request')
    request_follow(feed, other, author)
    assert feed.http(other).ok('DELETE', f'/v1/follows/{author}') == {'user': author, 'following': False, 'state': None}  # takes it back
    assert http.ok('GET', '/v1/followers/requests')['items'] == []
    request_follow(feed, other, author)
    see_posts(feed, author, 'everybody')  # accepts whoever has asked
    assert sorted(item['user'] for item in http.ok('GET', f'/v1/users/{author}/followers')['items']) == sorted((reader, other))
    eventually(lambda: feed.http(other).ok('GET', f'/v1/users/{author}')['follow'] == 'following')


def test_wrong_wishes(feed, users):
    ada, ben = users(2)
    http = feed.http(ada)
    for body in {'posts': 'nobody'}, {'posts': 1}, {}:
        problem(http.put('/v1/visibility', json=body), 400, 'bad_visibility')
    problem(http.put(f'/v1/followers/{ada}'), 400, 'same_user')
    problem(http.put(f'/v1/followers/{ben}'), 404, 'no_request')
    assert http.delete(f'/v1/followers/{ben}').status_code == 204


def test_a_block_ends_a_request(feed, story):
    see_posts(feed, story.author, 'followers')
    request_follow(feed, story.reader, story.author)
    is_done(feed, story.author, 'PUT', f'/v1/blocks/{story.reader}')
    eventually(lambda: feed.http(story.author).ok('GET', '/v1/followers/requests')['items'] == [])
    eventually(lambda: feed.http(story.reader).put(f'/v1/follows/{story.author}').status_code == 403)


def test_a_like_and_a_comment_are_taken_back_through_a_closed_door(feed, story):
    author, reader, post = story.author, story.reader, f'/v1/posts/{story.post["id"]}'
    mine = story._made(reader, 'mine')
    comment = f'{story.thread}/{story.comment}'
    for liked in (f'{post}/like', f'{comment}/like'):
        is_done(feed, reader, 'PUT', liked)

    def likes(path):
        return feed.http(author).ok('GET', path)['likes']
    eventually(lambda: likes(post) == likes(comment) == 1)
    see_posts(feed, author, 'followers')
    time.sleep(PROMISE_S)
    assert story.open_doors() == set()  # among them: both likes are taken back
    eventually(lambda: likes(post) == likes(comment) == 0)
    is_done(feed, author, 'PUT', f'{post}/like')
    eventually(lambda: feed.http(reader).delete(f'{post}/like').status_code == 404, 60)  # as of a post that never was
    assert likes(post) == 1
    is_done(feed, reader, 'DELETE', f'{story.thread}/{mine}')
    assert feed.http(author).ok('GET', f'{story.thread}/{mine}')['state'] == 'deleted'


@pytest.mark.parametrize('blocker', ['author', 'moderator'])
def test_moderators_need_no_door(feed, story, blocker):
    """Across a block, and of posts for followers: but not to read."""
    author, moderator = story.author, story.other
    see_posts(feed, author, 'followers')
    one, other = (author, moderator) if blocker == 'author' else (moderator, author)
    is_done(feed, one, 'PUT', f'/v1/blocks/{other}')
    rules = feed.cluster.http(moderator, scope='moderator')
    time.sleep(PROMISE_S)
    assert story.open_doors(moderator) == set()
    problem(rules.get(f'/v1/posts/{story.post["id"]}'), 404, 'no_post')
    problem(rules.get(story.thread), 404, 'no_post')
    post = feed.edit(moderator, story.post, 'ruled', scope='moderator')
    assert (post['text'], post['version']) == ('ruled', story.post['version'] + 1)
    comment = f'{story.thread}/{story.comment}'
    edited = eventually(lambda: (lambda r: r.status_code == 200 and r.json())(rules.put(comment, json={'text': 'ruled', 'version': 1})), 60)
    assert edited['text'] == 'ruled'
    for method, pinned in (('PUT', True), ('DELETE', False)):
        answer = eventually(lambda method=method: (lambda r: r.status_code == 200 and r.json())(rules.request(method, f'{comment}/pin')), 60)
        assert answer == {'pinned': pinned}
    for state in 'hidden', 'visible', 'deleted':
        is_done(feed, moderator, 'PUT', comment.replace('/v1/', '/v1/moderation/', 1), scope='moderator', json={'state': state, 'reason': 'rude'})
    is_done(feed, moderator, 'DELETE', f'{story.thread}/{story.reply}', scope='moderator')
    assert feed.http(author).ok('GET', f'{story.thread}/{story.reply}')['state'] == 'deleted'


def test_the_edge_shows_nothing_any_more(feed, story):
    """Open screens of a page and of a thread: what comes is for those who may see it now."""
    author, reader = story.author, story.reader
    feed.follow(reader, author)
    see_posts(feed, author, 'followers')
    story.wait_open()
    with Watcher(feed, reader) as page, ThreadWatcher(feed.cluster, reader, f'post:{story.post["id"]}') as thread:
        screens = page.phone, thread.phone

        def secrets(screen, since=0):
            return [frame for frame in list(screen.frames)[since:] if SECRET in json.dumps(frame)]

        def told():
            feed.post(author, f'{SECRET}: do you watch?')
            story._made(author, f'{SECRET}: and here?')
            return all(secrets(screen) for screen in screens)
        eventually(told, 60, every=1)
        CHANGES['removal'](feed, author, reader)
        time.sleep(PROMISE_S)
        before = [len(screen.frames) for screen in screens]
        for n in range(5):
            feed.post(author, f'{SECRET}: {n}')
            story._made(author, f'{SECRET}: {n}')
        time.sleep(3)
        assert [secrets(screen, since) for screen, since in zip(screens, before, strict=True)] == [[], []]


@pytest.mark.slow
def test_doors_stay_closed_while_a_feed_process_dies(feed, story):
    """Whoever takes over knows what was decided; until then nobody gives anything away."""
    feed.follow(story.reader, story.author)
    see_posts(feed, story.author, 'followers')
    story.wait_open()
    CHANGES['removal'](feed, story.author, story.reader)
    time.sleep(PROMISE_S)
    for process in feed.cluster.feeds:
        process.kill()
        until = time.monotonic() + 5
        while time.monotonic() < until:
            assert story.open_doors() == set()
        process.start()
    eventually(lambda: story.open_doors(story.author) >= {'post', 'posts', 'thread'}, 60)
    assert story.open_doors() == set()


@pytest.mark.slow
def test_a_paused_feed_process_gives_nothing_away(feed, story):
    """An answer that was made long ago does not count, whoever kept it."""
    feed.follow(story.reader, story.author)
    see_posts(feed, story.author, 'followers')
    story.wait_open()
    for process in feed.cluster.feeds:
        process.pause()
    time.sleep(PROMISE_S)
    assert story.open_doors() == set()
    for process in feed.cluster.feeds:
        process.resume()
    CHANGES['removal'](feed, story.author, story.reader)
    time.sleep(PROMISE_S)
    assert story.open_doors() == set()
