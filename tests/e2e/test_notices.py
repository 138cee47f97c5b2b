"""Users are told of new followers, requests, likes, and of posts that mention them by their handles. Covers ingest/feed/feed.c,
ingest/feed/notices.c, feed/commands_notices.c, feed/notice_settings.c, feed/notices_shown.c
and feed/replies_notices.c."""
import random
import shutil

import pytest

from harness.belongings import TOLD
from harness.feed import Feed
from harness.waiting import eventually, now_ms

SETTINGS = {'ingest:ingest.outcome.wait.ms': 8000}
KEPT = 200
_chance = random.Random(17)


@pytest.fixture(scope='module')
def feed(make_module_cluster):
    return Feed(make_module_cluster(settings=SETTINGS).start(feeds=1, comments=1))


def name(feed, user):
    handle = ''.join(_chance.choice('abcdefghijklmnopqrstuvwxyz') for _ in range(10))
    eventually(lambda: feed.http(user).put('/v1/handle', json={'handle': handle}).status_code == 200, 30)
    return handle


def notices(feed, user, limit=20):
    """All pages."""
    items = [item for page in feed.pages(user, '/v1/notices', limit=limit) for item in page['items']]
    assert len({item['id'] for item in items}) == len(items)
    assert [item['time'] for item in items] == sorted((item['time'] for item in items), reverse=True)
    return items


def told(feed, user, limit=20):
    return [(item['what'], item['user'], item['subject']) for item in notices(feed, user, limit)]


def test_new_followers_and_mentions(feed, users):
    ada, ben, cem = users(3)
    handle = name(feed, ada)
    assert feed.http(ada).ok('GET', '/v1/notices') == {'items': [], 'next': None, 'unread': 0}
    before = now_ms()
    feed.follow(ben, ada)
    feed.follow(ben, ada)  # is not told again
    post = feed.post(cem, f'Hello @{handle.upper()}, @{handle}! @nobody_at_all x@{handle}.com')
    own = feed.post(ada, f'@{handle} is me')
    expected = [('mention', cem, f'post:{post["id"]}'), ('follow', ben, None)]
    eventually(lambda: told(feed, ada) == expected)
    mention, follow = notices(feed, ada)
    assert (mention['comment'], mention['time'], follow['comment']) == (None, post['time'], None)
    assert before - 1000 < follow['time'] < now_ms() + 1000
    assert set(mention) == {'id', 'what', 'user', 'subject', 'comment', 'time'}
    assert feed.http(ada).ok('GET', '/v1/notices', params={'limit': 1}) == {'items': [mention], 'next': mention['id'], 'unread': 2}
    assert feed.http(ada).ok('GET', '/v1/notices', params={'limit': 1, 'after': mention['id']}) == {
        'items': [follow], 'next': None, 'unread': 2}
    assert own['text'] == f'@{handle} is me' and told(feed, ben) == told(feed, cem) == []
    feed.unfollow(ben, ada)
    assert told(feed, ada) == expected


def test_the_same_post_again_is_one_notice(feed, users):
    ada, ben = users(2)
    handle = name(feed, ada)
    for _ in range(3):
        feed.post(ben, f'@{handle}', key='once')
    feed.post(ben, f'@{handle}', key='twice')
    eventually(lambda: len(told(feed, ada)) == 2)


def test_muted_and_blocked_users_are_not_told_of(feed, users):
    ada, ben, cem = users(3)
    handle = name(feed, ada)
    feed.follow(ben, ada)
    feed.post(cem, f'@{handle}')
    eventually(lambda: len(told(feed, ada)) == 2)
    feed.mute(ada, ben)
    assert [user for _, user, _ in told(feed, ada)] == [cem]
    feed.http(cem).ok('PUT', f'/v1/blocks/{ada}')
    eventually(lambda: told(feed, ada) == [])
    feed.unmute(ada, ben)
    assert [user for _, user, _ in told(feed, ada)] == [ben]
    feed.http(cem).ok('DELETE', f'/v1/blocks/{ada}')
    eventually(lambda: len(told(feed, ada)) == 2)


