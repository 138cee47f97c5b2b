"""Several sessions of a user: who is signed in where, and the end of one (docs/PROTOCOL.md; fanout/devices/product.c,
feed/devices.c, ingest/account/devices.c). The sessions have no position: devices are of the account, whatever its screens show."""
import time
from contextlib import contextmanager

import pytest
from harness.geo import HOME
from harness.http import problem
from harness.phone import Phone
from harness.ports import free_port
from harness.waiting import eventually

BEAT_S, SILENT_S = 1, 4


@pytest.fixture(scope='module')
def cluster(make_module_cluster):
    """Two edges. Each run beats every second, and is silent after four."""
    cluster = make_module_cluster(settings={'fanout:edge.devices.beat.s': BEAT_S, 'feed:devices.silent.s': SILENT_S})
    cluster.start(fanouts=1, feeds=1, comments=1, places=1, moderators=1)
    add_edge(cluster)
    return cluster


def add_edge(cluster):
    """One with a port of its own."""
    return cluster.add('fanout', settings={'edge.listen': f'127.0.0.1:{free_port()}'})


@contextmanager
def session(cluster, user, edge=0, **hello):
    """A phone that has said hello, without a position. `session`: its number, as its welcome said."""
    with Phone(f'ws://{cluster.fanouts[edge].settings["edge.listen"]}/', user, cluster.token(user)) as phone:
        phone.send({'type': 'hello', 'token': phone.token, **hello})
        phone.session = phone.expect('welcome')['session']
        yield phone


def listed(cluster, user, **query) -> list[dict]:
    return cluster.http(user).ok('GET', '/v1/devices', params=query)['items']


def ids(cluster, user) -> list[str]:
    return [item['id'] for item in listed(cluster, user)]


def wait_ids(cluster, user, *wanted, timeout=15.0):
    """All of these sessions, in any order, and no others."""
    eventually(lambda: sorted(ids(cluster, user)) == sorted(wanted), timeout, what=f'{user} is signed in as {wanted}')


def rows_of(cluster, user) -> list[bytes]:
    """Keys of the rows that `devices` has of a user."""
    return [key for key in cluster.topics.latest('devices') if len(key) == 24 and key[:8] == user.to_bytes(8, 'big')]


# ---- the list ----

def test_sessions_are_listed_with_their_names(cluster, user):
    before = time.time()
    with session(cluster, user, device='Pixel 9') as first:
        wait_ids(cluster, user, first.session)
        with session(cluster, user, edge=1, device='Büro, 电脑') as second, session(cluster, user) as third:
            wait_ids(cluster, user, first.session, second.session, third.session)
            items = listed(cluster, user, session=second.session)
            assert [(i['id'], i['device'], i.get('current')) for i in items] == [
                (third.session, None, None), (second.session, 'Büro, 电脑', True), (first.session, 'Pixel 9', None)]
            assert all(before - 60 < item['since'] / 1000 < time.time() + 60 for item in items)
            assert all(set(item) <= {'id', 'device', 'since', 'current'} for item in items)
            assert [set(item) for item in listed(cluster, user)] == [{'id', 'device', 'since'}] * 3


def test_a_session_that_is_over_is_not_listed(cluster, user):
    with session(cluster, user) as stays:
        with session(cluster, user, edge=1, device='it goes'):
            eventually(lambda: len(ids(cluster, user)) == 2)
        wait_ids(cluster, user, stays.session)
        assert len(rows_of(cluster, user)) == 1
    wait_ids(cluster, user)
    assert rows_of(cluster, user) == []


def test_a_later_hello_makes_no_other_session(cluster, user):
    with session(cluster, user, device='first') as phone:
        wait_ids(cluster, user, phone.session)
        phone.send({'type': 'hello', 'token': phone.token, 'device': 'second'})
        assert phone.expect('welcome')['session'] == phone.session
        with session(cluster, user) as other:  # whose row comes behind whatever was written
            wait_ids(cluster, user, phone.session, other.session)
        assert {item['device'] for item in listed(cluster, user)} <= {'first', None}


@pytest.mark.parametrize('name', ['', 'x' * 65, 'é' * 33, 'two\nlines', 'a\x7f', 5, ['x']])
def test_names_that_no_device_may_have(cluster, user, name):
    with cluster.phone(user) as phone:
        phone.send({'type': 'hello', 'token': phone.token, 'device': name})
        assert phone.expect('error')['code'] == 'bad_device'
        assert phone.wait_closed() == 1008
    assert ids(cluster, user) == []


def test_names_at_the_limits(cluster, user):
    with session(cluster, user, device='é' * 32) as long, session(cluster, user, device=None) as none:
        wait_ids(cluster, user, long.session, none.session)
        assert [item['device'] for item in listed(cluster, user)] == [None, 'é' * 32]


def test_the_newest_sixteen_are_listed(cluster, user):
    phones, contexts = [], []
    try:
        for i in range(18):
            contexts.append(session(cluster, user, edge=i % 2, device=str(i)))
            phones.append(contexts[-1].__enter__())
            eventually(lambda: phones[-1].session in ids(cluster, user))
        assert [item['device'] for item in listed(cluster, user)] == [str(i) for i in range(17, 1, -1)]
    finally:
        for context in contexts:
            context.__exit__(None, None, None)


# ---- the end of one ----

