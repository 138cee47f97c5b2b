"""Moderators search comments, and users list their own: what the topic of wide comments says, whatever happens to the processes. Covers
ingest/moderation/bans.c, ingest/moderation/client.c, ingest/moderation/moderation.c, moderation/intake.c, moderation/moderation.c and
lib/users/bans.c."""
import itertools
import random
import struct

import pytest

from harness.records import decode, encode, partition_of
from harness.waiting import eventually, now_ms

EPOCH_MS = 1_735_689_600_000  # 2025-01-01: ids begin there
BEGIN_MS = 1_790_000_000_000
STATES = ['VISIBLE', 'HELD', 'HIDDEN', 'DELETED']


def comment_id(ms, number):
    return (ms - EPOCH_MS) << 22 | number & 4095


def key(subject, comment):
    return subject.encode() + b'\0' + struct.pack('>q', comment)


class Comments:
    """Writes wide comments as starling-comments does, and remembers them."""

    def __init__(self, cluster):
        self.cluster, self.all = cluster, {}

    def put(self, number, **changes):
        """A new comment of that number, or the same with changes."""
        ms = BEGIN_MS + number
        old = self.all.get(number) or {
            'subject': f'post:{number % 3}', 'owner': 5, 'id': comment_id(ms, number), 'floor': number + 1, 'root': 0, 'answers': 0,
            'user': 1, 'state': 'VISIBLE', 'text': f'text {number}', 'likes': 2, 'replies': 0, 'reports': 0, 'time': ms}
        new = {**old, **changes}
        self.all[number] = new
        self._write(new, ('comment-wide', new))
        return new

    def _write(self, comment, value):
        """Where its subject lies: moderation does not start on records that lie elsewhere."""
        self.cluster.topics.produce('comments-wide', key(comment['subject'], comment['id']), value,
                                    partition_of(comment['subject'].encode(), self.cluster.partitions))

    def remove(self, number):
        gone = self.all.pop(number)
        self._write(gone, None)

    def ids(self, wanted=lambda comment: True):
        return sorted((str(c['id']) for c in self.all.values() if wanted(c)), key=int, reverse=True)


def search(http, path='/v1/moderation/comments', **conditions):
    return http.items(path, **conditions)


def ids(items):
    return [item['id'] for item in items]


@pytest.fixture(scope='module')
def searched(make_module_cluster):
    cluster = make_module_cluster().start(routers=0, fanouts=0, sinks=0, moderators=1)
    return cluster, Comments(cluster), cluster.http(9, scope='moderator')


@pytest.fixture
def fresh(make_cluster):
    cluster = make_cluster().start(routers=0, fanouts=0, sinks=0, moderators=1)
    return cluster, Comments(cluster), cluster.http(9, scope='moderator')


def test_conditions_hold_together(searched):
    cluster, comments, moderator = searched
    chance = random.Random(14)
    words = ['spam', '广告', '中国人', 'Café', 'hello']
    for number in range(100, 160):
        comments.put(number, user=chance.randrange(3), state=chance.choice(STATES[:3]), reports=chance.randrange(2),
                     text=' '.join(chance.sample(words, 2)))
    eventually(lambda: ids(search(moderator, limit=7)) == comments.ids(), what='all comments are found')
    eventually(lambda: cluster.moderators[0].total('starling_moderation_comments') == 60)
    assert ids(search(moderator, text='中国')) == comments.ids(lambda c: '中国' in c['text'])
    assert ids(search(moderator, text='CAFE')) == comments.ids(lambda c: 'Café' in c['text'])
    assert ids(search(moderator, text='国人 "hello" OR')) == []
    assert ids(search(moderator, user=2, state='hidden')) == comments.ids(lambda c: c['user'] == 2 and c['state'] == 'HIDDEN')
    assert ids(search(moderator, type='post', id='1', reported='true')) == \
        comments.ids(lambda c: c['subject'] == 'post:1' and c['reports'])
    assert ids(search(moderator, type='post', reported='false')) == comments.ids()
    together = {'text': '广告', 'user': 1, 'type': 'post', 'id': '2', 'from': BEGIN_MS + 110, 'to': BEGIN_MS + 150}
    assert ids(search(moderator, **together)) == comments.ids(
        lambda c: '广告' in c['text'] and c['user'] == 1 and c['subject'] == 'post:2' and
        BEGIN_MS + 110 <= c['time'] < BEGIN_MS + 150)