def test_the_newest_200_are_kept_also_on_an_empty_disk(feed, users):
    ada, ben = users(2)
    handle = name(feed, ada)
    posts = [feed.post(ben, f'{number} @{handle}')['id'] for number in range(KEPT + 30)]
    newest = [('mention', ben, f'post:{post}') for post in posts[-KEPT:][::-1]]
    for limit in (7, 200, 1000):
        eventually(lambda: told(feed, ada, limit) == newest)
    eventually(lambda: len([key for key in feed.cluster.topics.latest('notices') if key[:8] == ada.to_bytes(8, 'big')]) == KEPT)
    process = feed.cluster.feeds[0]
    process.kill()
    away = feed.http(ada).get('/v1/notices')
    assert (away.status_code, away.json()['code']) == (503, 'owner_unavailable') and int(away.headers['Retry-After']) <= 2
    shutil.rmtree(process.settings['data.dir'])
    process.start()
    assert told(feed, ada) == newest


# ---- kinds ----

def test_requests_are_told_while_they_wait_and_acceptances(feed, users):
    ada, ben, cem = users(3)
    eventually(lambda: feed.http(ada).put('/v1/visibility', json={'posts': 'followers'}).status_code == 200)
    for user in ben, cem:
        eventually(lambda user=user: feed.http(user).put(f'/v1/follows/{ada}').json().get('state') == 'requested')
    item, = eventually(lambda: (items := notices(feed, ada)) and len(items[0].get('users', [])) == 2 and items)
    assert (item['what'], item['user'], item['count'], item['users']) == ('request', cem, 2, [cem, ben])
    feed.http(cem).ok('DELETE', f'/v1/follows/{ada}')
    eventually(lambda: told(feed, ada) == [('request', ben, None)])
    feed.http(ada).ok('PUT', f'/v1/followers/{ben}')
    eventually(lambda: told(feed, ben) == [('accepted', ada, None)])
    eventually(lambda: told(feed, ada) == [])
    eventually(lambda: feed.http(cem).put(f'/v1/follows/{ada}').json().get('state') == 'requested')
    feed.http(ada).ok('PUT', '/v1/visibility', json={'posts': 'everybody'})
    eventually(lambda: told(feed, cem) == [('accepted', ada, None)])


def test_likes_are_gathered_and_only_some_of_many_are_written(feed, users):
    ada, *likers = users(41)
    post = feed.post(ada, 'much liked')
    subject = f'post:{post["id"]}'

    def like(user):
        eventually(lambda: feed.http(user).put(f'/v1/posts/{post["id"]}/like').status_code == 200)

    like(likers[0])
    eventually(lambda: told(feed, ada) == [('like', likers[0], subject)])
    assert 'count' not in notices(feed, ada)[0]
    for user in likers[1:3]:
        like(user)
    item = eventually(lambda: (items := notices(feed, ada)) and items[0].get('count') == 3 and items[0])
    assert item['users'] == likers[2::-1] and item['user'] == likers[2]
    feed.http(likers[2]).ok('DELETE', f'/v1/posts/{post["id"]}/like')
    for user in likers[2:]:
        like(user)
    like(ada)
    item = eventually(lambda: (items := notices(feed, ada)) and items[0].get('count') == 32 and items[0])
    assert (item['user'], len(item['users'])) == (likers[31], 3) and len(notices(feed, ada)) == 1
    eventually(lambda: len([key for key in feed.cluster.topics.latest('notices') if key[:8] == ada.to_bytes(8, 'big')]) == 17)


# ---- what is read ----

def unread(feed, user):
    return feed.http(user).ok('GET', '/v1/notices')['unread']


