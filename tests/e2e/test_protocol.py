"""One suite for every client of starling.v1: those for Java, JavaScript and Python, against a real edge, router and broker.
tests/protocol/README.md says how a client takes part."""
import contextlib
import time

import pytest

from harness.between import Between
from harness.driven import DRIVERS, Driven
from harness.geo import HOME, at
from harness.ports import free_port
from harness.waiting import eventually, now_ms

THERE = -12.34, 56.78  # for strangers
AGAIN_S = 75  # after some failures a client may wait for a minute
BIG = 2**53 + 1  # what a double does not hold
GARBAGE = ['', '{', '[]', 'null', '7', '"x"', '{"type":"nearby"}', '{"type":"nearby","items":7,"total":0,"next":null}',
           '{"type":"update","near":{}}', '{"type":"update","gone":"x"}', '{"type":"welcome"}', '{"type":"strangers","items":[]}', '\0', b'\0\1\2']
HARMLESS = [{}, {'type': 'festival', 'near': []}, {'type': 'update'}, {'type': 'update', 'near': [None, 7, {}, {'user': 1}]},
            {'type': 'update', 'near': [], 'gone': [{}, None]}]


@pytest.fixture(scope='module')
def world(make_module_cluster):
    return make_module_cluster(settings={'fanout:edge.drain.s': 1, 'fanout:edge.flush.window.ms': 200,
                                         'router:discover.delay.s': 0}).start(feeds=1)


@pytest.fixture(params=sorted(DRIVERS))
def kind(request):
    return request.param


def start(cluster, kind, user, token=None, url=None, here=HOME, **options):
    return Driven(kind, url or cluster.ws_url, token or cluster.token(user), *here, **options)


def acquaint(cluster, *pairs):
    """Shares and befriends, in bulk where there are many."""
    cluster.share(*{user for pair in pairs for user in pair})
    cluster.befriend(*pairs)


@contextlib.contextmanager
def online(cluster, positions):
    with contextlib.ExitStack() as stack:
        yield {user: stack.enter_context(cluster.online(user, *place)) for user, place in positions.items()}


# a session


def test_hello_first_page_and_what_changes(world, kind, users):
    me, ben, cleo = users(3)
    acquaint(world, (me, ben), (me, cleo))
    world.http(ben).ok('PUT', '/v1/profile', json={'name': 'Ben Ö'})
    with online(world, {ben: at(500), cleo: at(9000)}) as phones, start(world, kind, me) as client:
        client.wait_state('online')
        client.wait_list({ben: at(500)}, HOME)
        welcome, = client.said('welcome')
        assert (welcome['user'], welcome['radius_m'], welcome['report_every_s'], welcome['inactive_after_s']) == (
            str(me), pytest.approx(8046.72), 30, 600)
        eventually(lambda: phones[ben].report(*at(600)) or client.row(ben)['name'] == 'Ben Ö', every=0.5, what='the name')
        sent = now_ms()
        phones[ben].report(*at(700), time=sent)
        eventually(lambda: client.row(ben)['time'] == sent, what='the newest report')
        client.wait_list({ben: at(700)}, HOME)
        phones[cleo].report(*at(800))
        client.wait_list({ben: at(700), cleo: at(800)}, HOME)
        assert any(str(cleo) in event['came'] for event in client.said('change'))
        phones[ben].report(*at(9000))
        client.wait_list({cleo: at(800)}, HOME)
        assert any(str(ben) in event['gone'] for event in client.said('change'))
        world.http(cleo).ok('DELETE', f'/v1/friends/{me}')
        client.wait_list({}, HOME)
        assert client.states() == ['connecting', 'online'] and client.said('error') == []