def test_items_are_comments_with_subject_and_reports(searched):
    cluster, comments, moderator = searched
    cluster.http(4001).ok('PUT', '/v1/profile', json={'name': 'Ada'})
    made = comments.put(200, user=4001, text='whole', reports=3, root=comment_id(BEGIN_MS, 7), answers=comment_id(BEGIN_MS, 8), replies=1)
    expected = {'id': str(made['id']), 'user': 4001, 'name': 'Ada', 'avatar_url': '', 'text': 'whole', 'time': made['time'], 'version': 1,
                'edited': None, 'floor': 201,
                'root': str(made['root']), 'reply_to': str(made['answers']), 'likes': 2, 'reply_count': 1, 'replies': [],
                'state': 'visible', 'subject': 'post:2', 'reports': 3}
    eventually(lambda: search(moderator, text='whole') == [expected])
    comments.put(200, state='DELETED', text='')
    eventually(lambda: search(moderator, text='whole') == [], what='the text is no longer found')
    item, = search(moderator, user=4001, state='deleted')
    assert item['text'] is None
    comments.remove(200)
    eventually(lambda: search(moderator, user=4001) == [])


def test_hidden_comments_change_what_finds_them(searched):
    _, comments, moderator = searched
    comments.put(210, user=4002, text='提拉米苏')
    eventually(lambda: len(search(moderator, text='拉米', state='visible')) == 1)
    comments.put(210, state='HIDDEN')
    eventually(lambda: search(moderator, text='拉米', state='visible') == [], 2, what='it is not among the visible ones')
    assert search(moderator, text='拉米', state='hidden')[0]['text'] == '提拉米苏'


def test_users_list_their_own(searched):
    cluster, comments, _ = searched
    for number in range(220, 226):
        comments.put(number, user=4003)
    comments.put(226, user=4003, state='HIDDEN')
    comments.put(227, user=4003, state='HELD')
    me = cluster.http(4003)
    path = '/v1/users/4003/comments'
    wanted = comments.ids(lambda c: c['user'] == 4003)
    eventually(lambda: ids(search(me, path, limit=3)) == wanted)
    shown = {item['id']: item for item in search(me, path)}
    assert shown[str(comments.all[226]['id'])]['text'] is None
    assert shown[str(comments.all[227]['id'])]['text'] == 'text 227'
    assert all('reports' not in item for item in shown.values())
    assert cluster.http(4004).get(path).status_code == 403
    assert cluster.http(9, scope='moderator').get(path).status_code == 403


def test_only_moderators_search(searched):
    cluster, _, moderator = searched
    for http, code in [(cluster.http(1), 'moderators_only'), (cluster.gateway(), 'moderators_only')]:
        http.refused('GET', '/v1/moderation/comments', 403, code)
    assert cluster.http(None).get('/v1/moderation/comments').status_code == 401
    for bad in ({'text': '?!'}, {'state': 'gone'}, {'user': 'x'}, {'id': '1'}, {'type': 'P!', 'id': '1'}, {'limit': 0}, {'limit': 1001},
                {'after': 'x'}, {'from': -1}, {'from': 8, 'to': 7}, {'reported': 'maybe'}, {'text': 'x' * 1001}):
        answer = moderator.get('/v1/moderation/comments', params=bad)
        assert answer.status_code == 400, (bad, answer.text)
    assert moderator.get('/v1/moderation/comments', params={'text': '?!'}).json()['code'] == 'no_words'


def test_records_that_are_no_comments_become_dead_letters(searched):
    cluster, comments, moderator = searched
    produce = cluster.topics.produce
    good = {**comments.put(230, user=4005), 'user': 4006}
    produce('comments-wide', b'post:1', ('comment-wide', good))
    produce('comments-wide', key('post:1', 77), ('comment-wide', good))
    produce('comments-wide', key(good['subject'], good['id']), b'no record')
    produce('comments-wide', key(good['subject'], good['id']), encode('comment-wide', {**good, 'user': -1}))
    eventually(lambda: len(cluster.topics.read('comments-wide.dlq')) == 4)
    assert ids(search(moderator, user=4005)) == [str(good['id'])]
    assert search(moderator, user=4006) == []


