"""notify.url: users who watch no notices are told of each by a server of somebody else, at least once. Covers feed/pushing.c, feed/push_window.c
and feed/consequences.c."""
import random
import shutil
import statistics
import struct
import time

import pytest
from confluent_kafka import Producer

from harness.belongings import TOLD
from harness.commenting import Commenting
from harness.feed import Feed
from harness.pushed import Pushed
from harness.records import encode, partition_of, user_key
from harness.waiting import eventually, now_ms
from test_notices_live import Bell

SETTINGS = {'ingest:ingest.outcome.wait.ms': 8000}
_chance = random.Random(29)


@pytest.fixture(scope='module')
def receiver(tmp_path_factory):
    with Pushed(tmp_path_factory.mktemp('pushed')) as receiver:
        yield receiver


@pytest.fixture(scope='module')
def feed(make_module_cluster, receiver):
    return Feed(make_module_cluster(settings={**SETTINGS, **receiver.settings}).start(sinks=0, feeds=1, comments=1))


@pytest.fixture
def told(feed, receiver):
    """told(user, {...}): exactly this comes, and nothing more until a later notice has come."""
    def wait(user, expected):
        eventually(lambda: receiver.acts(user) == expected, 30, what=f'{user} is told {expected}, not {receiver.acts(user)}')
    return wait


def name(feed, user):
    handle = ''.join(_chance.choice('abcdefghijklmnopqrstuvwxyz') for _ in range(10))
    eventually(lambda: feed.http(user).put('/v1/handle', json={'handle': handle}).status_code == 200, 30)
    return handle


def total(feed, what):
    return sum(process.total(f'starling_feed_notify_{what}') for process in feed.cluster.feeds)


def settled(feed):
    """All that was written is pushed, or need not be."""
    eventually(lambda: total(feed, 'waiting') == 0 == total(feed, 'oldest_seconds'), 90)


def listed(feed, user):
    return {item['id'] for item in feed.http(user).items('/v1/notices', limit=100)}


def test_each_kind_as_the_list_has_it(feed, receiver, told, users):
    ada, ben, cem, private = users(4)
    handle, comments = name(feed, ada), Commenting(feed.cluster)
    before = total(feed, 'pushed_total')
    feed.follow(ben, ada)
    post = feed.post(ada, 'hello')
    subject = f'post:{post["id"]}'
    mention = feed.post(ben, f'@{handle}')
    eventually(lambda: feed.http(cem).put(f'/v1/posts/{post["id"]}/like').status_code == 200)
    reply = comments.write(subject, cem, 'well', owner=ada)
    eventually(lambda: feed.http(private).put('/v1/visibility', json={'posts': 'followers'}).status_code == 200)
    eventually(lambda: feed.http(ada).put(f'/v1/follows/{private}').json().get('state') == 'requested')
    told(private, {('request', ada, None, None)})
    feed.http(private).ok('PUT', f'/v1/followers/{ada}')
    told(ada, {('follow', ben, None, None), ('mention', ben, f'post:{mention["id"]}', None), ('like', cem, subject, None),
               ('reply', cem, subject, reply['id']), ('accepted', private, None, None)})
    listed = {item['id']: item for item in feed.http(ada).ok('GET', '/v1/notices', params={'limit': 100})['items']}
    for id, item in receiver.of(ada).items():
        assert (item['user'], item['from'], item['time']) == (ada, listed[id]['user'], listed[id]['time'])
        assert all(item[member] == listed[id][member] for member in ('what', 'subject', 'comment'))
    settled(feed)
    assert total(feed, 'pushed_total') == before + 6 and len([item for item in receiver.items if item['user'] == ada]) == 5


def test_who_watches_mutes_blocks_has_read_or_does_not_want_it_is_told_nothing(feed, receiver, told, users):
    watches, mutes, blocks, has_read, wants_none, ada, ben = users(7)
    http = feed.http(wants_none)
    some = {'follow': {'live': True, 'push': False}}
    assert http.ok('PUT', '/v1/notices/preferences', json=some) == {**TOLD, **some}
    feed.mute(mutes, ada)
    feed.follow(ben, has_read)
    told(has_read, {('follow', ben, None, None)})
    receiver.become('refuses')
    try:
        with Bell(feed, watches) as bell:
            eventually(lambda: bell.frames)
            for user in watches, mutes, blocks, has_read, wants_none:
                feed.follow(ada, user)
            feed.http(blocks).ok('PUT', f'/v1/blocks/{ada}')
            eventually(lambda: listed(feed, blocks) == set())
            eventually(lambda: bell.unread == 1)
            newest = eventually(lambda: [id for id in listed(feed, has_read) if id.endswith(f'.{ada}')])[0]
            feed.http(has_read).ok('PUT', '/v1/notices/read', json={'until': newest})
            handle = name(feed, wants_none)
            post = feed.post(ada, f'@{handle}')
            receiver.become('well')
            told(wants_none, {('mention', ada, f'post:{post["id"]}', None)})  # another kind
            settled(feed)
            assert [receiver.acts(user) for user in (watches, mutes, blocks)] == [set()] * 3
            assert receiver.acts(has_read) == {('follow', ben, None, None)}
    finally:
        receiver.become('well')
    feed.follow(ben, watches)  # watches no more
    told(watches, {('follow', ben, None, None)})