def test_the_phone_moves(world, kind, users):
    me, ben, cleo = users(3)
    acquaint(world, (me, ben), (me, cleo))
    positions = {ben: at(500), cleo: at(2000)}
    with online(world, positions) as phones, Between(world.ws_url) as between, start(world, kind, me, url=between.url) as client:
        client.wait_list(positions, HOME)
        between.mute = True  # without a word from the server
        client.do('move', lat=at(1900)[0], lng=HOME[1])
        client.wait_list(positions, at(1900))
        assert client.list() == [cleo, ben]
        phones[ben].wait_item(me, lambda item: abs(item['lat'] - at(1900)[0]) < 1e-6)
        between.mute = False
        client.do('move', lat=at(-6100)[0], lng=HOME[1])  # only one of them is near from there
        client.wait_list({ben: at(500)}, at(-6100))
        phones[cleo].wait_screen(set())
        client.do('move', lat=HOME[0], lng=HOME[1])
        client.wait_list(positions, HOME)
        assert [frame['type'] for frame in between.connections[0].said[:1]] == ['hello']
        times = [frame['time'] for frame in between.connections[0].said if 'time' in frame]
        assert times == sorted(set(times))


def test_pages(world, kind, users):
    me, *friends = users(45)
    crowd(world, me, friends)
    positions = {friend: at(10 * (i + 1)) for i, friend in enumerate(friends)}
    with Between(world.ws_url) as between, start(world, kind, me, url=between.url) as client:
        client.wait_list(positions, HOME)
        for count in 20, 40, 44:
            eventually(lambda n=count: len(client.screen['list']) == n, timeout=20, what=f'{count} rows')
            client.wait_list(positions, HOME)
            assert client.screen['has_more'] == (count < 44)
            client.do('more')
        asked = [frame.get('after') for frame in between.connections[0].said if frame['type'] == 'more']
        given = [frame['next'] for frame in between.connections[0].heard if frame['type'] == 'nearby']
        assert len(asked) <= 2 and asked == given[:len(asked)]


def test_a_crowd_beyond_all_pages_and_ids_beyond_a_double(world, kind, users):
    me, *friends = users(400)
    friends[-1] = BIG + me
    crowd(world, me, friends)
    positions = {friend: at(10 * (i + 1)) for i, friend in enumerate(friends)}
    with start(world, kind, me, prefetch=True) as client:
        eventually(lambda: client.screen['complete'] and client.screen['known'] == 399, 40, what='everybody is known')
        client.wait_list(positions, HOME)
        for _ in range(19):
            client.do('more')
        eventually(lambda: len(client.screen['list']) == 399, timeout=20, what='all rows')
        client.wait_list(positions, HOME)
        assert client.list()[-1] == BIG + me
        client.do('move', lat=at(4000)[0], lng=HOME[1])
        client.wait_list(positions, at(4000))


def crowd(cluster, me, friends):
    """Friends in a row, ten metres apart, who share and have reported by HTTP."""
    produced = {}
    for user in [me, *friends]:
        produced[user] = cluster.topics.produce('sharing', user, ('sharing', {'mode': 'FRIENDS'}))
    for friend in friends:
        low, high = sorted((me, friend))
        cluster.topics.produce('friend-commands', low, ('friend-command', {
            'kind': 'BEFRIEND', 'from': low, 'to': high, 'time': now_ms(), 'since': 0}))
    eventually(lambda: len(cluster.friends_of(me)) == len(friends), 30, every=0.2, what='all are friends')
    gateway = cluster.gateway()
    eventually(lambda: cluster.http(friends[-1]).ok('GET', '/v1/sharing')['mode'] == 'friends', what='the gateway knows')
    reports = [{'user': friend, 'lat': at(10 * (i + 1))[0], 'lng': HOME[1], 'time': now_ms()} for i, friend in enumerate(friends)]
    for i in range(0, len(reports), 50):
        gateway.ok('POST', '/v1/locations', json={'locations': reports[i:i + 50]})


def test_who_is_silent_becomes_stale_until_the_next_report(world, kind, users):
    me, ben = users(2)
    acquaint(world, (me, ben))
    with online(world, {ben: at(500)}) as phones, start(world, kind, me, stale_after_s=1) as client:
        client.wait_list({ben: at(500)}, HOME)
        eventually(lambda: client.row(ben)['stale'], what='stale')
        phones[ben].report(*at(510))
        eventually(lambda: not client.row(ben)['stale'], what='fresh')
        client.wait_list({ben: at(510)}, HOME)


