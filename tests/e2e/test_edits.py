"""Posts and comments that are edited, over the HTTP API: versions, former texts, who may, who is told, and that no copy shows the old text. Covers
ingest/edits.c, ingest/edits_written.c, ingest/feed/post_edits.c, feed/replies_edits.c and comments/replies_edits.c."""
import shutil
import time

import pytest

from harness.commenting import Commenting
from harness.feed import Feed
from harness.http import Http, problem
from harness.meanwhile import meanwhile
from harness.records import decode
from harness.thread_watcher import ThreadWatcher
from harness.waiting import eventually, now_ms
from harness.watcher import Watcher

FRESH_S = 2  # after the answer to an edit, nothing shows the former text


@pytest.fixture(scope='module')
def cluster(make_module_cluster):
    return make_module_cluster(settings={
        'ingest:ingest.outcome.wait.ms': 8000, 'comments:comments.user.rate': 0, 'ingest:comments.hot.reads': 3, 'ingest:feed.texts.s': 600,
    }).start(ingests=2, feeds=2, comments=1, places=1, moderators=1)


@pytest.fixture
def feed(cluster):
    return Feed(cluster)


@pytest.fixture
def comments(cluster):
    return Commenting(cluster)


def gateways(cluster, user):
    """The user's sessions with each gateway."""
    return [Http(f'http://{daemon.settings["ingest.listen"]}', cluster.token(user)) for daemon in cluster.of('ingest')]


class Post:
    """A post, as what can be edited."""

    def __init__(self, cluster, users):
        self.feed = Feed(cluster)
        self.author, self.other, self.mod = users(3)
        self.made = self.feed.post(self.author, 'one', media=['https://img.example/1'])
        self.path, self.not_yours, self.gone = f'/v1/posts/{self.made["id"]}', 'not_your_post', 'no_post'
        self.log = f'post:{self.made["id"]}\0'.encode() + bytes(8)

    def delete(self):
        self.feed.delete(self.author, self.made['id'])


class Remark:
    """A comment, as the same."""

    def __init__(self, cluster, users):
        self.comments = Commenting(cluster)
        self.author, self.other, self.mod, owner = users(4)
        self.subject = self.comments.new_subject(owner)
        self.made = self.comments.write(self.subject, self.author, 'one')
        self.path, self.not_yours, self.gone = self.comments.path(self.subject, self.made['id']), 'not_your_comment', 'no_comment'
        self.log = f'{self.subject}\0'.encode() + int(self.made['id']).to_bytes(8, 'big')

    def delete(self):
        self.comments.delete(self.subject, self.author, self.made['id'])


@pytest.fixture(params=[Post, Remark], ids=['post', 'comment'])
def thing(request, cluster, users):
    return request.param(cluster, users)


def put(cluster, thing, user, text, version, status=200, scope=None, **more):
    claims = {'scope': scope} if scope else {}

    def answered():
        response = cluster.http(user, **claims).put(thing.path, json={'text': text, 'version': version, **more})
        return [] if response.status_code in (202, 503) else [response]

    response, = eventually(answered)
    assert response.status_code == status, response.text
    return response.json()


def versions(cluster, thing, **query):
    return [(item['version'], item['text'], item['user']) for item in cluster.http(thing.other).items(f'{thing.path}/edits', **query)]


def test_an_edit_makes_a_version_and_keeps_the_former_text(cluster, thing):
    assert (thing.made['version'], thing.made['edited']) == (1, None)
    before = now_ms()
    edited = put(cluster, thing, thing.author, 'two', 1)
    assert (edited['text'], edited['version']) == ('two', 2) and before - 1000 < edited['edited'] < now_ms() + 1000
    assert {**edited, 'text': 'one', 'version': 1, 'edited': None} == thing.made
    read = cluster.http(thing.other).ok('GET', thing.path)
    assert {**read, 'comments': None} == {**edited, 'comments': None}  # how many a post has is said when it is read
    again = put(cluster, thing, thing.author, 'two', 1)  # the same edit
    assert {**again, 'comments': None} == {**edited, 'comments': None}
    assert put(cluster, thing, thing.author, 'two!', 1, 409)['code'] == 'old_version'
    assert put(cluster, thing, thing.author, 'two!', 3, 409)['code'] == 'old_version'
    put(cluster, thing, thing.author, 'three', 2)
    expected = [(3, 'three', thing.author), (2, 'two', thing.author), (1, 'one', thing.author)]
    eventually(lambda: versions(cluster, thing) == expected)
    assert versions(cluster, thing, limit=1) == versions(cluster, thing, limit=2) == expected
    first, = cluster.http(thing.other).ok('GET', f'{thing.path}/edits', params={'after': 2})['items']
    assert (first['time'], first['version']) == (thing.made['time'], 1) and set(first) == {
        'version', 'text', 'time', 'user', 'name', 'avatar_url'}


