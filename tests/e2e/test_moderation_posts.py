"""Moderation of posts over the HTTP API: bans, and posts that are hidden, shown again and deleted. Covers ingest/feed/post_states.c,
ingest/state_wish.c, cli/moderate.c and cli/api.c."""
import itertools
import json

import pytest

from harness.feed import Feed
from harness.http import Http, pages_of, problem
from harness.records import decode
from harness.waiting import eventually, now_ms
from harness.watcher import Watcher

FRESH_S = 2  # after the answer to a decision, it holds everywhere


@pytest.fixture(scope='module')
def cluster(make_module_cluster):
    return make_module_cluster(settings={
        'ingest:ingest.outcome.wait.ms': 8000, 'comments:comments.user.rate': 0, 'ingest:comments.hot.reads': 3, 'ingest:feed.copies.reads': 3,
        'ingest:feed.texts.s': 600}).start(ingests=2, feeds=2, comments=1, places=1, moderators=1)


@pytest.fixture
def feed(cluster):
    return Feed(cluster)


def moderator(cluster):
    return cluster.http(9, scope='moderator')


def decided(call):
    """The answer of the call, made until it is decided."""
    def answered():
        response = call()
        return [] if response.status_code in (202, 503) else [response]

    response, = eventually(answered, 30)
    return response


def test_a_ban_counts_for_posts_edits_and_likes(cluster, feed, users):
    ada, ben = users(2)
    keys = (f'banned-{ada}-{number}' for number in itertools.count())
    mine, its = feed.post(ada, 'mine'), feed.post(ben, 'of somebody else')
    path, where, http = f'/v1/posts/{mine["id"]}', f'/v1/moderation/bans/{ada}', cluster.http(ada)

    def post(key):
        return decided(lambda: http.post('/v1/posts', json={'text': 'again', 'key': key}))

    moderator(cluster).ok('PUT', where, json={'reason': 'spam'})
    eventually(lambda: post(next(keys)).status_code == 403, what='the ban is known')
    key = next(keys)
    problem(post(key), 403, 'banned')
    problem(post(key), 403, 'banned')
    problem(decided(lambda: http.put(path, json={'text': 'changed', 'version': 1})), 403, 'banned')
    problem(decided(lambda: http.put(f'/v1/posts/{its["id"]}/like')), 403, 'banned')
    edited = feed.edit(9, mine, 'by a moderator', scope='moderator')  # who is not banned
    assert http.ok('GET', path)['text'] == 'by a moderator' and edited['version'] == 2
    feed.delete(ada, mine['id'])
    assert moderator(cluster).delete(where).status_code == 204
    eventually(lambda: post(key).status_code == 201, what='the ban is lifted, and the same key makes the post')
    moderator(cluster).ok('PUT', where, json={'reason': 'a second', 'until': now_ms() + 2000})
    eventually(lambda: post(next(keys)).status_code == 403)
    eventually(lambda: post(next(keys)).status_code == 201, what='the ban is over')


def decide(cluster, post, state, reason='rude', mod=9):
    response = decided(lambda: cluster.http(mod, scope='moderator').put(
        f'/v1/moderation/posts/{post["id"]}', json={'state': state, 'reason': reason}))
    assert response.status_code == 200, response.text
    return response.json()


def gateways(cluster, user):
    return [Http(f'http://{daemon.settings["ingest.listen"]}', cluster.token(user)) for daemon in cluster.of('ingest')]