def test_strangers_nearby(world, kind, users):
    me, ada, far = users(3)
    far += BIG
    with start(world, kind, me, here=THERE) as client:
        client.wait_state('online')
        client.do('discover')
        eventually(lambda: [event['code'] for event in client.said('error')] == ['not_public'], what='refused')
        world.share(me, ada, far, mode='public')
        for user in ada, far:
            world.report_http(user, *THERE)

        def listed():
            client.do('discover')
            return client.said('strangers') and {ada, far} <= {int(row[0]) for row in client.said('strangers')[-1]['list']}

        eventually(listed, 20, every=1, what='both are listed')
        world.share(far)
        eventually(lambda: [event['gone'] for event in client.said('strangers_gone')] == [[str(far)]], 30, what='one is gone')
        assert client.states() == ['connecting', 'online']


def test_garbage_of_the_servers_changes_nothing(world, kind, users):
    me, ben = users(2)
    acquaint(world, (me, ben))
    with online(world, {ben: at(500)}) as phones, Between(world.ws_url) as between, \
            start(world, kind, me, url=between.url) as client:
        client.wait_list({ben: at(500)}, HOME)
        for frame in [*GARBAGE, *HARMLESS]:
            between.say(frame)
        phones[ben].report(*at(600))
        client.wait_list({ben: at(600)}, HOME)
        assert [event['code'] for event in client.said('error')] == ['bad_frame'] * len(GARBAGE)
        assert client.states() == ['connecting', 'online'] and len(client.said('welcome')) == 1


# how it ends, and how it comes back


def test_ended_from_another_device_stays_away_until_asked(world, kind, users):
    me, ben = users(2)
    acquaint(world, (me, ben))
    with online(world, {ben: at(500)}), Between(world.ws_url) as between, start(world, kind, me, url=between.url, device='lost') as client:
        client.wait_list({ben: at(500)}, HOME)
        device, = eventually(lambda: world.http(me).ok('GET', '/v1/devices')['items'], what='the session is listed')
        assert (device['id'], device['device']) == (welcome_of(between, 0)['session'], 'lost')
        assert world.http(me).delete(f'/v1/devices/{device["id"]}').status_code == 204
        assert client.wait_state('closed', 'elsewhere')['code'] == 4001
        client.do('reconnect')
        time.sleep(1.5)  # not by itself, and not because the network has changed
        assert len(between.connections) == 1
        assert client.list() == [ben]
        client.do('connect')
        client.wait_state('online')
        client.wait_list({ben: at(500)}, HOME)


def test_another_device_of_the_user_shows_the_same_list(world, kind, users):
    me, ben = users(2)
    acquaint(world, (me, ben))
    with online(world, {ben: at(500)}) as phones, start(world, kind, me) as client:
        client.wait_list({ben: at(500)}, HOME)
        with world.online(me, *at(1)) as other:
            other.wait_screen({ben})
            phones[ben].report(*at(600))
            other.wait_item(ben, lambda item: item['lat'] == pytest.approx(at(600)[0], abs=1e-6))
            client.wait_list({ben: at(600)}, HOME)
            assert other.closed() is None
        assert client.states() == ['connecting', 'online']
def welcome_of(between, number) -> dict:
    return next(frame for frame in between.connections[number].heard if frame['type'] == 'welcome')


def hellos_of(between, number) -> list[dict]:
    return [frame for frame in between.connections[number].said if frame['type'] == 'hello']


