"""An author with 100,000 followers, who alone see the posts: whether these are hot or pushed, pages equal brute force, and those who are no
followers are given nothing, while the two feed processes are killed in turn."""
import itertools
import random
import struct
import time

import pytest
from confluent_kafka import Producer

from harness.feed import Feed
from harness.http import problem
from harness.meanwhile import meanwhile
from harness.records import encode, partition_of, user_key
from harness.waiting import eventually, now_ms

pytestmark = pytest.mark.timeout(300)

FOLLOWERS, PARTITIONS = 100_000, 4
FAR = 1 << 40  # their ids begin here
PROMISE_S = 2.0
FOLLOWER, FOLLOWING = 2, 1


def make_followers(feed, author):
    """Both halves of each follow, as a process has decided them long ago."""
    topics, value, home = feed.cluster.topics, encode('follow', {'since': now_ms()}), partition_of(user_key(author), PARTITIONS)
    producer = Producer({'bootstrap.servers': topics.bootstrap, 'linger.ms': 20, 'queue.buffering.max.messages': 2 * FOLLOWERS})
    name = topics.name('follows')
    for reader in range(FAR, FAR + FOLLOWERS):
        producer.produce(name, value, struct.pack('>qbq', author, FOLLOWER, reader), partition=home)
        producer.produce(name, value, struct.pack('>qbq', reader, FOLLOWING, author), partition=partition_of(user_key(reader), PARTITIONS))
    assert producer.flush(60) == 0
    eventually(lambda: feed.http(author).ok('GET', f'/v1/users/{author}').get('followers') == FOLLOWERS, 60, every=0.2)


@pytest.mark.parametrize('push_max', [1000, 1_000_000], ids=['hot', 'pushed'])
def test_pages_are_exact_while_feed_processes_die(make_cluster, users, push_max):
    feed = Feed(make_cluster(partitions=PARTITIONS, settings={'feed:feed.push.max': push_max}).start(sinks=0, fanouts=0, feeds=2))
    author, outsider = users(2)
    chance = random.Random(push_max)
    readers = chance.sample(range(FAR, FAR + FOLLOWERS), 12)
    eventually(lambda: feed.http(author).put('/v1/visibility', json={'posts': 'followers'}).status_code == 200, 30)
    make_followers(feed, author)
    for reader in readers:
        feed.following[reader].add(author)
        feed.http(reader).get('/v1/feed')  # begins the inbox
    for n in range(3):
        feed.post(author, f'for followers: {n}')
    for reader in readers:
        feed.wait_home(reader, limit=2)
    removed = readers[-2:]
    for reader in removed:
        eventually(lambda reader=reader: feed.http(author).delete(f'/v1/followers/{reader}').status_code == 204, 30)
        feed.following[reader].discard(author)
    since = time.monotonic() + PROMISE_S
    denied, turns, whole = [*removed, outsider], itertools.cycle(readers), []

    def look(_):
        """A page is right, or says that it is not whole; those who are no followers see nothing, whoever is away."""
        reader = next(turns)
        response = feed.http(reader).get('/v1/feed', params={'limit': 100})
        page = response.json() if response.status_code == 200 else {'complete': False}
        if page['complete'] and not any(item.get('unavailable') for item in page['items']) and reader not in removed:
            shown = [int(item['id']) for item in page['items']]
            told = [post for post in shown if post in feed.posts[author]]  # the newest may not be answered yet
            assert len(told) >= max(3, len(shown) - 1) and told == sorted(sorted(feed.posts[author])[:len(told)], reverse=True), (reader, page)
            whole.append(reader)
        for other in denied if time.monotonic() > since else []:
            for path in f'/v1/users/{author}/posts', f'/v1/posts/{feed.posts[author][0]}', '/v1/feed':
                assert 'for followers' not in feed.http(other).get(path).text, (other, path)

    with meanwhile([1], look):
        for process in feed.cluster.feeds:
            process.kill()
            time.sleep(1)
            process.start()
            feed.post(author, f'for followers: while {process.name} is back')
            before = len(whole)
            eventually(lambda process=process, before=before: len(whole) > before + len(readers) and process.ready(), 60)
    for reader in readers:
        feed.wait_home(reader, limit=100)
    assert {int(item['id']) for item in feed.http(readers[0]).ok('GET', f'/v1/users/{author}/posts')['items']} == set(feed.posts[author])
    problem(feed.http(outsider).get(f'/v1/users/{author}/posts'), 403, 'followers_only')
    shown = eventually(lambda: (lambda user: 'posts' in user and user)(feed.http(author).ok('GET', f'/v1/users/{author}')), 30)
    assert (shown['followers'], shown['posts']) == (FOLLOWERS - len(removed), len(feed.posts[author]))