@pytest.mark.parametrize('edge', [0, 1])
def test_one_session_is_ended_and_no_other(cluster, users, edge):
    me, other = users(2)
    with session(cluster, me, edge, device='lost') as lost, session(cluster, me, 0) as mine, session(cluster, me, 1) as too, \
            session(cluster, other, edge) as theirs:
        wait_ids(cluster, me, lost.session, mine.session, too.session)
        began = time.monotonic()
        assert cluster.http(me).delete(f'/v1/devices/{lost.session}').status_code == 204
        assert lost.wait_closed(10) == 4001
        assert time.monotonic() - began < 10
        wait_ids(cluster, me, mine.session, too.session)
        for phone in mine, too, theirs:  # they answer
            phone.send({'type': 'hello', 'token': phone.token})
            phone.expect('welcome')
        problem(cluster.http(me).delete(f'/v1/devices/{lost.session}'), 404, 'no_device')


def test_nobody_ends_a_session_of_another(cluster, users):
    me, other = users(2)
    with session(cluster, me) as mine, session(cluster, other) as theirs:
        wait_ids(cluster, other, theirs.session)
        wait_ids(cluster, me, mine.session)
        problem(cluster.http(me).delete(f'/v1/devices/{theirs.session}'), 404, 'no_device')
        cluster.topics.produce('device-ends', me, ('device-end', {'session': int(theirs.session)}))  # whatever writes such an end
        assert cluster.http(me).delete(f'/v1/devices/{mine.session}').status_code == 204  # comes behind it
        assert mine.wait_closed() == 4001
        theirs.send({'type': 'hello', 'token': theirs.token})
        theirs.expect('welcome')
        assert ids(cluster, other) == [theirs.session]


def test_ids_that_are_none(cluster, user):
    http = cluster.http(user)
    for bad in '0', 'x', '-1', '05', '9223372036854775808':
        problem(http.delete(f'/v1/devices/{bad}'), 400, 'bad_path')
        problem(http.get('/v1/devices', params={'session': bad}), 400, 'bad_query')
    problem(http.delete('/v1/devices/5'), 404, 'no_device')


def test_an_ended_session_with_a_position_is_gone_for_friends(cluster, users):
    me, friend = users(2)
    cluster.acquaint(me, friend)
    with cluster.online(friend, *HOME) as phone, cluster.phone(me) as mine:
        mine.hello(*HOME)
        phone.wait_screen({me})
        eventually(lambda: len(ids(cluster, me)) == 1)
        assert cluster.http(me).delete(f'/v1/devices/{ids(cluster, me)[0]}').status_code == 204
        assert mine.wait_closed() == 4001
        wait_ids(cluster, me)


def test_ends_that_cannot_be_read_are_dead_letters(cluster, user):
    with session(cluster, user) as phone:
        wait_ids(cluster, user, phone.session)
        cluster.topics.produce('device-ends', user, b'nonsense')
        assert cluster.http(user).delete(f'/v1/devices/{phone.session}').status_code == 204
        assert phone.wait_closed() == 4001
    eventually(lambda: cluster.topics.read('device-ends.dlq'), what='the dead letter')


# ---- edges that die ----

def test_sessions_of_an_edge_that_died_are_forgotten(cluster, user):
    alone = add_edge(cluster)
    with session(cluster, user, device='stays') as stays:
        try:
            with session(cluster, user, edge=2, device='goes') as goes:
                wait_ids(cluster, user, stays.session, goes.session)
                alone.kill()
            wait_ids(cluster, user, stays.session, timeout=60)  # they do not count any more
            eventually(lambda: len(rows_of(cluster, user)) == 1, 60, what='the owner has written the tombstone')
            beats = lambda: {key for key in cluster.topics.latest('devices') if len(key) == 9}  # noqa: E731
            eventually(lambda: len(beats()) == 2, 60, what='the run is forgotten, too')
        finally:
            alone.kill()
        assert ids(cluster, user) == [stays.session]


def test_an_edge_that_stood_still_writes_its_sessions_anew(cluster, user):
    """Its owners have taken it for dead meanwhile."""
    with session(cluster, user, device='sleeps') as phone:
        wait_ids(cluster, user, phone.session)
        edge = cluster.fanouts[0]
        edge.pause()
        try:
            wait_ids(cluster, user, timeout=60)
        finally:
            edge.resume()
        wait_ids(cluster, user, phone.session, timeout=60)
        assert listed(cluster, user)[0]['device'] == 'sleeps'
        assert cluster.http(user).delete(f'/v1/devices/{phone.session}').status_code == 204
        assert phone.wait_closed() == 4001


def test_an_owner_that_comes_anew_lists_the_same(cluster, user):
    with session(cluster, user, device='a') as one, session(cluster, user, edge=1, device='b') as two:
        wait_ids(cluster, user, one.session, two.session)
        cluster.feeds[0].kill()
        cluster.feeds[0].start()
        eventually(lambda: cluster.http(user).get('/v1/devices').status_code == 200, 60)
        wait_ids(cluster, user, one.session, two.session)


# ---- what is kept ----

def test_devices_are_exported_and_forgotten(cluster, user):
    with session(cluster, user, device='Pixel 9') as phone:
        wait_ids(cluster, user, phone.session)
        page = cluster.http(user).ok('GET', '/v1/export', params={'after': 'devices'})
        assert page['kind'] == 'devices'
        assert [(item['id'], item['device']) for item in page['items']] == [(phone.session, 'Pixel 9')]

        def forgotten():
            answer = cluster.http(user).delete('/v1/me')
            return answer.json() if answer.status_code == 200 else None

        report = eventually(forgotten, 30)
        assert ids(cluster, user) == [] and rows_of(cluster, user) == []
        assert report['removed']['devices'] in (0, 1)  # 0: a former answer was 202
        phone.send({'type': 'hello', 'token': phone.token})  # the socket stays
        phone.expect('welcome')