def test_a_hello_says_the_device_and_the_session_before(world, kind, users):
    me, = users(1)
    world.share(me)
    with Between(world.ws_url) as between, start(world, kind, me, url=between.url, device='Pixel 9') as client:
        client.wait_state('online')
        client.do('renew', token=world.token(me))
        hello, renewal = eventually(lambda: hellos_of(between, 0) if len(hellos_of(between, 0)) == 2 else None, what='the renewal')
        assert (hello['device'], 'before' in hello, 'before' in renewal) == ('Pixel 9', False, False)  # it is still the same session
        for number in 1, 2:
            between.cut()
            again, = eventually(lambda n=number: len(between.connections) > n and hellos_of(between, n), 30, what='it is back')
            assert (again['device'], again['before']) == ('Pixel 9', welcome_of(between, number - 1)['session'])
            eventually(lambda n=number: 'welcome' in [frame['type'] for frame in between.connections[n].heard])


def test_a_bad_token_is_not_tried_again(world, kind, users):
    me, = users(1)
    world.share(me)
    with Between(world.ws_url) as between:
        for token, reason in ((world.token(me)[:-6] + 'AAAAAA', 'token'), (world.token(me, ttl=-10), 'expired')):
            before = len(between.connections)
            with start(world, kind, me, token, between.url) as client:
                assert client.wait_state('closed', reason)['code'] == 1008
                time.sleep(1.2)
                assert len(between.connections) == before + 1
                client.do('renew', token=world.token(me))
                client.wait_state('online')


def test_a_token_that_ends_closes_and_a_new_one_goes_on(world, kind, users):
    me, ben = users(2)
    acquaint(world, (me, ben))
    with online(world, {ben: at(500)}), start(world, kind, me, world.token(me, ttl=10)) as client:
        client.wait_list({ben: at(500)}, HOME)
        assert client.wait_state('closed', 'expired')['code'] == 4003
        assert client.list() == [ben]
        client.do('renew', token=world.token(me))
        client.wait_state('online')
        client.wait_list({ben: at(500)}, HOME)
        client.do('renew', token=world.token(me))  # on the open connection
        eventually(lambda: len(client.said('welcome')) == 3, what='welcomed for the new token')
        assert client.states() == ['connecting', 'online', 'closed', 'connecting', 'online']


def test_a_token_function_renews_on_the_open_connection(world, kind, users):
    me, ben = users(2)
    acquaint(world, (me, ben))
    given = []

    def token():
        given.append(world.token(me, ttl=4))
        return given[-1]

    with online(world, {ben: at(500)}), Between(world.ws_url) as between, \
            Driven(kind, between.url, None, *HOME, tokens=token) as client:
        client.wait_list({ben: at(500)}, HOME)
        eventually(lambda: len(given) >= 3, 15, what='the third token')  # the first has ended by now
        eventually(lambda: len(client.said('welcome')) >= 3, what='welcomed for it')
        assert client.states() == ['connecting', 'online'] and len(between.connections) == 1
        assert [frame['token'] for frame in between.connections[0].said if frame['type'] == 'hello'][:3] == given[:3]


def test_overloaded(world, kind, users):
    me, = users(1)
    world.share(me)
    with Between(world.ws_url) as between:
        between.refuse = 1013
        with start(world, kind, me, url=between.url) as client:
            waits = client.wait_state('waiting')
            assert waits['code'] == 1013 and 4.9 <= waits['retry_in_s'] <= 10.1
            between.refuse = None
            client.do('reconnect')
            client.wait_state('online')
            between.say({'type': 'reconnect', 'after_ms': 700})
            mark = client.mark()
            said = time.monotonic()
            between.close(1013)
            client.wait_state('waiting', since=mark)
            client.wait_state('online', since=mark)
            assert 0.7 <= between.connections[-1].opened - said < 2


def test_a_cut_connection_comes_back_with_what_was_missed(world, kind, users):
    me, ben, cleo = users(3)
    acquaint(world, (me, ben), (me, cleo))
    with online(world, {ben: at(500), cleo: at(600)}) as phones, Between(world.ws_url) as between, \
            start(world, kind, me, url=between.url) as client:
        client.wait_list({ben: at(500), cleo: at(600)}, HOME)
        mark = client.mark()
        between.cut()
        assert client.wait_state('waiting', since=mark)['code'] == 1006
        assert client.list() == [ben, cleo]
        phones[cleo].report(*at(9000))
        phones[ben].report(*at(450))
        client.wait_state('online', since=mark)
        client.wait_list({ben: at(450)}, HOME)
        assert [frame['type'] for frame in between.connections[1].said[:1]] == ['hello']