def test_what_is_wrong_is_refused(cluster, thing):
    for body, code in (({'text': '', 'version': 1}, 'bad_text'), ({'text': 'a'}, 'bad_version'), ({'text': 'a', 'version': 0}, 'bad_version'),
                       ({'text': 'a', 'version': '1'}, 'bad_version'), ({'text': 'a', 'version': 1, 'reason': 7}, 'bad_reason'),
                       ([], 'bad_message')):
        problem(cluster.http(thing.author).put(thing.path, json=body), 400, code)
    assert put(cluster, thing, thing.other, 'two', 1, 403)['code'] == thing.not_yours
    for query in ('limit=0', 'limit=101', 'after=x'):
        problem(cluster.http(thing.author).get(f'{thing.path}/edits?{query}'), 400, 'bad_query')
    assert versions(cluster, thing) == [(1, 'one', thing.author)]
    absent = thing.path.replace(thing.made['id'], '12345')
    problem(cluster.http(thing.author).put(absent, json={'text': 'a', 'version': 1}), 404, thing.gone)
    problem(cluster.http(thing.author).get(f'{absent}/edits'), 404, thing.gone)


def test_a_moderator_edits_with_a_reason_that_is_logged(cluster, thing):
    edited = put(cluster, thing, thing.mod, 'nicer', 1, scope='moderator', reason='it was rude')
    assert (edited['text'], edited['user']) == ('nicer', thing.author)
    put(cluster, thing, thing.author, 'my own', 2)
    eventually(lambda: versions(cluster, thing) == [(3, 'my own', thing.author), (2, 'nicer', thing.mod), (1, 'one', thing.author)])
    entry, = [decode(message.value) for message in cluster.topics.read('moderation-log') if message.key.startswith(thing.log)]
    assert (entry['what'], entry['user'], entry['author'], entry['reason'], entry['role']) == (
        'EDIT', thing.mod, thing.author, 'it was rude', 'MODERATOR')


def test_a_deletion_takes_the_former_texts_along(cluster, thing):
    put(cluster, thing, thing.author, 'secret two', 1)
    put(cluster, thing, thing.author, 'three', 2)
    topic = 'post-texts' if isinstance(thing, Post) else 'comment-texts'
    number = int(thing.made['id']).to_bytes(8, 'big')

    def kept():
        return {key for key, value in cluster.topics.latest(topic).items() if number in key and value['text']}

    eventually(lambda: len(kept()) == 3)
    thing.delete()
    eventually(lambda: not kept())
    problem(cluster.http(thing.other).get(f'{thing.path}/edits'), 404, thing.gone)
    response = cluster.http(thing.author).put(thing.path, json={'text': 'back', 'version': 3})
    assert response.status_code in (404, 409), response.text


def test_a_text_has_a_hundred_versions(cluster, thing):
    for version in range(1, 100):
        put(cluster, thing, thing.author, f'text {version + 1}', version)
    assert put(cluster, thing, thing.author, 'one more', 100, 409)['code'] == 'too_many_edits'
    everything = versions(cluster, thing, limit=30)
    assert [version for version, *_ in everything] == list(range(100, 0, -1)) and everything[0][1] == 'text 100'


def test_an_edit_that_adds_a_mention_tells_once(cluster, thing, users):
    ada, ben = users(2)
    for user in (ada, ben):
        eventually(lambda: cluster.http(user).put('/v1/handle', json={'handle': f'user_{user}'}).status_code == 200)

    def told(user):
        return [item['what'] for item in cluster.http(user).items('/v1/notices')]

    put(cluster, thing, thing.author, f'hello @user_{ada}', 1)
    eventually(lambda: told(ada) == ['mention'])
    put(cluster, thing, thing.author, f'hello @user_{ben}', 2)
    put(cluster, thing, thing.author, f'hello @user_{ada} and @user_{ben}', 3)
    eventually(lambda: told(ben) == ['mention'])
    assert told(ada) == ['mention']


