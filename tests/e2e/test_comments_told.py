"""What comments mean to others: posts show how many they have, users are told of answers and mentions, and nobody sees whom he has
blocked. Over the HTTP API, with real owners."""
import random

import pytest

from harness.commenting import Commenting
from harness.feed import Feed
from harness.http import problem
from harness.waiting import eventually

RATE = {'comments:comments.user.rate': 1, 'comments:comments.user.burst': 8}
_chance = random.Random(23)


@pytest.fixture(scope='module')
def comments(make_module_cluster):
    cluster = make_module_cluster(settings={'ingest:ingest.outcome.wait.ms': 8000, **RATE})
    return Commenting(cluster.start(feeds=1, fanouts=0, sinks=0, comments=2))


@pytest.fixture(scope='module')
def feed(comments):
    return Feed(comments.cluster)


@pytest.fixture
def post(feed, users):
    """(author, id, subject) of a new post."""
    author, = users(1)
    id = feed.post(author, 'a post')['id']
    return author, id, f'post:{id}'


def name(feed, user):
    handle = ''.join(_chance.choice('abcdefghijklmnopqrstuvwxyz') for _ in range(10))
    eventually(lambda: feed.http(user).put('/v1/handle', json={'handle': handle}).status_code == 200, 30)
    return handle


# ---- counts on posts, and likes ----

def test_posts_show_how_many_comments_they_have(comments, feed, post, users):
    author, id, subject = post
    ada, ben = users(2)
    other = feed.post(author, 'another')['id']
    feed.follow(ada, author)
    feed.wait_home(ada)

    def shown(path, *query):
        answer = feed.http(ada).ok('GET', path)
        return {item['id']: item.get('comments') for item in answer.get('items', [answer])}

    paths = {'/v1/feed': [id, other], f'/v1/users/{author}/posts': [id, other], f'/v1/posts/{id}': [id]}
    for path, ids in paths.items():
        eventually(lambda: shown(path) == dict.fromkeys(ids, 0), what=f'{path} says that there are no comments')
    one = comments.write(subject, ada, 'first', owner=author)
    comments.write(subject, ben, 'an answer', reply_to=one['id'])
    for path, ids in paths.items():
        eventually(lambda: shown(path) == {one: 2 if one == id else 0 for one in ids}, what=f'{path} has the new count')
    comments.delete(subject, ada, one['id'])
    for path in paths:
        eventually(lambda: shown(path)[id] == 1, what=f'{path} has the count after a deletion')


def test_posts_show_how_many_like_them_and_whether_i_do(comments, feed, post, users):
    author, id, subject = post
    ada, ben = users(2)
    other = feed.post(author, 'another')['id']
    for reader in (ada, ben):
        feed.follow(reader, author)
        feed.wait_home(reader)
    paths = '/v1/feed', f'/v1/users/{author}/posts', f'/v1/posts/{id}'

    def shown(reader, path):
        answer = feed.http(reader).ok('GET', path)
        return {item['id']: (item.get('likes'), item.get('liked')) for item in answer.get('items', [answer])}

    def show(**likes):
        """By name, whether they do; with each page, as soon as it is decided."""
        for reader in (ada, ben):
            for path in paths:
                now = len([name for name, liked in likes.items() if liked]), likes[{ada: 'ada', ben: 'ben'}[reader]]
                eventually(lambda: shown(reader, path) == ({id: now} if path == paths[2] else {id: now, other: (0, False)}), 5,
                           what=f'{path} of {reader} has {now}')

    show(ada=False, ben=False)
    assert comments.like_post(subject, ada, author) == 1
    show(ada=True, ben=False)
    assert comments.like_post(subject, ben, author) == 2
    show(ada=True, ben=True)
    assert comments.like_post(subject, ada, author, wanted=False) == 1
    show(ada=False, ben=True)
    made = feed.http(ada).post('/v1/posts', json={'text': 'new', 'key': 'new'}).json()
    assert (made['likes'], made['liked']) == (0, False)
    comments.like_post(f'post:{made["id"]}', ada, ada)
    again = feed.http(ada).post('/v1/posts', json={'text': 'new', 'key': 'new'}).json()
    assert (again['id'], again['likes'], again['liked']) == (made['id'], 1, True)


