"""Home timelines over the WebSocket: new posts as they come, deletions, and pages that are to be read again. Covers fanout/feed/product.c,
feed/watches.c, feed/watches_tell.c and feed/keeping.c."""
import random
import time

import pytest

from harness.feed import Feed
from harness.meanwhile import meanwhile
from harness.waiting import eventually
from harness.watcher import Watcher


@pytest.fixture(scope='module', params=[0, 1000], ids=['hot', 'pushed'])
def feed(request, make_module_cluster):
    return Feed(make_module_cluster(settings={
        'ingest:ingest.outcome.wait.ms': 8000, 'feed:feed.push.max': request.param}).start(routers=0, sinks=0, feeds=1))


def wait_shown(watcher, feed, timeout=30):
    def right():
        assert watcher.shown(20) == feed.expected(watcher.user)[:20]
        assert watcher.settled  # else it reads once more, at some later time
        return True
    eventually(right, timeout)
    assert not watcher.broken, watcher.broken


def wait_live(watcher, feed, author):
    """Until a post comes in a frame: the reader's owner hears of a watch by Kafka, and posts before that come with a page."""
    def told():
        post = feed.post(author, 'do you watch?')
        wait_shown(watcher, feed)
        return post['id'] in watcher.told
    eventually(told, 60)


def test_new_posts_and_deletions_come_live(feed, users):
    ada, ben, cleo = users(3)
    feed.http(ben).ok('PUT', '/v1/profile', json={'name': 'Ben', 'avatar_url': ''})
    for author in (ben, cleo):
        feed.follow(ada, author)
    old = feed.post(ben, 'before')
    feed.wait_home(ada)
    with Watcher(feed, ada) as watcher:
        wait_live(watcher, feed, cleo)
        before, told = watcher.rereads, len(watcher.told)
        made = feed.post(ben, 'Grüße "quoted"\n', media=['https://img.example/1'])
        frame = watcher.phone.expect('posts', where=lambda frame: [item['id'] for item in frame['items']] == [made['id']])
        assert frame['items'] == [{**made, 'likes': 0, 'liked': False}] and frame['gone'] == []
        assert frame['since'] != frame['version'] == feed.http(ada).ok('GET', '/v1/feed')['version']
        posts = [feed.post(author, f'post {n}') for n in range(6) for author in (ben, cleo)]
        wait_shown(watcher, feed)
        feed.delete(ben, old['id'])
        gone = watcher.phone.expect('posts', where=lambda frame: frame['gone'])
        assert gone['gone'] == [old['id']]
        feed.delete(cleo, posts[-1]['id'])
        wait_shown(watcher, feed)
        assert watcher.rereads == before and set(watcher.told[told:]) == {post['id'] for post in [made, *posts]}


def test_follows_and_mutes_make_the_page_stale(feed, users):
    ada, ben, cleo = users(3)
    feed.follow(ada, ben)
    feed.post(ben, 'one')
    feed.post(cleo, 'two')
    feed.wait_home(ada)
    with Watcher(feed, ada) as watcher:
        wait_shown(watcher, feed)
        for change in (lambda: feed.follow(ada, cleo), lambda: feed.mute(ada, ben), lambda: feed.post(cleo, 'three'),
                       lambda: feed.post(ben, 'not shown'), lambda: feed.unmute(ada, ben), lambda: feed.unfollow(ada, cleo)):
            change()
            wait_shown(watcher, feed)
        assert watcher.stales > 0
        wait_live(watcher, feed, ben)
        told = len(watcher.told)
        feed.post(cleo, 'after the unfollow')
        last = feed.post(ben, 'four')
        wait_shown(watcher, feed)
        assert watcher.told[told:] == [last['id']]


def test_an_inbox_is_begun_for_who_watches_and_reads_no_page(feed, users):
    ada, ben = users(2)
    feed.follow(ada, ben)
    with feed.cluster.phone(ada) as phone:
        phone.send({'type': 'hello', 'token': phone.token})
        phone.expect('welcome')
        phone.send({'type': 'watch', 'what': 'feed'})
        first = phone.expect('stale', timeout=30)
        assert first['what'] == 'feed' and first['after_ms'] >= 0
        feed.wait_home(ada)
        feed.post(ben, 'hello')
        assert phone.expect('posts', timeout=30, where=lambda frame: frame['items'])['items'][0]['text'] == 'hello'
        phone.send({'type': 'unwatch', 'what': 'feed'})
        feed.post(ben, 'not told')
        phone.send({'type': 'watch', 'what': 'nothing'})
        assert phone.expect('error')['code'] == 'bad_what'