def test_a_hidden_post_is_gone_from_every_page(cluster, feed, users):
    ada, ben, cleo, mod = users(4)
    feed.follow(ben, ada)
    kept, post = feed.post(ada, 'kept'), feed.post(ada, 'rude')
    feed.wait_home(ben)
    thread = f'/v1/comments/post/{post["id"]}'
    comment = decided(lambda: cluster.http(ben).post(thread, json={'text': 'well', 'key': f'on-{post["id"]}'})).json()
    reads = [(reader, gateway) for reader in (ada, ben, cleo) for gateway in gateways(cluster, reader)]
    path = f'/v1/posts/{post["id"]}'
    doors = (path, f'{path}/edits', f'{path}/likes', thread, f'{thread}?sort=newest', f'{thread}/{comment["id"]}',
             f'{thread}/{comment["id"]}/edits')

    def lists(reader, gateway):
        paths = [f'/v1/users/{ada}/posts'] + (['/v1/feed'] if reader == ben else [])
        return [[item['id'] for item in gateway.ok('GET', path)['items']] for path in paths]

    def shown(reader, gateway):
        codes = [gateway.get(door).status_code for door in doors]
        return codes == [200] * len(doors) and all(post['id'] in ids for ids in lists(reader, gateway))

    def gone(reader, gateway):
        codes = [gateway.get(door) for door in doors]
        return all(code.status_code == 404 for code in codes) and all(ids == [kept['id']] for ids in lists(reader, gateway))

    for reader, gateway in reads:
        eventually(lambda: shown(reader, gateway), 30)
    count = cluster.http(cleo).ok('GET', f'/v1/users/{ada}')['posts']
    assert decide(cluster, post, 'hidden', mod=mod) == {**decide(cluster, post, 'hidden', 'again', mod), 'state': 'hidden', 'text': 'rude'}
    for reader, gateway in reads:
        eventually(lambda: gone(reader, gateway), FRESH_S, what=f'{reader} sees nothing of it')
    never = cluster.http(cleo).get('/v1/posts/12345')
    assert cluster.http(cleo).get(path).json() == never.json() == cluster.http(ada).get(path).json()
    eventually(lambda: cluster.http(cleo).ok('GET', f'/v1/users/{ada}')['posts'] == count - 1, FRESH_S)
    for act, method, of in (('like', 'PUT', path), ('like', 'DELETE', path)):
        problem(cluster.http(cleo).request(method, f'{of}/{act}'), 404, 'no_post')
    problem(cluster.http(ben).post(thread, json={'text': 'more'}), 404, 'no_post')
    problem(cluster.http(ada).put(path, json={'text': 'polite', 'version': 1}), 404, 'no_post')
    decide(cluster, post, 'visible', 'it is fine', mod)
    for reader, gateway in reads:
        eventually(lambda: shown(reader, gateway), 30, what=f'{reader} sees it again')
    decide(cluster, post, 'hidden', 'after all', mod)
    assert decide(cluster, post, 'deleted', 'for good', mod)['state'] == 'deleted'
    problem(moderator(cluster).put(f'/v1/moderation/posts/{post["id"]}', json={'state': 'visible', 'reason': 'x'}), 404, 'no_post')
    for reader, gateway in reads:
        eventually(lambda: gone(reader, gateway), FRESH_S)
    log = [decode(m.value) for m in cluster.topics.read('moderation-log') if m.key.startswith(f'post:{post["id"]}\0'.encode())]
    assert [(entry['what'], entry['user'], entry['author'], entry['role'], entry['reason']) for entry in log] == [
        (what, mod, ada, 'MODERATOR', reason)
        for what, reason in (('HIDE', 'rude'), ('RESTORE', 'it is fine'), ('HIDE', 'after all'), ('DELETE', 'for good'))]


def test_what_is_wrong_is_refused(cluster, feed, users):
    ada, = users(1)
    post = feed.post(ada, 'a post')
    where, right = f'/v1/moderation/posts/{post["id"]}', {'state': 'hidden', 'reason': 'x'}
    problem(cluster.http(ada).put(where, json=right), 403, 'moderators_only')
    for absent in 12345, 1_000_000:  # the other's partition is none
        problem(moderator(cluster).put(f'/v1/moderation/posts/{absent}', json=right), 404, 'no_post')
    for body, code in (({'state': 'gone', 'reason': 'x'}, 'bad_state'), ({'reason': 'x'}, 'bad_state'), ({'state': 'hidden'}, 'bad_reason'),
                       ({'state': 'hidden', 'reason': ''}, 'bad_reason'), ([], 'bad_message')):
        problem(moderator(cluster).put(where, json=body), 400, code)
    assert cluster.http(ada).ok('GET', f'/v1/posts/{post["id"]}')['text'] == 'a post'


def test_authors_delete_what_is_hidden(cluster, feed, users):
    ada, ben = users(2)
    post = feed.post(ada, 'rude')
    decide(cluster, post, 'hidden')
    assert cluster.http(ben).delete(f'/v1/posts/{post["id"]}').status_code == 204  # as of one that never was
    assert decide(cluster, post, 'hidden')['state'] == 'hidden'
    exported, = [item for item in cluster.http(ada).items('/v1/export') if item.get('id') == post['id']]
    assert (exported['text'], exported['state']) == ('rude', 'hidden')
    feed.delete(ada, post['id'])
    problem(moderator(cluster).put(f'/v1/moderation/posts/{post["id"]}', json={'state': 'visible', 'reason': 'x'}), 404, 'no_post')