def test_pages_do_without_counts_where_nobody_has_comments(make_cluster, users):
    ada, ben = users(2)
    feed = Feed(make_cluster(settings={'ingest:ingest.outcome.wait.ms': 8000}).start(feeds=1, fanouts=0, sinks=0))
    feed.post(ben, 'a post')
    feed.follow(ada, ben)
    feed.wait_home(ada)
    assert all(not {'comments', 'likes', 'liked'} & set(item) for item in feed.home(ada))


# ---- notices ----

def told(feed, user):
    return [(item['what'], item['user'], item['subject'], item['comment'])
            for page in feed.pages(user, '/v1/notices') for item in page['items']]


def test_answers_and_mentions_are_told(comments, feed, post, users):
    author, _, subject = post
    ada, ben, cem = users(3)
    handle, own = name(feed, cem), name(feed, ada)
    one = comments.write(subject, ada, f'@{handle} and @{own}, look', owner=author)
    answer = comments.write(subject, ben, f'@{handle} too', reply_to=one['id'])
    thanks = comments.write(subject, ada, 'thanks', reply_to=answer['id'])
    comments.write(subject, author, 'to myself')
    eventually(lambda: told(feed, author) == [('reply', ada, subject, thanks['id']), ('reply', ben, subject, answer['id']),
                                              ('reply', ada, subject, one['id'])])
    eventually(lambda: told(feed, ada) == [('reply', ben, subject, answer['id'])])
    eventually(lambda: told(feed, ben) == [('reply', ada, subject, thanks['id'])])
    eventually(lambda: told(feed, cem) == [('mention', ben, subject, answer['id']), ('mention', ada, subject, one['id'])])
    shown = feed.http(cem).ok('GET', '/v1/notices')['items'][0]
    assert shown['time'] == answer['time']
    for _ in range(2):  # the same comment again
        comments.http(ben).post(comments.path(subject), json={'text': f'@{handle}', 'key': 'the same', 'reply_to': one['id']})
    eventually(lambda: len(told(feed, cem)) == 3)
    feed.http(cem).ok('PUT', f'/v1/blocks/{ben}')
    eventually(lambda: told(feed, cem) == [('mention', ada, subject, one['id'])])


def test_held_comments_are_told_when_they_are_approved(comments, feed, users):
    site, ada, ben, mod = users(4)
    subject = comments.new_subject(site)
    handle = name(feed, ben)
    comments.register(subject, owner=site, review='before')
    held = comments.write(subject, ada, f'hello @{handle}')
    hidden = comments.write(subject, ada, f'bad words, @{handle}')
    assert held['state'] == 'held'
    comments.moderate(subject, hidden['id'], 'hidden', mod)
    comments.moderate(subject, held['id'], 'visible', mod)
    eventually(lambda: told(feed, ben) == [('mention', ada, subject, held['id'])])
    assert told(feed, site) == [('reply', ada, subject, held['id'])]
    comments.moderate(subject, hidden['id'], 'visible', mod)
    comments.moderate(subject, held['id'], 'hidden', mod)
    comments.moderate(subject, held['id'], 'visible', mod)
    assert len(told(feed, ben)) == len(told(feed, site)) == 1


# ---- blocks ----

