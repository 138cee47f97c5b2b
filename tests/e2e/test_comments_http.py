"""Comments over the HTTP API, decided by starling-comments: every page of every order is what a plain model says, whatever dies. Covers
cli/comments.c."""
import json
import random

import pytest

from harness.commenting import Commenting
from harness.feed import Feed
from harness.http import problem
from harness.meanwhile import beside
from harness.waiting import eventually

SESSION = {'kafka.session.timeout.ms': 6000, 'kafka.heartbeat.interval.ms': 500}


@pytest.fixture(scope='module')
def comments(make_module_cluster):
    cluster = make_module_cluster(settings={
        'ingest:ingest.outcome.wait.ms': 8000, 'comments:comments.user.rate': 0,
        **{f'comments:{key}': value for key, value in SESSION.items()}})
    return Commenting(cluster.start(feeds=1, fanouts=0, sinks=0, comments=1))


@pytest.fixture
def subject(comments, user):
    """(owner, subject) of a new subject that is no post."""
    return user, comments.new_subject(user)


def test_a_post_takes_comments_without_being_registered(comments, users):
    author, ada = users(2)
    post = Feed(comments.cluster).post(author, 'a post')
    subject = f'post:{post["id"]}'
    problem(comments.http(ada).post('/v1/comments/post/1', json={'text': 'a'}), 404, 'no_subject')
    made = comments.write(subject, ada, 'Well said, \U0001f30d', owner=author)
    reply = comments.write(subject, author, 'Thanks', reply_to=made['id'])
    comments.write(subject, ada, 'You are welcome', reply_to=reply['id'])
    page = comments.http(author).ok('GET', comments.path(subject))
    assert (page['owner'], page['total'], len(page['items'][0]['replies'])) == (author, 3, 2)
    comments.check(subject)
    one = comments.http(ada).ok('GET', comments.path(subject, reply['id']), params={'around': 5})
    assert [item['floor'] for item in one['around']] == [2] and one['root']['id'] == made['id']
    page = comments.http(ada).ok('GET', comments.path(subject, made['id'], 'replies'), params={'limit': 1})
    rest = comments.http(ada).ok('GET', comments.path(subject, made['id'], 'replies'), params={'after': page['next']})
    assert [item['floor'] for item in page['items'] + rest['items']] == [1, 2] and rest['next'] is None


def test_the_thread_of_a_deleted_post_is_closed_and_stays(comments, users):
    author, ada = users(2)
    feed = Feed(comments.cluster)
    post = feed.post(author, 'a post')['id']
    subject = f'post:{post}'
    made = comments.write(subject, ada, 'Well said', owner=author)
    assert not comments.http(ada).ok('GET', comments.path(subject))['closed']
    feed.delete(author, post)
    page = eventually(lambda: (page := comments.http(ada).ok('GET', comments.path(subject)))['closed'] and page)
    assert [item['id'] for item in page['items']] == [made['id']]
    answers = [comments.http(ada).post(comments.path(subject), json={'text': 'a'}) for _ in range(2)]
    assert {(answer.status_code, answer.json()['code']) for answer in answers} <= {(409, 'subject_closed'), (404, 'no_subject')}
    eventually(lambda: problem(comments.http(ada).post(comments.path(subject), json={'text': 'a'}), 404, 'no_subject') or True)


def test_everything_that_is_done_shows_on_every_page(comments, subject, users):
    site, name = subject
    people, mod, chance = users(6), users(1)[0], random.Random(1)
    made = []
    for number in range(120):
        known = comments.threads.subjects[name]
        visible = [id for id, comment in known.comments.items() if comment.state == 'visible']
        user, what = chance.choice(people), chance.random()
        if what < 0.45 or not visible:
            made.append(comments.write(name, user, f'comment {number}')['id'])
        elif what < 0.65:
            comments.write(name, user, f'reply {number}', reply_to=chance.choice(visible))
        elif what < 0.85:
            comments.like(name, user, chance.choice(visible), wanted=chance.random() < 0.8)
        elif what < 0.9:
            roots = [id for id in visible if known.comments[id].root is None]
            if roots and len(known.pinned) < 10:
                comments.pin(name, site, chance.choice(roots))
        elif what < 0.95:
            comments.delete(name, site, chance.choice(visible))
        else:
            comments.moderate(name, chance.choice(visible), 'hidden', mod)
    comments.check(name, limit=7)
    comments.check(name, limit=1000)
    comments.check_answers(name)
    assert comments.http(site).ok('GET', comments.path(name))['version'] > 0