def test_an_open_home_timeline_drops_what_is_hidden(cluster, feed, users):
    ada, ben = users(2)
    feed.follow(ben, ada)
    first = feed.post(ada, 'first')
    feed.wait_home(ben)
    with Watcher(feed, ben) as watcher:
        eventually(lambda: watcher.settled)
        post = feed.post(ada, 'rude')
        eventually(lambda: watcher.shown(2) == [int(post['id']), int(first['id'])])
        decide(cluster, post, 'hidden')
        eventually(lambda: watcher.shown(2) == [int(first['id'])], FRESH_S, what='it is gone from the screen')
        decide(cluster, post, 'visible')
        eventually(lambda: watcher.shown(2) == [int(post['id']), int(first['id'])], what='it is there again')


def entries(cluster, subject):
    return [decode(m.value) for m in cluster.topics.read('moderation-log') if m.key.startswith(f'{subject}\0'.encode())]


def test_posts_and_people_are_reported_once_by_each(cluster, feed, users):
    ada, ben, cleo = users(3)
    post = feed.post(ada, 'rude')
    for path, subject in (f'/v1/posts/{post["id"]}', f'post:{post["id"]}'), (f'/v1/users/{ada}', f'user:{ada}'):
        where = f'{path}/report'
        for body, code in (({}, 'bad_reason'), ({'reason': ''}, 'bad_reason'), ({'reason': 'x' * 1001}, 'bad_reason'), ([], 'bad_message')):
            problem(cluster.http(ben).post(where, json=body), 400, code)
        for user, reason in ((ben, 'spam'), (ben, 'spam again'), (cleo, 'rude')):
            eventually(lambda: cluster.http(user).post(where, json={'reason': reason}).json() == {'reported': True}, 30)
        told = entries(cluster, subject)
        assert [(entry['what'], entry['user'], entry['author'], entry['role'], entry['reason']) for entry in told] == [
            ('REPORT', ben, ada, 'USER', 'spam'), ('REPORT', cleo, ada, 'USER', 'rude')]
    decided(lambda: cluster.http(ben).put(f'/v1/posts/{post["id"]}/like'))  # what he has reported stays noted
    eventually(lambda: cluster.http(ben).post(f'/v1/posts/{post["id"]}/report', json={'reason': 'more'}).json() == {'reported': True}, 30)
    assert len(entries(cluster, f'post:{post["id"]}')) == 2
    mine = {f'post:{post["id"]}', f'user:{ada}'}
    pages = pages_of(lambda **cursor: cluster.http(ben).ok('GET', '/v1/export', params=cursor))
    assert mine == {item['subject'] for page in pages if page['kind'] == 'reports' for item in page['items'] if item['comment'] is None}
    problem(cluster.http(ben).post('/v1/posts/12345/report', json={'reason': 'x'}), 404, 'no_post')
    assert cluster.http(ben).ok('GET', f'/v1/comments/user/{ada}')['owner'] is None  # a report registers nobody
    decide(cluster, post, 'hidden')
    problem(cluster.http(ben).post(f'/v1/posts/{post["id"]}/report', json={'reason': 'x'}), 404, 'no_post')


def find(cluster, what='posts', **conditions):
    return moderator(cluster).items(f'/v1/moderation/{what}', **conditions)


def test_posts_are_searched(cluster, feed, users):
    ada, ben = users(2)
    first = feed.post(ada, '促销 buy now', media=['https://img.example/1'])
    second = feed.post(ada, 'a quiet post')

    def ids(**conditions):
        return [post['id'] for post in find(cluster, user=ada, **conditions)]

    eventually(lambda: ids() == [second['id'], first['id']], what='new posts are found')
    assert ids(limit=1) == [second['id'], first['id']] and ids(text='促销') == ids(to=second['time'] + 1, text='BUY') == [first['id']]
    found = find(cluster, user=ada, text='促销')[0]
    assert {key: value for key, value in first.items() if key not in ('comments', 'likes', 'liked')} == {
        key: value for key, value in found.items() if key not in ('state', 'reports')}
    assert (found['state'], found['reports']) == ('visible', 0)
    eventually(lambda: cluster.http(ben).post(f'/v1/posts/{first["id"]}/report', json={'reason': 'spam'}).json() == {'reported': True}, 30)
    eventually(lambda: [post['reports'] for post in find(cluster, user=ada, reported='true')] == [1])
    for state in 'hidden', 'visible':
        decide(cluster, first, state)
        eventually(lambda: ids(state=state, text='促销') == [first['id']])
    feed.edit(ada, second, 'louder')
    eventually(lambda: ids(text='louder') == [second['id']] and ids(text='quiet') == [])
    decide(cluster, first, 'deleted')
    eventually(lambda: [(post['id'], post['text'], post['media']) for post in find(cluster, user=ada, state='deleted')] == [(first['id'], None, [])])
    assert ids(text='促销') == []
    for query in ({'state': 'gone'}, {'reported': 'x'}, {'limit': 0}, {'after': 'x'}, {'from': 2, 'to': 1}):
        problem(moderator(cluster).get('/v1/moderation/posts', params=query), 400, 'bad_query')
    for path in 'posts', 'users':
        problem(cluster.http(ada).get(f'/v1/moderation/{path}'), 403, 'moderators_only')
    audited = [decode(m.value)['what'] for m in cluster.topics.read('audit') if m.key == f'user:{ada}'.encode()]
    assert audited and set(audited) == {'search'}


