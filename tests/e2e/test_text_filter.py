"""Texts that wait for a moderator: for a word of the operator's list, or because a filter elsewhere says so. Covers ingest/text_filter.c and
ingest/text_checks.c."""
import http.server
import json
import signal
import threading
import time

import pytest

from harness.feed import Feed
from harness.http import problem
from harness.records import decode
from harness.waiting import eventually
from harness.watcher import Watcher

FRESH_S = 2
TIMEOUT_MS = 2000


class Filter(http.server.BaseHTTPRequestHandler):
    """Holds what has the word "ask", and answers badly, late or never as it is told."""
    seen, ill = [], None
    protocol_version = 'HTTP/1.1'

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers['content-length'])))
        self.seen.append(body)
        if self.ill == 'late':
            time.sleep(TIMEOUT_MS / 1000 + 0.5)
        reply = b'no answer' if self.ill == 'broken' else json.dumps({'hold': 'ask' in body['text']}).encode()
        self.send_response(500 if self.ill == 'failing' else 200)
        self.send_header('content-length', str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_):
        pass


@pytest.fixture(scope='module')
def words(tmp_path_factory):
    path = tmp_path_factory.mktemp('words') / 'words.txt'
    path.write_text('# what nobody wants\nspam\nbuy now\n', 'utf-8')
    return path


@pytest.fixture(scope='module')
def cluster(make_module_cluster, words):
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Filter)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield make_module_cluster(settings={
        'ingest:ingest.outcome.wait.ms': 8000, 'comments:comments.user.rate': 0, 'ingest:moderation.words.file': words,
        'ingest:moderation.filter.url': f'http://127.0.0.1:{server.server_port}/look',
        'ingest:moderation.filter.timeout.ms': TIMEOUT_MS}).start(ingests=1, feeds=2, comments=1, moderators=1)
    server.shutdown()
    server.server_close()


@pytest.fixture
def feed(cluster):
    return Feed(cluster)


@pytest.fixture(autouse=True)
def healthy():
    Filter.ill = None
    Filter.seen.clear()


def moderator(cluster):
    return cluster.http(9, scope='moderator')


def approve(cluster, path):
    eventually(lambda: moderator(cluster).put(path, json={'state': 'visible', 'reason': 'fine'}).status_code == 200, 30)


def comment(cluster, user, post, text, key):
    return eventually(lambda: (made := cluster.http(user).post(f'/v1/comments/post/{post["id"]}', json={'text': text, 'key': key})).status_code == 201
                      and made.json(), 30)


def mentions(cluster, user):
    return [notice['subject'] for notice in cluster.http(user).items('/v1/notices') if notice['what'] == 'mention']


@pytest.mark.parametrize('text', ['SPÁM for @{}', 'now we ask @{}'])
def test_a_post_waits_for_a_moderator(cluster, feed, users, text):
    ada, ben, cleo = users(3)
    handle = f'cleo{cleo}'
    eventually(lambda: cluster.http(cleo).put('/v1/handle', json={'handle': handle}).status_code == 200, 30)
    feed.follow(ben, ada)
    plain = feed.post(ada, 'nothing of the kind')
    assert 'state' not in plain
    feed.wait_home(ben)
    with Watcher(feed, ben) as watcher:
        eventually(lambda: watcher.settled)
        held = feed.post(ada, text.format(handle), key=f'held-{ada}')
        path, thread = f'/v1/posts/{held["id"]}', f'/v1/comments/post/{held["id"]}'
        assert held['state'] == 'held' and feed.post(ada, text.format(handle), key=f'held-{ada}') == held
        assert cluster.http(ada).ok('GET', path)['state'] == 'held'  # its author sees it
        for door in path, f'{path}/edits', thread:
            problem(cluster.http(ben).get(door), 404, 'no_post')
        feed.post(ada, 'another')
        shown = [post for post in feed.posts[ada] if post != int(held['id'])]
        eventually(lambda: watcher.shown(3) == shown[::-1])
        assert [int(item['id']) for item in cluster.http(ben).ok('GET', '/v1/feed')['items']] == shown[::-1]
        assert mentions(cluster, cleo) == []
        found = eventually(lambda: moderator(cluster).items('/v1/moderation/posts', state='held', user=ada))
        assert [(post['id'], post['state'], post['text']) for post in found] == [(held['id'], 'held', held['text'])]
        approve(cluster, f'/v1/moderation/posts/{held["id"]}')
        feed.wait_home(ben, timeout=FRESH_S)
        eventually(lambda: watcher.shown(4) == feed.posts[ada][::-1], FRESH_S)
    assert 'state' not in cluster.http(ben).ok('GET', path)
    eventually(lambda: mentions(cluster, cleo) == [f'post:{held["id"]}'])
    log = [decode(m.value) for m in cluster.topics.read('moderation-log') if m.key.startswith(f'post:{held["id"]}\0'.encode())]
    assert [(entry['what'], entry['user'], entry['reason']) for entry in log] == [('APPROVE', 9, 'fine')]


