"""Home timelines against a model of what they must hold, at any threshold, also when processes die, freeze and come back. Covers feed/hot_posts.c."""
import random
import time

import pytest

from harness.feed import Feed
from harness.meanwhile import beside, meanwhile
from harness.http import Http
from harness.records import decode
from harness.waiting import eventually


# ---- pages against brute force ----

@pytest.mark.slow
@pytest.mark.parametrize('push_max', [0, 2, 1000])
def test_pages_equal_brute_force(make_cluster, users, push_max):
    """A random history. Inboxes and backlogs are as small as they may be, so that old posts are asked of their authors' owners."""
    chance = random.Random(push_max)
    feed = Feed(make_cluster(settings={
        'ingest:ingest.outcome.wait.ms': 8000, 'feed:feed.push.max': push_max, 'feed:feed.inbox.max': 100,
        'feed:feed.backlog': 20}).start(routers=0, fanouts=0, sinks=0, feeds=1))
    people = users(9)
    for user in people:
        for other in chance.sample([other for other in people if other != user], 4):
            feed.follow(user, other)

    def step():
        user, other = chance.sample(people, 2)
        roll = chance.random()
        if roll < 0.80:
            feed.post(user, f'post {chance.random()}')
        elif roll < 0.86:
            feed.follow(user, other)
        elif roll < 0.92:
            feed.unfollow(user, other)
        elif roll < 0.94:
            feed.mute(user, other)
        elif roll < 0.96:
            feed.unmute(user, other)
        elif feed.posts[user]:
            feed.delete(user, chance.choice(feed.posts[user]))

    for _ in range(6):
        for _ in range(75):
            step()
        for user in people:
            feed.wait_home(user, limit=chance.choice([3, 20, 100, 1000]))
    for user in people:
        assert feed.listed(user, 'following', 3) == sorted(feed.following[user])
        assert feed.listed(user, 'followers', 3) == [other for other in people if user in feed.following[other]]
        assert feed.counts(user)[2] == len(feed.posts[user])


# ---- processes that die ----

def test_a_refusal_is_remembered_by_whoever_takes_over(make_cluster, users):
    """The outcome of a command is what was decided then, not what would be decided now."""
    ada, ben, cleo = users(3)
    feed = Feed(make_cluster(settings={'ingest:ingest.outcome.wait.ms': 8000, 'feed:feed.following.max': 1})
                .start(fanouts=0, sinks=0, feeds=2))
    topics = feed.cluster.topics

    def refused(other, code):
        """The offset of the user's command."""
        answer = feed.http(ada).put(f'/v1/follows/{other}')
        if answer.status_code != code:
            return None
        # The block may have ended a follow meanwhile, by a command of its own.
        return max(message.offset for message in topics.read('follower-commands') if wish(message) == ('ASK', ada, other))

    def wish(message):
        command = decode(message.value)
        return command['kind'], command['reader'], command['author']

    def outcome(offset):
        """As the author's owner says it, whoever that is."""
        for process in feed.cluster.feeds:
            if not process.alive():
                continue
            answer = Http(f'http://{process.peer}', feed.cluster.keys.peer_token).get(
                f'/peer/follower/{ben}/{ada}', params={'offset': offset})
            if answer.status_code == 200:
                return answer.json()['refused']
        return 'nobody answers'

    feed.http(ben).ok('PUT', f'/v1/blocks/{ada}')
    blocked = eventually(lambda: refused(ben, 403), 20)
    feed.http(ben).ok('DELETE', f'/v1/blocks/{ada}')
    feed.follow(ada, cleo)
    full = eventually(lambda: refused(ben, 409), 20)
    feed.unfollow(ada, cleo)
    eventually(lambda: feed.http(ada).put(f'/v1/follows/{ben}').status_code == 200, 20)
    assert (outcome(blocked), outcome(full)) == ('blocked', 'full')
    for process in feed.cluster.feeds:  # one of them is the owner
        process.kill()
        eventually(lambda: (outcome(blocked), outcome(full)) == ('blocked', 'full'), 40)
        process.start()
    assert feed.http(ada).ok('GET', f'/v1/users/{ada}/following')['items'] == [{'user': ben, 'name': None, 'avatar_url': None, 'handle': None}]


def test_what_is_left_when_no_feed_process_runs(make_cluster, users):
    ada, ben = users(2)
    feed = Feed(make_cluster().start(routers=0, fanouts=0, sinks=0, feeds=1))
    feed.http(ada).ok('PUT', '/v1/profile', json={'name': 'Ada'})
    feed.follow(ben, ada)
    feed.post(ada, 'hello')
    feed.wait_home(ben)
    feed.cluster.feeds[0].kill()
    began = time.monotonic()
    away = feed.http(ben).get('/v1/feed')
    assert (away.status_code, away.json()['code']) == (503, 'owner_unavailable') and time.monotonic() - began < 2
    assert int(away.headers['Retry-After']) == 1
    assert feed.http(ben).ok('GET', f'/v1/users/{ada}') == {'user': ada, 'name': 'Ada', 'avatar_url': '', 'bio': '', 'url': ''}
    late = feed.http(ada).post('/v1/posts', json={'text': 'meanwhile'})
    assert late.status_code == 202 and 16 <= len(late.json()['key']) <= 64
    unfollowed = feed.http(ben).delete(f'/v1/follows/{ada}')
    assert (unfollowed.status_code, unfollowed.json()) == (202, {'user': ada, 'state': 'pending'})
    feed.cluster.feeds[0].start()
    post = feed.post(ada, 'meanwhile', key=late.json()['key'])
    assert next(item['id'] for item in feed.http(ben).ok('GET', f'/v1/users/{ada}/posts')['items']) == post['id']
    feed.following[ben].clear()
    feed.wait_home(ben)