def test_people_who_were_reported_are_listed(cluster, feed, users):
    ada, ben, cleo = users(3)
    before = now_ms()
    for user, other, reason in (ben, ada, 'spam'), (ada, cleo, 'loud'), (cleo, ada, 'rude'):
        eventually(lambda: cluster.http(user).post(f'/v1/users/{other}/report', json={'reason': reason}).json() == {'reported': True}, 30)

    def shown(**conditions):
        return [(item['user'], item['reports'], item['reason']) for item in find(cluster, 'users', **conditions)]

    eventually(lambda: shown(reported='true', limit=1)[:2] == shown()[:2] == [(ada, 2, 'rude'), (cleo, 1, 'loud')])
    assert shown(user=cleo) == [(cleo, 1, 'loud')] and shown(user=ben) == []
    item = find(cluster, 'users', user=ada)[0]
    assert set(item) == {'user', 'name', 'avatar_url', 'reports', 'time', 'reason'} and item['time'] >= before - 1000
    problem(moderator(cluster).get('/v1/moderation/users', params={'after': 'x'}), 400, 'bad_query')


def test_the_page_decides_about_posts_and_people(cluster, feed, users, browser):
    ada, ben = users(2)
    post = feed.post(ada, 'an advertisement', media=['https://img.example/1'])
    for of in f'posts/{post["id"]}', f'users/{ada}':
        eventually(lambda: cluster.http(ben).post(f'/v1/{of}/report', json={'reason': 'spam'}).json() == {'reported': True}, 30)
    eventually(lambda: len(find(cluster, user=ada, reported='true')) == len(find(cluster, 'users', user=ada)) == 1)
    page = browser.new_page()
    try:
        page.goto(f'{cluster.http_url}/moderation.html')
        page.fill('#token', cluster.token(9, scope='moderator'))
        page.click('#sign-in-form button')
        page.select_option('#what', 'posts')
        assert not page.is_visible('#type')
        page.fill('#user', str(ada))
        page.check('#reported')
        page.click('#search-form button')
        found = page.locator(f'#found > article[data-post="{post["id"]}"]')
        found.get_by_text('reported once').wait_for()
        assert found.locator('.text').inner_text() == 'an advertisement' and found.locator('a.media').get_attribute('href') == 'https://img.example/1'
        found.get_by_label('Reason').fill('spam')
        found.get_by_role('button', name='Hide').click()
        found.get_by_text('It is hidden now.').wait_for()
        problem(cluster.http(ben).get(f'/v1/posts/{post["id"]}'), 404, 'no_post')
        found.get_by_label('Reason').fill('a mistake')
        found.get_by_role('button', name='Restore').click()
        found.get_by_text('It is visible now.').wait_for()
        page.select_option('#what', 'users')
        assert not page.is_visible('#text')
        page.click('#search-form button')
        person = page.locator(f'#found > article[data-user="{ada}"]')
        person.get_by_text('spam').wait_for()
        person.get_by_role('button', name='Ban', exact=True).click()
        person.get_by_text('Say why').wait_for()
        person.get_by_label('Reason').fill('spam everywhere')
        person.get_by_role('button', name='Ban', exact=True).click()
        person.get_by_text('Banned from posting').wait_for()
        eventually(lambda: decided(lambda: cluster.http(ada).post('/v1/posts', json={'text': 'more'})).status_code == 403)
        person.get_by_role('button', name='Lift the ban').click()
        person.get_by_text('May write again.').wait_for()
        eventually(lambda: decided(lambda: cluster.http(ada).post('/v1/posts', json={'text': 'more'})).status_code == 201)
    finally:
        page.close()