def test_a_held_post_is_hidden_or_deleted(cluster, feed, users):
    ada, ben = users(2)
    hidden, deleted = feed.post(ada, 'spam', key=f'first-{ada}'), feed.post(ada, 'more spam', key=f'second-{ada}')
    eventually(lambda: moderator(cluster).put(f'/v1/moderation/posts/{hidden["id"]}', json={'state': 'hidden', 'reason': 'no'}).status_code == 200)
    problem(cluster.http(ada).get(f'/v1/posts/{hidden["id"]}'), 404, 'no_post')
    feed.delete(ada, deleted['id'])
    problem(cluster.http(ada).get(f'/v1/posts/{deleted["id"]}'), 404, 'no_post')
    assert cluster.http(ben).ok('GET', f'/v1/users/{ada}/posts')['items'] == []


@pytest.mark.parametrize('text', ['buy it NOW: spam', 'I ask'])
def test_a_comment_waits_for_a_moderator(cluster, feed, users, text):
    ada, ben = users(2)
    post = feed.post(ada, 'a post')
    thread = f'/v1/comments/post/{post["id"]}'
    held, shown = comment(cluster, ada, post, text, f'h-{ada}'), comment(cluster, ada, post, 'hello', f's-{ada}')
    assert (held['state'], shown['state']) == ('held', 'visible')

    def texts():
        return {item['id']: item['text'] for item in cluster.http(ben).ok('GET', thread)['items']}

    assert texts() == {held['id']: None, shown['id']: 'hello'}
    approve(cluster, f'/v1/moderation{thread[3:]}/{held["id"]}')
    eventually(lambda: texts() == {held['id']: text, shown['id']: 'hello'})


def test_an_edit_is_refused(cluster, feed, users):
    ada, = users(1)
    post = feed.post(ada, 'a post')
    made = comment(cluster, ada, post, 'a comment', f'e-{ada}')
    for path in f'/v1/posts/{post["id"]}', f'/v1/comments/post/{post["id"]}/{made["id"]}':
        for text in 'spam', 'we ask':
            problem(cluster.http(ada).put(path, json={'text': text, 'version': 1}), 403, 'text_held')
        assert cluster.http(ada).put(path, json={'text': 'fine', 'version': 1}).status_code in (200, 202)
    assert feed.edit(9, {**post, 'version': 2}, 'spam, says the moderator', scope='moderator')['version'] == 3


def test_the_filter_is_told_of_what_people_write(cluster, feed, users):
    ada, = users(1)
    post = feed.post(ada, 'a post', media=['https://img.example/1'])
    comment(cluster, ada, post, 'a comment', f't-{ada}')
    feed.edit(ada, post, 'an edit')
    assert Filter.seen == [{'kind': 'post', 'user': ada, 'text': 'a post', 'media': ['https://img.example/1']},
                           {'kind': 'comment', 'user': ada, 'text': 'a comment', 'media': []},
                           {'kind': 'edit', 'user': ada, 'text': 'an edit', 'media': []}]
    Filter.seen.clear()
    decided = eventually(lambda: (made := moderator(cluster).post('/v1/posts', json={'text': 'spam, we ask'})).status_code == 201 and made.json(), 30)
    assert 'state' not in decided and Filter.seen == []  # a moderator waits for nobody


@pytest.mark.parametrize('ill', ['late', 'failing', 'broken'])
def test_a_filter_that_is_ill_holds_nobody_up(cluster, feed, users, ill):
    ada, = users(1)
    before = cluster.ingest.total('starling_ingest_unfiltered_total')
    Filter.ill = ill
    began = time.monotonic()
    for _ in range(12):
        assert 'state' not in feed.post(ada, 'we ask')
    took = time.monotonic() - began
    assert len(Filter.seen) <= 6 and cluster.ingest.total('starling_ingest_unfiltered_total') == before + 12
    assert took < 12 * TIMEOUT_MS / 1000  # it is not waited for each time
    assert feed.post(ada, 'spam', key=f'ill-{ill}')['state'] == 'held'  # the list is our own
    Filter.ill = None
    eventually(lambda: feed.post(ada, 'we ask').get('state') == 'held', 30, every=0.5, what='it is asked again')


def test_the_list_is_read_again(cluster, feed, users, words):
    ada, = users(1)
    assert 'state' not in feed.post(ada, 'lottery')
    words.write_text('lottery\n', 'utf-8')
    cluster.ingest.signal(signal.SIGHUP)
    eventually(lambda: feed.post(ada, 'lottery').get('state') == 'held')
    assert 'state' not in feed.post(ada, 'spam')
    words.write_text('...\n', 'utf-8')
    cluster.ingest.signal(signal.SIGHUP)
    cluster.ingest.wait_for_log('the list of words cannot be read again')
    assert feed.post(ada, 'lottery').get('state') == 'held'