def test_what_is_read_is_kept_and_never_goes_back(feed, users):
    ada, ben = users(2)
    handle = name(feed, ada)
    for number in range(5):
        feed.post(ben, f'{number} @{handle}')
    items = eventually(lambda: len(items := notices(feed, ada)) == 5 and items)
    http = feed.http(ada)
    assert unread(feed, ada) == 5
    assert http.ok('PUT', '/v1/notices/read', json={'until': items[3]['id']}) == {'unread': 3}
    assert http.ok('PUT', '/v1/notices/read', json={'until': items[1]['id']}) == {'unread': 1}
    assert http.ok('PUT', '/v1/notices/read', json={'until': items[4]['id']}) == {'unread': 1}  # another device, late
    feed.mute(ada, ben)
    assert unread(feed, ada) == 0
    feed.unmute(ada, ben)
    feed.cluster.feeds[0].kill()
    shutil.rmtree(feed.cluster.feeds[0].settings['data.dir'])
    feed.cluster.feeds[0].start()
    assert eventually(lambda: http.get('/v1/notices').status_code == 200) and unread(feed, ada) == 1
    assert http.ok('PUT', '/v1/notices/read', json={'until': items[0]['id']}) == {'unread': 0}
    feed.post(ben, f'more @{handle}')
    eventually(lambda: unread(feed, ada) == 1)
    assert http.ok('PUT', '/v1/notices/read', json={'until': f'{2**63 - 1}.1.1'}) == {'unread': 0}  # not of those to come
    feed.post(ben, f'and more @{handle}')
    eventually(lambda: unread(feed, ada) == 1)


@pytest.mark.parametrize('body', [{}, {'until': None}, {'until': ''}, {'until': '5.0.5'}, {'until': 5}, {'until': f'{2**63}.1.1'}])
def test_marks_that_are_none(feed, ada, body):
    feed.http(ada).refused('PUT', '/v1/notices/read', 400, 'bad_until', json=body)


# ---- how they are told ----

def test_preferences_are_kept_and_others_stay(feed, users):
    ada, = users(1)
    http = feed.http(ada)
    assert http.ok('GET', '/v1/notices/preferences') == TOLD
    wanted = {**TOLD, 'like': {'live': False, 'push': True}, 'follow': {'live': True, 'push': False}}
    assert http.ok('PUT', '/v1/notices/preferences', json={kind: wanted[kind] for kind in ('like', 'follow')}) == wanted
    assert http.ok('PUT', '/v1/notices/preferences', json={}) == wanted
    assert http.ok('GET', '/v1/notices/preferences') == wanted
    assert http.ok('PUT', '/v1/notices/preferences', json=TOLD) == TOLD


@pytest.mark.parametrize('body', [{'nudge': {'live': True, 'push': True}}, {'': {'live': True, 'push': True}}, {'like': True},
                                  {'like': {'live': True}},
                                  {'like': {'live': True, 'push': True, 'nudge': True}}, {'like': {'live': 1, 'push': True}}, {'like': None}])
def test_preferences_that_are_none(feed, ada, body):
    feed.http(ada).refused('PUT', '/v1/notices/preferences', 400, 'bad_preferences', json=body)


# ---- queries, and what is away ----

@pytest.mark.parametrize('query', ['limit=0', 'limit=1001', 'limit=x', 'after=', 'after=5', 'after=5.0.5', 'after=5.1', 'after=a.1.5'])
def test_queries_that_are_none(feed, ada, query):
    feed.http(ada).refused('GET', f'/v1/notices?{query}', 400, 'bad_query')


def test_a_mention_is_left_out_while_the_handles_owner_is_away(make_cluster, users):
    """The post is made all the same."""
    ada, ben = users(2)
    feed = Feed(make_cluster().start(routers=0, fanouts=0, sinks=0, feeds=1))
    handle = name(feed, ada)
    feed.cluster.feeds[0].kill()
    late = feed.http(ben).post('/v1/posts', json={'text': f'@{handle}', 'key': 'late'})
    assert late.status_code == 202
    feed.cluster.feeds[0].start()
    assert feed.post(ben, f'@{handle}', key='late')['text'] == f'@{handle}'
    assert told(feed, ada) == []