def test_a_deletion_that_was_missed_further_down_is_told_when_the_post_moves_up(feed, users):
    """The version is about the newest 20 posts, and a screen may have more of them than that."""
    ada, ben = users(2)
    feed.follow(ada, ben)
    posts = [feed.post(ben, f'post {n}')['id'] for n in range(28)]
    feed.wait_home(ada)

    def delete_an_old_one():
        feed.delete(ben, posts[5])
        feed.wait_home(ada)

    with Watcher(feed, ada, between=delete_an_old_one) as watcher:
        for post in posts[:-7:-1]:
            feed.delete(ben, post)
        wait_shown(watcher, feed)


def test_all_devices_hear_of_a_post(feed, users):
    ada, ben = users(2)
    feed.follow(ada, ben)
    feed.post(ben, 'before')
    feed.wait_home(ada)
    watchers = [Watcher(feed, ada) for _ in range(3)]
    for number in range(5):
        feed.post(ben, f'post {number}')
    for watcher in watchers:
        wait_shown(watcher, feed)
        watcher.close()


@pytest.mark.parametrize('hot', [False, True], ids=['no_hot_post', 'a_hot_post'])
def test_a_pushed_post_is_deleted_after_the_threshold_was_lowered(make_cluster, users, hot):
    """Watchers are told of the deletion, and the version of the page is another one: also who is not told would notice it."""
    feed = Feed(make_cluster(settings={'ingest:ingest.outcome.wait.ms': 8000, 'feed:feed.push.max': 1000}).start(
        routers=0, sinks=0, feeds=1))
    ada, ben = users(2)
    feed.follow(ada, ben)
    feed.wait_home(ada)
    posts = [feed.post(ben, f'post {n}')['id'] for n in range(4)]
    feed.wait_home(ada)
    with Watcher(feed, ada) as watcher:
        feed.cluster.feeds[0].restart(**{'feed.push.max': 0})
        if hot:
            feed.post(ben, 'hot')
        wait_shown(watcher, feed, timeout=60)
        for post in posts[1], posts[3]:
            before = feed.http(ada).ok('GET', '/v1/feed')['version']
            feed.delete(ben, post)
            wait_shown(watcher, feed)
            eventually(lambda before=before: feed.http(ada).ok('GET', '/v1/feed')['version'] != before, 10)


@pytest.mark.slow
def test_watchers_see_every_post_whoever_is_killed(make_cluster, users):
    """People post, follow and delete while feed processes are killed; some authors are hot, others not. In the end everybody's screen
    is right, without another page being asked for by hand, and no id came twice on one connection."""
    feed = Feed(make_cluster(settings={'ingest:ingest.outcome.wait.ms': 8000, 'feed:feed.push.max': 3}).start(
        routers=0, sinks=0, feeds=2))
    people = users(10)
    chance = random.Random(11)
    for user in people:
        for other in chance.sample([other for other in people if other != user], 5):
            feed.follow(user, other)
    for user in people:
        feed.post(user, 'first')
    for user in people:
        feed.wait_home(user)
    watchers = [Watcher(feed, user) for user in people]
    rolls = {user: random.Random(user) for user in people}

    def act(user):
        roll = rolls[user]
        other, what = roll.choice([one for one in people if one != user]), roll.random()
        if what < 0.8:
            feed.post(user, f'{user} {what}', timeout=90)
        elif what < 0.85:
            feed.follow(user, other, timeout=90)
        elif what < 0.9:
            feed.unfollow(user, other, timeout=90)
        elif feed.posts[user]:
            feed.delete(user, roll.choice(feed.posts[user]), timeout=90)

    with meanwhile(people, act, pause=0.05):
        for process in feed.cluster.feeds:
            time.sleep(3)
            process.kill()
            time.sleep(1)
            process.start()
        time.sleep(3)
    deadline = time.monotonic() + 180
    for watcher in watchers:
        wait_shown(watcher, feed, timeout=max(5.0, deadline - time.monotonic()))
    told = sum(len(watcher.told) for watcher in watchers)
    assert told > 100, 'posts came over the sockets, not only by pages'
    for watcher in watchers:
        watcher.close()