def test_every_client_outlives_a_killed_edge_and_a_planned_end(make_cluster, users):
    """Both at once, as each end of an edge takes its time."""
    cluster = make_cluster(settings={'fanout:edge.drain.s': 1, 'fanout:edge.flush.window.ms': 200}).start()
    ben, cleo, *people = users(2 + len(DRIVERS))
    acquaint(cluster, *((me, friend) for me in people for friend in (ben, cleo)))
    edge = cluster.fanouts[0]
    for friend, place in ((ben, at(500)), (cleo, at(600))):
        assert cluster.report_http(friend, *place).ok
    with contextlib.ExitStack() as stack:
        between = [stack.enter_context(Between(cluster.ws_url)) for _ in people]
        clients = [stack.enter_context(start(cluster, kind, me, url=way.url))
                   for kind, me, way in zip(sorted(DRIVERS), people, between)]
        for client in clients:
            client.wait_list({ben: at(500), cleo: at(600)}, HOME)

        marks = [client.mark() for client in clients]
        edge.kill()
        for client, mark in zip(clients, marks):
            client.wait_state('waiting', since=mark)
            assert client.list() == [ben, cleo]  # as it was
        assert cluster.report_http(cleo, *at(9000)).ok
        assert cluster.report_http(ben, *at(550)).ok
        edge.start()
        for client, mark in zip(clients, marks):
            client.wait_state('online', since=mark, timeout=AGAIN_S)
            client.wait_list({ben: at(550)}, HOME, timeout=30)

        marks = [client.mark() for client in clients]
        stopped = time.monotonic()
        assert edge.stop() == 0
        told = {}
        for client, mark, way in zip(clients, marks, between):
            event = client.wait_state('waiting', since=mark)
            assert event['code'] == 1012
            last = max((c for c in way.connections if c.heard), key=lambda c: c.opened)
            told[way], = [frame['after_ms'] for frame in last.heard if frame['type'] == 'reconnect']
            tries = [c.opened for c in way.connections if c.opened > last.opened]
            assert event['retry_in_s'] <= told[way] / 1000 * 1.1 + 0.05
            assert event['retry_in_s'] >= told[way] / 1000 - 0.5
            since = time.monotonic() - stopped - told[way] / 1000
            assert len(tries) <= max(0, 1 + 5 * since)  # none is early, and none in a hurry
        edge.start()
        for client, mark in zip(clients, marks):
            client.wait_state('online', since=mark, timeout=AGAIN_S)
            client.wait_list({ben: at(550)}, HOME, timeout=30)


def test_devices_on_two_edges_are_live_side_by_side(make_cluster, users):
    """One of each client, on one edge or the other."""
    cluster = make_cluster()
    cluster.start(fanouts=1)
    other = f'127.0.0.1:{free_port()}'
    cluster.add('fanout', settings={'edge.listen': other})
    me, ben = users(2)
    acquaint(cluster, (me, ben))
    with contextlib.ExitStack() as stack:
        phones = stack.enter_context(online(cluster, {ben: at(500)}))
        ways = [stack.enter_context(Between(url)) for url in (cluster.ws_url, f'ws://{other}/')]
        devices = [stack.enter_context(start(cluster, kind, me, url=ways[i % 2].url)) for i, kind in enumerate(sorted(DRIVERS))]
        for device in devices:
            device.wait_list({ben: at(500)}, HOME)
        phones[ben].report(*at(600))
        for device in devices:
            device.wait_list({ben: at(600)}, HOME)
            assert device.states() == ['connecting', 'online']
        assert sum(len(way.connections) for way in ways) == len(devices)