def test_nobody_sees_whom_he_has_blocked(comments, feed, post, users):
    author, _, subject = post
    ada, ben, cem = users(3)
    one = comments.write(subject, ada, 'of ada', owner=author)
    two = comments.write(subject, ben, 'of ben')
    three = comments.write(subject, cem, 'of cem')
    under_one = comments.write(subject, ben, 'ben to ada', reply_to=one['id'])
    under_two = comments.write(subject, cem, 'cem to ben', reply_to=two['id'])
    comments.pin(subject, author, two['id'])

    def seen(user, sort='floor'):
        pages = comments.pages(user, subject, sort, limit=1)
        return [(item['id'], [reply['id'] for reply in item['replies']]) for page in pages for item in page['items']]

    everything = [(one['id'], [under_one['id']]), (two['id'], [under_two['id']]), (three['id'], [])]
    assert seen(cem) == everything
    before = comments.http(cem).get(comments.path(subject))
    feed.http(cem).ok('PUT', f'/v1/blocks/{ben}')
    without = [(one['id'], []), (three['id'], [])]
    eventually(lambda: seen(cem) == without, what='cem sees nothing of ben')
    assert seen(cem, 'newest') == without[::-1]
    assert seen(ben) == seen(ada) == everything  # ben sees cem, and the others see both
    after = comments.http(cem).get(comments.path(subject), headers={'If-None-Match': before.headers['ETag']})
    assert after.status_code == 200 and after.headers['ETag'] != before.headers['ETag']
    assert after.json()['total'] == before.json()['total'] == 5 and after.json()['pinned'] == []
    again = comments.http(cem).get(comments.path(subject), headers={'If-None-Match': after.headers['ETag']})
    assert again.status_code == 304
    for path in ((two['id'],), (under_one['id'],), (under_two['id'],), (two['id'], 'replies'), (under_one['id'], 'answers'),
                 (under_two['id'], 'answers')):
        problem(comments.http(cem).get(comments.path(subject, *path)), 404, 'no_comment')
        assert comments.http(ada).get(comments.path(subject, *path)).ok
    around = comments.http(cem).ok('GET', comments.path(subject, three['id']), params={'around': 5})
    assert [item['id'] for item in around['around']] == [one['id']]
    feed.http(cem).ok('DELETE', f'/v1/blocks/{ben}')
    eventually(lambda: seen(cem) == everything)


def test_nobody_reads_while_nobody_says_whom_he_has_blocked(comments, post, users):
    author, _, subject = post
    ada, ben, cem = users(3)
    comments.write(subject, ada, 'of ada', owner=author)
    comments.http(ben).ok('PUT', f'/v1/blocks/{ada}')
    eventually(lambda: comments.http(ben).ok('GET', comments.path(subject))['items'] == [])
    router = comments.cluster.routers[0]
    router.pause()
    try:
        problem(comments.http(cem).get(comments.path(subject)), 503, 'owner_unavailable')  # who was never heard of
        assert comments.http(ben).ok('GET', comments.path(subject))['items'] == []
    finally:
        router.resume()


# ---- what owners refuse for now ----

def test_a_user_writes_so_fast_under_one_subject(comments, post, users):
    author, _, subject = post
    ada, ben = users(2)
    comments.write(subject, ben, 'begun', owner=author)
    http = comments.http(ada)

    def write(key, other=subject):
        return http.post(comments.path(other), json={'text': 'a', 'key': key})

    answers = {key: write(key) for key in map(str, range(40))}
    late = {key for key, answer in answers.items() if answer.status_code == 429}
    assert late and {answers[key].status_code for key in answers.keys() - late} == {201}
    for key in late:
        problem(answers[key], 429, 'too_many_writes')
        assert 1 <= int(answers[key].headers['Retry-After']) <= 9
    comments.write(comments.new_subject(ben), ada, 'elsewhere he may')
    key = min(late)  # it is not remembered
    eventually(lambda: write(key).status_code == 201, 30, every=0.5, what='the refused comment is taken later')


def test_what_the_gateway_knew_of_a_subject_is_not_held_against_the_user(comments, feed, users):
    """The owner changes who may comment while the gateway still goes by what it heard a moment before."""
    site, ada, ben = users(3)
    subject = comments.new_subject(site)
    feed.follow(ada, site)
    comments.write(subject, ben, 'everyone may')  # now the gateway knows
    comments.cluster.topics.produce('comment-commands', subject.encode(), ('comment-command', {
        'kind': 'REGISTER', 'subject': subject, 'user': 0, 'role': 'SERVICE', 'key': 'behind', 'comment': 0, 'text': '',
        'mentions': [], 'owner': -1, 'level': -1, 'follows': False, 'friends': False, 'blocked': False,
        'who_may': 'FOLLOWERS', 'review': 'SAME_REVIEW', 'closing': 'SAME_CLOSING', 'time': 1}))
    first = comments.http(ada).post(comments.path(subject), json={'text': 'a', 'key': 'k'})
    assert first.status_code in (201, 503), first.text
    again = eventually(lambda: (made := comments.http(ada).post(comments.path(subject), json={'text': 'a', 'key': 'k'}))
                       .status_code == 201 and made)
    assert again.json()['text'] == 'a'
    problem(comments.http(ben).post(comments.path(subject), json={'text': 'b'}), 403, 'not_allowed')