def test_a_killed_process_goes_on_where_it_was(fresh):
    cluster, comments, moderator = fresh
    process, = cluster.moderators
    for number in range(40):
        comments.put(number)
    eventually(lambda: ids(search(moderator)) == comments.ids())
    process.kill()
    for number in range(20, 60):
        comments.put(number, state='HIDDEN')
    comments.remove(3)
    answer = moderator.get('/v1/moderation/comments')
    assert answer.status_code == 503 and int(answer.headers['Retry-After']) > 0
    process.start()
    eventually(lambda: ids(search(moderator)) == comments.ids())
    assert ids(search(moderator, state='hidden')) == comments.ids(lambda c: c['state'] == 'HIDDEN')
    assert process.total('starling_moderation_records_total') == 41


@pytest.mark.parametrize('damage', ['lost', 'damaged'])
def test_a_lost_file_is_made_anew(fresh, damage):
    cluster, comments, moderator = fresh
    process, = cluster.moderators
    for number in range(30):
        comments.put(number)
    eventually(lambda: ids(search(moderator)) == comments.ids())
    process.stop()
    database = process.folder / 'data/comments.db'
    for file in database.parent.glob('comments.db-*'):
        file.unlink()
    if damage == 'lost':
        database.unlink()
    else:
        database.write_bytes(b'this is no database' * 1000)
    process.start()
    eventually(lambda: ids(search(moderator)) == comments.ids())


def test_a_topic_that_was_made_anew_is_read_anew(fresh):
    cluster, comments, moderator = fresh
    process, = cluster.moderators
    for number in range(30):
        comments.put(number)
    eventually(lambda: ids(search(moderator)) == comments.ids())
    process.stop()
    cluster.topics.remove_all()
    eventually(lambda: cluster.starling('topics', 'create', '--partitions', 4, '--delivery-partitions', 4, check=False).returncode == 0, 30)
    comments.all.clear()
    comments.put(5, text='the only one')
    process.start()
    eventually(lambda: ids(search(moderator)) == comments.ids())


def test_any_process_answers(fresh):
    cluster, comments, moderator = fresh
    for number in range(30):
        comments.put(number)
    second = cluster.add('moderation')
    eventually(lambda: ids(search(moderator)) == comments.ids())
    for process in cluster.moderators[0], second:
        process.kill()
        comments.put(100 + process.index)
        eventually(lambda: moderator.get('/v1/moderation/comments').ok and ids(search(moderator)) == comments.ids(), 30,
                   what='the other one answers')
        process.start()


@pytest.fixture
def decided(make_cluster, users):
    """With the owners of comments: a subject, its owner, somebody who comments, and a moderator."""
    cluster = make_cluster().start(routers=1, fanouts=0, sinks=0, feeds=1, comments=1, moderators=1)
    owner, ben = users(2)
    cluster.gateway().ok('PUT', '/v1/subjects/site/1', json={'owner': owner})
    return cluster, cluster.http(ben), cluster.http(9, scope='moderator')


def write(http, text):
    """Until it is decided: 202 as long as the owners are only starting."""
    def decided():
        answer = http.post('/v1/comments/site/1', json={'text': text, 'key': 'the only one'})
        assert answer.status_code in (201, 202, 503), answer.text
        return answer.status_code == 201 and answer.json()

    return eventually(decided, 30)


def test_what_moderators_decide_is_searched_and_shown(decided):
    cluster, ben, moderator = decided
    made = write(ben, '促销 buy now')
    where = f'/v1/moderation/comments/site/1/{made["id"]}'
    eventually(lambda: ids(search(moderator, text='促销', state='visible')) == [made['id']], what='a new comment is found')
    assert ben.post(f'/v1/comments/site/1/{made["id"]}/report', json={'reason': 'spam'}).status_code == 202
    eventually(lambda: [c['reports'] for c in search(moderator, type='site', id='1', reported='true')] == [1])

    def shown():
        return [c['text'] for c in ben.ok('GET', '/v1/comments/site/1')['items']]

    for state, text in ('hidden', None), ('visible', made['text']), ('deleted', None):
        assert moderator.ok('PUT', where, json={'state': state, 'reason': 'because'})['state'] == state
        eventually(lambda: shown() == [text] and ids(search(moderator, user=made['user'], state=state)) == [made['id']], 2,
                   what=f'it is {state} on the page and in the search')
    assert search(moderator, text='促销') == []
    log = [decode(m.value) for m in cluster.topics.read('moderation-log')]
    assert [(entry['what'], entry['reason']) for entry in log] == [
        ('REPORT', 'spam'), ('HIDE', 'because'), ('RESTORE', 'because'), ('DELETE', 'because')]