def test_a_page_that_has_not_changed_is_not_sent_again(comments, subject, users):
    _, name = subject
    ada, ben = users(2)
    one = comments.write(name, ada, 'a')
    http = comments.http(ada)
    tag = http.get(comments.path(name)).headers['ETag']
    same = http.get(comments.path(name), headers={'If-None-Match': tag})
    assert (same.status_code, same.content) == (304, b'')
    comments.like(name, ben, one['id'])
    assert http.get(comments.path(name), headers={'If-None-Match': tag}).status_code == 200
    for user, liked in ((ben, True), (ada, False)):
        item, = comments.http(user).ok('GET', comments.path(name), params={'liked': 'true'})['items']
        assert item['liked'] is liked


def test_refusals_have_names(comments, subject, users):
    site, name = subject
    ada, ben, mod = users(3)
    one = comments.write(name, ada, 'a')
    reply = comments.write(name, ben, 'b', reply_to=one['id'])
    other, = users(1)
    comments.register('site:other', owner=other)
    http = comments.http(ben)
    problem(http.post('/v1/comments/site/nobody', json={'text': 'a'}), 404, 'no_subject')
    problem(http.post('/v1/comments/site/other', json={'text': 'a', 'reply_to': one['id']}), 400, 'no_comment')
    problem(http.post(comments.path(name), json={'text': 'a', 'reply_to': '12345'}), 400, 'no_comment')
    problem(http.delete(comments.path(name, one['id'])), 403, 'not_your_comment')
    problem(http.put(comments.path(name, one['id'], 'pin')), 403, 'not_your_comment')
    problem(comments.http(site).put(comments.path(name, reply['id'], 'pin')), 400, 'not_a_root')
    problem(http.get(comments.path(name, 12345)), 404, 'no_comment')
    problem(http.get(comments.path(name, 12345, 'answers')), 404, 'no_comment')
    problem(http.get(comments.path(name, reply['id'], 'answers'), params={'after': 'floor-1'}), 400, 'wrong_cursor')
    page = http.ok('GET', comments.path(name), params={'limit': 1})
    assert page['next'] is None
    comments.write(name, ada, 'another')
    after = http.ok('GET', comments.path(name), params={'limit': 1})['next']
    problem(http.get(comments.path(name), params={'sort': 'heat', 'after': after}), 400, 'wrong_cursor')
    comments.register(name, closed=True)
    problem(http.post(comments.path(name), json={'text': 'a'}), 409, 'subject_closed')
    comments.register(name, closed=False, who_may='followers', level=2)
    problem(http.post(comments.path(name), json={'text': 'a'}), 403, 'not_allowed')
    comments.register(name, who_may='everyone')
    problem(http.post(comments.path(name), json={'text': 'a'}), 403, 'level_too_low')
    comments.write(name, ben, 'c', level=2)
    comments.register(name, level=0, review='before')
    held = comments.write(name, ben, 'held')
    assert held['state'] == 'held'
    mine = comments.http(ben).ok('GET', comments.path(name, held['id']))
    others = comments.http(ada).ok('GET', comments.path(name, held['id']))
    assert (mine['text'], others['text']) == ('held', None)
    assert comments.moderate(name, held['id'], 'visible', mod)['text'] == 'held'
    comments.check(name)
    comments.http(site).put(f'/v1/blocks/{ben}').raise_for_status()
    problem(http.post(comments.path(name), json={'text': 'a'}), 403, 'not_allowed')