def test_what_is_undone_before_it_is_pushed_is_not(feed, receiver, told, users):
    private, ada, ben = users(3)
    eventually(lambda: feed.http(private).put('/v1/visibility', json={'posts': 'followers'}).status_code == 200)
    receiver.become('away')
    try:
        for user in ada, ben:
            eventually(lambda user=user: feed.http(user).put(f'/v1/follows/{private}').json().get('state') == 'requested')
        feed.http(ada).ok('DELETE', f'/v1/follows/{private}')
        eventually(lambda: total(feed, 'waiting') >= 2)
    finally:
        receiver.become('well')
    told(private, {('request', ben, None, None)})
    settled(feed)
    assert receiver.acts(private) == {('request', ben, None, None)}


def test_an_owner_dies_with_its_disk_while_the_receiver_is_away(feed, receiver, told, users):
    ada, *others = users(12)
    process = feed.cluster.feeds[0]
    receiver.become('away')
    try:
        for number, other in enumerate(others):
            feed.follow(other, ada, 60)
            if number == 5:
                time.sleep(2)  # what could be committed is
                process.kill()
                shutil.rmtree(process.settings['data.dir'])
                process.start()
    finally:
        receiver.become('well')
    told(ada, {('follow', other, None, None) for other in others})
    settled(feed)
    before = len(receiver.items)
    time.sleep(2)
    process.restart()
    feed.follow(ada, others[0], 60)
    told(others[0], {('follow', ada, None, None)})
    settled(feed)
    assert len(receiver.items) == before + 1  # the group knows what was pushed


@pytest.mark.parametrize('mode', ['hangs', 'refuses', 'away'])
def test_a_receiver_that_fails_slows_nothing_and_is_made_up_for(feed, receiver, users, mode):
    def took(reader, others):
        """A follow, and a page of whom it tells: the median."""
        taken = []
        for other in others:
            begun = time.monotonic()
            feed.follow(other, reader)
            feed.http(reader).ok('GET', '/v1/notices')
            taken.append(time.monotonic() - begun)
        return statistics.median(taken)

    readers, others = users(6), users(8)
    took(readers[0], others)
    well, bad, failed = [], [], total(feed, 'failed_total')
    try:
        for turn, reader in enumerate(readers[1:]):  # a busy machine slows some of them
            receiver.become(mode if turn % 2 == 0 else 'well')
            (bad if turn % 2 == 0 else well).append(took(reader, others))
        eventually(lambda: total(feed, 'failed_total') > failed, 30)
        assert total(feed, 'waiting') >= len(others)
    finally:
        receiver.become('well')
    assert min(bad) < 3 * max(well) + 0.05, (bad, well)
    for user in readers:
        eventually(lambda user=user: receiver.acts(user) == {('follow', other, None, None) for other in others}, 90)
    settled(feed)


def test_more_than_the_window_holds_waits_in_kafka(feed, receiver):
    """Owners hold 65,536 records: the others are read again. A killed owner begins with what is not pushed."""
    people, each, far = 350, 200, 1 << 40
    value, now = encode('notice', {'what': 'MENTION', 'user': 5, 'subject': 'post:7', 'comment': 0, 'time': now_ms(), 'likes': 0}), now_ms()
    topics = feed.cluster.topics
    receiver.become('away')
    try:
        producer = Producer({'bootstrap.servers': topics.bootstrap, 'linger.ms': 20, 'queue.buffering.max.messages': 2 * people * each})
        for number in range(each):
            for user in range(far, far + people):
                key = struct.pack('>qqbq', user, 2**63 - 1 - now + number, 2, number)
                producer.produce(topics.name('notices'), value, key, partition=partition_of(user_key(user), feed.cluster.partitions))
        assert producer.flush(60) == 0
        eventually(lambda: total(feed, 'waiting') >= people * each, 120, every=0.5)
    finally:
        receiver.become('well')
    eventually(lambda: len(receiver.items) > people * each / 4, 120)
    feed.cluster.feeds[0].kill()
    feed.cluster.feeds[0].start()
    eventually(lambda: all(len(receiver.of(user)) == each for user in range(far, far + people)), 180, every=0.5)
    settled(feed)
    assert len([item for item in receiver.items if item['user'] >= far]) < 2 * people * each