def test_banned_users_do_not_comment(decided):
    cluster, ben, moderator = decided
    user = write(ben, 'before')['user']
    where = f'/v1/moderation/bans/{user}'
    for http in ben, cluster.gateway():
        assert http.put(where, json={'reason': 'no'}).json()['code'] == 'moderators_only'
    assert moderator.put(where, json={}).json()['code'] == 'bad_reason'
    assert moderator.put(where, json={'reason': 'x', 'until': 'soon'}).json()['code'] == 'bad_time'
    assert moderator.ok('PUT', where, json={'reason': 'spam'}) == {'user': user, 'until': None, 'reason': 'spam'}
    numbers = itertools.count()

    def answer():
        return ben.post('/v1/comments/site/1', json={'text': 'again', 'key': f'{next(numbers)}'})

    eventually(lambda: answer().status_code == 403, what='the ban is known')
    assert answer().json()['code'] == 'banned'
    assert moderator.delete(where).status_code == 204
    eventually(lambda: answer().status_code == 201, what='the ban is lifted')
    assert moderator.put(where, json={'reason': 'again', 'until': now_ms() + 1}).status_code == 200
    log = sorted((decode(m.value) for m in cluster.topics.read('moderation-log') if m.key.startswith(f'user:{user}\0'.encode())),
                 key=lambda entry: entry['time'])
    assert [(entry['what'], entry['role'], entry['author'], entry['reason'], entry['until'] > 0) for entry in log] == [
        ('BAN', 'MODERATOR', user, 'spam', False), ('UNBAN', 'MODERATOR', user, 'lifted', False),
        ('BAN', 'MODERATOR', user, 'again', True)]
    assert all(entry['user'] != user for entry in log)


def test_the_page_searches_and_decides(searched, browser):
    cluster, comments, _ = searched
    for number in range(240, 265):
        comments.put(number, user=4007, text=f'比萨 {number}', reports=number % 2)
    moderator = cluster.http(9, scope='moderator')
    eventually(lambda: len(search(moderator, user=4007)) == 25)
    page = browser.new_page()
    try:
        page.goto(f'{cluster.http_url}/moderation.html')
        page.fill('#token', cluster.token(9, scope='moderator'))
        page.click('#sign-in-form button')
        page.fill('#text', '比萨')
        page.click('#search-form button')
        page.wait_for_selector('#found > article:nth-child(20)')
        page.click('#older')
        page.wait_for_selector('#found > article:nth-child(25)')
        assert page.eval_on_selector_all('#found > article', 'all => all.map(a => a.dataset.comment)') == \
            comments.ids(lambda c: c['user'] == 4007)
        page.check('#reported')
        page.click('#search-form button')
        eventually(lambda: page.locator('#found > article').count() == 12)
        # Nothing without a reason; then the command is on its way, and the comment's owner decides it.
        first = page.locator('#found > article').first
        first.get_by_role('button', name='Hide').click()
        first.get_by_text('Say why').wait_for()
        first.get_by_label('Reason').fill('an advertisement')
        first.get_by_role('button', name='Hide').click()
        first.get_by_text('in a moment').wait_for()
        command = decode(cluster.topics.read('comment-commands')[-1].value)
        newest = comments.all[263]
        assert (command['kind'], command['comment'], command['role'], command['user'], command['text']) == \
            ('HIDE', newest['id'], 'MODERATOR', 9, 'an advertisement')
        comments.put(263, state='HIDDEN')
        eventually(lambda: search(moderator, user=4007, state='hidden'))
        page.click('#search-form button')
        page.wait_for_selector('#found > article[data-state=hidden]')
        assert first.get_by_role('button', name='Restore').is_visible()
        assert not first.get_by_role('button', name='Hide').is_visible()
    finally:
        page.close()


def test_the_page_refuses_other_tokens(searched, browser):
    cluster, _, _ = searched
    page = browser.new_page()
    try:
        page.goto(f'{cluster.http_url}/moderation.html')
        page.fill('#token', cluster.token(9))
        page.click('#sign-in-form button')
        page.click('#search-form button')
        page.get_by_text('not of a moderator').wait_for()
        assert page.is_visible('#sign-in-form') and not page.is_visible('#search-form')
    finally:
        page.close()