def test_a_wide_record_has_the_authors_name_of_its_time_and_the_level_of_the_token(comments, subject, users):
    _, name = subject
    ada, ben, mod = users(3)
    daemon, = comments.cluster.comments

    def rename(user, called):
        known = daemon.total('starling_copies_records_total', topic='profiles')
        comments.http(user).ok('PUT', '/v1/profile', json={'name': called})
        eventually(lambda: daemon.total('starling_copies_records_total', topic='profiles') > known)

    def wide(made):
        found, = (record for record in comments.cluster.topics.latest('comments-wide').values() if record['id'] == int(made['id']))
        return found['state'], found['name'], found['level']

    rename(ada, 'Ada')
    one, bare = comments.write(name, ada, 'a', level=3), comments.write(name, ben, 'b')
    assert wide(one) == ('VISIBLE', 'Ada', 3) and wide(bare) == ('VISIBLE', '', 0)
    rename(ada, 'Ada Lovelace')
    assert wide(one) == ('VISIBLE', 'Ada', 3)
    assert wide(comments.write(name, ada, 'c')) == ('VISIBLE', 'Ada Lovelace', 0)
    comments.moderate(name, one['id'], 'hidden', mod)
    assert wide(one) == ('HIDDEN', 'Ada Lovelace', 3)
    comments.moderate(name, one['id'], 'visible', mod)
    comments.http(ada, level=5).ok('PUT', comments.path(name, one['id']), json={'text': 'aa', 'version': 1})
    assert wide(one) == ('VISIBLE', 'Ada Lovelace', 5)
    comments.delete(name, ada, one['id'])
    assert wide(one) == ('DELETED', '', 0)


DECIDED = 'comments', 'comment-texts', 'reactions', 'comments-wide', 'moderation-log'


def test_bad_input_gets_a_named_error_and_nothing_is_written(comments, subject, users):
    site, name = subject
    ada, ben, banned = users(3)
    one = comments.write(name, ada, 'a')
    comments.write(name, ada, 'b')
    elsewhere, closed, probe = (comments.new_subject(site) for _ in range(3))
    comments.register(closed, closed=True)
    comments.cluster.topics.produce('bans', banned, ('comment-ban', {'until': 0, 'moderator': 9, 'reason': 'spam', 'time': 1}))
    eventually(lambda: comments.http(banned).post(comments.path(probe), json={'text': 'a'}).status_code == 403, 20)
    cursor = comments.http(ben).ok('GET', comments.path(name), params={'limit': 1})['next']
    path, like = comments.path(name), comments.path(name, one['id'], 'like')

    def ends():
        return {topic: comments.cluster.topics.ends(topic) for topic in DECIDED}

    before = ends()
    for user, method, where, rest, status, code in (
            (ben, 'POST', path, {'json': {'text': 'x' * 10001}}, 400, 'bad_text'),
            (ben, 'POST', path, {'json': {'text': ''}}, 400, 'bad_text'),
            (ben, 'POST', path, {'data': b'{"text":"\xff"}'}, 400, 'bad_message'),
            (ben, 'POST', path, {'json': {'text': 'a', 'reply_to': '12345'}}, 400, 'no_comment'),
            (ben, 'POST', comments.path(elsewhere), {'json': {'text': 'a', 'reply_to': one['id']}}, 400, 'no_comment'),
            (ben, 'GET', path, {'params': {'sort': 'newest', 'after': cursor}}, 400, 'wrong_cursor'),
            (ben, 'GET', path, {'params': {'sort': 'heat', 'after': cursor}}, 400, 'wrong_cursor'),
            (ben, 'POST', comments.path(closed), {'json': {'text': 'a'}}, 409, 'subject_closed'),
            (banned, 'POST', path, {'json': {'text': 'a'}}, 403, 'banned'),
            (banned, 'POST', path, {'json': {'text': 'a', 'reply_to': one['id']}}, 403, 'banned'),
            (ben, 'DELETE', comments.path(name, one['id']), {}, 403, 'not_your_comment'),
            (ada, 'PUT', comments.path(name, one['id'], 'pin'), {}, 403, 'not_your_comment'),
            (ben, 'PUT', like.replace(one['id'], '12345'), {}, 404, 'no_comment'),
            (ben, 'PUT', like.replace(name.split(':')[1], elsewhere.split(':')[1]), {}, 404, 'no_comment')):
        problem(comments.http(user).request(method, where, **rest), status, code)
    assert ends() == before
    for each in (name, elsewhere, closed):
        comments.check(each)