def test_operators_moderate_by_command(cluster, feed, users):
    ada, ben, mod = users(3)
    post = feed.post(ada, 'rude')
    thread = f'post:{post["id"]}'
    comment = decided(lambda: cluster.http(ben).post(f'/v1/comments/post/{post["id"]}', json={'text': 'ruder', 'key': f'cli-{ben}'})).json()

    def moderate(*arguments, **options):
        return cluster.starling('moderate', *map(str, arguments), '--as', str(mod), '--http', cluster.http_url, **options)

    def found(what, *arguments):
        return [json.loads(line) for line in moderate('find', what, *arguments).stdout.splitlines()]

    assert eventually(lambda: found('posts', '--user', ada))[0]['id'] == post['id']
    for verdict, state in ('hide', 'hidden'), ('show', 'visible'), ('hide', 'hidden'):
        for item, user, what in (thread, ada, 'posts'), (f'{thread}/{comment["id"]}', ben, 'comments'):
            assert json.loads(moderate(verdict, item, '--reason', 'a "rude" one').stdout)['state'] == state
            eventually(lambda: [one['state'] for one in found(what, '--user', user, '--state', state)] == [state])
    assert entries(cluster, thread)[-1]['reason'] == 'a "rude" one' and {entry['user'] for entry in entries(cluster, thread)} == {mod}
    assert json.loads(moderate('delete', thread, '--reason', 'for good').stdout)['state'] == 'deleted'
    assert 'no_post' in moderate('show', thread, '--reason', 'no', check=False).stderr
    many = [feed.post(ben, f'post {number}')['id'] for number in range(5)]
    eventually(lambda: [one['id'] for one in found('posts', '--user', ben, '--limit', 3)] == many[:1:-1])
    assert json.loads(moderate('ban', f'user:{ben}', '--reason', 'spam', '--until', now_ms() + 3_600_000).stdout)['reason'] == 'spam'
    eventually(lambda: decided(lambda: cluster.http(ben).post('/v1/posts', json={'text': 'more'})).status_code == 403)
    moderate('unban', f'user:{ben}')
    eventually(lambda: decided(lambda: cluster.http(ben).post('/v1/posts', json={'text': 'more'})).status_code == 201)
    for wrong in (('hide', thread), ('hide', 'post:', '--reason', 'x'), ('ban', thread, '--reason', 'x'), ('find', 'all'), ('show',),
                  ('find', 'posts', '--state', 'gone'), ('hide', f'{thread}/x', '--reason', 'x')):
        assert moderate(*wrong, check=False).returncode == 2


def test_masses_of_held_posts_hold_up_nobody(cluster, feed, users):
    """A page of somebody's posts looks at no more than some thousands that are not there for the reader, and says where it goes on."""
    ada, ben = users(2)
    first = feed.post(ada, 'the first')
    cluster.topics.produce_all('post-commands', [
        (ada, ('post-command', {'kind': 'POST', 'user': ada, 'key': f'held-{n}', 'text': 'spam', 'time': now_ms(), 'held': True})) for n in range(6000)])
    last = feed.post(ada, 'the last', timeout=60)
    pages = feed.pages(ben, f'/v1/users/{ada}/posts', limit=20)
    assert [[item['id'] for item in page['items']] for page in pages] == [[last['id']], [first['id']]]


def test_hidden_posts_leave_no_page_empty(make_cluster, users):
    """Feed processes know for some hours which posts are hidden; here they forget it sooner. The posts stay in inboxes."""
    cluster = make_cluster(settings={'ingest:ingest.outcome.wait.ms': 8000}).start(routers=1, sinks=0, feeds=1)
    feed = Feed(cluster)
    ada, ben, cleo = users(3)
    feed.follow(cleo, ada)
    feed.follow(cleo, ben)
    older = [feed.post(ben, f'older {n}') for n in range(3)]
    feed.wait_home(cleo)
    cluster.topics.produce_all('post-commands', [
        (ada, ('post-command', {'kind': 'POST', 'user': ada, 'key': f'held-{n}', 'text': 'spam', 'time': now_ms(), 'held': True})) for n in range(200)])
    shown = [post['id'] for post in reversed(older)]
    eventually(lambda: sum(len(decode(m.value)['items']) for m in cluster.topics.read('hot-posts')) == 200, 30, what='it is told that they are held')
    feed.post(ada, 'deleted', key='gone', timeout=60)  # the restarted process tells of the last record of `posts` again
    feed.delete(ada, feed.posts[ada][-1])
    feed.wait_home(cleo)
    cluster.topics.empty('hot-posts')
    cluster.feeds[0].restart()
    eventually(lambda: [item['id'] for item in cluster.http(cleo).ok('GET', '/v1/feed')['items']] == shown, 30)
    page = cluster.http(cleo).ok('GET', '/v1/feed', params={'limit': 2})
    assert [item['id'] for item in page['items']] == shown[:2] and page['next'] == shown[1]
    feed.wait_home(cleo, limit=3)
