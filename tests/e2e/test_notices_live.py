"""Screens are told of new notices at once: over the WebSocket, on each device, through restarts. Covers fanout/feed/bells.c,
feed/watches_notices.c and feed/consequences.c."""
import pathlib
import shutil
import threading
import time

import pytest

from harness.belongings import TOLD
from harness.feed import Feed
from harness.waiting import eventually

SETTINGS = {'ingest:ingest.outcome.wait.ms': 8000}


@pytest.fixture(scope='module')
def feed(make_module_cluster):
    return Feed(make_module_cluster(settings=SETTINGS).start(feeds=1, comments=1))


class Bell:
    """A session that watches its notices: `items` by id in the order in which they came, and how many are unread."""
    def __init__(self, feed, user):
        self.feed, self.user = feed, user
        self.phone = feed.cluster.phone(user)
        self.phone.send({'type': 'hello', 'token': self.phone.token})
        self.phone.expect('welcome')
        self.phone.send({'type': 'watch', 'what': 'notices'})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.phone.close()

    @property
    def frames(self):
        return [frame for frame in list(self.phone.frames) if frame['type'] == 'notices']

    @property
    def items(self):
        return [item for frame in self.frames for item in frame['items']]

    @property
    def unread(self):
        return self.frames[-1]['unread'] if self.frames else None

    def same(self):
        """It has what the list says, and nothing came twice."""
        page = self.feed.http(self.user).ok('GET', '/v1/notices')
        ids = [item['id'] for item in self.items]
        assert len(set(ids)) == len(ids)
        return self.unread == page['unread'] and {item['id'] for item in page['items']} <= set(ids) and bool(self.frames)

    def wait_same(self, timeout=60):
        eventually(self.same, timeout)


def test_the_newest_at_once_and_each_new_one(feed, users):
    ada, ben, cem = users(3)
    feed.follow(ben, ada)
    post = feed.post(ada, 'hello')
    eventually(lambda: feed.http(ada).ok('GET', '/v1/notices')['unread'] == 1)
    with Bell(feed, ada) as phone, Bell(feed, ada) as tablet:
        for bell in phone, tablet:
            eventually(lambda bell=bell: bell.frames)
            assert (bell.frames[0]['unread'], [(item['what'], item['user']) for item in bell.frames[0]['items']]) == (1, [('follow', ben)])
        eventually(lambda: feed.http(cem).put(f'/v1/posts/{post["id"]}/like').status_code == 200)
        for bell in phone, tablet:
            eventually(lambda bell=bell: [(item['what'], item['user']) for item in bell.items] == [('follow', ben), ('like', cem)])
            assert bell.unread == 2
        newest = phone.items[-1]['id']
        assert feed.http(ada).ok('PUT', '/v1/notices/read', json={'until': newest}) == {'unread': 0}
        for bell in phone, tablet:
            eventually(lambda bell=bell: bell.unread == 0)
            assert len(bell.items) == 2
        phone.phone.send({'type': 'unwatch', 'what': 'notices'})
        feed.follow(cem, ada)
        eventually(lambda: tablet.unread == 1)
        assert tablet.items[-1]['users'] == [cem, ben] and phone.unread == 0
        phone.phone.send({'type': 'watch', 'what': 'notices'})
        for bell in phone, tablet:
            bell.wait_same()


def asked(feed):
    """Questions that the owner has not answered: connections to its peers' port."""
    [owner] = feed.cluster.feeds
    to = f':{int(owner.settings["peer.listen"].rpartition(":")[2]):04X}'
    lines = pathlib.Path('/proc/net/tcp').read_text().splitlines()[1:]
    return sum(fields[2].endswith(to) and fields[3] == '01' for fields in map(str.split, lines))


def test_whoever_watches_again_and_again_costs_no_more(feed, users):
    ada, ben = users(2)
    feed.follow(ben, ada)
    with Bell(feed, ada) as bell:
        eventually(lambda: bell.frames)
        feed.cluster.feeds[0].pause()
        try:
            began, before = time.monotonic(), asked(feed)
            for _ in range(40):
                for kind in 'unwatch', 'watch':
                    bell.phone.send({'type': kind, 'what': 'notices'})
                time.sleep(0.045)
            time.sleep(0.2)
            assert asked(feed) - before <= (time.monotonic() - began) / 0.3 + 1
        finally:
            feed.cluster.feeds[0].resume()
        before = len(bell.frames)
        bell.phone.send({'type': 'watch', 'what': 'notices'})
        eventually(lambda: len(bell.frames) > before)


def test_what_is_hidden_and_what_no_longer_waits(feed, users):
    ada, ben = users(2)
    eventually(lambda: feed.http(ada).put('/v1/visibility', json={'posts': 'followers'}).status_code == 200)
    with Bell(feed, ada) as bell:
        eventually(lambda: bell.frames == [{'type': 'notices', 'unread': 0, 'items': []}])
        eventually(lambda: feed.http(ben).put(f'/v1/follows/{ada}').json().get('state') == 'requested')
        eventually(lambda: bell.unread == 1)
        feed.mute(ada, ben)
        eventually(lambda: bell.unread == 0)
        feed.unmute(ada, ben)
        eventually(lambda: bell.unread == 1)
        feed.http(ben).ok('DELETE', f'/v1/follows/{ada}')
        eventually(lambda: bell.unread == 0)
        assert [item['what'] for item in bell.items] == ['request']


def test_a_kind_that_is_not_told_at_once_is_only_counted(feed, users):
    ada, ben = users(2)
    wanted = {**TOLD, 'follow': {'live': False, 'push': True}}
    assert feed.http(ada).ok('PUT', '/v1/notices/preferences', json=wanted) == wanted
    with Bell(feed, ada) as bell:
        eventually(lambda: bell.frames)
        feed.follow(ben, ada)
        eventually(lambda: bell.unread == 1)
        assert bell.items == []
        feed.http(ada).ok('PUT', '/v1/notices/preferences', json=TOLD)
        eventually(lambda: [item['user'] for item in bell.items] == [ben])


def test_an_owner_dies_with_its_disk(make_cluster, users):
    feed = Feed(make_cluster(settings=SETTINGS).start(routers=0, sinks=0, feeds=1))
    ada, *others = users(9)
    with Bell(feed, ada) as bell:
        eventually(lambda: bell.frames)
        process = feed.cluster.feeds[0]
        for number, other in enumerate(others):
            threading.Thread(target=lambda other=other: feed.follow(other, ada), daemon=True).start()
            if number == 4:
                process.kill()
                shutil.rmtree(process.settings['data.dir'])
                process.start()
        eventually(lambda: feed.http(ada).get('/v1/notices').json().get('unread') == 1
                   and feed.http(ada).ok('GET', '/v1/notices')['items'][0].get('count') == len(others), 120)
        bell.wait_same(240)


@pytest.mark.parametrize('what', ['notice', '', 'notices:7'])
def test_things_that_are_none(feed, ada, what):
    with Bell(feed, ada) as bell:
        bell.phone.send({'type': 'watch', 'what': what})
        assert bell.phone.expect('error')['code'] == 'bad_what'