def write_until_made(comments, user, subject, text, key):
    def made():
        response = comments.http(user).post(comments.path(subject), json={'text': text, 'key': key})
        assert response.status_code in (201, 202, 503), response.text
        return response.status_code == 201 and response.json()

    return eventually(made, 60, what=f'the comment {key} is made')


def test_floors_are_dense_after_a_kill_and_each_comment_is_there_once(comments, subject, users):
    _, name = subject
    people = users(4)
    daemon = comments.cluster.comments[0]

    def live(user):
        return [write_until_made(comments, user, name, f'{user} {n}', f'{user}-{n}') for n in range(25)]

    with beside(live, people) as lives:
        eventually(lambda: comments.http(people[0]).ok('GET', comments.path(name))['total'] > 20, 30)
        daemon.kill()
        daemon.start()
    made = [comment for life in lives for comment in life.result()]
    assert sorted(comment['floor'] for comment in made) == list(range(1, 101))
    for comment in sorted(made, key=lambda comment: int(comment['id'])):
        noted = comments.threads.write(name, int(comment['id']), comment['user'], comment['text'], comment['time'])
        assert noted.floor == comment['floor']
    comments.check(name, sorts=('floor', 'newest'))


def test_writers_are_acknowledged_while_the_owner_stands_still(comments, subject, users):
    _, name = subject
    ada, ben = users(2)
    comments.write(name, ben, 'before')
    daemon = comments.cluster.comments[0]
    daemon.pause()
    try:
        answers = [comments.http(ada).post(comments.path(name), json={'text': f'{n}', 'key': f'still-{n}'}, timeout=30)
                   for n in range(2)]
    finally:
        daemon.resume()
    assert [answer.status_code for answer in answers] == [202, 202]
    for number, answer in enumerate(answers):
        made = eventually(lambda at=answer.headers['Location']: (
            got := comments.http(ada).get(at)).status_code == 201 and got.json(), 30)
        assert (made['text'], made['floor']) == (f'{number}', number + 2)


def test_the_command_shows_the_thread(comments, subject, users):
    _, name = subject
    ada, ben = users(2)
    made = [comments.write(name, ada, f'comment {n}') for n in range(3)]
    reply = comments.write(name, ben, 'a reply', reply_to=made[0]['id'])
    comments.delete(name, ada, made[1]['id'])
    lines = comments.cluster.starling('comments', name).stdout.splitlines()
    assert [line.split(' ', 1)[1] for line in lines if not line.startswith(' ')] == [
        f'{made[0]["id"]} {ada} #1 likes=0 "comment 0"', f'{made[1]["id"]} {ada} #2 likes=0 deleted',
        f'{made[2]["id"]} {ada} #3 likes=0 "comment 2"']
    assert lines[1].startswith('  ') and lines[1].endswith(f'{reply["id"]} {ben} #1 likes=0 "a reply"')
    newest = comments.cluster.starling('comments', name, '--sort', 'newest', '--limit', 2, '--json').stdout.splitlines()
    assert [json.loads(line)['floor'] for line in newest] == [3, 2]
    for wrong in (['comments'], ['comments', 'post'], ['comments', name, '--sort', 'age'], ['comments', name, '--limit', '0']):
        assert comments.cluster.starling(*wrong, check=False).returncode == 2