def test_who_may_not_edit_a_comment(cluster, comments, users):
    owner, author, mod = users(3)
    subject = comments.new_subject(owner)
    made = comments.write(subject, author, 'one')
    path = comments.path(subject, made['id'])
    comments.moderate(subject, made['id'], 'hidden', mod)
    problem(cluster.http(author).put(path, json={'text': 'two', 'version': 1}), 409, 'comment_not_visible')
    problem(cluster.http(author).get(f'{path}/edits'), 404, 'no_comment')
    comments.edit(subject, mod, made['id'], 'polite', moderator=True, reason='rude')
    comments.moderate(subject, made['id'], 'visible', mod)
    comments.check(subject)
    cluster.http(mod, scope='moderator').ok('PUT', f'/v1/moderation/bans/{author}', json={'reason': 'spam'})
    eventually(lambda: cluster.http(author).put(path, json={'text': 'two', 'version': 1}).json()['code'] == 'banned')


def test_open_threads_show_an_edit_within_a_second(cluster, comments, users):
    owner, ada, ben = users(3)
    subject = comments.new_subject(owner)
    made = comments.write(subject, ada, 'one')
    with ThreadWatcher(cluster, ben, subject) as watcher:
        def live():
            other = comments.write(subject, ada, 'do you watch?')
            eventually(lambda: int(other['id']) in watcher.thread())
            return any(item['id'] == other['id'] for frame in watcher.told() for item in frame['items'])

        eventually(live, 60)
        edited = comments.edit(subject, ada, made['id'], 'two')
        answered = time.monotonic()
        frame = watcher.phone.expect('comments', where=lambda f: [item['id'] for item in f['items']] == [made['id']])
        assert time.monotonic() - answered < 1
        assert frame['items'] == [edited] and not frame['gone'] and not frame['sampled']


def test_hot_threads_show_no_old_text_after_two_seconds(cluster, comments, users):
    owner, ada, ben = users(3)
    subject = comments.new_subject(owner)
    made = comments.write(subject, ada, 'text 1')
    thing = Remark.__new__(Remark)
    thing.path = comments.path(subject, made['id'])
    answered, stale = (1, time.monotonic()), []

    def read(http):
        (version, at), began = answered, time.monotonic()
        text = http.ok('GET', comments.path(subject))['items'][0]['text']
        if began - at > FRESH_S and text is not None and int(text.split()[1]) < version:
            stale.append((text, version))

    with meanwhile([http for http in gateways(cluster, ben) for _ in range(2)], read):
        for version in range(1, 8):
            put(cluster, thing, ada, f'text {version + 1}', version)
            answered = version + 1, time.monotonic()
            time.sleep(1.5 + version % 2)
    assert not stale


def test_gateways_that_keep_texts_show_no_old_one_after_two_seconds(cluster, feed, users):
    author, reader, late = users(3)
    feed.follow(reader, author)
    post = feed.post(author, 'one')
    readers = gateways(cluster, reader)

    def shown(http):
        return [(item['text'], item['version']) for item in http.ok('GET', '/v1/feed')['items']]

    for http in readers:
        eventually(lambda: shown(http) == [('one', 1)])
    with Watcher(feed, reader) as watcher:
        eventually(lambda: watcher.settled)
        post = feed.edit(author, post, 'two')
        answered = time.monotonic()
        eventually(lambda: watcher.items[int(post['id'])]['text'] == 'two', what='the screen shows the new text')
        for http in readers:
            eventually(lambda: shown(http) == [('two', 2)], FRESH_S)
        assert time.monotonic() - answered < FRESH_S
    feed.follow(late, author)
    for http in gateways(cluster, late):
        eventually(lambda: shown(http) == [('two', 2)])


def test_versions_outlive_disks_and_take_overs(cluster, thing):
    put(cluster, thing, thing.author, 'two', 1)
    put(cluster, thing, thing.author, 'three', 2)
    expected = versions(cluster, thing)
    for daemon in [*cluster.feeds, *cluster.comments]:
        daemon.kill()
        shutil.rmtree(daemon.folder / 'data')
        daemon.start()
    eventually(lambda: cluster.http(thing.other).get(f'{thing.path}/edits').status_code == 200, 60)
    eventually(lambda: versions(cluster, thing) == expected, 60)
    put(cluster, thing, thing.author, 'four', 3)
    assert cluster.http(thing.other).ok('GET', thing.path)['text'] == 'four'


def test_former_texts_are_exported_and_forgotten(cluster, thing):
    put(cluster, thing, thing.author, 'two', 1)

    def exported():
        pages = list(cluster.http(thing.author).pages('/v1/export', limit=100))
        former = [item['text'] for page in pages if page['kind'] == 'edits' for item in page['items']]
        return former + [one['text'] for page in pages if page['kind'] == 'posts' for item in page['items'] for one in item.get('former', [])]

    eventually(lambda: exported() == ['one'])
    eventually(lambda: cluster.http(thing.author).delete('/v1/me').status_code == 200, 60)
    assert exported() == []