def test_a_gateway_that_ends_answers_what_is_under_way(make_cluster, users):
    ada, ben = users(2)
    feed = Feed(make_cluster(settings={'ingest:ingest.outcome.wait.ms': 30000}).start(routers=0, fanouts=0, sinks=0, feeds=1))
    feed.follow(ada, ben)
    feed.cluster.feeds[0].pause()
    questions = [('POST', '/v1/posts', {'text': 'late'}), ('DELETE', f'/v1/follows/{ben}', None), ('PUT', f'/v1/mutes/{ben}', None),
                 ('GET', '/v1/feed', None), ('GET', '/v1/posts/5', None), ('GET', f'/v1/users/{ben}', None)]

    def ask(question):
        method, path, body = question
        return feed.http(ada).request(method, path, json=body, timeout=30).status_code

    with beside(ask, questions) as answers:
        eventually(lambda: sum(feed.cluster.topics.ends('follow-commands').values()) == 1 and
                   sum(feed.cluster.topics.ends('follower-commands').values()) == 2 and
                   sum(feed.cluster.topics.ends('post-commands').values()) == 1)
        assert feed.cluster.ingest.stop() == 0
    assert [answer.result() for answer in answers] == [202, 202, 202, 503, 503, 200]


def test_posts_of_an_owner_who_is_silent_are_shown_as_unavailable(make_cluster, users):
    feed = Feed(make_cluster(partitions=8, settings={'ingest:feed.texts.s': 0}).start(routers=0, fanouts=0, sinks=0, feeds=2))
    people = users(24)
    reader, authors = people[0], people[1:]
    for author in authors:
        feed.follow(reader, author)
        feed.post(author, 'hello')
    feed.wait_home(reader)
    seen = set()
    for silent in feed.cluster.feeds:
        silent.pause()
        page = feed.http(reader).get('/v1/feed', params={'limit': 100})
        silent.resume()
        seen.add(page.status_code)
        if page.status_code == 503:
            continue
        items = page.json()['items']
        assert [int(item['id']) for item in items] == feed.expected(reader)
        missing = [item for item in items if item.get('unavailable')]
        assert 0 < len(missing) < len(items)
        assert all(set(item) == {'id', 'user', 'time', 'unavailable'} for item in missing)
    assert seen == {200, 503}
    feed.wait_home(reader)


def test_a_gateway_shows_the_texts_that_it_has_kept(make_cluster, users):
    feed = Feed(make_cluster(partitions=8, settings={'ingest:feed.texts.s': 3600}).start(routers=0, fanouts=0, sinks=0, feeds=2))
    people = users(24)
    reader, authors = people[0], people[1:]
    feed.http(authors[0]).ok('PUT', '/v1/profile', json={'name': 'Ada'})
    for author in authors:
        feed.follow(reader, author)
        feed.post(author, 'hello')
    feed.wait_home(reader, limit=100)

    def names():
        return {item['user']: item['name'] for item in feed.home(reader, limit=100)}

    eventually(lambda: names()[authors[0]] == 'Ada')
    feed.http(authors[0]).ok('PUT', '/v1/profile', json={'name': 'Ada L.'})
    eventually(lambda: names()[authors[0]] == 'Ada L.')  # its name is of now
    feed.delete(authors[1], feed.posts[authors[1]][0])
    feed.wait_home(reader, limit=100)
    shown = 0
    for silent in feed.cluster.feeds:
        silent.pause()
        page = feed.http(reader).get('/v1/feed', params={'limit': 100})
        silent.resume()
        if page.status_code == 200:
            assert [int(item['id']) for item in page.json()['items']] == feed.expected(reader)
            assert all(item['text'] == 'hello' for item in page.json()['items'])
            shown += 1
    assert shown == 1


@pytest.mark.slow
def test_both_processes_are_killed_in_turn(make_cluster, users):
    """People go on posting, following and deleting meanwhile; every key becomes one post, and pages are right in the end."""
    feed = Feed(make_cluster(settings={'feed:feed.push.max': 2}).start(routers=0, fanouts=0, sinks=0, feeds=2))
    people = users(8)
    chances = {user: random.Random(user) for user in people}

    def act(user):
        chance = chances[user]
        roll, other = chance.random(), chance.choice([one for one in people if one != user])
        if roll < 0.6:
            feed.post(user, f'{user} {roll}', timeout=60)
        elif roll < 0.8:
            feed.follow(user, other, timeout=60)
        elif roll < 0.9:
            feed.unfollow(user, other, timeout=60)
        elif feed.posts[user]:
            feed.delete(user, chance.choice(feed.posts[user]), timeout=60)

    with meanwhile(people, act):
        for _ in range(2):
            for process in feed.cluster.feeds:
                time.sleep(2)
                process.kill()
                time.sleep(1)
                process.start()
    for user in people:
        feed.wait_home(user, timeout=60)
        own = [int(item['id']) for page in feed.pages(user, f'/v1/users/{user}/posts') for item in page['items']]
        assert own == feed.posts[user][::-1]
        assert feed.listed(user, 'following', 20) == sorted(feed.following[user])
        assert feed.listed(user, 'followers', 20) == [other for other in people if user in feed.following[other]]
